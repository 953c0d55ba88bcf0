//! Credentials: certificates over real TLS, tokens of service accounts, impersonation, and what is refused.

use apiserver::authn::Peer;
use apiserver::gateway::User;
use apiserver::{Server, Whose};
use axum::body::Body;
use base64::Engine as _;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use objectstore::Memory;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::world::{TOKEN, ask, ask_as, listening, still};

const SELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// Sends a request with headers, and a certificate if there is one.
async fn send(
    server: &Server,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    peer: Option<Peer>,
    body: Option<Value>,
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(peer) = peer {
        request = request.extension(peer);
    }
    let body = body.map_or_else(Body::empty, |b| Body::from(b.to_string()));
    let answer = server
        .router("127.0.0.1:0")
        .oneshot(request.body(body).expect("request"))
        .await
        .expect("infallible");
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("body").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// Asks who one is; answers the status and the user.
async fn who(server: &Server, headers: &[(&str, &str)], peer: Option<Peer>) -> (u16, Value) {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let (code, answer) = send(server, Method::POST, SELF, headers, peer, Some(review)).await;
    let user = answer.pointer("/status/userInfo").cloned();
    (code, user.unwrap_or_default())
}

fn judged(server: &Server, certificate: &str) -> Peer {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM");
    server.certificates().judge(&[der]).expect("a certificate")
}

async fn token(server: &Server, account: &str, spec: Value) -> (u16, Value) {
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    let path = format!("{ACCOUNTS}/{account}/token");
    ask(server, Method::POST, &path, Some(request)).await
}

fn account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
}

