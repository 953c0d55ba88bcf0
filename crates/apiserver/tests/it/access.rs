//! Who may do what, over HTTP: roles, bindings, what a writer of roles may grant, and what reviews answer.

use apiserver::gateway::User;
use apiserver::{Server, Whose};
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{ask, ask_as, shoe, still};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";

/// A user with groups, as one who came in with credentials.
fn person(name: &str, groups: &[&str]) -> Whose {
    let mut user = User::new(name, groups);
    user.groups.push("system:authenticated".to_owned());
    Whose {
        user,
        agent: "test".to_owned(),
    }
}

async fn as_user(
    server: &Server,
    name: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let whose = Some(person(name, &["team"]));
    let media = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let (code, answer, _) = ask_as(server, method, path, media, body, whose).await;
    (code, answer)
}

fn role(kind: &str, name: &str, rules: &Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {"name": name}, "rules": rules,
    })
}

fn bind(kind: &str, name: &str, role: (&str, &str), user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role.0, "name": role.1},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}],
    })
}

/// Creates as the administrator.
async fn put(server: &Server, path: &str, object: Value) {
    let (code, answer) = ask(server, Method::POST, path, Some(object)).await;
    assert_eq!(code, 201, "{answer}");
}

async fn world() -> Server {
    let server = still(&Memory::new(), Vec::new()).await;
    put(&server, SHOES, shoe("one", 42)).await;
    put(&server, SHOES, shoe("two", 43)).await;
    server
}

/// Gives a user rules in the namespace `default`.
async fn grant(server: &Server, user: &str, rules: &Value) {
    let at = format!("{RBAC}/namespaces/default");
    put(server, &format!("{at}/roles"), role("Role", user, rules)).await;
    let binding = bind("RoleBinding", user, ("Role", user), user);
    put(server, &format!("{at}/rolebindings"), binding).await;
}

#[tokio::test]
async fn a_role_opens_what_it_names_and_nothing_else() {
    let server = world().await;
    let rules = json!([
        {"verbs": ["list", "watch"], "apiGroups": ["test.dev"], "resources": ["shoes"], "resourceNames": ["one"]},
        {"verbs": ["get"], "apiGroups": ["test.dev"], "resources": ["shoes"]},
        {"verbs": ["update"], "apiGroups": ["test.dev"], "resources": ["shoes/status"]},
    ]);
    grant(&server, "ann", &rules).await;
    let one = format!("{SHOES}/one");
    let cases = [
        (Method::GET, one.clone(), 200),
        (
            Method::GET,
            format!("{SHOES}?fieldSelector=metadata.name%3Done"),
            200,
        ),
        (
            Method::GET,
            format!("{SHOES}?fieldSelector=metadata.name%3Dtwo"),
            403,
        ),
        (Method::GET, SHOES.to_owned(), 403),
        (Method::GET, "/apis/test.dev/v1/shoes".to_owned(), 403),
        (
            Method::GET,
            SHOES.replace("default", "kube-system") + "/one",
            403,
        ),
        (Method::DELETE, one.clone(), 403),
        (Method::DELETE, SHOES.to_owned(), 403),
        (
            Method::GET,
            "/api/v1/namespaces/default/secrets".to_owned(),
            403,
        ),
        (Method::GET, "/apis".to_owned(), 200),
        (Method::GET, "/metrics".to_owned(), 403),
    ];
    for (method, path, wanted) in cases {
        let (code, answer) = as_user(&server, "ann", method.clone(), &path, None).await;
        assert_eq!(code, wanted, "{method} {path}: {answer}");
    }
    let (_, mut body) = ask(&server, Method::GET, &one, None).await;
    body["status"] = json!({"worn": true});
    let status = format!("{one}/status");
    let (code, answer) = as_user(&server, "ann", Method::PUT, &status, Some(body.clone())).await;
    assert_eq!(code, 200, "{answer}");
    let (code, answer) = as_user(&server, "ann", Method::PUT, &one, Some(body)).await;
    assert_eq!(
        (code, answer["message"].as_str()),
        (
            403,
            Some(
                "shoes.test.dev \"one\" is forbidden: User \"ann\" cannot update resource \"shoes\" in API group \
                 \"test.dev\" in the namespace \"default\""
            )
        )
    );
}

