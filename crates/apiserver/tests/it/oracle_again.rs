//! What lies in the store is read as the definition is now, and written through several versions of it.

use apiserver::Whose;
use apiserver::gateway::User;
use axum::body::Body;
use http::{Method, Request};
use objectstore::Memory;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::oracle::{APPLY, HOME, MERGE, send};
use crate::protobuf;
use crate::world::{admin, ask, ask_as, shoe, shoes, still};

const ALL: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const OLD: &str = "/apis/test.dev/v1beta1/namespaces/default/shoes";

/// Gives shoes an older version, whose schema knows the size alone.
async fn aged(server: &apiserver::Server) {
    let mut crd = shoes();
    let mut older = crd["spec"]["versions"][0].clone();
    older["name"] = "v1beta1".into();
    older["storage"] = false.into();
    older["schema"] = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}});
    let mut first = crd["spec"]["versions"][0].take();
    for version in [&mut first, &mut older] {
        version["selectableFields"] = json!([]);
    }
    let patch = json!({"spec": {"versions": [first, older]}});
    let path = format!("{ALL}/shoes.test.dev");
    let (code, answer) = send(server, Method::PATCH, &path, MERGE, patch).await;
    assert_eq!(code, 200, "{answer}");
}

fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test]
async fn objects_are_read_as_their_definition_is_now() {
    let server = still(&Memory::default(), Vec::new()).await;
    let (_, made) = ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let properties = json!({"spec": {"type": "object", "properties": {"size": null, "laces": {"type": "integer", "default": 2}}, "required": []}});
    let mut crd = shoes();
    let mut narrow = crd["spec"]["versions"][0].take();
    narrow["selectableFields"] = json!([{"jsonPath": ".spec.laces"}]);
    narrow["schema"]["openAPIV3Schema"]["properties"] = properties;
    let fields = &mut narrow["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    fields.as_object_mut().unwrap().remove("size");
    let patch = json!({"spec": {"versions": [narrow]}});
    let path = format!("{ALL}/shoes.test.dev");
    let (code, answer) = send(&server, Method::PATCH, &path, MERGE, patch).await;
    assert_eq!(code, 200, "{answer}");
    let (_, read) = ask(&server, Method::GET, &format!("{HOME}/a"), None).await;
    assert_eq!(read["spec"], json!({"laces": 2}));
    assert_eq!(version(&read), version(&made), "nobody wrote it");
    let (_, list) = ask(&server, Method::GET, HOME, None).await;
    assert_eq!(list["items"][0]["spec"], json!({"laces": 2}));
    let path = format!("{HOME}?fieldSelector=spec.laces%3D2");
    let (_, list) = ask(&server, Method::GET, &path, None).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    let path = format!("{HOME}/a");
    let (_, same) = send(&server, Method::PATCH, &path, MERGE, json!({})).await;
    assert_ne!(
        version(&same),
        version(&made),
        "what is read is not what is stored"
    );
    let (_, again) = send(&server, Method::PATCH, &path, MERGE, json!({})).await;
    assert_eq!(version(&again), version(&same), "now it is");
}

#[tokio::test]
async fn defaults_of_the_stored_version_come_when_it_is_read() {
    let server = still(&Memory::default(), Vec::new()).await;
    aged(&server).await;
    let body = json!({"apiVersion": "test.dev/v1beta1", "kind": "Shoe", "metadata": {"name": "a"}, "spec": {"size": 1}});
    let (code, made) = ask(&server, Method::POST, OLD, Some(body)).await;
    assert_eq!((code, &made["spec"]), (201, &json!({"size": 1})));
    let (_, read) = ask(&server, Method::GET, &format!("{HOME}/a"), None).await;
    assert_eq!(read["spec"], json!({"size": 1, "colour": "black"}));
    let path = format!("{OLD}/a");
    let (_, same) = send(&server, Method::PATCH, &path, MERGE, json!({})).await;
    assert_eq!(
        version(&same),
        version(&made),
        "its version knows no default"
    );
    let path = format!("{HOME}/a?fieldManager=two");
    let (_, same) = send(&server, Method::PATCH, &path, MERGE, json!({})).await;
    assert_ne!(version(&same), version(&made), "the stored version does");
}

/// What is kept in another version is read on the way there.
#[tokio::test]
async fn an_applied_time_that_is_none_cannot_be_kept_in_another_version() {
    let server = still(&Memory::default(), Vec::new()).await;
    aged(&server).await;
    let said = json!({"name": "a", "deletionTimestamp": "x"});
    let body = json!({"apiVersion": "test.dev/v1beta1", "kind": "Shoe", "metadata": said});
    let path = format!("{OLD}/a?fieldManager=one");
    let (code, answer) = send(&server, Method::PATCH, &path, APPLY, body).await;
    let why = "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"";
    assert_eq!((code, answer["message"].as_str()), (500, Some(why)));
}

/// Whoever wrote through a version owns fields there: where it cannot hold the object, nobody knows who owns what.
#[tokio::test]
async fn owners_are_lost_where_their_version_cannot_hold_the_object() {
    let server = still(&Memory::default(), Vec::new()).await;
    aged(&server).await;
    let body = json!({"apiVersion": "test.dev/v1beta1", "kind": "Shoe", "metadata": {"name": "a"}, "spec": {"size": 1}});
    ask(&server, Method::POST, OLD, Some(body)).await;
    let path = format!("{HOME}/a?fieldManager=one");
    let mut config = shoe("a", 1);
    config["spec"]["colour"] = "red".into();
    let (code, answer) = send(&server, Method::PATCH, &path, APPLY, config).await;
    let why = ".spec.colour: field not declared in schema";
    assert_eq!((code, answer["message"].as_str()), (500, Some(why)));
    let patch = json!({"spec": {"size": 2}});
    let (code, made) = send(&server, Method::PATCH, &path, MERGE, patch).await;
    assert_eq!((code, made["metadata"].get("managedFields")), (200, None));
}

#[tokio::test]
async fn dry_runs_show_the_version_that_they_were_given() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut body = shoe("a", 1);
    body["metadata"]["resourceVersion"] = "7".into();
    let path = format!("{HOME}?dryRun=All");
    let (code, made) = ask(&server, Method::POST, &path, Some(body)).await;
    assert_eq!((code, version(&made)), (201, "7"));
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a?dryRun=All";
    let body = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
    let (code, made) = ask(&server, Method::PUT, path, Some(body)).await;
    assert_eq!((code, version(&made)), (201, "1"));
}

