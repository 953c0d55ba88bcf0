//! One rule of a role: what it matches, what it covers, how it is told.

use serde_json::{Map, Value};

use crate::access::Attributes;

/// A `PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    /// `get`, `list` … or `*`.
    pub(crate) verbs: Vec<String>,
    /// API groups, or `*`.
    pub(crate) groups: Vec<String>,
    /// `widgets`, `widgets/status`, `*/scale`, `*`.
    pub(crate) resources: Vec<String>,
    /// Names of objects; none for all.
    pub(crate) names: Vec<String>,
    /// Paths that are no resources; a `*` at the end stands for the rest.
    pub(crate) urls: Vec<String>,
}

const FIELDS: [&str; 5] = [
    "verbs",
    "apiGroups",
    "resources",
    "resourceNames",
    "nonResourceURLs",
];

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == wanted)
}

/// Whether a path, or a pattern of a path, lies within a pattern.
fn path_within(pattern: &str, path: &str) -> bool {
    pattern == path
        || pattern
            .strip_suffix('*')
            .is_some_and(|stem| path.starts_with(stem.trim_end_matches('*')))
}

impl Rule {
    /// Reads a rule of a role; what is missing is empty.
    #[must_use]
    pub(crate) fn read(value: &Value) -> Self {
        let texts = |field: &str| -> Vec<String> {
            let list = value.get(field).and_then(Value::as_array);
            let list = list.into_iter().flatten().filter_map(Value::as_str);
            list.map(str::to_owned).collect()
        };
        let [verbs, groups, resources, names, urls] = FIELDS.map(texts);
        Self {
            verbs,
            groups,
            resources,
            names,
            urls,
        }
    }

    /// The rules of a role.
    #[must_use]
    pub(crate) fn of_role(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::read).collect()
    }

    /// The rule as it is written.
    #[must_use]
    pub(crate) fn write(&self) -> Value {
        let mut out = Map::new();
        for (field, list) in FIELDS.into_iter().zip(self.lists()) {
            if !list.is_empty() {
                out.insert(field.to_owned(), list.clone().into());
            }
        }
        out.into()
    }

    /// The five lists in the order of the API type.
    fn lists(&self) -> [&Vec<String>; 5] {
        [
            &self.verbs,
            &self.groups,
            &self.resources,
            &self.names,
            &self.urls,
        ]
    }

    /// About what the rule takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let values = self.lists().into_iter().flatten();
        values
            .map(|value| size_of::<String>() + value.len())
            .sum::<usize>()
            + size_of::<Self>()
    }

    /// Whether the rule allows a request.
    #[must_use]
    pub(crate) fn allows(&self, request: &Attributes<'_>) -> bool {
        if !has(&self.verbs, "*") && !has(&self.verbs, request.verb) {
            return false;
        }
        if !request.path.is_empty() {
            return self.urls.iter().any(|url| path_within(url, request.path));
        }
        (has(&self.groups, "*") || has(&self.groups, request.group))
            && self.names_resource(request.resource, request.subresource)
            && (self.names.is_empty() || has(&self.names, request.name))
    }

    fn names_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|named| {
            if named == "*" {
                return true;
            }
            match named.split_once('/') {
                None => subresource.is_empty() && named == resource,
                Some((of, sub)) => {
                    !subresource.is_empty() && sub == subresource && (of == "*" || of == resource)
                }
            }
        })
    }

    /// The rule in the words of refusals: `{APIGroups:["a"], Resources:["b"], Verbs:["get"]}`.
    pub(crate) fn told(&self) -> String {
        let names = [
            "Verbs",
            "APIGroups",
            "Resources",
            "ResourceNames",
            "NonResourceURLs",
        ];
        let lists = self.lists();
        let order = [1, 2, 4, 3, 0];
        let parts = order.iter().filter_map(|i| {
            let (name, list) = (names.get(*i)?, lists.get(*i)?);
            (!list.is_empty()).then(|| format!("{name}:{}", quoted(list)))
        });
        format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
    }
}

/// A list of texts as Go prints it with `%q`.
pub(crate) fn quoted(list: &[String]) -> String {
    let texts: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", texts.join(" "))
}
