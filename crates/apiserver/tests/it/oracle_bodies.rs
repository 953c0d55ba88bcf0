//! What random requests showed beside a real kube-apiserver about bodies, metadata and patches: each rule that was mended, once.

use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::oracle::{APPLY, HOME, MERGE, causes, send};
use crate::oracle_scales::scaled;
use crate::world::{admin, ask, ask_as, shoe, still};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON_PATCH: &str = "application/json-patch+json";

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}

/// How often a change tells a cause: once or twice for every kind, and as often as the kind's own rules find it.
#[tokio::test]
async fn causes_of_changed_metadata_are_told_as_often_as_they_are_found() {
    let server = still(&Memory::default(), Vec::new()).await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let events = "/api/v1/namespaces/default/events";
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    for (path, told) in [
        (MAPS, 4),
        ("/api/v1/namespaces/default/secrets", 4),
        ("/api/v1/namespaces/default/serviceaccounts", 4),
        ("/api/v1/namespaces", 4),
        (leases, 3),
        (events, 2),
        (HOME, 3),
    ] {
        if path != HOME {
            let body =
                json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}});
            ask(&server, Method::POST, path, Some(body)).await;
        }
        let patch = json!({"metadata": {"labels": {"bad key": "v"}}});
        let (code, answer) = send(&server, Method::PATCH, &format!("{path}/a"), MERGE, patch).await;
        assert_eq!(
            (code, causes(&answer).len()),
            (422, told),
            "{path}: {answer}"
        );
        let patch = json!({"metadata": {"uid": "12345678-1234-1234-1234-123456789012"}});
        let (code, answer) = send(&server, Method::PATCH, &format!("{path}/a"), MERGE, patch).await;
        let told = if path == events { 1 } else { 2 };
        assert_eq!(
            (code, causes(&answer).len()),
            (422, told),
            "{path}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_version_that_is_no_number_fails() {
    let server = still(&Memory::default(), Vec::new()).await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let path = format!("{HOME}/a");
    for (version, problem) in [
        ("abc", "invalid syntax"),
        ("99999999999999999999", "value out of range"),
    ] {
        let mut body = shoe("a", 2);
        body["metadata"]["resourceVersion"] = version.into();
        let (code, answer) = ask(&server, Method::PUT, &path, Some(body)).await;
        let why = format!("strconv.ParseUint: parsing \"{version}\": {problem}");
        assert_eq!((code, message(&answer)), (500, why.as_str()));
    }
}

#[tokio::test]
async fn a_put_that_makes_has_no_uid() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let uid = "12345678-1234-1234-1234-123456789012";
    let body = json!({"metadata": {"name": "l", "uid": uid}});
    let (code, answer) = ask(&server, Method::PUT, path, Some(body)).await;
    let why = format!(
        "Operation cannot be fulfilled on leases.coordination.k8s.io \"l\": StorageError: invalid object, Code: 4, Key: \
         /registry/leases/default/l, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: "
    );
    assert_eq!((code, message(&answer)), (409, why.as_str()));
    ask(
        &server,
        Method::POST,
        MAPS,
        Some(json!({"metadata": {"name": "a"}})),
    )
    .await;
    let body = json!({"metadata": {"name": "a", "uid": uid}});
    let (code, answer) = ask(
        &server,
        Method::PUT,
        &format!("{MAPS}/a?dryRun=All"),
        Some(body),
    )
    .await;
    assert_eq!(code, 409);
    assert!(
        message(&answer).contains("Key: /configmaps/default/a,"),
        "{answer}"
    );
}

