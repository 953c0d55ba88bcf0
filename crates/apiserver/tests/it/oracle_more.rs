//! What further random requests showed beside a real kube-apiserver: each rule that was mended, once.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{APPLY, HOME, MERGE, causes, send};
use crate::oracle_scales::{BOOTS, boot, scaled};
use crate::world::{admin, ask, ask_as, raw, shoe, still};

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn nobody_owns_what_cannot_be_told() {
    let server = still(&Memory::default(), Vec::new()).await;
    let mut odd = shoe("a", 1);
    odd["metadata"]["managedFields"] =
        json!([{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}]);
    let (code, made) = ask(&server, Method::POST, HOME, Some(odd)).await;
    assert_eq!((code, made["metadata"].get("managedFields")), (201, None));
    let (_, made) = ask(&server, Method::POST, HOME, Some(shoe("b", 1))).await;
    assert!(made["metadata"]["managedFields"].is_array());
    let path = format!("{HOME}/b/status");
    let patch = json!({"spec": []});
    let (code, made) = send(&server, Method::PATCH, &path, MERGE, patch).await;
    assert_eq!(
        (
            code,
            made["metadata"].get("managedFields"),
            &made["spec"]["size"]
        ),
        (200, None, &json!(1)),
        "the spec is kept, its owners are not"
    );
}

#[tokio::test]
async fn a_patch_that_takes_the_version_away_is_refused() {
    let server = still(&Memory::default(), Vec::new()).await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let why = "shoes.test.dev \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    for version in [Value::Null, json!("")] {
        let patch = json!({"metadata": {"resourceVersion": version}});
        let (code, answer) = send(&server, Method::PATCH, &format!("{HOME}/a"), MERGE, patch).await;
        assert_eq!((code, message(&answer)), (422, why));
    }
    let mut config = shoe("a", 1);
    config["metadata"]["resourceVersion"] = "".into();
    let path = format!("{HOME}/a?fieldManager=one&force=true");
    let (code, answer) = send(&server, Method::PATCH, &path, APPLY, config).await;
    assert_eq!((code, message(&answer)), (422, why));
}

#[tokio::test]
async fn a_strict_reader_of_patches_shows_the_whole_object() {
    let server = still(&Memory::default(), Vec::new()).await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let path = format!("{HOME}/a?fieldValidation=Strict");
    for patch in [
        json!({"spec": {"odd": 1}}),
        json!({"metadata": {"name": "b"}, "spec": {"odd": 1}}),
    ] {
        let (code, answer) = send(&server, Method::PATCH, &path, MERGE, patch).await;
        let told = message(&answer);
        assert!(
            code == 422
                && told.starts_with(" \"\" is invalid: patch: ")
                && told.ends_with("strict decoding error: unknown field \"spec.odd\""),
            "{answer}"
        );
    }
    let body = json!({"apiVersion": "test.dev/v2", "kind": "Shoe", "spec": {}});
    let (code, answer) = ask(
        &server,
        Method::POST,
        &format!("{HOME}?fieldValidation=Strict"),
        Some(body),
    )
    .await;
    let why = "Shoe in version \"v2\" cannot be handled as a Shoe: strict decoding error: unknown field \"spec\"";
    assert_eq!((code, message(&answer)), (400, why));
    let body = json!({"kind": "Shoe", "metadata": {"name": "a"}, "colour": 1});
    let (code, _, warnings) = ask_as(
        &server,
        Method::PUT,
        &format!("{HOME}/a"),
        "",
        Some(body),
        Some(admin()),
    )
    .await;
    assert_eq!(
        (code, warnings.len()),
        (400, 0),
        "another kind is not held against the schema"
    );
}

#[tokio::test]
async fn a_deletion_takes_a_body_that_holds_nothing() {
    let server = still(&Memory::default(), Vec::new()).await;
    let (code, _) = ask(
        &server,
        Method::DELETE,
        &format!("{HOME}/z"),
        Some(Value::Null),
    )
    .await;
    assert_eq!(code, 404);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let (_, made) = ask(
        &server,
        Method::POST,
        accounts,
        Some(json!({"metadata": {"name": "a"}})),
    )
    .await;
    let (_, gone) = ask(&server, Method::DELETE, &format!("{accounts}/a"), None).await;
    assert_eq!(gone["metadata"]["uid"], made["metadata"]["uid"]);
    assert_ne!(
        gone["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"],
        "the version of the deletion"
    );
}

