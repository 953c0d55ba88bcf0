//! What the default roles `view`, `edit` and `admin` may do with packages.
//!
//! Whoever edits makes drafts and proposes them; approving, and registering repositories (which name Secrets),
//! is for those who administer a namespace.

use serde_json::{Value, json};

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// The cluster roles that the default ones gather.
pub(crate) fn roles() -> Vec<Value> {
    let role = |to: &str, rules: Value| {
        let mut labels = serde_json::Map::new();
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{to}");
        labels.insert(label, "true".into());
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {
                "name": format!("offshoot:aggregate-to-{to}"), "labels": labels,
                "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
            },
            "rules": rules,
        })
    };
    let packages = api::PACKAGE_GROUP;
    let config = "config.porch.kpt.dev";
    vec![
        role(
            "view",
            json!([
                {"verbs": READ, "apiGroups": [packages], "resources": ["packagerevisionresources", "packagerevisions", "packagerevisions/approval", "packages"]},
                {"verbs": READ, "apiGroups": [config], "resources": ["packagerevisionsets", "packagevariants", "packagevariantsets", "repositories"]},
                {"verbs": ["get"], "apiGroups": ["fleet.offshoot.dev"], "resources": ["explanations"]},
                // Each thing that it supposes must be allowed besides, and it shows what may be listed alone.
                {"verbs": ["create"], "apiGroups": [api::FLEET_GROUP], "resources": ["plans"]},
            ]),
        ),
        role(
            "edit",
            json!([
                {"verbs": WRITE, "apiGroups": [packages], "resources": ["packagerevisionresources", "packagerevisions", "packages"]},
                {"verbs": WRITE, "apiGroups": [config], "resources": ["packagerevisionsets", "packagevariants", "packagevariantsets"]},
                // What it asks for is allowed change by change.
                {"verbs": ["create"], "apiGroups": [api::FLEET_GROUP], "resources": ["bulkchanges"]},
            ]),
        ),
        role(
            "admin",
            json!([
                {"verbs": ["patch", "update"], "apiGroups": [packages], "resources": ["packagerevisions/approval"]},
                {"verbs": WRITE, "apiGroups": [config], "resources": ["repositories"]},
            ]),
        ),
    ]
}
