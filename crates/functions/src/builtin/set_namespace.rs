//! `set-namespace`: one namespace for everything that has one.

use std::collections::BTreeSet;

use yaml::owned::Value;

use crate::config::Config;
use crate::goquote::{list, quote};
use crate::kinds::namespaced;
use crate::report::{error, info};
use crate::{FunctionReport, Item, UPSTREAM_IDENTIFIER};

const DEFAULT: &str = "default";
const CLUSTER: &str = "~C";
const DEPENDS_ON: &str = "config.kubernetes.io/depends-on";
const CRD_PATH: &[&str] = &[
    "spec",
    "conversion",
    "webhook",
    "clientConfig",
    "service",
    "namespace",
];

struct Wanted {
    namespace: String,
    matcher: Option<String>,
    create: bool,
}

/// Counts what changed, and remembers what was there before.
#[derive(Default)]
struct Changes {
    count: usize,
    old: BTreeSet<String>,
    notes: Vec<model::FunctionResultItem>,
}

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let wanted = match wanted(config) {
        Ok(wanted) => wanted,
        Err(message) => {
            let mut failure = error(message);
            failure.resource = config.item().map(|item| item.reference());
            return FunctionReport::of([failure]);
        }
    };
    let before: BTreeSet<String> = items
        .iter()
        .filter(|item| !item.is_local_config())
        .filter_map(dependency)
        .collect();
    let mut changes = Changes::default();
    for item in items.iter_mut().filter(|item| !item.is_local_config()) {
        if !is_namespaced(item) {
            cluster_scoped(item, &wanted, &mut changes);
        }
    }
    for item in items.iter_mut().filter(|item| !item.is_local_config()) {
        if is_namespaced(item) {
            resource(item, &wanted, &mut changes);
        }
    }
    let mut results = std::mem::take(&mut changes.notes);
    results.push(info(summary(&changes, &wanted)));
    results.push(info(depends_on(items, &before, &wanted)));
    if wanted.create {
        results.extend(create(items, &wanted.namespace).map(info));
    }
    FunctionReport::of(results)
}

fn wanted(config: Config<'_>) -> Result<Wanted, String> {
    const EXPECTED: &str = "`ConfigMap.v1` or `SetNamespace.v1alpha1.fn.kpt.dev`";
    if config.is_absent() {
        return Err(format!("FunctionConfig is missing. Expect {EXPECTED}"));
    }
    let some = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    if config.is_config_map() {
        let context = config.name() == "kptfile.kpt.dev";
        let namespace = some(config.data("namespace"))
            .or_else(|| some(config.data("name")).filter(|_| context))
            .ok_or_else(|| {
                let key = if context { "name" } else { "namespace" };
                format!("`data.{key}` should not be empty")
            })?;
        let create = config.data("create") == Some("true");
        return Ok(Wanted {
            namespace,
            matcher: some(config.data("namespaceMatcher")),
            create,
        });
    }
    if config.is("fn.kpt.dev/v1alpha1", "SetNamespace") {
        let text = |key: &str| some(config.get(key).and_then(Value::text));
        let namespace = text("namespace").ok_or("`namespace` should not be empty")?;
        let create = text("create").as_deref() == Some("true");
        return Ok(Wanted {
            namespace,
            matcher: text("namespaceMatcher"),
            create,
        });
    }
    let (kind, api_version) = (config.kind(), config.api_version());
    Err(format!(
        "unknown functionConfig Kind={kind} ApiVersion={api_version}, expect {EXPECTED}"
    ))
}

/// A kind that nobody knows lives in a namespace if it says so.
fn is_namespaced(item: &Item) -> bool {
    namespaced(item.group(), item.kind()).unwrap_or_else(|| !item.namespace().is_empty())
}

fn or_default(namespace: &str) -> &str {
    if namespace.is_empty() {
        DEFAULT
    } else {
        namespace
    }
}

/// The upstream identifier's namespace and name, where there is one.
fn origin(item: &Item) -> Option<(&str, &str)> {
    let mut parts = item.annotation(UPSTREAM_IDENTIFIER)?.split('|').skip(2);
    Some((parts.next()?, parts.next()?))
}

fn cluster_scoped(item: &mut Item, wanted: &Wanted, changes: &mut Changes) {
    if item.is_gvk("", "v1", "Namespace") && item.group().is_empty() && item.kind() == "Namespace" {
        let from = origin(item)
            .map_or_else(|| item.name(), |(_, name)| name)
            .to_owned();
        let about = short(item);
        let old = item.name().to_owned();
        if let Some(name) = changes.decide(wanted, &from, &old, Some(&about)) {
            item.set_text(&["metadata", "name"], name);
        }
    } else if item.group() == "apiextensions.k8s.io" && item.kind() == "CustomResourceDefinition" {
        field(item, CRD_PATH, wanted, changes);
    } else if item.group() == "apiregistration.k8s.io" && item.kind() == "APIService" {
        field(item, &["spec", "service", "namespace"], wanted, changes);
    } else if item.kind() == "ClusterRoleBinding" {
        subjects(item, wanted, changes);
    }
}

