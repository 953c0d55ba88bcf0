//! What goes with a write to it, and which of several refusals comes first.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use apiserver::gateway::User;
use apiserver::{Clock, Whose};
use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use jiff::Timestamp;
use objectstore::Memory;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::oracle::{APPLY, HOME, MERGE, send};
use crate::protobuf;
use crate::world::{admin, ask, raw, shoe, still, still_builder};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/// What a PUT made with a time of its deletion goes with the next write to it: nothing holds it, unless it was given time.
#[tokio::test]
async fn a_write_takes_away_what_was_made_as_deleted() {
    let server = still(&Memory::default(), Vec::new()).await;
    let deleted = |name: &str, seconds: Value| json!({"metadata": {"name": name, "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": seconds}});
    for (name, seconds, left) in [
        ("a", Value::Null, 404),
        ("b", json!(0), 404),
        ("c", json!(7), 200),
    ] {
        let path = format!("{LEASES}/{name}");
        let body = deleted(name, seconds);
        let (code, made) = ask(&server, Method::PUT, &path, Some(body)).await;
        assert_eq!(code, 201, "{made}");
        let dry = format!("{path}?dryRun=All");
        let write = json!({"metadata": {"labels": {"x": "y"}}});
        let (code, _) = send(&server, Method::PATCH, &dry, MERGE, write.clone()).await;
        assert_eq!(code, 200);
        let (code, last) = send(&server, Method::PATCH, &path, MERGE, write).await;
        assert_eq!((code, &last["metadata"]["labels"]["x"]), (200, &json!("y")));
        let (code, _) = ask(&server, Method::GET, &path, None).await;
        assert_eq!(code, left, "{name}");
    }
}

/// What an apply makes is read as Go's types read it once it is stored, which what goes never is.
#[tokio::test]
async fn what_goes_by_an_apply_is_told_with_its_nulls() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/a?fieldManager=one");
    let mut held = shoe("a", 1);
    held["metadata"]["finalizers"] = json!(["test.dev/hold"]);
    let (code, answer) = send(&server, Method::PATCH, &path, APPLY, held).await;
    assert_eq!(code, 201, "{answer}");
    let mut named = shoe("a", 1);
    named["metadata"]["labels"] = json!({"a": null});
    let dry = format!("{HOME}/b?fieldManager=one&dryRun=All");
    let mut other = named.clone();
    other["metadata"]["name"] = "b".into();
    let (_, made) = send(&server, Method::PATCH, &dry, APPLY, other).await;
    assert_eq!(made["metadata"]["labels"], json!({"a": ""}));
    ask(&server, Method::DELETE, &format!("{HOME}/a"), None).await;
    let (code, last) = send(&server, Method::PATCH, &path, APPLY, named).await;
    assert_eq!(
        (code, &last["metadata"]["labels"]),
        (200, &json!({"a": null}))
    );
    let (code, _) = ask(&server, Method::GET, &format!("{HOME}/a"), None).await;
    assert_eq!(code, 404);
}

#[tokio::test]
async fn a_token_is_read_before_a_version_beside_it_is_refused() {
    let server = still(&Memory::default(), Vec::new()).await;
    for name in ["a", "b"] {
        ask(&server, Method::POST, HOME, Some(shoe(name, 1))).await;
    }
    let (_, page) = ask(&server, Method::GET, &format!("{HOME}?limit=1"), None).await;
    let token = page["metadata"]["continue"].as_str().unwrap();
    let broken =
        "invalid continue token: continue key is not valid: illegal base64 data at input byte 0";
    let both = "specifying resource version is not allowed when using continue";
    for (token, version, why) in [("0", "1", broken), (token, "1", both), (token, "abc", both)] {
        let path = format!("{HOME}?continue={token}&resourceVersion={version}");
        let (code, answer) = ask(&server, Method::GET, &path, None).await;
        assert_eq!((code, answer["message"].as_str()), (400, Some(why)));
    }
    let path = format!("{HOME}?continue={token}&resourceVersion=0");
    let (code, rest) = ask(&server, Method::GET, &path, None).await;
    assert_eq!(
        (code, rest["items"].as_array().map(Vec::len)),
        (200, Some(1))
    );
}

