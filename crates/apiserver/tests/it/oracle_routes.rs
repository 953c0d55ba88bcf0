//! What random requests showed beside a real kube-apiserver about lists, routes, reviews and definitions: each rule that was mended, once.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{HOME, causes, send};
use crate::world::{admin, ask, ask_as, shoe, shoes, still};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|i| i["metadata"]["name"].as_str())
        .collect()
}

/// Shoes of which `b` and `d` have the size that is looked for.
async fn sized() -> apiserver::Server {
    let server = still(&Memory::default(), Vec::new()).await;
    for (name, size) in [("a", 1), ("b", 2), ("c", 1), ("d", 2), ("e", 1)] {
        ask(&server, Method::POST, HOME, Some(shoe(name, size))).await;
    }
    server
}

#[tokio::test]
async fn a_page_goes_on_while_anything_follows() {
    let server = sized().await;
    let path = format!("{HOME}?fieldSelector=spec.size%3D2&limit=1");
    let (_, page) = ask(&server, Method::GET, &path, None).await;
    assert_eq!(names(&page), ["b"]);
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    let (_, page) = ask(
        &server,
        Method::GET,
        &format!("{path}&continue={token}"),
        None,
    )
    .await;
    assert_eq!(names(&page), ["d"]);
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_ne!(token, "", "what follows does not fit, and is there");
    let (_, page) = ask(
        &server,
        Method::GET,
        &format!("{path}&continue={token}"),
        None,
    )
    .await;
    assert_eq!(
        (names(&page), &page["metadata"]["continue"]),
        (vec![], &json!(""))
    );
    // {"v":"meta.k8s.io/v1","rv":0,"start":"a\u0000"}
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhXHUwMDAwIn0";
    let (code, answer) = ask(
        &server,
        Method::GET,
        &format!("{HOME}?continue={token}"),
        None,
    )
    .await;
    let why = "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
    assert_eq!((code, message(&answer)), (400, why));
}

#[tokio::test]
async fn a_collection_is_deleted_page_by_page() {
    let server = sized().await;
    let (code, gone) = ask(&server, Method::DELETE, &format!("{HOME}?limit=2"), None).await;
    assert_eq!((code, names(&gone)), (200, vec!["a", "b"]));
    assert_ne!(gone["metadata"]["continue"], "");
    assert_eq!(gone["metadata"]["remainingItemCount"], 3);
    let (_, left) = ask(&server, Method::GET, HOME, None).await;
    assert_eq!(names(&left), ["c", "d", "e"]);
    let (_, gone) = ask(
        &server,
        Method::DELETE,
        &format!("{HOME}?fieldSelector=spec.size%3D2"),
        None,
    )
    .await;
    assert_eq!(names(&gone), ["d"]);
    let (code, answer) = ask(
        &server,
        Method::DELETE,
        &format!("{HOME}?sendInitialEvents=true"),
        None,
    )
    .await;
    assert_eq!((code, causes(&answer)), (422, vec!["sendInitialEvents"]));
    let (_, gone) = ask(&server, Method::DELETE, HOME, None).await;
    assert_eq!(names(&gone), ["c", "e"]);
}

#[tokio::test]
async fn routes_of_built_in_kinds_have_their_methods_alone() {
    let server = still(&Memory::default(), Vec::new()).await;
    for (method, path) in [
        (Method::POST, "/api/v1/namespaces/default/configmaps/a"),
        (Method::PUT, "/api/v1/namespaces/default/configmaps"),
        (Method::PATCH, "/api/v1/namespaces/default/configmaps"),
        (Method::PATCH, "/api/v1/namespaces/default/finalize"),
        (Method::HEAD, "/api/v1/namespaces/default"),
    ] {
        let (code, answer) = ask(&server, method.clone(), path, Some(json!({}))).await;
        assert_eq!(code, 405, "{method} {path}: {answer}");
    }
    let (code, _) = send(&server, Method::PATCH, HOME, "text/plain", json!({})).await;
    assert_eq!(code, 415, "a patch of all shoes is read first");
    let (code, _) = ask(&server, Method::GET, "//", None).await;
    assert_eq!(code, 404);
    let (code, _) = ask(
        &server,
        Method::GET,
        &format!("{HOME}?labelSelector=%"),
        None,
    )
    .await;
    assert_eq!(code, 200, "what cannot be decoded is not there");
    let (code, answer) = ask(
        &server,
        Method::PUT,
        "/api/v1/namespaces/nosuch/configmaps/a",
        Some(json!({"metadata": {"name": "a"}})),
    )
    .await;
    assert_eq!(
        (code, message(&answer)),
        (404, "configmaps \"a\" not found")
    );
    let (code, answer) = ask(
        &server,
        Method::DELETE,
        &format!("{MAPS}/a?gracePeriodSeconds=abc"),
        Some(json!({})),
    )
    .await;
    assert_eq!(code, 404, "what a body says counts alone: {answer}");
}

