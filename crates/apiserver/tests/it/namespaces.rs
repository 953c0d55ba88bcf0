//! The borders of namespaces: no path, selector or continue token leads over them.

use apiserver::Server;
use apiserver::gateway::User;
use http::Method;
use http_body_util::BodyExt;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{admin, ask, raw, shoe, still};

const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";

/// Gives a user all rights in the namespace `default`, and puts things that are none of theirs into `other`.
async fn two_namespaces() -> Server {
    let server = still(&Memory::new(), Vec::new()).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "ann"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
    });
    for (path, object) in [
        ("/api/v1/namespaces", namespace),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            binding,
        ),
    ] {
        assert_eq!(ask(&server, Method::POST, path, Some(object)).await.0, 201);
    }
    for (namespace, name, size) in [
        ("default", "mine", 42),
        ("default", "mine-2", 42),
        ("default", "mine-3", 42),
        ("other", "hush", 666),
        ("other", "hush-2", 666),
    ] {
        let path = SHOES.replace("default", namespace);
        assert_eq!(
            ask(&server, Method::POST, &path, Some(shoe(name, size)))
                .await
                .0,
            201
        );
    }
    server
}

async fn as_ann(server: &Server, method: Method, path: &str, body: Option<Value>) -> (u16, String) {
    let mut whose = admin();
    whose.user = User::new("ann", &["system:authenticated"]);
    let answer = raw(server, method, path, "application/json", body, Some(whose)).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("body").to_bytes();
    (code, String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn no_path_or_selector_leads_into_another_namespace() {
    let server = two_namespaces().await;
    let paths = [
        "/apis/test.dev/v1/shoes",
        "/apis/test.dev/v1/namespaces/other/shoes",
        "/apis/test.dev/v1/namespaces/other/shoes/hush",
        "/apis/test.dev/v1/watch/namespaces/other/shoes?timeoutSeconds=1",
        "/apis/test.dev/v1/watch/shoes?timeoutSeconds=1",
        "/apis/test.dev/v1/namespaces/default%2F..%2Fother/shoes/hush",
        "/apis/test.dev/v1/namespaces/default/../other/shoes/hush",
        "/apis/test.dev/v1/namespaces/default/shoes/..%2Fother%2Fhush",
        "/apis/test.dev/v1/namespaces/default/shoes/%2e%2e/other/shoes/hush",
        "/apis/test.dev/v1/namespaces/%6fther/shoes/hush",
        "/apis/test.dev/v1/namespaces//other/shoes/hush",
        "/apis/test.dev/v1//namespaces/other/shoes/hush",
        "/apis/test.dev/v1/namespaces/default/namespaces/other/shoes",
        "/apis/test.dev/v1/namespaces/other%00/shoes/hush",
        "/apis/test.dev/v1/namespaces/OTHER/shoes/hush",
        "/apis/test.dev/v1/namespaces/default/shoes/hush",
        "/apis/test.dev/v1/namespaces/default/shoes?fieldSelector=metadata.namespace%3Dother",
        "/apis/test.dev/v1/namespaces/default/shoes?fieldSelector=metadata.name%3Dhush",
        "/apis/test.dev/v1/shoes?fieldSelector=metadata.namespace%3Ddefault",
        "/apis/test.dev/v1/shoes?namespace=default",
        "/apis/test.dev/v1/namespaces/default/shoes?namespace=other",
        "/apis/test.dev/v1/namespaces/default/shoes?labelSelector=!x,!y",
        "/apis/test.dev/v1/namespaces/default/shoes?limit=1&continue=eyJ2Ijoib2Zmc2V0IiwicnYiOjEsInN0YXJ0Ijoib3RoZXIvIn0",
        "/api/v1/namespaces",
        "/api/v1/namespaces/other",
    ];
    for path in paths {
        for query in ["", "watch=1&timeoutSeconds=1&resourceVersion=0"] {
            let joined = match (query, path.contains('?')) {
                ("", _) => path.to_owned(),
                (_, true) => format!("{path}&{query}"),
                (_, false) => format!("{path}?{query}"),
            };
            let (code, answer) = as_ann(&server, Method::GET, &joined, None).await;
            // A refusal may say the name that was asked for; nothing may show the object.
            assert!(!answer.contains("666"), "{joined}: {code} {answer}");
            let shown = code == 200 && answer.contains("hush");
            assert!(!shown, "{joined}: {answer}");
        }
    }
    // Nor does a body, or a name that is generated.
    let mut body = shoe("stray", 42);
    body["metadata"]["namespace"] = json!("other");
    let (code, _) = as_ann(&server, Method::POST, SHOES, Some(body)).await;
    assert_eq!(code, 400);
    let (code, _) = as_ann(
        &server,
        Method::DELETE,
        "/apis/test.dev/v1/namespaces/other/shoes",
        None,
    )
    .await;
    assert_eq!(code, 403);
    let (_, list) = ask(
        &server,
        Method::GET,
        &SHOES.replace("default", "other"),
        None,
    )
    .await;
    assert_eq!(list["items"].as_array().expect("items").len(), 2);
}

#[tokio::test]
async fn a_continue_token_continues_where_it_is_used() {
    let server = two_namespaces().await;
    // A token of all namespaces, given to somebody with rights in one.
    let (_, page) = ask(
        &server,
        Method::GET,
        "/apis/test.dev/v1/shoes?limit=1",
        None,
    )
    .await;
    let all = page["metadata"]["continue"]
        .as_str()
        .expect("a token")
        .to_owned();
    let other = SHOES.replace("default", "other");
    let (_, page) = ask(&server, Method::GET, &format!("{other}?limit=1"), None).await;
    let others = page["metadata"]["continue"]
        .as_str()
        .expect("a token")
        .to_owned();
    for token in [all, others] {
        let path = format!("{SHOES}?limit=10&continue={token}");
        let (code, answer) = as_ann(&server, Method::GET, &path, None).await;
        assert!(matches!(code, 200 | 400 | 410), "{answer}");
        assert!(!answer.contains("hush"), "{answer}");
        for path in ["/apis/test.dev/v1/shoes".to_owned(), other.clone()] {
            let path = format!("{path}?limit=10&continue={token}");
            let (code, answer) = as_ann(&server, Method::GET, &path, None).await;
            assert_eq!(code, 403, "{answer}");
        }
    }
}