/// What is not there is not there in every form.
#[tokio::test]
async fn a_document_that_is_not_there_is_told_before_its_media_type() {
    let server = still(&Memory::default(), Vec::new()).await;
    let rbac = "/apis/rbac.authorization.k8s.io";
    for (path, told) in [
        ("/api/v1".to_owned(), 406),
        ("/api/v2".to_owned(), 404),
        (format!("{rbac}/v1"), 406),
        (format!("{rbac}/v9"), 404),
    ] {
        let (code, _, _) = protobuf::send(&server, Method::GET, &path, "text/html", None).await;
        assert_eq!(code, told, "{path}");
    }
}

#[tokio::test]
async fn single_checks_of_health_need_a_right() {
    let server = still(&Memory::default(), Vec::new()).await;
    for (path, told) in [
        ("/readyz", 200),
        ("/readyz/ping", 403),
        ("/readyz/nosuch", 403),
        ("/livez/", 403),
    ] {
        let answer = raw(&server, Method::GET, path, "", None, None).await;
        assert_eq!(answer.status().as_u16(), told, "{path}");
    }
    let (code, _) = ask(&server, Method::GET, "/readyz/ping", None).await;
    assert_eq!(code, 200);
}

/// An applied time that is none is a value of the wrong type to kinds with a type in Go alone.
#[tokio::test]
async fn an_applied_time_that_is_none_is_as_unsaid_or_cannot_be_converted() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/a?fieldManager=one");
    let mut timed = shoe("a", 1);
    timed["metadata"]["deletionTimestamp"] = "x".into();
    for code in [201, 200] {
        let (told, made) = send(&server, Method::PATCH, &path, APPLY, timed.clone()).await;
        assert_eq!(told, code, "{made}");
        assert_eq!(made["metadata"].get("deletionTimestamp"), None);
        let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"];
        assert_eq!(owned["f:deletionTimestamp"], json!({}));
        timed["spec"]["size"] = 2.into();
    }
    let configs = "/api/v1/namespaces/default/configmaps/a?fieldManager=one";
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "deletionTimestamp": "x"}});
    let (code, answer) = send(&server, Method::PATCH, configs, APPLY, config).await;
    let why = "failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"";
    assert_eq!((code, answer["message"].as_str()), (500, Some(why)));
}

/// What says that it is of another type is not held against the schema, but lists and rules are looked at.
#[tokio::test]
async fn what_is_of_another_type_is_told_with_what_is_found_in_it() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shoes.test.dev";
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let tags =
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let rule = json!([{"rule": "self.size < 9", "message": "too large"}]);
    let patch = json!([
        {"op": "add", "path": format!("{spec}/properties/tags"), "value": tags},
        {"op": "add", "path": format!("{spec}/x-kubernetes-validations"), "value": rule},
    ]);
    let media = "application/json-patch+json";
    let (code, answer) = send(&server, Method::PATCH, path, media, patch).await;
    assert_eq!(code, 200, "{answer}");
    let mut other = shoe("a", 10);
    other["kind"] = "Boot".into();
    other["spec"]["tags"] = json!(["a", "a"]);
    other["spec"]["colour"] = 3.into();
    let (code, answer) = ask(&server, Method::POST, HOME, Some(other)).await;
    let causes = answer["details"]["causes"].as_array().into_iter().flatten();
    let fields: Vec<&str> = causes.filter_map(|cause| cause["field"].as_str()).collect();
    assert_eq!((code, fields), (422, vec!["kind", "spec.tags[1]", "spec"]));
}

/// Each time somebody asks, a second later.
#[derive(Default)]
struct Later(AtomicI64);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        let seconds = self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(seconds).expect("a time")
    }
}

