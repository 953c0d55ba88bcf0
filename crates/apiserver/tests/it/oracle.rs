//! What random requests showed beside a real kube-apiserver (`cargo xtask differ`): each difference that was mended, once.

use apiserver::Whose;
use apiserver::gateway::User;
use axum::response::Response;
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle_scales::{BOOTS, boot, scaled};
use crate::world::{admin, ask, ask_as, raw, shoe, still};

pub(crate) const HOME: &str = "/apis/test.dev/v1/namespaces/default/shoes";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Sends a body of a media type as the administrator.
pub(crate) async fn send(
    server: &apiserver::Server,
    method: Method,
    path: &str,
    media: &str,
    body: Value,
) -> (u16, Value) {
    let (code, answer, _) = ask_as(server, method, path, media, Some(body), Some(admin())).await;
    (code, answer)
}

#[tokio::test]
async fn a_write_to_a_namespace_keeps_what_guards_its_content() {
    let server = still(&Memory::default(), Vec::new()).await;
    let home = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["test.dev/more"]}});
    let (code, made) = ask(&server, Method::POST, "/api/v1/namespaces", Some(home)).await;
    assert_eq!(
        (code, &made["spec"]),
        (201, &json!({"finalizers": ["test.dev/more", "kubernetes"]}))
    );
    let path = "/api/v1/namespaces/n";
    let (code, put) = ask(
        &server,
        Method::PUT,
        path,
        Some(json!({"metadata": {"name": "n"}})),
    )
    .await;
    assert_eq!(
        (code, &put["spec"]),
        (200, &made["spec"]),
        "a PUT without them"
    );
    let body = json!({"metadata": {"name": "n", "labels": {"z": "z"}}});
    let (code, put) = ask(
        &server,
        Method::PUT,
        &format!("{path}/status"),
        Some(body.clone()),
    )
    .await;
    assert_eq!((code, &put["spec"]), (200, &made["spec"]));
    assert_eq!(
        put["metadata"]["labels"]["z"], "z",
        "the status subresource writes metadata"
    );
    assert_eq!(put["status"]["phase"], "Active");
    let body = json!({"metadata": {"name": "n"}, "status": {"phase": "Terminating"}});
    let (code, _) = ask(&server, Method::PUT, &format!("{path}/status"), Some(body)).await;
    assert_eq!(code, 422, "nothing was deleted");
    let body = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["bad"]}});
    let (code, _) = ask(
        &server,
        Method::PUT,
        &format!("{path}/finalize"),
        Some(body),
    )
    .await;
    assert_eq!(code, 422);
    let body = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}});
    let (code, put) = ask(
        &server,
        Method::PUT,
        &format!("{path}/finalize"),
        Some(body),
    )
    .await;
    assert_eq!(
        (code, &put["spec"]["finalizers"]),
        (200, &json!(["kubernetes"]))
    );
}

#[tokio::test]
async fn a_namespace_is_marked_without_a_grace_period() {
    let server = still(&Memory::default(), Vec::new()).await;
    let home = json!({"metadata": {"name": "n", "finalizers": ["test.dev/hold"]}});
    ask(&server, Method::POST, "/api/v1/namespaces", Some(home)).await;
    let (code, marked) = ask(&server, Method::DELETE, "/api/v1/namespaces/n", None).await;
    assert_eq!(
        (code, marked["metadata"].get("deletionGracePeriodSeconds")),
        (200, None)
    );
}

#[tokio::test]
async fn a_deprecated_version_names_a_better_one() {
    let server = scaled().await;
    let path = "/apis/test.dev/v1beta1/namespaces/default/boots";
    let (_, _, warnings) = ask_as(&server, Method::GET, path, "", None, Some(admin())).await;
    let told = "299 - \"test.dev/v1beta1 Boot is deprecated; use test.dev/v1 Boot\"";
    assert_eq!(warnings, [told]);
}

