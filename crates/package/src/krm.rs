//! What makes a document a resource. It never looks at what kind of resource it is.

use yaml::owned::Value;

/// Why a document is no resource; `None` if it is one.
pub(crate) fn not_krm(path: &str, value: &Value) -> Option<&'static str> {
    let has = |keys: &[&str]| {
        value
            .lookup(keys)
            .and_then(Value::text)
            .is_some_and(|text| !text.is_empty())
    };
    let file = path.rsplit('/').next().unwrap_or(path);
    let kustomization = ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .contains(&file)
        || value
            .get("apiVersion")
            .and_then(Value::text)
            .is_some_and(|v| v.starts_with("kustomize.config.k8s.io"))
        || (value.get("kind").and_then(Value::text) == Some("Kustomization")
            && !has(&["apiVersion"]));
    if kustomization {
        return None;
    }
    [
        (&["apiVersion"][..], "resource must have `apiVersion`"),
        (&["kind"][..], "resource must have `kind`"),
        (
            &["metadata", "name"][..],
            "resource must have `metadata.name`",
        ),
    ]
    .into_iter()
    .find(|(keys, _)| !has(keys))
    .map(|(_, why)| why)
}
