//! What cases write.
#![expect(clippy::expect_used, reason = "names of samples are names")]

use model::{
    CommitId, Lifecycle, ObjectMeta, PackageName, Pairs, RepositoryName, Revision, RevisionNumber,
    TreeId, Variant, WorkspaceName,
};

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