/// A null where the server's own time stands counts as a change, which renews the entry's time; entries are in the order of their times.
#[tokio::test]
async fn an_apply_that_changes_nothing_is_a_write_where_its_entry_moves() {
    let builder = still_builder(&Memory::default()).clock(Arc::new(Later::default()));
    let server = builder.build().await.unwrap();
    let apply = async |manager: &str, key: &str| {
        let path =
            format!("/api/v1/namespaces/default/secrets/a?fieldManager={manager}&force=true");
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "creationTimestamp": null}, "data": {key: "aGk="}});
        let (code, made) = send(&server, Method::PATCH, &path, APPLY, body).await;
        assert!(code < 300, "{made}");
        let entries = made["metadata"]["managedFields"].as_array().unwrap();
        let order: Vec<String> = entries.iter().map(|e| e["manager"].to_string()).collect();
        (made["metadata"]["resourceVersion"].clone(), order.join(" "))
    };
    apply("two", "l").await;
    let made = apply("three", "k").await;
    assert_eq!(made.1, "\"two\" \"three\"");
    assert_eq!(apply("three", "k").await, made, "it was the last already");
    let moved = apply("two", "l").await;
    assert_ne!(moved.0, made.0);
    assert_eq!(moved.1, "\"three\" \"two\"");
    assert_eq!(apply("two", "l").await, moved);
}

/// What a body as it is written comes to, without the object's entries and times, and the warnings.
async fn posted(
    server: &apiserver::Server,
    path: &str,
    media: &str,
    text: &str,
) -> (Value, Vec<String>) {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{path}?dryRun=All"))
        .header("content-type", media)
        .extension(admin())
        .body(Body::from(text.to_owned()));
    let answer = server
        .router("127.0.0.1:0")
        .oneshot(request.expect("a request"));
    let answer = answer.await.unwrap();
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.map(|text| text.to_str().expect("text").replace('\\', ""));
    let warnings = warnings.map(|text| {
        let text = text.trim_start_matches("299 - \"").trim_end_matches('"');
        text.replace(" field", "")
    });
    let warnings = warnings.collect();
    let bytes = answer
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    (serde_json::from_slice(&bytes).expect("JSON"), warnings)
}

