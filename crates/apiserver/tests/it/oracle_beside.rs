//! What goes with a write to it, and which of several refusals comes first.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{APPLY, HOME, MERGE, send};
use crate::protobuf;
use crate::world::{ask, raw, shoe, still};

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