#[tokio::test]
async fn owners_stand_once() {
    let server = still(&Memory::default(), Vec::new()).await;
    let owner = json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"});
    let mut other = owner.clone();
    other["controller"] = true.into();
    let body = json!({"metadata": {"name": "a", "ownerReferences": [owner, other, owner, other]}});
    let (code, made, warnings) =
        ask_as(&server, Method::POST, MAPS, "", Some(body), Some(admin())).await;
    assert_eq!(
        (code, &made["metadata"]["ownerReferences"]),
        (201, &json!([owner, other]))
    );
    let told = "duplicate entries; API server dedups";
    assert!(
        warnings.len() == 1 && warnings[0].contains(told) && warnings[0].contains("observed: u, u"),
        "{warnings:?}"
    );
    let patch = json!({"metadata": {"ownerReferences": [owner, owner]}});
    let (code, made, warnings) = ask_as(
        &server,
        Method::PATCH,
        &format!("{MAPS}/a"),
        MERGE,
        Some(patch),
        Some(admin()),
    )
    .await;
    assert_eq!(
        (code, &made["metadata"]["ownerReferences"]),
        (200, &json!([owner]))
    );
    assert!(
        warnings[0].contains("duplicate entries after mutating admission happens;"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn managed_fields_that_are_emptied_stay_empty() {
    let server = still(&Memory::default(), Vec::new()).await;
    for (name, nothing) in [("a", json!([])), ("b", json!([{}]))] {
        let path = format!("{MAPS}/{name}");
        let body = |data: &str| json!({"metadata": {"name": name}, "data": {"k": data}});
        let (_, made) = ask(&server, Method::POST, MAPS, Some(body("1"))).await;
        assert!(made["metadata"]["managedFields"].is_array());
        let mut reset = body("2");
        reset["metadata"]["managedFields"] = nothing;
        let (code, put) = ask(&server, Method::PUT, &path, Some(reset)).await;
        assert_eq!((code, put["metadata"].get("managedFields")), (200, None));
        let (code, put) = ask(&server, Method::PUT, &path, Some(body("3"))).await;
        assert_eq!(
            (code, put["metadata"].get("managedFields")),
            (200, None),
            "nobody starts again"
        );
    }
}

#[tokio::test]
async fn a_kind_is_judged_after_name_and_version() {
    let server = still(&Memory::default(), Vec::new()).await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let path = format!("{HOME}/a");
    let mut odd = shoe("a", 1);
    odd["kind"] = "Odd".into();
    let (code, answer) = ask(&server, Method::PUT, &path, Some(odd.clone())).await;
    let why = "shoes.test.dev \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!((code, message(&answer)), (422, why));
    odd["metadata"]["name"] = "b".into();
    let (code, answer) = send(&server, Method::PATCH, &path, MERGE, odd).await;
    assert_eq!(
        (code, message(&answer)),
        (
            400,
            "the name of the object (b) does not match the name on the URL (a)"
        )
    );
    let (code, answer) = send(&server, Method::PATCH, &path, MERGE, json!({"kind": "Odd"})).await;
    assert_eq!(
        (code, message(&answer)),
        (
            422,
            "Odd.test.dev \"a\" is invalid: kind: Invalid value: \"Odd\": must be Shoe"
        )
    );
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &path,
        JSON_PATCH,
        json!([{"op": "replace", "path": "", "value": {"a": "b"}}]),
    )
    .await;
    assert!(
        code == 422 && message(&answer).ends_with("Object 'Kind' is missing in '{\"a\":\"b\"}'"),
        "{answer}"
    );
    ask(
        &server,
        Method::POST,
        MAPS,
        Some(json!({"metadata": {"name": "a"}})),
    )
    .await;
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &format!("{MAPS}/a"),
        MERGE,
        json!({"kind": "Odd"}),
    )
    .await;
    assert!(
        code == 422
            && message(&answer).contains("no kind \"Odd\" is registered for version \"v1\""),
        "{answer}"
    );
}

#[tokio::test]
async fn a_lax_reader_misses_a_kind_in_other_words() {
    let server = still(&Memory::default(), Vec::new()).await;
    let body = json!({"apiVersion": "test.dev/v1"});
    let (code, answer) = ask(
        &server,
        Method::POST,
        &format!("{HOME}?fieldValidation=Ignore"),
        Some(body),
    )
    .await;
    let why = "Shoe in version \"v1\" cannot be handled as a Shoe: Object 'Kind' is missing in '{\"apiVersion\":\"test.dev/v1\"}'";
    assert_eq!((code, message(&answer)), (400, why));
    for (body, why) in [
        (
            json!({"kind": 3}),
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
        ),
        (
            json!({"apiVersion": "a/b/c"}),
            "unexpected GroupVersion string: a/b/c",
        ),
    ] {
        for path in [HOME, MAPS] {
            let (code, answer) = ask(&server, Method::POST, path, Some(body.clone())).await;
            assert!(code == 400 && message(&answer).contains(why), "{answer}");
        }
    }
    let (code, answer) = ask(
        &server,
        Method::DELETE,
        &format!("{MAPS}/z"),
        Some(json!({"kind": 3})),
    )
    .await;
    assert!(
        code == 500 && message(&answer).starts_with("couldn't get version/kind"),
        "{answer}"
    );
    let body = json!({"apiVersion": "test.dev/v9", "kind": "Shoe", "spec": {}});
    let (code, _, warnings) =
        ask_as(&server, Method::POST, HOME, "", Some(body), Some(admin())).await;
    assert_eq!(
        (code, warnings),
        (400, vec!["299 - \"unknown field \\\"spec\\\"\"".to_owned()])
    );
}

#[tokio::test]
async fn json_patches_do_at_the_root_what_the_real_library_does() {
    let server = scaled().await;
    ask(&server, Method::POST, HOME, Some(shoe("a", 1))).await;
    let path = format!("{HOME}/a");
    for (patch, wanted) in [
        (json!([{"op": "add", "path": ""}]), 422),
        (json!([{"op": "replace", "path": "", "value": "text"}]), 200),
        (
            json!([{"op": "copy", "from": "/metadata/labels", "path": "/status"}]),
            200,
        ),
        (
            json!([{"op": "move", "from": "/metadata/labels", "path": "/status"}]),
            422,
        ),
        (Value::Null, 200),
    ] {
        let (code, answer) = send(&server, Method::PATCH, &path, JSON_PATCH, patch.clone()).await;
        assert_eq!(code, wanted, "{patch}: {answer}");
    }
    let (code, answer) = send(&server, Method::PATCH, &path, MERGE, Value::Null).await;
    assert_eq!((code, message(&answer)), (400, "Invalid JSON Patch"));
}

#[tokio::test]
async fn an_apply_tells_nulls_and_misfits_as_they_are() {
    let server = still(&Memory::default(), Vec::new()).await;
    let path = format!("{HOME}/a?fieldManager=one");
    let config = |spec: Value| json!({"apiVersion": "test.dev/v1", "kind": "Shoe", "metadata": {"name": "a"}, "spec": spec});
    let (code, answer) = send(
        &server,
        Method::PATCH,
        &path,
        APPLY,
        config(json!({"size": null})),
    )
    .await;
    assert!(
        code == 422 && message(&answer).contains("must be of type integer: \"null\""),
        "{answer}"
    );
    for (spec, told) in [
        (json!([1]), ".spec: expected map, got &{[1]}"),
        (
            json!({"size": "x"}),
            ".spec.size: expected numeric (int or float), got string",
        ),
        (
            json!({"colour": 5}),
            ".spec.colour: expected string, got &value.valueUnstructured{Value:5}",
        ),
    ] {
        let (code, answer) = send(&server, Method::PATCH, &path, APPLY, config(spec)).await;
        assert!(code == 500 && message(&answer).ends_with(told), "{answer}");
    }
}