#[tokio::test]
async fn a_put_makes_roles_and_leases() {
    let server = still(&Memory::default(), Vec::new()).await;
    let role = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r";
    let body = json!({"metadata": {"name": "r", "resourceVersion": "7"}, "rules": []});
    let (code, made) = ask(&server, Method::PUT, role, Some(body)).await;
    assert_eq!((code, &made["rules"]), (201, &Value::Null));
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let map = "/api/v1/namespaces/default/configmaps/c";
    for (path, name, wanted) in [(lease, "l", 201), (map, "c", 404)] {
        let body = json!({"metadata": {"name": name}});
        let (code, _) = ask(&server, Method::PUT, path, Some(body)).await;
        assert_eq!(code, wanted, "{path}");
    }
}

#[tokio::test]
async fn a_put_that_makes_needs_the_right_to_create() {
    let server = still(&Memory::default(), Vec::new()).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let rules = json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]}]);
    ask(
        &server,
        Method::POST,
        &format!("{rbac}/roles"),
        Some(json!({"metadata": {"name": "r"}, "rules": rules})),
    )
    .await;
    let binding = json!({"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "bob"}]});
    ask(
        &server,
        Method::POST,
        &format!("{rbac}/rolebindings"),
        Some(binding),
    )
    .await;
    let bob = Whose {
        user: User::new("bob", &[]),
        agent: "bob".to_owned(),
    };
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let body = json!({"metadata": {"name": "l"}});
    let (code, answer, _) = ask_as(&server, Method::PUT, path, "", Some(body), Some(bob)).await;
    assert_eq!(code, 403, "{answer}");
}

pub(crate) fn causes(answer: &Value) -> Vec<&str> {
    let all = answer["details"]["causes"].as_array().into_iter().flatten();
    all.filter_map(|c| c["field"].as_str()).collect()
}

#[tokio::test]
async fn wrong_parameters_are_told_at_once() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}?fieldManager=%07&dryRun=Odd&fieldValidation=Odd");
    let (code, answer) = ask(&server, Method::POST, &path, Some(shoe("a", 1))).await;
    assert_eq!(
        (code, causes(&answer)),
        (422, vec!["fieldManager", "dryRun", "fieldValidation"])
    );
    let path = format!("{HOME}?resourceVersionMatch=Odd&sendInitialEvents=true");
    let (code, answer) = ask(&server, Method::GET, &path, None).await;
    assert_eq!(
        (code, causes(&answer)),
        (
            422,
            vec![
                "resourceVersionMatch",
                "resourceVersionMatch",
                "sendInitialEvents"
            ]
        )
    );
    let cases = [
        (
            "limit=99999999999999999999",
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range",
        ),
        (
            "resourceVersion=%2B1",
            "invalid resource version: resourceVersion: Invalid value: \"+1\": strconv.ParseUint: parsing \"+1\": invalid syntax",
        ),
        (
            "timeout=abc",
            "invalid timeout specified in the request URL - time: invalid duration \"abc\"",
        ),
    ];
    for (query, why) in cases {
        let (code, answer) = ask(&server, Method::GET, &format!("{HOME}?{query}"), None).await;
        assert_eq!(
            (code, answer["message"].as_str()),
            (400, Some(why)),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_body_must_say_what_it_is_before_it_is_looked_up() {
    let server = still(&Memory::default(), Vec::new()).await;
    let body = json!({"apiVersion": "test.dev/v1", "metadata": {"name": "a"}});
    let (code, answer) = ask(&server, Method::POST, HOME, Some(body)).await;
    let why = "the object provided is unrecognized (must be of type Shoe): Object 'Kind' is missing in '{\"apiVersion\":\"test.dev/v1\",\"metadata\":{\"name\":\"a\"}}' ({\"apiVersion\":\"test.dev/v1\",\"m ...)";
    assert_eq!((code, answer["message"].as_str()), (400, Some(why)));
    let (code, _) = ask(
        &server,
        Method::PUT,
        &format!("{HOME}/gone"),
        Some(shoe("other", 1)),
    )
    .await;
    assert_eq!(code, 400, "another name comes before a missing object");
    let mut odd = shoe("gone", 1);
    odd["colour"] = "red".into();
    let path = format!("{HOME}/gone");
    let (code, _, warnings) =
        ask_as(&server, Method::PUT, &path, "", Some(odd), Some(admin())).await;
    assert_eq!(
        (code, warnings.len()),
        (404, 1),
        "it was read before it was looked for"
    );
}

#[tokio::test]
async fn merge_patches_leave_no_nulls_in_lists() {
    let server = scaled().await;
    ask(
        &server,
        Method::POST,
        BOOTS,
        Some(boot(json!({"pairs": 1}))),
    )
    .await;
    let patch = json!({"spec": {"deep": {"list": [1, null, {"x": null, "y": 2}]}}});
    let (code, answer) = send(&server, Method::PATCH, &format!("{BOOTS}/a"), MERGE, patch).await;
    assert_eq!(
        (code, &answer["spec"]["deep"]),
        (200, &json!({"list": [1, null, {"y": 2}]}))
    );
}

#[tokio::test]
async fn an_apply_is_judged_in_the_real_order() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/a?fieldManager=one");
    let config = |kind: &str, name: &str, size: i64| json!({"apiVersion": "test.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": {"size": size}});
    let (code, answer) = send(&server, Method::PATCH, &path, APPLY, config("Odd", "a", 1)).await;
    let why = "invalid object type: test.dev/v1, Kind=Odd";
    assert_eq!((code, answer["message"].as_str()), (400, Some(why)));
    let mut wild = config("Shoe", "a", 1);
    wild["metadata"]["uid"] = "12345678-1234-1234-1234-123456789012".into();
    let (code, _) = send(&server, Method::PATCH, &path, APPLY, wild).await;
    assert_eq!(code, 409, "nothing has that uid");
    let (code, _) = send(&server, Method::PATCH, &path, APPLY, config("Shoe", "a", 1)).await;
    assert_eq!(code, 201);
    let path = format!("{HOME}/a?fieldManager=two");
    let (code, _) = send(
        &server,
        Method::PATCH,
        &path,
        APPLY,
        config("Shoe", "other", 2),
    )
    .await;
    assert_eq!(code, 409, "a conflict comes before the name");
}

#[tokio::test]
async fn labels_that_are_null_are_empty() {
    let server = still(&Memory::default(), Vec::new()).await;
    let body =
        json!({"metadata": {"name": "c", "labels": {"a": null}, "annotations": {"b": null}}});
    let (_, made) = ask(
        &server,
        Method::POST,
        "/api/v1/namespaces/default/configmaps",
        Some(body),
    )
    .await;
    assert_eq!(made["metadata"]["labels"], json!({"a": ""}));
    assert_eq!(made["metadata"]["annotations"], json!({"b": ""}));
}

#[tokio::test]
async fn what_is_not_there_is_told_as_by_the_routes_of_its_group() {
    let server = still(&Memory::default(), Vec::new()).await;
    for path in [
        "/api/v2",
        "/api/v1/nosuch",
        "/api/v1/namespaces/default/configmaps/a/nosuch",
        "/apis/rbac.authorization.k8s.io/v9",
    ] {
        let (code, answer) = ask(&server, Method::GET, path, None).await;
        let why = "the server could not find the requested resource";
        assert_eq!(
            (code, answer["message"].as_str()),
            (404, Some(why)),
            "{path}"
        );
    }
    for path in ["/apis/test.dev/v9", "/apis/nosuch.dev/v1/x"] {
        let (code, answer) = ask(&server, Method::GET, path, None).await;
        assert_eq!(
            (code, answer.as_str()),
            (404, Some("404 page not found\n")),
            "{path}"
        );
    }
    let sniffed = |response: &Response| response.headers().contains_key("x-content-type-options");
    let nobody = Some(Whose {
        user: User::new("nobody", &[]),
        agent: String::new(),
    });
    let refused = raw(&server, Method::GET, HOME, "", None, nobody).await;
    assert_eq!((refused.status().as_u16(), sniffed(&refused)), (403, true));
}

#[tokio::test]
async fn routes_of_built_in_groups_match_media_types_as_they_are_written() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/api/v1/namespaces/default/configmaps/a";
    let (code, answer) = send(&server, Method::PATCH, path, "text/plain", json!({})).await;
    assert_eq!(
        (code, answer["message"].as_str()),
        (415, Some("415: Unsupported Media Type"))
    );
}

