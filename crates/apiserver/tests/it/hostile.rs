//! Requests that nobody should send: each is answered with a `Status`, and the server goes on.

use apiserver::Server;
use http::Method;
use objects::select::LabelSelection;
use objectstore::{Memory, NewObject};
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

/// Expected status, method, path (`+` is the collection, `a` an object), media type, body.
const ODD: &str = r#"
400 POST + application/json []
400 POST + application/json "text"
400 POST + application/json {"metadata":"text"}
400 POST + application/json {"metadata":{"labels":5}}
415 POST + text/plain {}
415 POST + application/vnd.kubernetes.protobuf {}
404 POST /api/v1/configmaps application/json {}
400 PUT + application/json {}
400 PATCH a application/json-patch+json {}
422 PATCH a application/json-patch+json [{"op":"remove","path":"/nope"}]
422 PATCH a application/json-patch+json [{"op":"add","path":"","value":5}]
400 PATCH a application/merge-patch+json []
400 PATCH a application/merge-patch+json {"metadata":null}
400 PATCH a application/merge-patch+json {"metadata":{"name":"b"}}
422 PATCH a application/merge-patch+json {"metadata":{"uid":"other"}}
422 PATCH a application/merge-patch+json {"kind":"Boot"}
415 PATCH a application/strategic-merge-patch+json {}
422 PATCH a application/apply-patch+yaml {}
400 PATCH a?fieldManager=m application/apply-patch+yaml {}
422 PATCH a?fieldManager=m&force=true application/merge-patch+json {}
422 DELETE a application/json {"propagationPolicy":"Odd"}
409 DELETE a application/json {"preconditions":{"uid":"odd"}}
400 GET +?limit=abc - {}
400 GET +?continue=abc - {}
400 GET +?labelSelector=a%20in%20b - {}
400 GET +?fieldSelector=spec.colour%3Dx - {}
400 GET +?resourceVersion=x - {}
422 GET +?watch=1&sendInitialEvents=true - {}
404 GET a/nope - {}
405 POST a/status application/json {}
"#;

#[tokio::test]
async fn odd_requests_get_a_status() {
    let server = still(&Memory::new(), Vec::new()).await;
    ask(&server, Method::POST, SHOES, Some(shoe("a", 40))).await;
    for line in ODD.lines().filter(|l| !l.is_empty()) {
        let mut words = line.splitn(5, ' ');
        let mut word = || words.next().expect("five words");
        let (expected, method, path, media, body) = (word(), word(), word(), word(), word());
        let path = match (path.strip_prefix('+'), path.strip_prefix('a')) {
            (Some(rest), _) => format!("{SHOES}{rest}"),
            (_, Some(rest)) => format!("{SHOES}/a{rest}"),
            _ => path.to_owned(),
        };
        let body = serde_json::from_str(body).expect("body");
        let (code, answer) =
            status_of(&server, method.parse().expect("method"), &path, media, body).await;
        assert_eq!(code.to_string(), expected, "{line}: {answer}");
        let said =
            answer["kind"] == "Status" || answer.as_str().is_some_and(|t| t.contains("404 page"));
        assert!(said, "{line}: {answer}");
    }
    let path = format!("{SHOES}/a");
    assert_eq!(
        ask(&server, Method::GET, &path, None).await.0,
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
    // As kube-apiserver converts it: what was not told is null, what is empty is left out.
    assert_eq!(new.get("eventTime"), Some(&Value::Null), "{new}");
    assert_eq!(new.get("deprecatedFirstTimestamp"), Some(&Value::Null));
    assert!(new.get("reportingController").is_none() && new.get("reportingInstance").is_none());
    let (_, old) = ask(
        &server,
        Method::GET,
        "/api/v1/namespaces/default/events/e.1",
        None,
    )
    .await;
    assert_eq!(
        (&old["reportingComponent"], &old["reportingInstance"]),
        (&json!(""), &json!(""))
    );
    for (selector, found) in [
        ("regarding.name%3Da,regarding.kind%3DShoe", 1),
        ("regarding.name%3Db", 0),
        ("reason%3DMade,reportingController!%3Dx", 1),
    ] {
        let path = format!("/apis/events.k8s.io/v1/events?fieldSelector={selector}");
        let (_, list) = ask(&server, Method::GET, &path, None).await;
        assert_eq!(
            list["items"].as_array().map(Vec::len),
            Some(found),
            "{selector}"
        );
    }
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
        drop(LabelSelection::parse(&text));
    }

    #[test]
    fn what_is_stored_reads_back(value in any_json(), rv in 1_u64..u64::MAX) {
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": value});
        let stored = NewObject::new(&object).expect("draft").seal(rv);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = rv.to_string().into();
        prop_assert_eq!(stored.value(), expected.clone());
        expected["metadata"]["resourceVersion"] = "7".into();
        prop_assert_eq!(stored.at(7).value(), expected);
    }
}