fn encode(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_a_user_over_tls() {
    let (server, running) = listening(None).await;
    let issued = server
        .issue("carol", &["system:masters".to_owned()], 1)
        .expect("issue");
    let stranger = listening(None).await.0;
    let foreign = stranger
        .issue("mallory", &["system:masters".to_owned()], 1)
        .expect("issue");
    for (issued, accepted) in [(issued, true), (foreign, false)] {
        let text = running.kubeconfig("t", TOKEN).replace(
            &format!("token: {TOKEN}"),
            &format!(
                "client-certificate-data: {}\n    client-key-data: {}",
                encode(&issued.certificate),
                encode(&issued.key)
            ),
        );
        let config = Kubeconfig::from_yaml(&text).expect("kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .expect("config");
        let client = kube::Client::try_from(config).expect("client");
        let request = Request::get("/api/v1/namespaces").body(Vec::new());
        let answer = client.request::<Value>(request.expect("request")).await;
        match answer {
            Ok(list) => assert!(accepted && list["kind"] == "NamespaceList", "{list}"),
            Err(kube::Error::Api(status)) => {
                assert_eq!((accepted, status.code), (false, 401), "{status:?}");
            }
            Err(other) => panic!("the connection holds whatever the certificate: {other}"),
        }
    }
    running.stop().await;
}

#[tokio::test]
async fn certificates_name_user_and_groups() {
    let server = Server::builder().build().await.expect("build");
    let groups = ["blue".to_owned()];
    let issued = server.issue("dora", &groups, 1).expect("issue");
    let peer = judged(&server, &issued.certificate);
    let (code, user) = who(&server, &[], Some(peer.clone())).await;
    assert_eq!(code, 201);
    assert_eq!(user["username"], "dora");
    assert_eq!(user["groups"], json!(["blue", "system:authenticated"]));
    let id = &user["extra"]["authentication.kubernetes.io/credential-id"][0];
    assert!(id.as_str().unwrap().starts_with("X509SHA256="), "{user}");
    // The server's own certificate, one of another authority, one without a name.
    let other = Server::builder().build().await.expect("build");
    let foreign = other.issue("dora", &groups, 1).expect("issue");
    let nameless = server.issue("", &groups, 1).expect("issue");
    for certificate in [foreign.certificate, nameless.certificate] {
        let peer = judged(&server, &certificate);
        let (code, _) = who(&server, &[], Some(peer)).await;
        assert_eq!(code, 401);
    }
}

#[tokio::test]
async fn a_token_is_an_account_for_an_audience_and_a_time() {
    let server = Server::builder().build().await.expect("build");
    let (code, made) = ask(&server, Method::POST, ACCOUNTS, Some(account("robot"))).await;
    assert_eq!(code, 201, "{made}");
    let (code, answer) = token(&server, "robot", json!({})).await;
    assert_eq!(code, 201, "{answer}");
    assert_eq!(answer["spec"]["expirationSeconds"], 3600);
    let bearer = format!("Bearer {}", answer["status"]["token"].as_str().unwrap());
    let (code, user) = who(&server, &[("authorization", &bearer)], None).await;
    assert_eq!(code, 201);
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    assert_eq!(
        user["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    assert_eq!(user["uid"], made["metadata"]["uid"]);
    let id = &user["extra"]["authentication.kubernetes.io/credential-id"][0];
    assert!(id.as_str().unwrap().starts_with("JTI="), "{user}");
    // Nothing of the token may be changed.
    let mut parts: Vec<String> = bearer.split('.').map(str::to_owned).collect();
    let last = parts.pop().unwrap();
    let flipped = if last.starts_with('A') { "B" } else { "A" };
    let forged = format!("{}.{flipped}{}", parts.join("."), &last[1..]);
    let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let unsigned = format!("Bearer {header}.{}.", parts[1]);
    let other = token(&server, "robot", json!({"audiences": ["vault"]}))
        .await
        .1;
    let elsewhere = format!("Bearer {}", other["status"]["token"].as_str().unwrap());
    for bad in [
        forged,
        unsigned,
        elsewhere,
        "Bearer ".to_owned(),
        "Basic YTpi".to_owned(),
    ] {
        let (code, _) = who(&server, &[("authorization", &bad)], None).await;
        assert_eq!(code, 401, "{bad}");
    }
    // For another audience it is one when asked for it.
    let review = |token: &str, audiences: Value| {
        json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token, "audiences": audiences},
        })
    };
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let vault = other["status"]["token"].as_str().unwrap();
    for (audiences, accepted) in [(json!(["vault"]), true), (json!([]), false)] {
        let asked = review(vault, audiences);
        let (_, answer) = ask(&server, Method::POST, path, Some(asked)).await;
        assert_eq!(
            answer["status"]["authenticated"] == true,
            accepted,
            "{answer}"
        );
    }
    // The account made again is another one.
    let (code, _) = ask(&server, Method::DELETE, &format!("{ACCOUNTS}/robot"), None).await;
    assert_eq!(code, 200);
    ask(&server, Method::POST, ACCOUNTS, Some(account("robot"))).await;
    let (code, _) = who(&server, &[("authorization", &bearer)], None).await;
    assert_eq!(code, 401);
}

#[tokio::test]
async fn tokens_are_asked_for_within_limits() {
    let server = Server::builder().build().await.expect("build");
    ask(&server, Method::POST, ACCOUNTS, Some(account("robot"))).await;
    let seconds = |n: i64| json!({"expirationSeconds": n});
    for (spec, wanted) in [
        (seconds(600), 201),
        (seconds(599), 422),
        (seconds(1 << 32), 201),
        (seconds((1 << 32) + 1), 422),
        (
            json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "none"}}),
            404,
        ),
        (
            json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}),
            400,
        ),
        (json!({"audiences": "one"}), 400),
    ] {
        let (code, answer) = token(&server, "robot", spec.clone()).await;
        assert_eq!(code, wanted, "{spec}: {answer}");
    }
    let (code, _) = token(&server, "nobody", json!({})).await;
    assert_eq!(code, 404);
    // With the Secret that it is bound to, a token ends.
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    ask(&server, Method::POST, secrets, Some(secret)).await;
    let bound = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "s"}});
    let (_, answer) = token(&server, "robot", bound).await;
    let bearer = format!("Bearer {}", answer["status"]["token"].as_str().unwrap());
    assert_eq!(
        who(&server, &[("authorization", &bearer)], None).await.0,
        201
    );
    ask(&server, Method::DELETE, &format!("{secrets}/s"), None).await;
    assert_eq!(
        who(&server, &[("authorization", &bearer)], None).await.0,
        401
    );
}

#[tokio::test]
async fn every_namespace_has_its_account() {
    let server = still(&Memory::new(), Vec::new()).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}});
    ask(&server, Method::POST, "/api/v1/namespaces", Some(namespace)).await;
    server.handle().settle().await.unwrap();
    let path = "/api/v1/namespaces/new/serviceaccounts/default";
    let (code, first) = ask(&server, Method::GET, path, None).await;
    assert_eq!(code, 200);
    assert_eq!(
        ask(&server, Method::GET, &format!("{ACCOUNTS}/default"), None)
            .await
            .0,
        200
    );
    ask(&server, Method::DELETE, path, None).await;
    server.handle().settle().await.unwrap();
    let (code, again) = ask(&server, Method::GET, path, None).await;
    assert_eq!(code, 200);
    assert_ne!(first["metadata"]["uid"], again["metadata"]["uid"]);
    // It holds no namespace back.
    ask(&server, Method::DELETE, "/api/v1/namespaces/new", None).await;
    server.handle().settle().await.unwrap();
    assert_eq!(ask(&server, Method::GET, path, None).await.0, 404);
    assert_eq!(
        ask(&server, Method::GET, "/api/v1/namespaces/new", None)
            .await
            .0,
        404
    );
}