#[tokio::test]
async fn reviews_are_checked_as_they_are_kept() {
    let server = still(&Memory::default(), Vec::new()).await;
    let group = "/apis/authorization.k8s.io/v1";
    let path = format!("{group}/subjectaccessreviews");
    let body = json!({"spec": {"groups": [], "user": "", "resourceAttributes": {}}});
    let (code, answer) = ask(&server, Method::POST, &path, Some(body)).await;
    assert_eq!((code, causes(&answer)), (422, vec!["spec.user"]));
    let body = json!({"spec": {"user": "", "groups": ["g"], "resourceAttributes": {}}});
    let (code, answer) = ask(&server, Method::POST, &path, Some(body)).await;
    assert_eq!(
        (code, &answer["spec"]),
        (201, &json!({"groups": ["g"], "resourceAttributes": {}}))
    );
    let path = format!("{group}/namespaces/default/localsubjectaccessreviews");
    let body = json!({"spec": {"user": "a", "resourceAttributes": {}}});
    let (code, answer) = ask(&server, Method::POST, &path, Some(body)).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["spec.resourceAttributes.namespace"])
    );
}

#[tokio::test]
async fn definitions_and_namespaces_are_told_in_the_real_words() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut boots = shoes();
    boots["metadata"]["name"] = "boots.test.dev".into();
    boots["spec"]["names"] = json!({"plural": "boots", "kind": "Shoe", "shortNames": []});
    boots["spec"]["conversion"] = json!({"strategy": "Webhook"});
    boots["spec"]["versions"][0]["deprecationWarning"] = "".into();
    let (code, answer) = ask(&server, Method::POST, path, Some(boots.clone())).await;
    let told = [
        "spec.versions[0].deprecationWarning",
        "spec.conversion.webhookClientConfig",
        "spec.conversion.conversionReviewVersions",
    ];
    assert_eq!((code, causes(&answer)), (422, told.to_vec()));
    boots["spec"].as_object_mut().unwrap().remove("conversion");
    boots["spec"]["versions"][0]
        .as_object_mut()
        .unwrap()
        .remove("deprecationWarning");
    let (code, made) = ask(&server, Method::POST, path, Some(boots)).await;
    assert_eq!((code, made["spec"]["names"].get("shortNames")), (201, None));
    let (_, made) = ask(
        &server,
        Method::GET,
        &format!("{path}/boots.test.dev"),
        None,
    )
    .await;
    assert_eq!(
        made["status"]["conditions"][0]["reason"], "ListKindConflict",
        "the last of several"
    );
    let (_, home) = ask(
        &server,
        Method::POST,
        "/api/v1/namespaces",
        Some(json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["bad"]}})),
    )
    .await;
    assert_eq!(causes(&home), ["spec.finalizers"]);
    let (code, home) = ask(
        &server,
        Method::POST,
        "/api/v1/namespaces",
        Some(json!({"metadata": {"name": "a.b"}})),
    )
    .await;
    assert!(
        code == 422 && message(&home).ends_with("must not contain dots"),
        "{home}"
    );
    let (code, home) = ask(
        &server,
        Method::POST,
        "/api/v1/namespaces",
        Some(json!({"metadata": {"generateName": "n-"}})),
    )
    .await;
    let owned = &home["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"];
    assert_eq!(
        (code, owned),
        (201, &json!({"f:generateName": {}})),
        "nobody owns a generated label"
    );
}

#[tokio::test]
async fn finalizers_are_warned_about_where_no_type_refuses_them() {
    let server = still(&Memory::default(), Vec::new()).await;
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let body = |name: &str| json!({"metadata": {"name": name, "finalizers": ["bare"]}});
    let (code, answer) = ask(&server, Method::POST, role, Some(body("r"))).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["metadata.finalizers[0]"])
    );
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let (code, _, warnings) = ask_as(
        &server,
        Method::POST,
        lease,
        "",
        Some(body("l")),
        Some(admin()),
    )
    .await;
    assert_eq!((code, warnings.len()), (201, 0));
    for (finalizer, told) in [("bare", 1), ("kubernetes", 0)] {
        let mut shoe = shoe(finalizer, 1);
        shoe["metadata"]["finalizers"] = json!([finalizer]);
        let (code, _, warnings) =
            ask_as(&server, Method::POST, HOME, "", Some(shoe), Some(admin())).await;
        assert_eq!((code, warnings.len()), (201, told), "{finalizer}");
    }
}
