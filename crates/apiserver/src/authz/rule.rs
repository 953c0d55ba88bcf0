//! One rule of a role: what it matches, what it covers, how it is told.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::gateway::Attributes;

/// A `PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// `get`, `list` … or `*`.
    pub verbs: Vec<String>,
    /// API groups, or `*`.
    pub groups: Vec<String>,
    /// `widgets`, `widgets/status`, `*/scale`, `*`.
    pub resources: Vec<String>,
    /// Names of objects; none for all.
    pub names: Vec<String>,
    /// Paths that are no resources; a `*` at the end stands for the rest.
    pub urls: Vec<String>,
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

fn has_all(list: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|item| has(list, item))
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
    pub fn read(value: &Value) -> Self {
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
    pub fn of_role(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::read).collect()
    }

    /// The rule as it is written.
    #[must_use]
    pub fn write(&self) -> Value {
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

    /// Whether the rule allows a request.
    #[must_use]
    pub fn allows(&self, request: &Attributes<'_>) -> bool {
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

    /// The rule as rules of one verb, one group and one resource each.
    fn atoms(&self) -> Vec<Self> {
        let mut out = Vec::new();
        for verb in &self.verbs {
            for url in &self.urls {
                out.push(Self {
                    verbs: vec![verb.clone()],
                    urls: vec![url.clone()],
                    ..Self::default()
                });
            }
        }
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let atom = Self {
                        verbs: vec![verb.clone()],
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        out.push(atom);
                        continue;
                    }
                    let named = |name: &String| Self {
                        names: vec![name.clone()],
                        ..atom.clone()
                    };
                    out.extend(self.names.iter().map(named));
                }
            }
        }
        out
    }

    /// Whether everything that an atom allows is allowed by this rule.
    fn covers(&self, atom: &Self) -> bool {
        let verbs = has(&self.verbs, "*") || has_all(&self.verbs, &atom.verbs);
        if !atom.urls.is_empty() {
            let within = |path: &String| self.urls.iter().any(|url| path_within(url, path));
            return verbs && atom.urls.iter().all(within);
        }
        let resources = has(&self.resources, "*")
            || atom.resources.iter().all(|wanted| {
                let any = wanted.split_once('/').map(|(_, sub)| format!("*/{sub}"));
                has(&self.resources, wanted) || any.is_some_and(|any| has(&self.resources, &any))
            });
        let names =
            self.names.is_empty() || (!atom.names.is_empty() && has_all(&self.names, &atom.names));
        verbs
            && (has(&self.groups, "*") || has_all(&self.groups, &atom.groups))
            && resources
            && names
    }

    /// The rule in the words of refusals: `{APIGroups:["a"], Resources:["b"], Verbs:["get"]}`.
    fn told(&self) -> String {
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
pub(super) fn quoted(list: &[String]) -> String {
    let texts: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", texts.join(" "))
}

/// What of `wanted` is not covered by `held`, told one rule a line; empty if all is.
pub(super) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let atoms = wanted.iter().flat_map(Rule::atoms);
    let lacking = atoms.filter(|atom| !held.iter().any(|rule| rule.covers(atom)));
    // Atoms that differ in their verb only are told as one.
    let mut merged: Vec<Rule> = Vec::new();
    for atom in lacking {
        let same = |other: &&mut Rule| {
            atom.urls.is_empty()
                && (&other.groups, &other.resources, &other.names, &other.urls)
                    == (&atom.groups, &atom.resources, &atom.names, &atom.urls)
        };
        match merged.iter_mut().find(same) {
            Some(other) if !has_all(&other.verbs, &atom.verbs) => other.verbs.extend(atom.verbs),
            Some(_) => {}
            None => merged.push(atom),
        }
    }
    let told: BTreeSet<String> = merged.iter().map(Rule::told).collect();
    told.into_iter().collect()
}

/// The rules of `wanted` that are not covered by `held`.
pub(super) fn lacking(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let covered = |rule: &&Rule| {
        let atoms = rule.atoms();
        atoms.iter().all(|atom| held.iter().any(|h| h.covers(atom)))
    };
    wanted.iter().filter(|r| !covered(r)).cloned().collect()
}