#[tokio::test]
async fn options_in_a_body_come_without_parameters() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/a?dryRun=Odd&propagationPolicy=Odd");
    let (code, _) = ask(&server, Method::DELETE, &path, Some(json!({}))).await;
    assert_eq!(code, 404);
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let (code, _) = ask(&server, Method::DELETE, &path, None).await;
    assert_eq!(code, 422);
    let path = format!("{HOME}/a?dryRun=All");
    let (code, _) = ask(&server, Method::DELETE, &path, Some(json!({}))).await;
    assert_eq!(code, 200);
    let (code, _) = ask(&server, Method::GET, &format!("{HOME}/a"), None).await;
    assert_eq!(code, 404, "it was no dry run");
}

/// The list of groups says what definitions say; what is served there is another matter.
#[tokio::test]
async fn a_group_is_listed_for_a_definition_whose_names_are_taken() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut other = shoes();
    other["metadata"]["name"] = "boots.test.dev".into();
    other["spec"]["names"]["plural"] = "boots".into();
    other["spec"]["versions"][0]["name"] = "v2".into();
    let (code, _) = ask(&server, Method::POST, ALL, Some(other)).await;
    assert_eq!(code, 201);
    let (_, group) = ask(&server, Method::GET, "/apis/test.dev", None).await;
    let named = |version: &Value| version["version"].as_str().unwrap_or_default().to_owned();
    let versions = group["versions"].as_array().into_iter().flatten();
    assert_eq!(versions.map(named).collect::<Vec<_>>(), ["v2", "v1"]);
    let (code, _) = ask(&server, Method::GET, "/apis/test.dev/v2", None).await;
    assert_eq!(code, 404);
    let path = format!("{ALL}/boots.test.dev");
    ask(&server, Method::DELETE, &path, None).await;
    server.handle().settle().await.unwrap();
    let (_, group) = ask(&server, Method::GET, "/apis/test.dev", None).await;
    assert_eq!(group["versions"].as_array().map(Vec::len), Some(1));
}

