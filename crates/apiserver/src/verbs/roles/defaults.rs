//! The roles and bindings that every server starts with: the real server's, cut down to what is served here.
//!
//! `admin`, `edit` and `view` are aggregated by label, so whoever embeds the server adds rules for its own kinds
//! with cluster roles of its own.

use serde_json::{Map, Value, json};

const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];
const READ: [&str; 3] = ["get", "list", "watch"];

/// The label by which a cluster role is added to `admin`, `edit` or `view`.
fn aggregate_to(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

fn metadata(name: &str, into: Option<&str>) -> Value {
    let mut labels = Map::new();
    labels.insert(
        "kubernetes.io/bootstrapping".to_owned(),
        "rbac-defaults".into(),
    );
    if let Some(role) = into {
        labels.insert(aggregate_to(role), "true".into());
    }
    json!({
        "name": name, "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    })
}

/// A cluster role with rules; `into` names the role that it is added to.
fn role(name: &str, into: Option<&str>, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": metadata(name, into), "rules": rules,
    })
}

/// A cluster role that others are added to.
fn gathered(name: &str, into: Option<&str>) -> Value {
    let mut selected = Map::new();
    selected.insert(aggregate_to(name), "true".into());
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": metadata(name, into),
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": selected}]},
    })
}

/// A binding of a cluster role of the same name to groups.
fn bound(name: &str, groups: &[&str]) -> Value {
    let group =
        |g: &&str| json!({"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": g});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": metadata(name, None),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": groups.iter().map(group).collect::<Value>(),
    })
}

/// The cluster roles.
pub(super) fn roles() -> Vec<Value> {
    let rbac = "rbac.authorization.k8s.io";
    let all: Vec<&str> = WRITE.into_iter().chain(READ).collect();
    vec![
        role(
            "cluster-admin",
            None,
            &json!([
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["*"], "nonResourceURLs": ["*"]},
            ]),
        ),
        gathered("admin", None),
        gathered("edit", Some("admin")),
        gathered("view", Some("edit")),
        role(
            "system:aggregate-to-admin",
            Some("admin"),
            &json!([
                {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["localsubjectaccessreviews"]},
                {"verbs": all, "apiGroups": [rbac], "resources": ["rolebindings", "roles"]},
            ]),
        ),
        role(
            "system:aggregate-to-edit",
            Some("edit"),
            &json!([
                {"verbs": READ, "apiGroups": [""], "resources": ["secrets"]},
                {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]},
                {"verbs": WRITE, "apiGroups": [""], "resources": ["configmaps", "events", "secrets", "serviceaccounts"]},
                {"verbs": ["create"], "apiGroups": [""], "resources": ["serviceaccounts/token"]},
                {"verbs": all, "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]},
            ]),
        ),
        role(
            "system:aggregate-to-view",
            Some("view"),
            &json!([
                {"verbs": READ, "apiGroups": [""], "resources": ["configmaps", "serviceaccounts"]},
                {"verbs": READ, "apiGroups": [""], "resources": ["events", "namespaces"]},
            ]),
        ),
        role(
            "system:basic-user",
            None,
            &json!([
                {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]},
                {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
            ]),
        ),
        role(
            "system:discovery",
            None,
            &json!([{"verbs": ["get"], "nonResourceURLs": [
                "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
                "/version", "/version/",
            ]}]),
        ),
        role(
            "system:monitoring",
            None,
            &json!([{"verbs": ["get"], "nonResourceURLs": [
                "/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/readyz", "/readyz/*",
            ]}]),
        ),
        role(
            "system:public-info-viewer",
            None,
            &json!([{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"]}]),
        ),
    ]
}

/// The bindings of cluster roles.
pub(super) fn bindings() -> Vec<Value> {
    vec![
        bound("cluster-admin", &["system:masters"]),
        bound("system:basic-user", &["system:authenticated"]),
        bound("system:discovery", &["system:authenticated"]),
        bound("system:monitoring", &["system:monitoring"]),
        bound(
            "system:public-info-viewer",
            &["system:authenticated", "system:unauthenticated"],
        ),
    ]
}
