//! Selectors, exclusions and configurations in place.

use model::{Function, Selector};
use yaml::owned::Value;

/// Whether a function sees a resource.
pub(super) fn sees(function: &Function, value: &Value) -> bool {
    let selected =
        function.selectors.is_empty() || function.selectors.iter().any(|s| matches(s, value));
    let excluded = function
        .exclude
        .iter()
        .any(|selector| *selector != Selector::default() && matches(selector, value));
    selected && !excluded
}

fn matches(selector: &Selector, value: &Value) -> bool {
    let text = |path: &[&str]| value.lookup(path).and_then(Value::text).unwrap_or_default();
    let fits = |wanted: &Option<String>, path: &[&str]| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.is_empty() || *wanted == text(path))
    };
    let all = |wanted: &std::collections::BTreeMap<String, String>, field: &str| {
        wanted.iter().all(|(key, wanted)| {
            value
                .lookup(&["metadata", field, key])
                .and_then(Value::text)
                == Some(wanted)
        })
    };
    fits(&selector.api_version, &["apiVersion"])
        && fits(&selector.kind, &["kind"])
        && fits(&selector.name, &["metadata", "name"])
        && fits(&selector.namespace, &["metadata", "namespace"])
        && all(&selector.labels, "labels")
        && all(&selector.annotations, "annotations")
}

/// A function's `configMap` as the ConfigMap that it is handed as.
pub(super) fn config_map(function: &Function) -> Option<Value> {
    if function.config_map.is_empty() {
        return None;
    }
    let data = function
        .config_map
        .iter()
        .map(|(key, text)| (key.as_str(), Value::string(text.as_str())));
    Some(Value::map([
        ("apiVersion", Value::plain("v1")),
        ("kind", Value::plain("ConfigMap")),
        (
            "metadata",
            Value::map([("name", Value::plain("function-input"))]),
        ),
        ("data", Value::map(data)),
    ]))
}