/// Into the fields of a type in Go each value goes as it is read: what stands twice adds up, and everything odd is told in the order of
/// the text.
#[tokio::test]
async fn what_stands_twice_in_a_typed_body_adds_to_what_came_first() {
    let server = still(&Memory::default(), Vec::new()).await;
    let configs = "/api/v1/namespaces/default/configmaps";
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let media = "application/json";
    let text = r#"{"metadata":{"name":"m","labels":{"x":"1"},"odd":1},"zoo":1,"data":{"a":"1","a":"3"},"metadata":{"labels":{"y":"1","y":"2"},"odd":2,"bad":3},"data":{"b":"2"},"apple":{"q":1,"q":2},"zoo":2}"#;
    let (made, told) = posted(&server, configs, media, text).await;
    assert_eq!(made["data"], json!({"a": "3", "b": "2"}));
    assert_eq!(made["metadata"]["labels"], json!({"x": "1", "y": "2"}));
    let odd = [
        "unknown \"metadata.odd",
        "unknown \"zoo",
        "duplicate \"data.a",
        "duplicate \"metadata",
        "duplicate \"metadata.labels.y",
        "unknown \"metadata.bad",
        "duplicate \"data",
        "unknown \"apple",
    ];
    let told: Vec<&str> = told.iter().map(|text| text.trim_end_matches('"')).collect();
    assert_eq!(told, odd);
    let rules = |second: &str| {
        format!(
            r#"{{"metadata":{{"name":"m"}},"rules":[{{"verbs":["get","list"],"resources":["a"],"apiGroups":[""]}},{{"verbs":["x"],"resources":["b"],"apiGroups":["c"]}}],"rules":{second}}}"#
        )
    };
    let second = rules(r#"[{"verbs":["watch"],"odd":1,"apiGroups":["z"]}]"#);
    let (made, told) = posted(&server, roles, media, &second).await;
    let rule = json!({"verbs": ["watch"], "apiGroups": ["z"], "resources": ["a"]});
    assert_eq!((&made["rules"], told.len()), (&json!([rule]), 2));
    let (made, _) = posted(&server, roles, media, &rules("null")).await;
    assert_eq!(made["rules"], Value::Null);
    let secret = r#"{"metadata":{"name":"m"},"type":"a","type":null,"immutable":true,"immutable":null,"metadata":null}"#;
    let secrets = "/api/v1/namespaces/default/secrets";
    let (made, told) = posted(&server, secrets, media, secret).await;
    assert_eq!((made["type"].as_str(), told.len()), (Some("a"), 3));
    assert_eq!(made.get("immutable"), None);
    // A kind without a type in Go is a map, in which the last one counts; so is YAML before it becomes JSON.
    let shoe = r#"{"apiVersion":"test.dev/v1","kind":"Shoe","metadata":{"name":"m"},"spec":{"size":1,"colour":"red"},"spec":{"size":2}}"#;
    let (made, _) = posted(&server, HOME, media, shoe).await;
    assert_eq!(made["spec"], json!({"size": 2, "colour": "black"}));
    let lease = "metadata: {name: m}\nspec: {holderIdentity: x}\nspec: {leaseDurationSeconds: 3, colour: 2}\nb: 1\n";
    let (made, told) = posted(&server, LEASES, "application/yaml", lease).await;
    assert_eq!(made["spec"], json!({"leaseDurationSeconds": 3}));
    let odd = [
        "line 3: key \"spec\" already set in map",
        "unknown \"b",
        "unknown \"spec.colour",
    ];
    let told: Vec<&str> = told.iter().map(|text| text.trim_end_matches('"')).collect();
    assert_eq!(told, odd);
}

/// A HEAD of a path that is no resource is a verb of its own, which no default role has.
#[tokio::test]
async fn a_head_of_a_document_needs_a_right_of_its_own() {
    let server = still(&Memory::default(), Vec::new()).await;
    let alice = || Whose {
        user: User::new("alice", &["system:authenticated"]),
        agent: "test".to_owned(),
    };
    for (path, everybody, administrator) in [
        ("/healthz", 403, 200),
        ("/readyz", 403, 200),
        ("/version", 403, 405),
        ("/api", 403, 405),
        ("/api/v1", 403, 405),
        ("/apis", 403, 200),
        ("/apis/rbac.authorization.k8s.io", 403, 200),
        ("/apis/rbac.authorization.k8s.io/v1", 403, 405),
        ("/apis/rbac.authorization.k8s.io/v9", 403, 404),
        ("/apis/test.dev/v1", 403, 200),
    ] {
        for (whose, told) in [
            (None, 403),
            (Some(alice()), everybody),
            (Some(admin()), administrator),
        ] {
            let answer = raw(&server, Method::HEAD, path, "", None, whose).await;
            assert_eq!(answer.status().as_u16(), told, "{path}");
        }
        let answer = raw(&server, Method::POST, path, "", None, Some(admin())).await;
        assert_eq!(answer.status().as_u16(), administrator, "{path}");
    }
}

/// Schemas have a type in Go, too; what stands for one schema or several is read by itself, where nobody is told.
#[tokio::test]
async fn a_definition_keeps_of_its_schemas_what_they_can_say() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let list =
        json!({"type": "array", "items": {"type": "string", "minlen": 3}, "enum": [{"x": 1}]});
    let number = json!({"type": "integer", "anyOf": [{"minimum": 1, "od": 2}], "not": {"maximum": 0, "nn": 1}});
    let spec = json!({"type": "object", "unk": 1, "x-kubernetes-validations": [{"rule": "true", "messag": "x"}], "properties": {"l": list, "n": number}});
    let schema = json!({"type": "object", "nulable": true, "externalDocs": {"url": "x", "u": 1}, "properties": {"spec": spec}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {"x": 1}}, "schema": {"openAPIV3Schema": schema}});
    let crd = json!({"metadata": {"name": "toes.test.dev"}, "spec": {
        "group": "test.dev", "scope": "Namespaced", "names": {"plural": "toes", "kind": "Toe"}, "versions": [version],
    }});
    let (made, told) = posted(&server, path, "application/json", &crd.to_string()).await;
    let made = &made["spec"]["versions"][0];
    assert_eq!(made["subresources"], json!({"status": {}}));
    let number = json!({"type": "integer", "anyOf": [{"minimum": 1}], "not": {"maximum": 0}});
    let list = json!({"type": "array", "items": {"type": "string"}, "enum": [{"x": 1}]});
    let spec = json!({"type": "object", "x-kubernetes-validations": [{"rule": "true"}], "properties": {"l": list, "n": number}});
    let schema =
        json!({"type": "object", "externalDocs": {"url": "x"}, "properties": {"spec": spec}});
    assert_eq!(made["schema"]["openAPIV3Schema"], schema);
    let places = [
        "nulable",
        "externalDocs.u",
        "properties.spec.unk",
        "properties.spec.x-kubernetes-validations[0].messag",
        "properties.spec.properties.n.anyOf[0].od",
        "properties.spec.properties.n.not.nn",
    ];
    let lead = "unknown \"spec.versions[0].";
    for place in places {
        let place = format!("{lead}schema.openAPIV3Schema.{place}");
        assert!(
            told.iter().any(|text| text.trim_end_matches('"') == place),
            "{place}: {told:?}"
        );
    }
    assert_eq!(told.len(), places.len() + 1, "{told:?}");
}