/// Only a POST takes off what an object says of its own deletion.
#[tokio::test]
async fn what_is_made_by_a_put_or_an_apply_keeps_the_time_of_its_deletion() {
    let server = still(&Memory::default(), Vec::new()).await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let said = json!({"name": "a", "deletionTimestamp": "2020-01-01T01:00:00.5+01:00", "deletionGracePeriodSeconds": 7, "selfLink": "/x"});
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": said});
    let told = |object: &Value| {
        let fields = [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ];
        fields.map(|field| object["metadata"][field].clone())
    };
    let path = format!("{leases}?dryRun=All");
    let (code, made) = ask(&server, Method::POST, &path, Some(lease.clone())).await;
    assert_eq!((code, told(&made)), (201, [(); 3].map(|()| Value::Null)));
    let path = format!("{leases}/a?dryRun=All");
    let (code, made) = ask(&server, Method::PUT, &path, Some(lease.clone())).await;
    let when = json!("2020-01-01T00:00:00Z");
    let shown = [when.clone(), json!(7), json!("/x")];
    assert_eq!((code, told(&made)), (201, shown));
    let path = format!("{leases}/a");
    let (code, made) = ask(&server, Method::PUT, &path, Some(lease)).await;
    assert_eq!((code, told(&made)), (201, [when, json!(7), Value::Null]));
    let mut shoe = shoe("a", 1);
    shoe["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z".into();
    let path = format!("{HOME}/a?fieldManager=one");
    let (code, made) = send(&server, Method::PATCH, &path, APPLY, shoe).await;
    assert_eq!(
        (code, &told(&made)[0]),
        (201, &json!("2020-01-01T00:00:00Z"))
    );
    let (code, _) = ask(&server, Method::DELETE, &format!("{HOME}/a"), None).await;
    assert_eq!(code, 200, "nothing holds it");
}

/// What was written but cannot be told in the shape that was asked for is warned of like any other.
#[tokio::test]
async fn a_refusal_of_the_answer_keeps_the_warnings_of_the_write() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut body = shoe("a", 1);
    body["colour"] = "red".into();
    let shape = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let request = Request::builder()
        .method(Method::POST)
        .uri(HOME)
        .header("accept", shape)
        .header("content-type", "application/json")
        .extension(admin())
        .body(Body::from(body.to_string()));
    let answer = server.router("127.0.0.1:0").oneshot(request.unwrap());
    let answer = answer.await.unwrap();
    let warned = answer.headers().get_all("warning").iter();
    let warned: Vec<_> = warned.filter_map(|text| text.to_str().ok()).collect();
    assert_eq!(answer.status(), 500);
    assert_eq!(warned, ["299 - \"unknown field \\\"colour\\\"\""]);
    let (code, _) = ask(&server, Method::GET, &format!("{HOME}/a"), None).await;
    assert_eq!(code, 200);
}

