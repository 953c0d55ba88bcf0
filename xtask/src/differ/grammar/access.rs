//! Who may what: roles, bindings, impersonation, and reviews of access.

use serde_json::{Value, json};

use super::Maker;
use super::things::{CONFIG, GADGET, SITE};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A few grants, then requests by everybody.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    for _ in 0..1 + maker.roll(2) {
        grant(maker);
    }
    // Whoever is asked about here is judged by what a server has seen of the grants.
    for user in ["alice", "bob"] {
        let spec = json!({"user": user, "groups": ["shop-team"], "resourceAttributes": {"namespace": "$N", "verb": "get", "resource": "configmaps", "name": "a"}});
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        maker
            .step("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews")
            .json(body)
            .eventually();
    }
    maker.post(&CONFIG.all(), CONFIG.bare("a"));
    for _ in 0..14 + maker.roll(10) {
        match maker.roll(10) {
            0 | 1 => review(maker),
            2 | 3 => impersonated(maker),
            4 => escalation(maker),
            _ => request(maker, "alice"),
        }
    }
}

fn rules(maker: &mut Maker) -> Value {
    maker.pick(&[
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]),
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "update", "patch"], "resourceNames": ["a"]}]),
        json!([{"apiGroups": ["differ.example.dev"], "resources": ["gadgets/status", "gadgets/scale"], "verbs": ["*"]}]),
        json!([{"apiGroups": ["differ.example.dev"], "resources": ["*"], "verbs": ["create", "get", "watch"]}]),
        json!([{"apiGroups": ["*"], "resources": ["*/status"], "verbs": ["get"]}]),
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"], "resourceNames": ["a"]}]),
        json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["*"]}]),
        json!([{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}]),
        json!([]),
    ])
}

fn grant(maker: &mut Maker) {
    let name = maker.pick(&["r", "s"]);
    let rules = rules(maker);
    maker.post(&format!("{RBAC}/namespaces/$N/roles"), json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}));
    let subject = maker.pick(&[
        json!({"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}),
        json!({"kind": "Group", "name": "shop-team", "apiGroup": "rbac.authorization.k8s.io"}),
        json!({"kind": "ServiceAccount", "name": "robot", "namespace": "$N"}),
    ]);
    maker.post(
        &format!("{RBAC}/namespaces/$N/rolebindings"),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}, "subjects": [subject]}),
    );
}

fn request(maker: &mut Maker, user: &str) {
    let user = if maker.chance(15) {
        maker.pick(&["anonymous", "nobody"])
    } else {
        user
    };
    let kind = maker.pick(&[CONFIG, CONFIG, GADGET, SITE]);
    let sub = maker.pick(&["", "", "", "/status", "/scale"]);
    match maker.roll(10) {
        0 => drop(
            maker
                .step("GET", &format!("{}?labelSelector=seq%3D$N", kind.all()))
                .user(user),
        ),
        1 => drop(
            maker
                .step(
                    "GET",
                    &format!(
                        "{}?fieldSelector=metadata.name%3D{}",
                        kind.all(),
                        kind.named("a")
                    ),
                )
                .user(user),
        ),
        2 => {
            let body = kind.bare("n");
            maker.step("POST", &kind.all()).user(user).json(body);
        }
        3 => drop(maker.step("DELETE", &kind.one("a")).user(user)),
        4 => drop(
            maker
                .step("DELETE", &format!("{}?labelSelector=seq%3D$N", kind.all()))
                .user(user),
        ),
        5 => {
            let step = maker
                .step("PATCH", &format!("{}{sub}", kind.one("a")))
                .user(user);
            step.header("content-type", "application/merge-patch+json")
                .json(json!({"metadata": {"labels": {"x": "y"}}}));
        }
        6 => elsewhere(maker, user),
        7 => drop(maker.step("GET", "/api/v1/namespaces/$N").user(user)),
        8 => {
            let body = kind.bare("a");
            maker
                .step("PUT", &format!("{}{sub}", kind.one("a")))
                .user(user)
                .json(body);
        }
        _ => drop(
            maker
                .step("GET", &format!("{}{sub}", kind.one("a")))
                .user(user),
        ),
    }
}

/// A path that is no resource. What a server tells of itself is its own, so nobody reads there who may.
fn elsewhere(maker: &mut Maker, user: &str) {
    let path = maker.pick(&[
        "/",
        "/api",
        "/apis",
        "/version",
        "/healthz",
        "/metrics",
        "/openapi/v3",
        "/logs",
        "/api/v1",
        "/apis/differ.example.dev/v1",
        "/nosuch",
        "/livez/ping",
    ]);
    let method = maker.pick(&["POST", "DELETE", "PUT"]);
    maker.step(method, path).user(user);
}