#[tokio::test]
async fn any_version_is_answered_whole() {
    let server = still(&Memory::default(), Vec::new()).await;
    for name in ["a", "b", "c"] {
        ask(&server, Method::POST, HOME, Some(shoe(name, 1))).await;
    }
    let (_, page) = ask(
        &server,
        Method::GET,
        &format!("{HOME}?limit=1&resourceVersion=0"),
        None,
    )
    .await;
    assert_eq!(
        (
            page["items"].as_array().unwrap().len(),
            &page["metadata"]["continue"]
        ),
        (3, &json!(""))
    );
    // {"v":"odd","rv":1,"start":"a"}, and what is no base64
    let cases = [
        (
            "eyJ2Ijoib2RkIiwicnYiOjEsInN0YXJ0IjoiYSJ9",
            "server does not recognize this encoded version odd",
        ),
        ("0", "illegal base64 data at input byte 0"),
    ];
    for (token, why) in cases {
        let (code, answer) = ask(
            &server,
            Method::GET,
            &format!("{HOME}?continue={token}"),
            None,
        )
        .await;
        let told = format!("invalid continue token: continue key is not valid: {why}");
        assert_eq!(
            (code, answer["message"].as_str()),
            (400, Some(told.as_str()))
        );
    }
}

#[tokio::test]
async fn a_typed_kind_makes_something_of_nothing() {
    let server = still(&Memory::default(), Vec::new()).await;
    for body in [Value::Null, json!({"metadata": null})] {
        let (code, answer) = ask(
            &server,
            Method::POST,
            "/api/v1/namespaces/default/configmaps",
            Some(body),
        )
        .await;
        assert_eq!((code, causes(&answer)), (422, vec!["metadata.name"]));
    }
    let (code, _) = ask(&server, Method::POST, HOME, Some(Value::Null)).await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn old_events_take_any_name_and_roles_tell_errors_often() {
    let server = still(&Memory::default(), Vec::new()).await;
    let event = json!({"metadata": {"name": "has space"}, "involvedObject": {"namespace": "default", "name": ""}, "count": 0});
    let (code, made) = ask(
        &server,
        Method::POST,
        "/api/v1/namespaces/default/events",
        Some(event),
    )
    .await;
    assert_eq!(
        (code, &made["involvedObject"]),
        (201, &json!({"namespace": "default"}))
    );
    assert_eq!(made.get("count"), None);
    let role = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/r";
    ask(
        &server,
        Method::PUT,
        role,
        Some(json!({"metadata": {"name": "r"}})),
    )
    .await;
    let odd = json!({"metadata": {"name": "r", "labels": {"bad key": "v"}}});
    let (code, answer) = ask(&server, Method::PUT, role, Some(odd)).await;
    assert_eq!((code, causes(&answer)), (422, vec!["metadata.labels"; 5]));
}

#[tokio::test]
async fn a_json_patch_replaces_what_a_map_has_not() {
    let server = scaled().await;
    ask(
        &server,
        Method::POST,
        BOOTS,
        Some(boot(json!({"pairs": 1}))),
    )
    .await;
    let media = "application/json-patch+json";
    let patch = json!([{"op": "replace", "path": "/spec/new", "value": 2}, {"op": "add", "path": "/spec/none"}]);
    let (code, answer) = send(&server, Method::PATCH, &format!("{BOOTS}/a"), media, patch).await;
    assert_eq!((code, &answer["spec"]["new"]), (200, &json!(2)));
    let patch = json!([{"op": "replace", "path": "/spec/far/new", "value": 2}]);
    let (code, _) = send(&server, Method::PATCH, &format!("{BOOTS}/a"), media, patch).await;
    assert_eq!(code, 422);
}