#[tokio::test]
async fn what_is_taken_away_is_gone_with_the_answer() {
    let server = world().await;
    let rules = json!([{"verbs": ["*"], "apiGroups": ["test.dev"], "resources": ["*"]}]);
    grant(&server, "ann", &rules).await;
    let binding = format!("{RBAC}/namespaces/default/rolebindings/ann");
    for round in 0..3 {
        let (code, _) = as_user(&server, "ann", Method::GET, SHOES, None).await;
        assert_eq!(code, 200, "round {round}");
        let (code, _) = ask(&server, Method::DELETE, &binding, None).await;
        assert_eq!(code, 200);
        let (code, _) = as_user(&server, "ann", Method::GET, SHOES, None).await;
        assert_eq!(code, 403, "round {round}");
        // Also where the events of the change are forgotten already.
        if round == 1 {
            server.handle().compact();
        }
        let again = bind("RoleBinding", "ann", ("Role", "ann"), "ann");
        let at = format!("{RBAC}/namespaces/default/rolebindings");
        put(&server, &at, again).await;
    }
    let (code, _) = ask(
        &server,
        Method::DELETE,
        &format!("{RBAC}/namespaces/default/roles/ann"),
        None,
    )
    .await;
    assert_eq!(code, 200);
    let (code, answer) = as_user(&server, "ann", Method::GET, SHOES, None).await;
    let told = answer["message"].as_str().unwrap();
    assert_eq!(code, 403);
    assert!(
        told.ends_with(": RBAC: role.rbac.authorization.k8s.io \"ann\" not found"),
        "{told}"
    );
}