#[tokio::test]
async fn built_in_rules_are_told_whole() {
    let server = still(&Memory::default(), Vec::new()).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let rules = json!([{"verbs": ["get"], "resources": ["x"], "nonResourceURLs": ["/y"]}]);
    let body = json!({"metadata": {"name": "r"}, "rules": rules});
    let (code, answer) = ask(&server, Method::POST, roles, Some(body)).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["rules[0].nonResourceURLs"; 2])
    );
    let (_, answer) = ask(&server, Method::POST, roles, Some(json!({"rules": "x"}))).await;
    assert!(
        message(&answer).ends_with("Go struct field Role.rules of type []v1.PolicyRule"),
        "{answer}"
    );
    let (_, made) = ask(
        &server,
        Method::POST,
        roles,
        Some(json!({"metadata": {"name": "e"}, "rules": []})),
    )
    .await;
    assert_eq!(
        made["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:rules": {}})
    );
    let events = "/api/v1/namespaces/default/events";
    let event = json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}});
    ask(&server, Method::POST, events, Some(event)).await;
    let patch = json!({"involvedObject": {"namespace": "other"}});
    let (code, answer) = send(&server, Method::PATCH, &format!("{events}/a"), MERGE, patch).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["involvedObject.namespace"])
    );
    let (_, answer) = ask(
        &server,
        Method::POST,
        roles,
        Some(json!({"apiVersion": "/v1"})),
    )
    .await;
    assert!(
        message(&answer).contains("registered for version \"v1\""),
        "{answer}"
    );
}

#[tokio::test]
async fn scales_have_shapes_and_strict_readers() {
    let server = scaled().await;
    ask(
        &server,
        Method::POST,
        BOOTS,
        Some(boot(json!({"pairs": 2}))),
    )
    .await;
    let path = format!("{BOOTS}/a/scale");
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &format!("{path}?fieldValidation=Strict"),
        MERGE,
        json!({"odd": 1}),
    )
    .await;
    assert!(
        code == 422 && message(&answer).ends_with("strict decoding error: unknown field \"odd\""),
        "{answer}"
    );
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &path,
        MERGE,
        json!({"apiVersion": "test.dev/v1"}),
    )
    .await;
    assert!(
        code == 422
            && message(&answer)
                .contains("no kind \"Scale\" is registered for version \"test.dev/v1\""),
        "{answer}"
    );
    let (code, _) = send(&server, Method::PATCH, &path, MERGE, json!({"kind": ""})).await;
    assert_eq!(code, 200, "a type of its own needs no kind");
    let (code, answer) = ask(&server, Method::PATCH, &format!("{BOOTS}/a/scale/x"), None).await;
    assert_eq!(
        code, 415,
        "what follows a subresource is of no account: {answer}"
    );
}

#[tokio::test]
async fn rights_are_asked_for_what_a_path_names() {
    let server = still(&Memory::default(), Vec::new()).await;
    let nobody = apiserver::Whose {
        user: apiserver::gateway::User::new("nobody", &[]),
        agent: String::new(),
    };
    let path = "/apis/test.dev/v1/namespaces/default/nosuch/a/status/x";
    let (code, answer, _) = ask_as(&server, Method::PUT, path, "", None, Some(nobody)).await;
    let why = "nosuch.test.dev \"a\" is forbidden: User \"nobody\" cannot update resource \"nosuch/status\" in API group \"test.dev\" in the namespace \"default\"";
    assert_eq!((code, message(&answer)), (403, why));
    let response = raw(
        &server,
        Method::GET,
        &format!("{HOME}/a%2Fb"),
        "",
        None,
        Some(admin()),
    )
    .await;
    let plain = response
        .headers()
        .get("content-type")
        .is_some_and(|v| v == "application/json");
    assert_eq!(
        (response.status().as_u16(), plain),
        (404, true),
        "a hidden slash parts a path"
    );
}

