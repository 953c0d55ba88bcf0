//! What the rules of objects promise, through the router and without a socket.

use apiserver::Server;
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{admin, ask, ask_as, raw, shoe, still};

const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";

async fn create(server: &Server, name: &str) -> Value {
    let (code, object) = ask(server, Method::POST, SHOES, Some(shoe(name, 40))).await;
    assert_eq!(code, 201, "{object}");
    object
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[tokio::test]
async fn generation_counts_the_spec_and_versions_count_everything() {
    let server = still(&Memory::new(), Vec::new()).await;
    let made = create(&server, "a").await;
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["spec"]["colour"], "black", "defaults are filled in");
    let path = format!("{SHOES}/a");
    let merge = "application/merge-patch+json";
    let patch = |body: Value, path: String| {
        let server = &server;
        async move {
            let (code, object, _) = ask_as(
                server,
                Method::PATCH,
                &path,
                merge,
                Some(body),
                Some(admin()),
            )
            .await;
            assert_eq!(code, 200, "{object}");
            object
        }
    };
    let status = patch(json!({"status": {"worn": true}}), format!("{path}/status")).await;
    assert_eq!(status["metadata"]["generation"], 1);
    assert_ne!(
        status["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    let main = patch(
        json!({"status": {"worn": false}, "spec": {"size": 41}}),
        path.clone(),
    )
    .await;
    assert_eq!(main["metadata"]["generation"], 2);
    assert_eq!(main["status"]["worn"], true, "status is written apart");
    let same = patch(json!({"spec": {"size": 41}}), path.clone()).await;
    assert_eq!(
        same["metadata"]["resourceVersion"], main["metadata"]["resourceVersion"],
        "a no-op is one"
    );
    let (code, refused) = ask(&server, Method::PUT, &path, Some(made)).await;
    assert_eq!((code, text(&refused, "/reason")), (409, "Conflict"));
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let server = still(&Memory::new(), Vec::new()).await;
    let mut held = shoe("held", 40);
    held["metadata"]["finalizers"] = json!(["test.dev/hold"]);
    ask(&server, Method::POST, SHOES, Some(held)).await;
    let path = format!("{SHOES}/held");
    let (_, marked) = ask(&server, Method::DELETE, &path, None).await;
    assert!(
        !text(&marked, "/metadata/deletionTimestamp").is_empty(),
        "{marked}"
    );
    let (code, again) = ask(&server, Method::POST, SHOES, Some(shoe("held", 40))).await;
    assert_eq!(code, 409);
    assert!(text(&again, "/message").starts_with("object is being deleted: "));
    let free = Some(json!({"metadata": {"finalizers": null}}));
    ask_as(
        &server,
        Method::PATCH,
        &path,
        "application/merge-patch+json",
        free,
        Some(admin()),
    )
    .await;
    assert_eq!(ask(&server, Method::GET, &path, None).await.0, 404);
}

#[tokio::test]
async fn dependents_follow_their_owner() {
    let server = still(&Memory::new(), Vec::new()).await;
    let owner = create(&server, "owner").await;
    let mut dependent = shoe("dependent", 40);
    dependent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "test.dev/v1", "kind": "Shoe", "name": "owner", "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": true,
    }]);
    ask(&server, Method::POST, SHOES, Some(dependent)).await;
    server.handle().settle().await.expect("settle");
    assert_eq!(
        ask(&server, Method::GET, &format!("{SHOES}/dependent"), None)
            .await
            .0,
        200
    );
    let foreground = format!("{SHOES}/owner?propagationPolicy=Foreground");
    let (_, marked) = ask(&server, Method::DELETE, &foreground, None).await;
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    server.handle().settle().await.expect("settle");
    for name in ["dependent", "owner"] {
        assert_eq!(
            ask(&server, Method::GET, &format!("{SHOES}/{name}"), None)
                .await
                .0,
            404,
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_namespace_takes_its_content_along() {
    let server = still(&Memory::new(), Vec::new()).await;
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    assert_eq!(
        ask(&server, Method::POST, "/api/v1/namespaces", Some(body))
            .await
            .0,
        201
    );
    let shoes = "/apis/test.dev/v1/namespaces/shop/shoes";
    ask(&server, Method::POST, shoes, Some(shoe("a", 40))).await;
    let (_, going) = ask(&server, Method::DELETE, "/api/v1/namespaces/shop", None).await;
    assert_eq!(going["status"]["phase"], "Terminating");
    let (code, refused) = ask(&server, Method::POST, shoes, Some(shoe("b", 40))).await;
    assert_eq!(
        (code, text(&refused, "/details/causes/0/reason")),
        (403, "NamespaceTerminating")
    );
    server.handle().settle().await.expect("settle");
    assert_eq!(
        ask(&server, Method::GET, "/api/v1/namespaces/shop", None)
            .await
            .0,
        404
    );
    let (_, list) = ask(&server, Method::GET, "/apis/test.dev/v1/shoes", None).await;
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn unknown_fields_are_warned_about_or_refused() {
    let server = still(&Memory::new(), Vec::new()).await;
    let mut odd = shoe("odd", 40);
    odd["spec"]["heel"] = 3.into();
    let json_type = "application/json";
    let strict = format!("{SHOES}?fieldValidation=Strict");
    let (code, refused, _) = ask_as(
        &server,
        Method::POST,
        &strict,
        json_type,
        Some(odd.clone()),
        Some(admin()),
    )
    .await;
    assert_eq!(code, 400);
    assert!(
        text(&refused, "/message").contains("unknown field \"spec.heel\""),
        "{refused}"
    );
    let (code, object, warnings) = ask_as(
        &server,
        Method::POST,
        SHOES,
        json_type,
        Some(odd),
        Some(admin()),
    )
    .await;
    assert_eq!((code, object["spec"].get("heel")), (201, None));
    assert_eq!(warnings, [r#"299 - "unknown field \"spec.heel\"""#]);
    let (code, invalid) = ask(&server, Method::POST, SHOES, Some(shoe("small", 0))).await;
    assert_eq!(
        (code, text(&invalid, "/details/causes/0/field")),
        (422, "spec.size")
    );
}

#[tokio::test]
async fn a_page_continues_in_its_snapshot() {
    let server = still(&Memory::new(), Vec::new()).await;
    for name in ["a", "b", "c"] {
        create(&server, name).await;
    }
    let (_, first) = ask(&server, Method::GET, &format!("{SHOES}?limit=2"), None).await;
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    create(&server, "d").await;
    let token = text(&first, "/metadata/continue");
    let (_, rest) = ask(
        &server,
        Method::GET,
        &format!("{SHOES}?limit=2&continue={token}"),
        None,
    )
    .await;
    let names: Vec<&str> = rest["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|i| text(i, "/metadata/name"))
        .collect();
    assert_eq!(names, ["c"], "what came later is not in the snapshot");
    server.handle().compact();
    let (code, gone) = ask(
        &server,
        Method::GET,
        &format!("{SHOES}?limit=2&continue={token}"),
        None,
    )
    .await;
    assert_eq!((code, text(&gone, "/reason")), (410, "Expired"));
    let token = text(&gone, "/metadata/continue");
    let (_, rest) = ask(
        &server,
        Method::GET,
        &format!("{SHOES}?continue={token}"),
        None,
    )
    .await;
    assert_eq!(
        rest["items"].as_array().map(Vec::len),
        Some(2),
        "the fresh token goes on at the newest version"
    );
}

#[tokio::test]
async fn strangers_see_health_and_nothing_else() {
    let server = still(&Memory::new(), Vec::new()).await;
    let anonymous = |path: &'static str| {
        let server = &server;
        async move {
            raw(server, Method::GET, path, "application/json", None, None)
                .await
                .status()
                .as_u16()
        }
    };
    assert_eq!(anonymous("/healthz").await, 200);
    assert_eq!(anonymous("/version").await, 200);
    assert_eq!(anonymous("/api/v1/namespaces").await, 403);
    assert_eq!(anonymous("/apis").await, 403);
    assert_eq!(anonymous("/nope").await, 403);
    assert_eq!(ask(&server, Method::GET, "/nope", None).await.0, 404);
    let crafted = "/apis/test.dev/v1/namespaces/default%2Fx/shoes/y";
    assert_eq!(ask(&server, Method::GET, crafted, None).await.0, 404);
}