#[expect(clippy::too_many_lines, reason = "one case after the other")]
#[tokio::test]
async fn asking_for_others_is_allowed_part_by_part() {
    let server = Server::builder()
        .token(TOKEN, User::new("admin", &["system:masters"]))
        .token("ann", User::new("ann", &[]))
        .build()
        .await
        .expect("build");
    let admin = format!("Bearer {TOKEN}");
    let (code, user) = who(
        &server,
        &[
            ("authorization", &admin),
            ("impersonate-user", "bob"),
            ("impersonate-group", "blue"),
            ("impersonate-group", "green"),
            ("impersonate-uid", "u-1"),
            ("impersonate-extra-scopes", "read"),
            ("impersonate-extra-a%2fb", "c"),
        ],
        None,
    )
    .await;
    assert_eq!(code, 201);
    assert_eq!(
        user,
        json!({
            "username": "bob", "uid": "u-1", "groups": ["blue", "green", "system:authenticated"],
            "extra": {"scopes": ["read"], "a/b": ["c"]},
        })
    );
    let (_, user) = who(
        &server,
        &[
            ("authorization", &admin),
            ("impersonate-user", "system:serviceaccount:default:robot"),
        ],
        None,
    )
    .await;
    assert_eq!(
        user["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated"
        ])
    );
    // Rights for one user are none for another, nor for groups.
    let rules = json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "as-bob"}, "rules": rules});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "as-bob"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "as-bob"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    ask(
        &server,
        Method::POST,
        &format!("{rbac}/clusterroles"),
        Some(role),
    )
    .await;
    ask(
        &server,
        Method::POST,
        &format!("{rbac}/clusterrolebindings"),
        Some(binding),
    )
    .await;
    let ann = ("authorization", "Bearer ann");
    for (headers, wanted) in [
        (vec![ann, ("impersonate-user", "bob")], 201),
        (vec![ann, ("impersonate-user", "admin")], 403),
        (
            vec![
                ann,
                ("impersonate-user", "bob"),
                ("impersonate-group", "system:masters"),
            ],
            403,
        ),
        (
            vec![ann, ("impersonate-user", "bob"), ("impersonate-uid", "1")],
            403,
        ),
        (
            vec![
                ann,
                ("impersonate-user", "bob"),
                ("impersonate-extra-a", "b"),
            ],
            403,
        ),
        (
            vec![
                ann,
                ("impersonate-user", "system:serviceaccount:default:robot"),
            ],
            403,
        ),
        (vec![ann, ("impersonate-group", "system:masters")], 500),
    ] {
        let (code, answer) = who(&server, &headers, None).await;
        assert_eq!(code, wanted, "{headers:?}: {answer}");
    }
    let (_, answer) = send(
        &server,
        Method::GET,
        "/apis",
        &[
            ann,
            ("impersonate-user", "bob"),
            ("impersonate-extra-a", "b"),
        ],
        None,
        None,
    )
    .await;
    assert_eq!(
        answer["message"],
        "userextras.authentication.k8s.io \"b\" is forbidden: User \"ann\" cannot impersonate resource \
         \"userextras/a\" in API group \"authentication.k8s.io\" at the cluster scope"
    );
}

#[tokio::test]
async fn without_credentials_there_is_health_and_version() {
    let server = still(&Memory::new(), Vec::new()).await;
    let open = ["/healthz", "/livez", "/readyz", "/version"];
    let shut = [
        "/",
        "/api",
        "/apis",
        "/openapi/v2",
        "/openapi/v3",
        "/metrics",
        "/api/v1/namespaces",
        "/nowhere",
        "/api/v1/namespaces/default/secrets",
        "/apis/test.dev/v1/shoes",
        "/logs",
    ];
    for (path, wanted) in open
        .map(|p| (p, 200))
        .into_iter()
        .chain(shut.map(|p| (p, 403)))
    {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let (code, answer) = send(&server, method.clone(), path, &[], None, None).await;
            let wanted = if method == Method::GET { wanted } else { 403 };
            assert_eq!(code, wanted, "{method} {path}: {answer}");
        }
    }
    let nobody = Whose::default();
    let (code, _, _) = ask_as(&server, Method::GET, "/apis", "", None, Some(nobody)).await;
    assert_eq!(code, 403);
}