/// Of what is being deleted the time stays, whatever a write says of it.
#[tokio::test]
async fn a_write_cannot_move_the_time_of_a_deletion() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/a");
    let mut held = shoe("a", 1);
    held["metadata"]["finalizers"] = json!(["test.dev/hold"]);
    ask(&server, Method::POST, HOME, Some(held.clone())).await;
    held["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z".into();
    let (code, answer) = ask(
        &server,
        Method::PUT,
        &path,
        Some(with_version(&server, &path, &held).await),
    )
    .await;
    assert_eq!(code, 422, "nobody asked for it: {answer}");
    let (_, gone) = ask(&server, Method::DELETE, &path, None).await;
    let time = &gone["metadata"]["deletionTimestamp"];
    assert_eq!(time, "1970-01-01T00:00:00Z");
    let body = with_version(&server, &path, &held).await;
    let (code, put) = ask(&server, Method::PUT, &path, Some(body)).await;
    assert_eq!((code, &put["metadata"]["deletionTimestamp"]), (200, time));
    let mut applied = shoe("a", 1);
    applied["metadata"]["deletionTimestamp"] = "2021-01-01T00:00:00Z".into();
    let apply = format!("{path}?fieldManager=one&force=true");
    let (code, made) = send(&server, Method::PATCH, &apply, APPLY, applied).await;
    assert_eq!((code, &made["metadata"]["deletionTimestamp"]), (200, time));
    let entries = made["metadata"]["managedFields"].to_string();
    assert!(entries.contains("f:deletionTimestamp"), "{entries}");
}

async fn with_version(server: &apiserver::Server, path: &str, body: &Value) -> Value {
    let (_, found) = ask(server, Method::GET, path, None).await;
    let mut body = body.clone();
    body["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
    body
}

#[tokio::test]
async fn of_the_secrets_of_an_account_the_names_are_kept() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/api/v1/namespaces/default/serviceaccounts";
    let secrets = json!([{"name": "x", "namespace": "y"}, {"name": "z"}]);
    let account = json!({"metadata": {"name": "a"}, "secrets": secrets});
    let (code, made) = ask(&server, Method::POST, path, Some(account)).await;
    let names = json!([{"name": "x"}, {"name": "z"}]);
    assert_eq!((code, &made["secrets"]), (201, &names));
    let patch = json!({"secrets": [{"name": "x", "kind": "Secret"}]});
    let strategic = "application/strategic-merge-patch+json";
    let path = format!("{path}/a");
    let (code, made) = send(&server, Method::PATCH, &path, strategic, patch).await;
    assert_eq!((code, &made["secrets"]), (200, &names));
}
