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

#[cfg(test)]
mod tests {
    use super::*;

    /// `BLESS=1` writes it anew.
    #[test]
    fn a_cluster_gives_its_default_roles_the_same() {
        let mut rules = serde_json::Map::new();
        for role in roles() {
            let name = role["metadata"]["name"].as_str().unwrap();
            let to = name.rsplit('-').next().unwrap();
            rules.insert(to.to_owned(), role["rules"].clone());
        }
        let wanted = serde_json::to_string_pretty(&Value::Object(rules)).unwrap() + "\n";
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../deploy/chart/files/roles.json"
        );
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), wanted);
    }
}
