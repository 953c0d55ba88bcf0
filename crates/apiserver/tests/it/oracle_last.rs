//! What requests of one kind after the other showed beside a real kube-apiserver: each rule that was mended, once.

use apiserver::Whose;
use apiserver::gateway::User;
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{APPLY, HOME, MERGE, causes, send};
use crate::oracle_scales::{BOOTS, boot, scaled};
use crate::protobuf;
use crate::world::{admin, ask, ask_as, shoe, still};

const JSON: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

async fn patched(media: &str, path: &str, body: Value) -> (u16, Value, Vec<String>) {
    let server = still(&Memory::default(), Vec::new()).await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let config = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    ask(&server, Method::POST, CONFIGS, Some(config)).await;
    ask_as(
        &server,
        Method::PATCH,
        path,
        media,
        Some(body),
        Some(admin()),
    )
    .await
}

#[tokio::test]
async fn patches_that_are_none_are_read_where_what_they_change_is_there() {
    let (shoes, config) = (format!("{HOME}/a"), format!("{CONFIGS}/a"));
    let (code, answer, _) = patched(JSON, &shoes, json!([3])).await;
    let why = "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp";
    assert_eq!((code, message(&answer)), (400, why));
    let (code, _, _) = patched(JSON, &format!("{HOME}/z"), json!("x")).await;
    assert_eq!(code, 404);
    let lax = format!("{config}?fieldValidation=Ignore");
    let (code, answer, _) = patched(MERGE, &lax, json!([])).await;
    assert_eq!((code, causes(&answer)), (422, vec!["patch"]));
    let (code, answer, _) = patched(MERGE, &lax, json!("x")).await;
    assert_eq!((code, message(&answer)), (400, "Invalid JSON Patch"));
    let (code, answer, _) = patched(STRATEGIC, &config, Value::Null).await;
    assert_eq!((code, &answer["data"]), (200, &json!({"k": "v"})));
    let put = json!([{"op": "replace", "path": "/data/z", "value": null}]);
    let (code, answer, _) = patched(JSON, &config, put).await;
    assert_eq!((code, &answer["data"]), (200, &json!({"k": "v", "z": ""})));
}

/// A strategic patch is told as the patch, in Go's words for maps, and what it made in those of Go's converter.
#[tokio::test]
async fn what_a_strategic_patch_makes_is_put_into_fields_one_by_one() {
    let config = format!("{CONFIGS}/a");
    let (code, answer, _) = patched(STRATEGIC, &config, json!({"data": {"k": 5}})).await;
    let why = "cannot convert int64 to string";
    let text = format!(" \"\" is invalid: patch: Invalid value: \"map[data:map[k:5]]\": {why}");
    assert_eq!((code, message(&answer)), (422, text.as_str()));
    let (code, answer, _) = patched(STRATEGIC, &config, json!({"data": ["v"]})).await;
    assert_eq!(code, 422, "{answer}");
    assert!(message(&answer).ends_with(": cannot restore map from slice"));
    let bytes = json!({"binaryData": {"b": [104, 105]}});
    let (code, answer, _) = patched(STRATEGIC, &config, bytes).await;
    assert_eq!((code, &answer["binaryData"]["b"]), (200, &json!("aGk=")));
}

/// Who asks for tables gets one also of what a deletion marked, and of what a deletion of many took.
#[tokio::test]
async fn deletions_are_answered_in_the_form_that_was_asked_for() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut held = shoe("a", 1);
    held["metadata"]["finalizers"] = json!(["test.dev/held"]);
    ask(&server, Method::POST, HOME, Some(held)).await;
    ask(&server, Method::POST, HOME, Some(shoe("b", 2))).await;
    let told = async |path: &str, shape: &str| {
        let accept = format!("application/json;as={shape};v=v1;g=meta.k8s.io,application/json");
        let (code, _, body) = protobuf::send(&server, Method::DELETE, path, &accept, None).await;
        let value: Value = serde_json::from_slice(&body).unwrap();
        (code.as_u16(), value)
    };
    let one = format!("{HOME}/a?dryRun=All");
    let (code, marked) = told(&one, "Table").await;
    assert_eq!((code, &marked["kind"]), (200, &json!("Table")));
    assert_eq!(marked["rows"][0]["cells"][0], "a");
    let (_, marked) = told(&one, "PartialObjectMetadata").await;
    assert_eq!(marked["kind"], "PartialObjectMetadata");
    let gone = format!("{HOME}/b?dryRun=All");
    assert_eq!(told(&gone, "Table").await.1["kind"], "Status");
    let all = format!("{HOME}?dryRun=All");
    let (code, took) = told(&all, "Table").await;
    assert_eq!((code, &took["kind"]), (200, &json!("Table")));
    assert_eq!(took["rows"].as_array().map(Vec::len), Some(2));
    let (_, took) = told(&all, "PartialObjectMetadataList").await;
    assert_eq!(took["items"][1]["metadata"]["name"], "b");
    assert_eq!(told(&all, "PartialObjectMetadata").await.0, 406);
}

