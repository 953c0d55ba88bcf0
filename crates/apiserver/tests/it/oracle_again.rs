//! What lies in the store is read as the definition is now, and written through several versions of it.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{APPLY, HOME, MERGE, send};
use crate::world::{ask, shoe, shoes, still};

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
