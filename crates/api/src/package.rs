//! `PorchPackage` (`packages`): a package with its latest revision.

use model::{Namespace, PackageName, RepositoryName, RevisionNumber};
use serde_json::{Map, Value, json};

use crate::fields::put_number;

/// The whole object of a package; its name is the repository's and the dotted path.
pub fn write_package(
    namespace: &Namespace,
    repository: &RepositoryName,
    package: &PackageName,
    latest: RevisionNumber,
) -> Value {
    let mut status = Map::new();
    put_number(&mut status, "latestRevision", latest);
    json!({
        "apiVersion": "porch.kpt.dev/v1alpha1",
        "kind": "PorchPackage",
        "metadata": {
            "name": format!("{repository}.{}", package.as_str().replace('/', ".")),
            "namespace": namespace.as_str(),
        },
        "spec": { "packageName": package.as_str(), "repository": repository.as_str() },
        "status": status,
    })
}