/// Without a version Go reads its inner types, which call every field otherwise.
#[tokio::test]
async fn a_patch_that_takes_the_type_away_leaves_nothing() {
    let patch = json!({"apiVersion": null, "metadata": {"name": "b"}, "data": {}});
    let (code, answer, warnings) = patched(MERGE, &format!("{CONFIGS}/a"), patch).await;
    assert_eq!(code, 400);
    assert!(message(&answer).contains("was undeterminable"), "{answer}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let shoe = format!("{HOME}/a");
    let (code, answer, _) = patched(MERGE, &shoe, json!({"apiVersion": ""})).await;
    let why = "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'";
    assert_eq!((code, message(&answer)), (500, why));
    let (code, answer, _) = patched(MERGE, &shoe, json!({"apiVersion": "a/b/c"})).await;
    assert_eq!((code, causes(&answer)), (422, vec!["patch"]));
    let (_, answer, _) = patched(MERGE, &shoe, json!({"apiVersion": "/v1"})).await;
    let why = "Shoe \"a\" is invalid: apiVersion: Invalid value: \"v1\": must be test.dev/v1";
    assert_eq!(message(&answer), why);
    let other = json!({"apiVersion": "test.dev/v2", "colour": 1});
    let (_, _, warnings) = patched(MERGE, &shoe, other).await;
    assert_eq!(
        warnings.len(),
        2,
        "nothing is known in a version that is not there"
    );
}

#[tokio::test]
async fn a_status_that_cannot_be_read_leaves_no_owners() {
    let odd = json!({"spec": {"size": 2}, "status": "x"});
    let (code, made, _) = patched(MERGE, &format!("{HOME}/a"), odd).await;
    assert_eq!((code, made["metadata"].get("managedFields")), (200, None));
    let path = format!("{HOME}/a/status");
    let (code, made, _) = patched(MERGE, &path, json!({"kind": "Odd"})).await;
    assert_eq!((code, made["metadata"].get("managedFields")), (200, None));
    let twice = json!({"metadata": {"finalizers": ["x.dev/a", "x.dev/a"]}});
    let (code, made, _) = patched(MERGE, &path, twice).await;
    assert!(
        code == 200 && made["metadata"]["managedFields"].is_array(),
        "{made}"
    );
}

#[tokio::test]
async fn deletions_have_types_and_events_own_nothing() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/z");
    for (body, why) in [
        (
            json!({"gracePeriodSeconds": "x"}),
            "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            json!({"dryRun": [1]}),
            "number into Go struct field DeleteOptions.dryRun of type string",
        ),
        (
            json!({"preconditions": {"uid": 1}}),
            "number into Go struct field Preconditions.preconditions.uid of type types.UID",
        ),
    ] {
        let (code, answer) = ask(&server, Method::DELETE, &path, Some(body)).await;
        let why = format!("json: cannot unmarshal {why}");
        assert_eq!((code, message(&answer)), (500, why.as_str()));
    }
    let events = "/api/v1/namespaces/default/events";
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}});
    ask(&server, Method::POST, events, Some(event)).await;
    let path = format!("{events}/e?propagationPolicy=Orphan");
    let (code, answer) = ask(&server, Method::DELETE, &path, None).await;
    assert_eq!((code, &answer["kind"]), (200, &json!("Status")));
    let nameless = json!({"involvedObject": {"namespace": "other"}});
    let (_, answer) = ask(&server, Method::POST, events, Some(nameless)).await;
    assert_eq!(causes(&answer), ["involvedObject.namespace"]);
    let home = json!({"metadata": {"name": "n"}});
    ask(&server, Method::POST, "/api/v1/namespaces", Some(home)).await;
    let path = "/api/v1/namespaces/n";
    let body = json!({"preconditions": {"resourceVersion": "1"}});
    let (code, answer) = ask(&server, Method::DELETE, path, Some(body)).await;
    assert!(
        code == 409 && message(&answer).contains("ResourceVersion in precondition: 1"),
        "{answer}"
    );
    let body = json!({"orphanDependents": false});
    let (code, _) = ask(&server, Method::DELETE, path, Some(body)).await;
    assert_eq!(code, 202);
}

