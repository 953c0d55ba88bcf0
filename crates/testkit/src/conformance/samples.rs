//! What cases write.
#![expect(clippy::expect_used, reason = "names of samples are names")]

use model::{
    CommitId, Lifecycle, ObjectKey, ObjectMeta, PackageName, Pairs, RepositoryName, Revision,
    RevisionNumber, TreeId, Variant, WorkspaceName,
};

use serde_json::{Value, json};

use crate::sim::fixtures;
use crate::twin::key;

/// A variant.
pub(super) fn variant(namespace: &str) -> Variant {
    let mut variant = fixtures::variant("web", "edge", "eu");
    variant.key = key(namespace, "web");
    variant
}

/// A draft with a label and an annotation.
pub(super) fn revision(namespace: &str) -> Revision {
    let pair = |key: &str, value: &str| Pairs::from_iter([(key.to_owned(), value.to_owned())]);
    Revision {
        key: key(namespace, "edge.web.v1"),
        meta: ObjectMeta {
            labels: pair("state", "new"),
            annotations: pair("example.com/note", "kept"),
            ..ObjectMeta::default()
        },
        repository: RepositoryName::parse("edge").expect("a name"),
        package: PackageName::parse("web").expect("a name"),
        workspace: WorkspaceName::parse("v1").expect("a name"),
        revision: RevisionNumber::NONE,
        lifecycle: Lifecycle::Draft,
        tasks: Vec::new(),
        readiness_gates: Vec::new(),
        package_labels: pair("team", "web"),
        package_annotations: Pairs::new(),
        resolved_conflicts: Vec::new(),
        upstream_lock: None,
        self_lock: None,
        conditions: Vec::new(),
        deployment: false,
        published_by: String::new(),
        published_at: String::new(),
        conflicts: Vec::new(),
        render_status: None,
        commit: CommitId::parse("0123456789012345678901234567890123456789").expect("a commit"),
        tree: TreeId::parse("9876543210987654321098765432109876543210").expect("a tree"),
        machine: None,
        noted_digest: None,
        placeholder: false,
        content_version: String::new(),
    }
}

/// A set as people write it.
pub(super) fn set(key: &ObjectKey) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2",
        "kind": "PackageVariantSet",
        "metadata": { "namespace": key.namespace.as_str(), "name": key.name.as_str() },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "app", "revision": 1 },
            "targets": [{ "repositories": [{ "name": "edge" }] }],
        },
    })
}

/// A repository as people write it.
pub(super) fn repository(key: &ObjectKey) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "Repository",
        "metadata": { "namespace": key.namespace.as_str(), "name": key.name.as_str() },
        "spec": {
            "type": "git",
            "git": { "repo": "https://git.example.com/web.git", "branch": "main", "directory": "/" },
        },
    })
}
