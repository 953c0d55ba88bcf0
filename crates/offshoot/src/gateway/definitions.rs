//! What the server is told of the package group's resources.

use objects::Resource;
use serde_json::Value;

use crate::exit::ExitFailure;

/// What a request with a package's files may have: JSON writes a line's end, a quote and a backslash with two letters,
/// and names, labels and paths come besides (A11).
fn body(package_bytes: u64) -> usize {
    let package = usize::try_from(package_bytes).unwrap_or(usize::MAX);
    package.saturating_mul(2).saturating_add(1 << 20)
}

/// The labels of a package, by which its revisions are selected as in Porch: `spec.packageMetadata.labels[KEY]=VALUE`.
const LABELS: &str = "spec.packageMetadata.labels";

/// Package revisions write through to the engine; their files and packages are read through it,
/// too.
///
/// # Errors
/// Never for the definitions of this build; a test builds them.
pub(crate) fn definitions(package_bytes: u64) -> Result<Vec<Resource>, ExitFailure> {
    let served =
        api::served().map_err(|e| ExitFailure::of("read the package group's definitions", &e))?;
    let one = |text: &Value| definition(text, package_bytes);
    served.iter().map(one).collect()
}

fn definition(text: &Value, package_bytes: u64) -> Result<Resource, ExitFailure> {
    let resource = Resource::from_crd(text).map_err(|e| {
        ExitFailure::new(format!("a definition of the package group is wrong: {e}"))
    })?;
    Ok(match resource.plural.as_str() {
        "packagerevisions" => resource
            .write_through()
            .with_subresource("approval", "PackageRevision", &["get", "patch", "update"])
            .with_selectable_map(LABELS),
        "packagerevisionresources" => resource
            .virtual_with(&["get", "list", "patch", "update"])
            .with_selectable_map(LABELS)
            .with_body_limit(body(package_bytes)),
        "bulkchanges" => resource.virtual_with(&["create"]),
        "plans" => resource
            .virtual_with(&["create"])
            .with_body_limit(body(package_bytes)),
        "explanations" => resource.virtual_with(&["get"]),
        _ => resource.virtual_with(&["get", "list"]),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn they_can_be_built() {
        assert_eq!(super::definitions(1 << 20).unwrap().len(), 6);
    }
}
