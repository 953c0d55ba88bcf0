//! What counts as a resource, and where one without a file goes.

use model::PackagePath;
use yaml::owned::Value;

/// `Kptfile`, and what ends in `.yaml`, `.yml` or `.json`.
pub(super) fn is_resource_file(path: &PackagePath) -> bool {
    let name = path.file_name();
    name == "Kptfile"
        || [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// The items of a `kind: List`.
pub(super) fn list_items(value: &Value) -> Option<&[Value]> {
    let kind = value.get("kind").and_then(Value::text)?;
    let bare = value.lookup(&["metadata", "name"]).is_none();
    let listed = kind == "List" || (kind.ends_with("List") && bare);
    value
        .get("items")
        .filter(|_| listed)?
        .as_seq()
        .map(|seq| seq.items())
}

/// Where a resource without a file goes: `namespace/kind_name.yaml`.
pub(super) fn default_path(value: &Value) -> String {
    let text = |path: &[&str]| value.lookup(path).and_then(Value::text).unwrap_or_default();
    let (kind, name) = (
        text(&["kind"]).to_lowercase(),
        text(&["metadata", "name"]).to_lowercase(),
    );
    full(
        &text(&["metadata", "namespace"]).to_lowercase(),
        &format!("{kind}_{name}.yaml"),
    )
}

/// Whether two resources are known by the same: group, kind, namespace and name.
pub(super) fn is_same_resource(a: &Value, b: &Value) -> bool {
    fn known(value: &Value) -> [&str; 4] {
        let text = |path: &[&str]| value.lookup(path).and_then(Value::text).unwrap_or_default();
        let group = text(&["apiVersion"]).rsplit_once('/');
        [
            group.map_or("", |(group, _)| group),
            text(&["kind"]),
            text(&["metadata", "namespace"]),
            text(&["metadata", "name"]),
        ]
    }
    known(a) == known(b)
}

/// A path that a function gave, relative to the root; refused if it leaves the package.
pub(super) fn checked(package: &str, place: &str) -> Result<String, String> {
    let outside = || {
        format!("function must not modify resources outside of package: resource has path {place}")
    };
    let clean =
        crate::kptfile::clean_config_path(place.trim_start_matches('/')).map_err(|_| outside())?;
    let path = full(package, &clean);
    PackagePath::parse(&path)
        .map(|_| path)
        .map_err(|_| outside())
}

/// A path of a package, from the root.
pub(super) fn full(package: &str, path: &str) -> String {
    if package.is_empty() {
        path.to_owned()
    } else {
        format!("{package}/{path}")
    }
}
