//! Requests that nobody should send: each is answered with a `Status`, and the server goes on.

use apiserver::Server;
use apiserver::logic::select::Labels;
use apiserver::storage::{Draft, Memory};
use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{admin, ask, ask_as, shoe, still};

const SHOES: &str = "/apis/test.dev/v1/namespaces/default/shoes";

async fn status_of(
    server: &Server,
    method: Method,
    path: &str,
    media: &str,
    body: Value,
) -> (u16, Value) {
    let (code, answer, _) = ask_as(server, method, path, media, Some(body), Some(admin())).await;
    (code, answer)
}

#[tokio::test]
async fn odd_requests_get_a_status() {
    let server = still(&Memory::new(), Vec::new()).await;
    ask(&server, Method::POST, SHOES, Some(shoe("a", 40))).await;
    let one = format!("{SHOES}/a");
    let json_patch = "application/json-patch+json";
    let merge = "application/merge-patch+json";
    let apply = "application/apply-patch+yaml";
    let cases: Vec<(Method, String, &str, Value, u16)> = vec![
        (
            Method::POST,
            SHOES.to_owned(),
            "application/json",
            json!([]),
            400,
        ),
        (
            Method::POST,
            SHOES.to_owned(),
            "application/json",
            json!("text"),
            400,
        ),
        (
            Method::POST,
            SHOES.to_owned(),
            "application/json",
            json!({"metadata": "text"}),
            400,
        ),
        (
            Method::POST,
            SHOES.to_owned(),
            "application/json",
            json!({"metadata": {"labels": 5}}),
            400,
        ),
        (Method::POST, SHOES.to_owned(), "text/plain", json!({}), 415),
        (
            Method::POST,
            SHOES.to_owned(),
            "application/vnd.kubernetes.protobuf",
            json!({}),
            415,
        ),
        (
            Method::POST,
            "/api/v1/configmaps".to_owned(),
            "application/json",
            json!({}),
            404,
        ),
        (
            Method::PUT,
            SHOES.to_owned(),
            "application/json",
            json!({}),
            400,
        ),
        (Method::PATCH, one.clone(), json_patch, json!({}), 400),
        (
            Method::PATCH,
            one.clone(),
            json_patch,
            json!([{"op": "remove", "path": "/nope"}]),
            422,
        ),
        (
            Method::PATCH,
            one.clone(),
            json_patch,
            json!([{"op": "replace", "path": "", "value": 5}]),
            400,
        ),
        (Method::PATCH, one.clone(), merge, json!([]), 400),
        (
            Method::PATCH,
            one.clone(),
            merge,
            json!({"metadata": null}),
            400,
        ),
        (
            Method::PATCH,
            one.clone(),
            merge,
            json!({"metadata": {"name": "b"}}),
            400,
        ),
        (
            Method::PATCH,
            one.clone(),
            merge,
            json!({"metadata": {"uid": "other"}}),
            422,
        ),
        (
            Method::PATCH,
            one.clone(),
            merge,
            json!({"kind": "Boot"}),
            422,
        ),
        (
            Method::PATCH,
            one.clone(),
            "application/strategic-merge-patch+json",
            json!({}),
            415,
        ),
        (Method::PATCH, one.clone(), apply, json!({}), 422),
        (
            Method::PATCH,
            format!("{one}?fieldManager=m"),
            apply,
            json!({}),
            400,
        ),
        (
            Method::PATCH,
            format!("{one}?fieldManager=m&force=true"),
            merge,
            json!({}),
            422,
        ),
        (
            Method::DELETE,
            one.clone(),
            "application/json",
            json!({"propagationPolicy": "Odd"}),
            422,
        ),
        (
            Method::DELETE,
            one.clone(),
            "application/json",
            json!({"preconditions": {"uid": "odd"}}),
            409,
        ),
        (
            Method::GET,
            format!("{SHOES}?limit=abc"),
            "",
            json!({}),
            400,
        ),
        (
            Method::GET,
            format!("{SHOES}?continue=abc"),
            "",
            json!({}),
            400,
        ),
        (
            Method::GET,
            format!("{SHOES}?labelSelector=a%20in%20b"),
            "",
            json!({}),
            400,
        ),
        (
            Method::GET,
            format!("{SHOES}?fieldSelector=spec.colour%3Dx"),
            "",
            json!({}),
            400,
        ),
        (
            Method::GET,
            format!("{SHOES}?resourceVersion=x"),
            "",
            json!({}),
            400,
        ),
        (
            Method::GET,
            format!("{SHOES}?watch=1&sendInitialEvents=true"),
            "",
            json!({}),
            422,
        ),
        (Method::GET, format!("{one}/nope"), "", json!({}), 404),
        (
            Method::POST,
            format!("{one}/status"),
            "application/json",
            json!({}),
            405,
        ),
    ];
    for (method, path, media, body, expected) in cases {
        let (code, answer) = status_of(&server, method.clone(), &path, media, body.clone()).await;
        assert_eq!(code, expected, "{method} {path} {media} {body}: {answer}");
        let said =
            answer["kind"] == "Status" || answer.as_str().is_some_and(|t| t.contains("404 page"));
        assert!(said, "{method} {path}: {answer}");
    }
    assert_eq!(
        ask(&server, Method::GET, &one, None).await.0,
        200,
        "the object is untouched"
    );
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let server = still(&Memory::new(), Vec::new()).await;
    let mut large = shoe("large", 40);
    large["spec"]["colour"] = "x".repeat(3 << 20).into();
    let (code, answer) = ask(&server, Method::POST, SHOES, Some(large)).await;
    assert_eq!(
        (code, &answer["reason"]),
        (413, &json!("RequestEntityTooLarge"))
    );
}