#[tokio::test]
async fn a_namespace_says_that_its_content_is_gone() {
    let server = still(&Memory::default(), Vec::new()).await;
    let body = json!({"metadata": {"name": "n", "finalizers": ["test.dev/hold"]}});
    ask(&server, Method::POST, "/api/v1/namespaces", Some(body)).await;
    ask(&server, Method::DELETE, "/api/v1/namespaces/n", None).await;
    server.handle().settle().await.unwrap();
    let (_, again) = ask(&server, Method::DELETE, "/api/v1/namespaces/n", None).await;
    assert_eq!(again["metadata"]["deletionGracePeriodSeconds"], 0);
    let (_, left) = ask(&server, Method::GET, "/api/v1/namespaces/n", None).await;
    assert_eq!(
        (&left["spec"], &left["status"]["conditions"][3]["reason"]),
        (&json!({}), &json!("ContentRemoved"))
    );
    let body = json!({"metadata": {"name": "m"}});
    ask(
        &server,
        Method::POST,
        "/api/v1/namespaces",
        Some(body.clone()),
    )
    .await;
    ask(
        &server,
        Method::PUT,
        "/api/v1/namespaces/m/finalize",
        Some(body),
    )
    .await;
    let (code, marked) = ask(&server, Method::DELETE, "/api/v1/namespaces/m", None).await;
    assert_eq!(
        (code, &marked["status"]["phase"]),
        (200, &json!("Terminating")),
        "the first deletion marks it"
    );
    let (_, gone) = ask(&server, Method::DELETE, "/api/v1/namespaces/m", None).await;
    assert_eq!(gone["kind"], "Namespace");
    let (code, _) = ask(&server, Method::GET, "/api/v1/namespaces/m", None).await;
    assert_eq!(code, 404);
}

#[tokio::test]
async fn a_namespace_that_nothing_holds_goes_with_the_next_write() {
    let server = still(&Memory::default(), Vec::new()).await;
    for (name, path, wanted) in [("n", "", MERGE), ("m", "/finalize", "")] {
        let body = json!({"metadata": {"name": name}});
        ask(
            &server,
            Method::POST,
            "/api/v1/namespaces",
            Some(body.clone()),
        )
        .await;
        let home = format!("/api/v1/namespaces/{name}");
        if path.is_empty() {
            ask(
                &server,
                Method::PUT,
                &format!("{home}/finalize"),
                Some(body.clone()),
            )
            .await;
        }
        ask(&server, Method::DELETE, &home, None).await;
        let (code, _) = match wanted {
            MERGE => {
                send(
                    &server,
                    Method::PATCH,
                    &home,
                    MERGE,
                    json!({"metadata": {"labels": {"a": "b"}}}),
                )
                .await
            }
            _ => ask(&server, Method::PUT, &format!("{home}{path}"), Some(body)).await,
        };
        assert_eq!(code, 200);
        let (code, left) = ask(&server, Method::GET, &home, None).await;
        assert_eq!(code, 404, "{left}");
    }
}

#[tokio::test]
async fn names_that_are_free_again_are_taken() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = |plural: &str| {
        json!({"metadata": {"name": format!("{plural}.free.dev")}, "spec": {
            "group": "free.dev", "scope": "Namespaced", "names": {"plural": plural, "kind": "Thing"},
            "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        }})
    };
    let (_, made) = ask(&server, Method::POST, path, Some(definition("things"))).await;
    assert_eq!(
        made["spec"]["versions"][0]["served"], false,
        "what was not said"
    );
    ask(&server, Method::POST, path, Some(definition("others"))).await;
    let other = format!("{path}/others.free.dev");
    let (_, waits) = ask(&server, Method::GET, &other, None).await;
    assert_eq!(
        waits["status"]["acceptedNames"].get("kind"),
        Some(&json!(""))
    );
    ask(
        &server,
        Method::DELETE,
        &format!("{path}/things.free.dev"),
        None,
    )
    .await;
    server.handle().settle().await.unwrap();
    let (_, taken) = ask(&server, Method::GET, &other, None).await;
    assert_eq!(taken["status"]["acceptedNames"]["kind"], "Thing");
    let mut odd = definition("odd");
    odd["spec"]["conversion"] = json!({});
    let (code, answer) = ask(&server, Method::POST, path, Some(odd.clone())).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["spec.conversion.strategy"])
    );
    odd["spec"]["conversion"] =
        json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}});
    let (code, answer) = ask(&server, Method::POST, path, Some(odd)).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["spec.conversion.conversionReviewVersions"])
    );
}