#[tokio::test]
async fn nobody_grants_what_they_do_not_hold() {
    let server = world().await;
    let rules = json!([
        {"verbs": ["create", "update", "patch", "get"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"]},
        {"verbs": ["get", "list"], "apiGroups": ["test.dev"], "resources": ["shoes"]},
    ]);
    grant(&server, "ann", &rules).await;
    let at = format!("{RBAC}/namespaces/default");
    let (roles, bindings) = (format!("{at}/roles"), format!("{at}/rolebindings"));
    let held = json!([{"verbs": ["get"], "apiGroups": ["test.dev"], "resources": ["shoes"]}]);
    let more = json!([{"verbs": ["get", "delete"], "apiGroups": ["test.dev"], "resources": ["shoes", "hats"]}]);
    let send = |method: Method, path: String, body: Value| {
        let server = &server;
        async move { as_user(server, "ann", method, &path, Some(body)).await }
    };
    let (code, answer) = send(Method::POST, roles.clone(), role("Role", "less", &held)).await;
    assert_eq!(code, 201, "{answer}");
    let (code, answer) = send(Method::POST, roles.clone(), role("Role", "more", &more)).await;
    assert_eq!(
        (code, answer["message"].as_str()),
        (
            403,
            Some(
                "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"ann\" (groups=[\"team\" \
                 \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
                 {APIGroups:[\"test.dev\"], Resources:[\"hats\"], Verbs:[\"get\" \"delete\"]}\n\
                 {APIGroups:[\"test.dev\"], Resources:[\"shoes\"], Verbs:[\"delete\"]}"
            )
        )
    );
    // Nor by a patch, nor in a dry run; what does not touch the rules is no grant.
    let less = format!("{roles}/less");
    let (code, _) = send(Method::PATCH, less.clone(), json!({"rules": more})).await;
    assert_eq!(code, 403);
    let dry = format!("{less}?dryRun=All");
    let (code, _) = send(Method::PATCH, dry, json!({"rules": more})).await;
    assert_eq!(code, 403);
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let (code, answer) = send(Method::PATCH, format!("{roles}/ann"), labels).await;
    assert_eq!(code, 200, "{answer}");
    // A binding grants what its role allows.
    let (code, _) = send(
        Method::POST,
        bindings.clone(),
        bind("RoleBinding", "l", ("Role", "less"), "bob"),
    )
    .await;
    assert_eq!(code, 201);
    let all = bind("RoleBinding", "a", ("ClusterRole", "cluster-admin"), "bob");
    let (code, answer) = send(Method::POST, bindings.clone(), all.clone()).await;
    let told = answer["message"].as_str().unwrap();
    assert_eq!(code, 403);
    assert!(
        told.contains("{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"),
        "{told}"
    );
    let none = bind("RoleBinding", "n", ("Role", "none"), "bob");
    let (code, answer) = send(Method::POST, bindings.clone(), none).await;
    assert_eq!((code, &answer["details"]["kind"]), (404, &json!("roles")));
    // Whoever may bind a role need not hold it.
    let bindable = json!([{
        "verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
        "resourceNames": ["cluster-admin"],
    }]);
    put(&server, &roles, role("Role", "binder", &bindable)).await;
    put(
        &server,
        &bindings,
        bind("RoleBinding", "binder", ("Role", "binder"), "ann"),
    )
    .await;
    let (code, answer) = send(Method::POST, bindings, all).await;
    assert_eq!(code, 201, "{answer}");
}

/// A few kilobytes stand for millions of rights: what is not held is found without writing them out, and told in part.
#[tokio::test]
async fn a_role_of_many_combinations_is_judged_by_what_is_written() {
    let server = world().await;
    let rules = json!([
        {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"]},
    ]);
    grant(&server, "ann", &rules).await;
    let many = |prefix: &str| (0..250).map(|n| format!("{prefix}{n}")).collect::<Value>();
    let cube = json!([{"verbs": many("v"), "apiGroups": many("g"), "resources": many("r")}]);
    let at = format!("{RBAC}/namespaces/default");
    let (roles, bindings) = (format!("{at}/roles"), format!("{at}/rolebindings"));
    put(&server, &roles, role("Role", "cube", &cube)).await;
    for (path, body) in [
        (&roles, role("Role", "mine", &cube)),
        (&bindings, bind("RoleBinding", "b", ("Role", "cube"), "bob")),
    ] {
        let (code, answer) = as_user(&server, "ann", Method::POST, path, Some(body)).await;
        let told = answer["message"].as_str().unwrap();
        assert_eq!(code, 403, "{answer}");
        assert!(told.contains("{APIGroups:[\"g0\"], Resources:[\"r0\"], Verbs:[\"v0\" \"v1\""));
        assert!(
            told.ends_with("\nand more") && told.len() < 128 << 10,
            "{}",
            told.len()
        );
    }
}

/// A label may make others gather the rules of a role: whoever may change roles grants no more by it than by rules.
#[tokio::test]
async fn a_label_of_a_role_is_a_grant() {
    let server = world().await;
    let patches = json!([{
        "verbs": ["get", "patch"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"],
    }]);
    let at = format!("{RBAC}/clusterroles");
    put(&server, &at, role("ClusterRole", "patcher", &patches)).await;
    put(
        &server,
        &format!("{RBAC}/clusterrolebindings"),
        bind(
            "ClusterRoleBinding",
            "patcher",
            ("ClusterRole", "patcher"),
            "eve",
        ),
    )
    .await;
    let change = |metadata: Value, of: &str| {
        let (server, path) = (&server, format!("{at}/{of}"));
        let body = json!({ "metadata": metadata });
        async move { as_user(server, "eve", Method::PATCH, &path, Some(body)).await }
    };
    let gathered = json!({"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}});
    for metadata in [&gathered, &json!({"annotations": {"a": "b"}})] {
        let (code, answer) = change(metadata.clone(), "cluster-admin").await;
        let told = answer["message"].as_str().unwrap_or_default();
        assert_eq!(code, 403, "{answer}");
        assert!(
            told.contains("attempting to grant RBAC permissions"),
            "{told}"
        );
    }
    // What holds an object is the collector's, and what one holds oneself one may pass on.
    let (code, answer) = change(json!({"finalizers": ["a.dev/b"]}), "cluster-admin").await;
    assert_eq!(code, 200, "{answer}");
    let (code, answer) = change(gathered, "patcher").await;
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test]
async fn roles_gather_others_by_label() {
    let server = world().await;
    put(
        &server,
        &format!("{RBAC}/namespaces/default/rolebindings"),
        bind("RoleBinding", "ann", ("ClusterRole", "view"), "ann"),
    )
    .await;
    let (code, _) = as_user(&server, "ann", Method::GET, SHOES, None).await;
    assert_eq!(code, 403);
    let mut shoes = role(
        "ClusterRole",
        "shoes",
        &json!([{"verbs": ["get", "list"], "apiGroups": ["test.dev"], "resources": ["shoes"]}]),
    );
    shoes["metadata"]["labels"] = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    put(&server, &format!("{RBAC}/clusterroles"), shoes).await;
    server.handle().settle().await.unwrap();
    let (code, _) = as_user(&server, "ann", Method::GET, SHOES, None).await;
    assert_eq!(code, 200);
    // `admin` gathers `edit`, which gathers `view`.
    let (_, admin) = ask(
        &server,
        Method::GET,
        &format!("{RBAC}/clusterroles/admin"),
        None,
    )
    .await;
    let rules = admin["rules"].as_array().unwrap();
    assert!(
        rules.iter().any(|r| r["apiGroups"] == json!(["test.dev"])),
        "{admin}"
    );
    let (code, _) = ask(
        &server,
        Method::DELETE,
        &format!("{RBAC}/clusterroles/shoes"),
        None,
    )
    .await;
    assert_eq!(code, 200);
    server.handle().settle().await.unwrap();
    let (code, _) = as_user(&server, "ann", Method::GET, SHOES, None).await;
    assert_eq!(code, 403);
    // Secrets are for those who edit.
    let (code, _) = as_user(
        &server,
        "ann",
        Method::GET,
        "/api/v1/namespaces/default/configmaps",
        None,
    )
    .await;
    assert_eq!(code, 200);
    let (code, _) = as_user(
        &server,
        "ann",
        Method::GET,
        "/api/v1/namespaces/default/secrets",
        None,
    )
    .await;
    assert_eq!(code, 403);
}

#[tokio::test]
async fn reviews_answer_as_requests_are_decided() {
    let server = world().await;
    let rules = json!([{"verbs": ["get"], "apiGroups": ["test.dev"], "resources": ["shoes"]}]);
    grant(&server, "ann", &rules).await;
    let asks = |verb: &str| json!({"verb": verb, "group": "test.dev", "resource": "shoes", "namespace": "default"});
    let at = "/apis/authorization.k8s.io/v1";
    let own = |verb: &str| json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asks(verb)}});
    let path = format!("{at}/selfsubjectaccessreviews");
    let (_, yes) = as_user(&server, "ann", Method::POST, &path, Some(own("get"))).await;
    assert_eq!(
        yes["status"],
        json!({"allowed": true, "reason": "RBAC: allowed by RoleBinding \"ann/default\" of Role \"ann\" to User \"ann\""})
    );
    let (_, no) = as_user(&server, "ann", Method::POST, &path, Some(own("list"))).await;
    assert_eq!(no["status"], json!({"allowed": false}));
    // About others only who may ask.
    let local = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "spec": {"user": "ann", "resourceAttributes": asks("get")}});
    let path = format!("{at}/namespaces/default/localsubjectaccessreviews");
    let (code, _) = as_user(&server, "ann", Method::POST, &path, Some(local.clone())).await;
    assert_eq!(code, 403);
    let (code, answer) = ask(&server, Method::POST, &path, Some(local.clone())).await;
    assert_eq!(
        (code, &answer["status"]["allowed"]),
        (201, &json!(true)),
        "{answer}"
    );
    let elsewhere = format!("{at}/namespaces/kube-system/localsubjectaccessreviews");
    let (code, _) = ask(&server, Method::POST, &elsewhere, Some(local)).await;
    assert_eq!(code, 422);
    let rules = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}});
    let path = format!("{at}/selfsubjectrulesreviews");
    let (_, answer) = as_user(&server, "ann", Method::POST, &path, Some(rules)).await;
    let listed = answer["status"]["resourceRules"].as_array().unwrap();
    let own = json!({"verbs": ["get"], "apiGroups": ["test.dev"], "resources": ["shoes"]});
    assert!(listed.contains(&own), "{answer}");
    assert!(
        !listed.iter().any(|r| r["verbs"] == json!(["*"])),
        "{answer}"
    );
}

#[tokio::test]
async fn a_namespace_is_opened_from_within() {
    let server = world().await;
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]}]);
    grant(&server, "ann", &rules).await;
    let (code, _) = as_user(
        &server,
        "ann",
        Method::GET,
        "/api/v1/namespaces/default",
        None,
    )
    .await;
    assert_eq!(code, 200);
    let other = "/api/v1/namespaces/kube-system";
    let (code, answer) = as_user(&server, "ann", Method::GET, other, None).await;
    assert_eq!(
        (code, answer["message"].as_str()),
        (
            403,
            Some(
                "namespaces \"kube-system\" is forbidden: User \"ann\" cannot get resource \"namespaces\" in API group \
                 \"\" in the namespace \"kube-system\""
            )
        )
    );
}
