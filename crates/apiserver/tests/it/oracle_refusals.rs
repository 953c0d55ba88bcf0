//! Refusals in kube-apiserver's words.

use http::Method;
use objectstore::Memory;
use serde_json::json;

use crate::oracle::{APPLY, HOME, MERGE, causes, send};
use crate::world::{ask, shoe, shoes, still};

#[tokio::test]
async fn a_definition_needs_its_names_and_no_null_root() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut nameless = shoes();
    nameless["metadata"]["name"] = "boots.test.dev".into();
    nameless["spec"]["names"] = json!({"plural": "boots", "kind": ""});
    let (code, answer) = ask(&server, Method::POST, path, Some(nameless.clone())).await;
    let names = [
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
    ];
    assert_eq!((code, causes(&answer)), (422, names.to_vec()));
    nameless["spec"]["names"]["kind"] = "Boot".into();
    nameless["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["nullable"] = true.into();
    let (code, answer) = ask(&server, Method::POST, path, Some(nameless)).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["spec.validation.openAPIV3Schema.nullable"])
    );
}

/// What cannot be a structural schema at all is told once, and not what it would lack as one.
#[tokio::test]
async fn a_definition_with_a_reference_is_told_of_that_alone() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut odd = shoes();
    odd["spec"]["versions"][0]["selectableFields"] = json!([]);
    odd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"p": {"$ref": "#/x"}}}}});
    let (code, answer) = ask(&server, Method::POST, path, Some(odd)).await;
    let field = "spec.validation.openAPIV3Schema.properties[spec].properties[p].$ref";
    assert_eq!((code, causes(&answer)), (422, vec![field]));
    let mut nameless = shoes();
    nameless["spec"]["versions"][0]["name"] = "".into();
    let (code, answer) = ask(&server, Method::POST, path, Some(nameless)).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["spec.versions[0].name"])
    );
}

#[tokio::test]
async fn odd_paths_media_types_and_shapes_are_refused() {
    let server = still(&Memory::default(), Vec::new()).await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let (code, answer) = ask(&server, Method::GET, &format!("{HOME}//a"), None).await;
    assert_eq!(
        (code, answer["message"].as_str()),
        (404, Some("shoes.test.dev \"\" not found"))
    );
    let path = format!("{HOME}/z");
    let (code, _) = send(&server, Method::DELETE, &path, "application/x", json!({})).await;
    assert_eq!(code, 415);
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &format!("{HOME}/a"),
        MERGE,
        json!({"apiVersion": "test.dev"}),
    )
    .await;
    let why = "Shoe \"a\" is invalid: apiVersion: Invalid value: \"test.dev\": must be test.dev/v1";
    assert_eq!((code, answer["message"].as_str()), (422, Some(why)));
    let path = format!(
        "{HOME}?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1"
    );
    let (code, answer) = ask(&server, Method::GET, &path, None).await;
    assert_eq!((code, causes(&answer).len()), (422, 2));
}

#[tokio::test]
async fn small_refusals_have_the_real_words() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut stem = shoe("a", 1);
    stem["metadata"]["generateName"] = "a-".into();
    ask(&server, Method::POST, HOME, Some(stem.clone())).await;
    let (code, answer) = ask(&server, Method::POST, HOME, Some(stem)).await;
    let why = "shoes.test.dev \"a\" already exists, the server was not able to generate a unique name for the object";
    assert_eq!((code, answer["message"].as_str()), (409, Some(why)));
    let (code, answer) = ask(
        &server,
        Method::DELETE,
        &format!("{HOME}/a"),
        Some(json!({"kind": "Shoe"})),
    )
    .await;
    let why = "no kind \"Shoe\" is registered for version \"meta.k8s.io/v1\" in scheme \"pkg/runtime/scheme.go:110\"";
    assert_eq!((code, answer["message"].as_str()), (500, Some(why)));
    let text = json!("text");
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &format!("{HOME}/a?fieldManager=one"),
        APPLY,
        text,
    )
    .await;
    let why = "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type map[string]interface {}";
    assert_eq!((code, answer["message"].as_str()), (400, Some(why)));
}