#[tokio::test]
async fn small_things_are_told_as_they_are() {
    let server = scaled().await;
    ask(
        &server,
        Method::POST,
        BOOTS,
        Some(boot(json!({"pairs": 2}))),
    )
    .await;
    let scale = format!("{BOOTS}/a/scale");
    let patch = Some(json!({"odd": 1}));
    let (code, _, warnings) =
        ask_as(&server, Method::PATCH, &scale, MERGE, patch, Some(admin())).await;
    assert_eq!(
        (code, warnings),
        (200, vec!["299 - \"unknown field \\\"odd\\\"\"".to_owned()])
    );
    let (code, answer) = ask(&server, Method::GET, &format!("{HOME}?limit="), None).await;
    assert_eq!(
        (code, message(&answer)),
        (400, "strconv.ParseInt: parsing \"\": invalid syntax")
    );
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let (_, answer) = ask(
        &server,
        Method::POST,
        bindings,
        Some(json!({"metadata": {"name": "b"}})),
    )
    .await;
    assert_eq!(causes(&answer), ["roleRef.kind", "roleRef.name"]);
}

#[tokio::test]
async fn what_was_read_is_warned_about() {
    let server = scaled().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    ask(
        &server,
        Method::POST,
        maps,
        Some(json!({"metadata": {"name": "a"}})),
    )
    .await;
    let strategic = "application/strategic-merge-patch+json";
    let (code, made) = send(
        &server,
        Method::PATCH,
        &format!("{maps}/a"),
        strategic,
        json!({"kind": "Odd"}),
    )
    .await;
    assert_eq!((code, &made["kind"]), (200, &json!("ConfigMap")));
    let mut held = shoe("a", 1);
    held["metadata"]["finalizers"] = json!(["bare"]);
    held["status"] = "x".into();
    let (code, made, warnings) = ask_as(
        &server,
        Method::POST,
        HOME,
        "",
        Some(held.clone()),
        Some(admin()),
    )
    .await;
    assert_eq!(
        (code, made["metadata"].get("managedFields"), warnings.len()),
        (201, None, 1)
    );
    let (code, _, warnings) =
        ask_as(&server, Method::POST, HOME, "", Some(held), Some(admin())).await;
    assert_eq!(
        (code, warnings.len()),
        (409, 1),
        "it was read before it was looked for"
    );
}

#[tokio::test]
async fn generations_and_finalizers_are_as_they_are_given() {
    let server = still(&Memory::default(), Vec::new()).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let body = json!({"metadata": {"name": "r", "generation": 7}});
    let (_, made) = ask(&server, Method::POST, roles, Some(body)).await;
    assert_eq!(made["metadata"]["generation"], 7, "nobody counts them");
    let mut counted = shoe("a", 1);
    counted["metadata"]["generation"] = 7.into();
    let (_, made) = ask(&server, Method::POST, HOME, Some(counted)).await;
    assert_eq!(made["metadata"]["generation"], 1);
    let patch = json!({"metadata": {"finalizers": ["a/b/c"]}});
    let (code, answer) = send(&server, Method::PATCH, &format!("{HOME}/a"), MERGE, patch).await;
    assert_eq!((code, causes(&answer).len()), (422, 1), "{answer}");
    let mut config = shoe("new", 1);
    config["metadata"]["resourceVersion"] = "abc".into();
    let path = format!("{HOME}/new?fieldManager=one");
    let (code, _) = send(&server, Method::PATCH, &path, APPLY, config).await;
    assert_eq!(code, 500);
}