fn field(item: &mut Item, path: &[&str], wanted: &Wanted, changes: &mut Changes) {
    let old = item.text_at(path).to_owned();
    if let Some(namespace) = changes.decide(wanted, "", &old, None) {
        item.set_text(path, namespace);
    }
}

fn subjects(item: &mut Item, wanted: &Wanted, changes: &mut Changes) {
    let Some(subjects) = item
        .value_mut()
        .get_mut("subjects")
        .and_then(Value::as_seq_mut)
    else {
        return;
    };
    for subject in subjects.items_mut() {
        let Some(namespace) = subject.get_mut("namespace") else {
            continue;
        };
        let old = namespace.text().unwrap_or_default().to_owned();
        if let Some(new) = changes.decide(wanted, "", &old, None) {
            namespace.set_str(new);
        }
    }
}

fn resource(item: &mut Item, wanted: &Wanted, changes: &mut Changes) {
    let from =
        origin(item).map_or_else(|| or_default(item.namespace()), |(namespace, _)| namespace);
    if from == CLUSTER {
        return;
    }
    let (from, about, old) = (from.to_owned(), short(item), item.namespace().to_owned());
    if let Some(namespace) = changes.decide(wanted, &from, &old, Some(&about)) {
        item.set_text(&["metadata", "namespace"], namespace);
    }
}

impl Changes {
    /// What is to stand where this namespace stood, if anything else; counts it if it was replaced.
    ///
    /// A namespace that is missing is written out as `default` even where it is not replaced, as the catalog's
    /// function does.
    fn decide<'w>(
        &mut self,
        wanted: &'w Wanted,
        origin: &str,
        old: &str,
        about: Option<&str>,
    ) -> Option<&'w str> {
        if self.replaces(wanted, origin, or_default(old), about) {
            return Some(&wanted.namespace);
        }
        old.is_empty().then_some(DEFAULT)
    }

    fn replaces(&mut self, wanted: &Wanted, origin: &str, old: &str, about: Option<&str>) -> bool {
        if old == wanted.namespace {
            return false;
        }
        if let Some(matcher) = &wanted.matcher {
            if matcher == origin {
                let about = list(about);
                self.notes
                    .push(info(format!("{about} has matching origin {origin}")));
            } else if matcher != old {
                return false;
            }
        }
        self.old.insert(old.to_owned());
        self.count += 1;
        true
    }
}

fn summary(changes: &Changes, wanted: &Wanted) -> String {
    let new = quote(&wanted.namespace);
    if changes.count == 0 {
        return format!("all matching namespaces are already {new}. no value changed");
    }
    format!(
        "namespace {} updated to {new}, {} value(s) changed",
        list(&changes.old),
        changes.count
    )
}

fn short(item: &Item) -> String {
    format!(
        "Resource(apiVersion={}, kind={}, namespace={}, name={})",
        item.api_version(),
        item.kind(),
        item.namespace(),
        item.name()
    )
}

/// How a `depends-on` annotation names a resource that lives in a namespace.
fn dependency(item: &Item) -> Option<String> {
    is_namespaced(item).then(|| {
        let namespace = or_default(item.namespace());
        format!(
            "{}/namespaces/{namespace}/{}/{}",
            item.group(),
            item.kind(),
            item.name()
        )
    })
}

/// Follows the resources that moved in the annotations that name them.
fn depends_on(items: &mut [Item], before: &BTreeSet<String>, wanted: &Wanted) -> String {
    let mut old = BTreeSet::new();
    let mut count = 0;
    for item in items.iter_mut().filter(|item| !item.is_local_config()) {
        let Some(text) = item
            .annotation(DEPENDS_ON)
            .filter(|text| before.contains(*text))
        else {
            continue;
        };
        let mut segments: Vec<&str> = text.split('/').collect();
        let Some(namespace) = segments.get_mut(2) else {
            continue;
        };
        let fits = wanted
            .matcher
            .as_deref()
            .is_none_or(|matcher| matcher == *namespace);
        if !fits || *namespace == wanted.namespace {
            continue;
        }
        old.insert((*namespace).to_owned());
        count += 1;
        *namespace = &wanted.namespace;
        let text = segments.join("/");
        item.set_text(&["metadata", "annotations", DEPENDS_ON], &text);
    }
    if count == 0 {
        return "all `depends-on` annotations are up-to-date. no `namespace` changed".to_owned();
    }
    let new = quote(&wanted.namespace);
    format!(
        "`depends-on` annotation namespace {} updated to {new}, {count} value(s) changed",
        list(&old)
    )
}

/// Adds the Namespace itself where the package has none of that name (M11, R192).
fn create(items: &mut Vec<Item>, namespace: &str) -> Option<String> {
    let is_it = |item: &Item| {
        item.api_version() == "v1" && item.kind() == "Namespace" && item.name() == namespace
    };
    if items.iter().any(is_it) {
        return None;
    }
    items.push(Item::made(Value::map([
        ("apiVersion", Value::plain("v1")),
        ("kind", Value::plain("Namespace")),
        ("metadata", Value::map([("name", Value::string(namespace))])),
    ])));
    Some(format!("Namespace {} created", quote(namespace)))
}

#[cfg(test)]
mod tests;