/// A watch for tables tells the columns once, in what comes first.
#[tokio::test]
async fn a_bookmark_that_comes_first_tells_the_columns() {
    let server = still(&Memory::default(), Vec::new()).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let told = async || {
        let path = format!(
            "{HOME}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
        );
        let (code, _, body) = protobuf::send(&server, Method::GET, &path, accept, None).await;
        assert_eq!(code, 200);
        let lines = body.split(|byte| *byte == b'\n').filter(|l| !l.is_empty());
        let events = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
        let headed = |event: Value| {
            let columns = event["object"]["columnDefinitions"].is_array();
            (
                event["type"].as_str().unwrap_or_default().to_owned(),
                columns,
            )
        };
        events.map(headed).take(2).collect::<Vec<_>>()
    };
    assert_eq!(told().await[0], ("BOOKMARK".to_owned(), true));
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let both = [("ADDED".to_owned(), true), ("BOOKMARK".to_owned(), false)];
    assert_eq!(told().await, both);
}

#[tokio::test]
async fn a_null_among_the_texts_of_a_rule_is_an_empty_one() {
    let server = still(&Memory::default(), Vec::new()).await;
    let all = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]});
    let role = json!({"metadata": {"name": "a"}, "rules": [rule]});
    ask(&server, Method::POST, all, Some(role)).await;
    let patch = json!([{"op": "add", "path": "/rules/0/verbs/0"}]);
    let path = format!("{all}/a");
    let media = "application/json-patch+json";
    let (code, made) = send(&server, Method::PATCH, &path, media, patch).await;
    let verbs = &made["rules"][0]["verbs"];
    assert_eq!((code, verbs), (200, &json!(["", "*"])));
}

/// A strategic patch is told as the patch in every refusal of what it makes.
#[tokio::test]
async fn a_strict_reader_tells_a_strategic_patch_as_it_is() {
    let server = still(&Memory::default(), Vec::new()).await;
    let all = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = json!({"metadata": {"name": "a"}});
    ask(&server, Method::POST, all, Some(role)).await;
    let path = format!("{all}/a?fieldValidation=Strict");
    let media = "application/strategic-merge-patch+json";
    let (code, answer) = send(&server, Method::PATCH, &path, media, json!({"spec": []})).await;
    let told = &answer["details"]["causes"][0]["message"];
    let why = "Invalid value: \"map[spec:[]]\": strict decoding error: unknown field \"spec\"";
    assert_eq!((code, told), (422, &json!(why)));
}

/// A path without a name below a kind is a list of a part to those who decide on rights.
#[tokio::test]
async fn a_part_of_no_name_is_refused_as_a_list_of_it() {
    let server = still(&Memory::default(), Vec::new()).await;
    let alice = Whose {
        user: User::new("alice", &["system:authenticated"]),
        agent: "test".to_owned(),
    };
    let path = format!("{HOME}//a");
    let (code, answer, _) = ask_as(&server, Method::GET, &path, "", None, Some(alice)).await;
    let why = "shoes.test.dev is forbidden: User \"alice\" cannot list resource \"shoes/a\" in API group \"test.dev\" in the namespace \"default\"";
    assert_eq!((code, answer["message"].as_str()), (403, Some(why)));
    let (code, _) = ask(&server, Method::GET, &path, None).await;
    assert_eq!(code, 404);
}

/// Whether fields stand twice is read after it is known that they are fields of this kind.
#[tokio::test]
async fn what_says_that_it_is_something_else_is_not_read_further() {
    let server = still(&Memory::default(), Vec::new()).await;
    let told = async |text: &str| {
        let request = Request::builder()
            .method(Method::PATCH)
            .uri(format!("{HOME}/a?fieldManager=one"))
            .header("content-type", APPLY)
            .extension(admin())
            .body(Body::from(text.to_owned()));
        let answer = server.router("127.0.0.1:0").oneshot(request.unwrap());
        let answer = answer.await.unwrap();
        let warned = answer.headers().get_all("warning").iter().count();
        (answer.status().as_u16(), warned)
    };
    let twice = "{apiVersion: test.dev/v1, kind: Shoe, kind: Again, metadata: {name: a}}";
    assert_eq!(told(twice).await, (400, 0));
    let misnamed = "{apiVersion: test.dev/v1, kind: Shoe, metadata: {name: x, name: b}}";
    assert_eq!(told(misnamed).await, (400, 1));
}