#[tokio::test]
async fn scales_are_read_whole() {
    let server = scaled().await;
    ask(
        &server,
        Method::POST,
        BOOTS,
        Some(boot(json!({"pairs": 0}))),
    )
    .await;
    let path = format!("{BOOTS}/a/scale");
    let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": "3"}]);
    let (code, answer) = send(&server, Method::PATCH, &path, JSON, patch).await;
    assert_eq!((code, causes(&answer)), (422, vec!["patch"]));
    let patch = json!([{"op": "add", "path": "/spec/odd", "value": 1}, {"op": "add", "path": "/metadata/odd", "value": 1}]);
    let (_, _, warnings) = ask_as(
        &server,
        Method::PATCH,
        &path,
        JSON,
        Some(patch),
        Some(admin()),
    )
    .await;
    let told = |field: &str| format!("299 - \"unknown field \\\"{field}\\\"\"");
    assert_eq!(warnings, [told("metadata.odd"), told("spec.odd")]);
    let patch = json!({"status": {"selector": 3}});
    let (code, answer) = send(&server, Method::PATCH, &path, MERGE, patch).await;
    assert!(
        code == 422 && message(&answer).ends_with("ScaleStatus.status.selector of type string"),
        "{answer}"
    );
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"odd": 1}});
    let path = format!("{path}?fieldManager=one");
    let (code, answer) = send(&server, Method::PATCH, &path, APPLY, scale).await;
    let why = "failed to create typed patch object (/a; autoscaling/v1, Kind=Scale): .spec.odd: field not declared in schema";
    assert_eq!((code, message(&answer)), (500, why));
}

#[tokio::test]
async fn rights_come_before_rules_and_routes() {
    let server = still(&Memory::default(), Vec::new()).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({"metadata": {"name": "r"}, "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"], "verbs": ["create"]}]});
    ask(&server, Method::POST, &format!("{roles}/roles"), Some(role)).await;
    let subject = json!({"kind": "User", "name": "alice"});
    let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [subject]});
    let bindings = format!("{roles}/rolebindings");
    ask(&server, Method::POST, &bindings, Some(binding)).await;
    let alice = || Whose {
        user: User::new("alice", &["system:authenticated"]),
        agent: "test".to_owned(),
    };
    let odd = json!({"metadata": {"name": "e"}, "roleRef": {"kind": "Odd"}});
    let (code, answer, _) = ask_as(
        &server,
        Method::POST,
        &bindings,
        "application/json",
        Some(odd),
        Some(alice()),
    )
    .await;
    let why = "unsupported role reference kind: \"Odd\"";
    assert_eq!((code, message(&answer)), (500, why));
    let (code, _, _) = ask_as(
        &server,
        Method::PATCH,
        HOME,
        MERGE,
        Some(json!({})),
        Some(alice()),
    )
    .await;
    assert_eq!(code, 403);
    let (code, answer) = send(&server, Method::POST, HOME, ";", shoe("a", 1)).await;
    assert_eq!(code, 415, "{answer}");
    let (code, _) = ask(&server, Method::GET, "/readyz/nosuch", None).await;
    assert_eq!(code, 404);
    let path = format!("{HOME}?timeoutSeconds=abc");
    let (code, answer) = ask(&server, Method::GET, &path, None).await;
    let why = "strconv.ParseInt: parsing \"abc\": invalid syntax";
    assert_eq!((code, message(&answer)), (400, why));
}

#[tokio::test]
async fn written_forms_are_those_of_the_types_in_go() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/api/v1/namespaces/default";
    let (_, before) = ask(&server, Method::GET, path, None).await;
    let patch = json!({"spec": {"finalizers": []}});
    let (_, after) = send(&server, Method::PATCH, path, MERGE, patch).await;
    assert_eq!(after, before, "no list is an empty one");
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let body = json!({"kind": "Status", "apiVersion": "v1"});
    let (_, answer) = ask(&server, Method::POST, leases, Some(body)).await;
    let why = "Status in version \"v1\" cannot be handled as a Lease: converting (v1.Status) to (coordination.Lease): unknown conversion";
    assert_eq!(message(&answer), why);
    let mut owned = shoe("a", 1);
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "a/b/c", "kind": "X", "name": "x", "uid": "u"}]);
    let (code, answer) = ask(&server, Method::POST, HOME, Some(owned)).await;
    let at = "metadata.ownerReferences.apiVersion";
    assert_eq!((code, causes(&answer)), (422, vec![at]));
    let mut linked = json!({"metadata": {"name": "c", "selfLink": "/x"}});
    ask(&server, Method::POST, CONFIGS, Some(linked.clone())).await;
    linked["data"] = json!({"k": "v"});
    let path = format!("{CONFIGS}/c?dryRun=All");
    let (_, shown) = ask(&server, Method::PUT, &path, Some(linked)).await;
    assert_eq!(shown["metadata"]["selfLink"], "/x");
}