#[tokio::test]
async fn events_of_both_groups_are_the_same_events() {
    let server = still(&Memory::new(), Vec::new()).await;
    let event = json!({
        "metadata": {"name": "e.1"}, "reason": "Made", "message": "it was made", "type": "Normal",
        "involvedObject": {"kind": "Shoe", "name": "a", "namespace": "default"},
    });
    let (code, _) = ask(
        &server,
        Method::POST,
        "/api/v1/namespaces/default/events",
        Some(event),
    )
    .await;
    assert_eq!(code, 201);
    let (_, new) = ask(
        &server,
        Method::GET,
        "/apis/events.k8s.io/v1/namespaces/default/events/e.1",
        None,
    )
    .await;
    assert_eq!(
        (&new["note"], &new["regarding"]["name"]),
        (&json!("it was made"), &json!("a")),
        "{new}"
    );
    assert_eq!(new["apiVersion"], "events.k8s.io/v1");
    let mine = "/api/v1/events?fieldSelector=involvedObject.name%3Da,involvedObject.kind%3DShoe";
    let (_, list) = ask(&server, Method::GET, mine, None).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z./:-]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![
            "metadata|spec|status|name|labels|finalizers|ownerReferences|size|kind",
            "[a-z]{0,3}"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..4).prop_map(|m| m.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_body_and_any_patch_are_answered(body in any_json(), patch in any_json()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime");
        runtime.block_on(async {
            let server = still(&Memory::new(), Vec::new()).await;
            let mut made = body;
            if let Some(root) = made.as_object_mut() {
                root.insert("apiVersion".to_owned(), "test.dev/v1".into());
                root.insert("kind".to_owned(), "Shoe".into());
            }
            let (code, _) = ask(&server, Method::POST, SHOES, Some(made)).await;
            prop_assert!(code == 201 || (400..500).contains(&code), "{code}");
            ask(&server, Method::POST, SHOES, Some(shoe("a", 40))).await;
            let path = format!("{SHOES}/a?fieldManager=m");
            for media in ["application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"] {
                let (code, answer) = status_of(&server, Method::PATCH, &path, media, patch.clone()).await;
                // The real server answers 500 to an applied configuration that the schema does not know.
                let told = code == 200 || (400..500).contains(&code) || media.contains("apply");
                prop_assert!(told, "{code} {answer}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn any_selector_parses_or_is_refused(text in "[a-z!=,<>() ]{0,24}") {
        drop(Labels::parse(&text));
    }

    #[test]
    fn what_is_stored_reads_back(value in any_json(), rv in 1_u64..u64::MAX) {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": value});
        let stored = Draft::new(&object).expect("draft").seal(rv);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = rv.to_string().into();
        prop_assert_eq!(stored.value(), expected.clone());
        expected["metadata"]["resourceVersion"] = "7".into();
        prop_assert_eq!(stored.at(7).value(), expected);
    }
}