fn impersonated(maker: &mut Maker) {
    let heads: Vec<(&str, &str)> = maker.pick(&[
        vec![("impersonate-user", "alice")],
        vec![
            ("impersonate-user", "bob"),
            ("impersonate-group", "shop-team"),
        ],
        vec![("impersonate-group", "shop-team")],
        vec![("impersonate-user", "system:serviceaccount:$N:robot")],
        vec![("impersonate-user", "system:serviceaccount:$N")],
        vec![("impersonate-user", "alice"), ("impersonate-uid", "u1")],
        vec![
            ("impersonate-user", "alice"),
            ("impersonate-extra-scopes", "view"),
        ],
        vec![("impersonate-uid", "u1")],
        vec![("impersonate-user", "system:anonymous")],
        vec![
            ("impersonate-user", "x"),
            ("impersonate-group", "system:masters"),
        ],
        vec![
            ("impersonate-user", "x"),
            ("impersonate-group", "system:unauthenticated"),
        ],
        vec![("impersonate-user", "x"), ("impersonate-extra-a%2fb", "c")],
        vec![("impersonate-user", "")],
    ]);
    let user = if maker.chance(25) { "alice" } else { "admin" };
    let step = match maker.roll(4) {
        0 => maker
            .step("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .json(json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})),
        1 => maker.step("GET", &CONFIG.one("a")),
        2 => maker.step(
            "GET",
            "/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name%3D$N",
        ),
        _ => maker.step("GET", &GADGET.all()),
    };
    let mut step = step.user(user);
    for (name, value) in heads {
        step = step.header(name, value);
    }
}

fn review(maker: &mut Maker) {
    let attributes = maker.pick(&[
        json!({"namespace": "$N", "verb": "get", "resource": "configmaps"}), json!({"namespace": "$N", "verb": "get", "resource": "configmaps", "name": "a"}), json!({"verb": "list", "resource": "sites", "group": "differ.example.dev"}),
        json!({"namespace": "$N", "verb": "update", "resource": "gadgets", "subresource": "status", "group": "differ.example.dev"}), json!({"verb": "*", "resource": "*", "group": "*"}), json!({}), json!({"verb": "odd"}), json!("x"),
    ]);
    let group = "/apis/authorization.k8s.io/v1";
    let review = |kind: &str, spec: Value| json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
    let user = maker.pick(&["alice", "alice", "admin", "anonymous"]);
    let (path, body) = match maker.roll(7) {
        0 | 1 => (format!("{group}/selfsubjectaccessreviews"), review("SelfSubjectAccessReview", json!({"resourceAttributes": attributes}))),
        2 => (format!("{group}/selfsubjectaccessreviews"), review("SelfSubjectAccessReview", maker.pick(&[json!({}), json!({"nonResourceAttributes": {"path": "/version", "verb": "get"}}), json!({"nonResourceAttributes": {"path": "/x", "verb": "get"}, "resourceAttributes": {"verb": "get"}}), Value::Null]))),
        3 => (format!("{group}/subjectaccessreviews"), review("SubjectAccessReview", json!({"user": maker.pick(&["alice", "bob", ""]), "groups": maker.pick(&[json!(["shop-team"]), json!([]), json!(["system:masters"])]), "resourceAttributes": attributes}))),
        4 => (format!("{group}/namespaces/$N/localsubjectaccessreviews"), review("LocalSubjectAccessReview", json!({"user": "alice", "resourceAttributes": attributes}))),
        5 => (format!("{group}/selfsubjectrulesreviews"), review("SelfSubjectRulesReview", json!({"namespace": maker.pick(&["$N", "", "other"])}))),
        _ => ("/apis/authentication.k8s.io/v1/selfsubjectreviews".to_owned(), json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})),
    };
    let user = if path.ends_with("selfsubjectrulesreviews") {
        "alice"
    } else {
        user
    };
    maker.step("POST", &path).user(user).json(body);
}

/// Grants by somebody who may write roles but not give what they do not have.
fn escalation(maker: &mut Maker) {
    let rules = rules(maker);
    let body = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "e"}, "rules": rules});
    match maker.roll(3) {
        0 => drop(
            maker
                .step("POST", &format!("{RBAC}/namespaces/$N/roles?dryRun=All"))
                .user("alice")
                .json(body),
        ),
        1 => {
            let role = maker.pick(&[json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}), json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}), json!({"apiGroup": "", "kind": "Role", "name": "r"}), json!({"kind": "Odd", "name": "", "apiGroup": "odd"})]);
            let subjects = maker.pick(&[
                json!([]),
                json!([{"kind": "User", "name": "bob"}]),
                json!([{"kind": "Odd", "name": "x"}]),
                json!([{"kind": "ServiceAccount", "name": "x"}]),
                json!([{"kind": "User", "name": ""}]),
            ]);
            let body = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "e"}, "roleRef": role, "subjects": subjects});
            let user = maker.pick(&["alice", "admin"]);
            maker
                .step(
                    "POST",
                    &format!("{RBAC}/namespaces/$N/rolebindings?dryRun=All"),
                )
                .user(user)
                .json(body);
        }
        _ => {
            let odd = maker.pick(&[json!([{"verbs": []}]), json!([{"verbs": ["get"]}]), json!([{"verbs": ["get"], "nonResourceURLs": ["/x"]}]), json!([{"verbs": ["get"], "apiGroups": [""]}]), json!("x"), json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["x"], "nonResourceURLs": ["/y"]}])]);
            let kind = maker.pick(&["roles", "clusterroles"]);
            let (path, name) = match kind {
                "roles" => (format!("{RBAC}/namespaces/$N/roles?dryRun=All"), "Role"),
                _ => (format!("{RBAC}/clusterroles?dryRun=All"), "ClusterRole"),
            };
            maker.post(&path, json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": name, "metadata": {"name": "$N-o"}, "rules": odd}));
        }
    }
}
