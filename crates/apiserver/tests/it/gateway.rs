//! Resources of the embedding program: writes go through its gateway, reads come from the store.

use std::sync::{Arc, Mutex};

use apiserver::{Call, CallAnswer, Gateway, Record, Refusal, RefusalClass, ServerHandle};
use async_trait::async_trait;
use http::Method;
use objects::Resource;
use objectstore::{Expect, Memory};
use serde_json::{Value, json};

use crate::world::{ask, ask_as, still};

/// Stores crates, refuses heavy ones, and knows the contents of each.
struct Warehouse {
    handle: ServerHandle,
    calls: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Gateway for Warehouse {
    async fn handle(&self, call: Call) -> Result<CallAnswer, Refusal> {
        let sub = call.subresource.clone().unwrap_or_default();
        self.calls.lock().expect("calls").push(format!(
            "{} {}/{sub}",
            call.verb.word(),
            call.resource
        ));
        if call.resource == "contents" {
            let object = json!({
                "apiVersion": "ware.dev/v1", "kind": "Contents",
                "metadata": {"name": call.name, "namespace": call.namespace, "resourceVersion": "7"}, "files": 3,
            });
            return Ok(CallAnswer {
                object,
                ..CallAnswer::default()
            });
        }
        let heavy = call
            .new
            .as_ref()
            .and_then(|o| o.pointer("/spec/weight"))
            .and_then(Value::as_i64)
            > Some(9);
        if heavy {
            return Err(Refusal::new(RefusalClass::Invalid, "too heavy"));
        }
        if call.dry_run {
            return Ok(CallAnswer {
                object: call.new.unwrap_or_default(),
                ..CallAnswer::default()
            });
        }
        let expect = call.options.expect_rv.map_or(Expect::Absent, Expect::Rv);
        // Whoever writes records knows nothing of the owners of fields; what changes nothing is not written.
        let mut new = call.new.clone();
        let bare = |object: &mut Value| {
            drop(
                object["metadata"]
                    .as_object_mut()
                    .map(|m| m.shift_remove("managedFields")),
            )
        };
        let mut old = call.old.clone();
        new.iter_mut().chain(old.iter_mut()).for_each(bare);
        let patched = call.verb.word() == "patch";
        if let Some(old) = old.filter(|old| patched && Some(old) == new.as_ref()) {
            return Ok(CallAnswer {
                object: old,
                ..CallAnswer::default()
            });
        }
        let record = Record {
            name: self.composed_name(&call).unwrap_or(call.name),
            group: call.group,
            resource: call.resource,
            namespace: call.namespace,
            expect,
            object: new,
            manager: String::new(),
        };
        let written = self.handle.commit(vec![record]).await;
        let written = written.map_err(|e| Refusal::new(RefusalClass::Conflict, e.to_string()))?;
        let object = if call.new.is_some() {
            written.first().map(|o| o.value()).unwrap_or_default()
        } else {
            Value::Null
        };
        Ok(CallAnswer {
            object,
            warnings: vec!["handled".to_owned()],
            ..CallAnswer::default()
        })
    }

    /// What stands on a rack is called by rack and colour.
    fn composed_name(&self, call: &Call) -> Option<String> {
        let word = |pointer: &str| call.new.as_ref()?.pointer(pointer)?.as_str();
        let (rack, colour) = (word("/spec/rack")?, word("/spec/colour")?);
        Some(format!("{rack}.{colour}"))
    }
}

fn definition(plural: &str, kind: &str) -> Resource {
    Resource::from_crd(&json!({"spec": {
        "group": "ware.dev", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }}}],
    }}))
    .expect("definition")
}

type Calls = Arc<Mutex<Vec<String>>>;

/// A server with a warehouse behind it, and what the warehouse was asked.
async fn warehouse() -> (apiserver::Server, Calls) {
    let crates = definition("crates", "Crate")
        .write_through()
        .with_subresource("approval", "Crate", &["get", "update", "patch"]);
    let contents =
        definition("contents", "Contents").virtual_with(&["get", "list", "update", "patch"]);
    let server = still(&Memory::new(), vec![crates, contents]).await;
    let calls = Arc::new(Mutex::new(Vec::new()));
    server.set_gateway(Arc::new(Warehouse {
        handle: server.handle(),
        calls: Arc::clone(&calls),
    }));
    (server, calls)
}

const CRATES: &str = "/apis/ware.dev/v1/namespaces/default/crates";

#[tokio::test]
async fn writes_go_through_the_gateway_and_reads_do_not() {
    let (server, calls) = warehouse().await;
    let path = CRATES;
    let body = |weight: i64| {
        Some(
            json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {"name": "a"}, "spec": {"weight": weight}}),
        )
    };
    let (code, refused) = ask(&server, Method::POST, path, body(10)).await;
    assert_eq!((code, &refused["message"]), (422, &json!("too heavy")));
    let (code, dry) = ask(
        &server,
        Method::POST,
        &format!("{path}?dryRun=All"),
        body(1),
    )
    .await;
    assert_eq!((code, dry["metadata"].get("resourceVersion")), (201, None));
    let (code, made) = ask(&server, Method::POST, path, body(1)).await;
    assert_eq!(
        (code, &made["metadata"]["generation"]),
        (201, &json!(1)),
        "{made}"
    );
    let one = format!("{path}/a");
    let mut wanted = made.clone();
    wanted["spec"]["weight"] = 2.into();
    let (code, changed) = ask(
        &server,
        Method::PUT,
        &format!("{one}/approval"),
        Some(wanted),
    )
    .await;
    assert_eq!(
        (code, &changed["metadata"]["generation"]),
        (200, &json!(2)),
        "{changed}"
    );
    let (code, stale) = ask(&server, Method::PUT, &one, Some(made)).await;
    assert_eq!((code, &stale["reason"]), (409, &json!("Conflict")));
    let (_, list) = ask(&server, Method::GET, path, None).await;
    assert_eq!(list["items"][0]["spec"]["weight"], 2);
    let (code, gone) = ask(&server, Method::DELETE, &one, None).await;
    assert_eq!((code, &gone["status"]), (200, &json!("Success")), "{gone}");
    let expected = [
        "create crates/",
        "create crates/",
        "create crates/",
        "update crates/approval",
        "delete crates/",
    ];
    assert_eq!(*calls.lock().expect("calls"), expected);
}

#[tokio::test]
async fn virtual_resources_are_read_through_the_gateway() {
    let (server, calls) = warehouse().await;
    let one = format!("{CRATES}/a");
    let (code, read) = ask(
        &server,
        Method::GET,
        "/apis/ware.dev/v1/namespaces/default/contents/x",
        None,
    )
    .await;
    assert_eq!((code, &read["files"]), (200, &json!(3)));
    let (code, _) = ask(
        &server,
        Method::GET,
        "/apis/ware.dev/v1/contents?watch=1",
        None,
    )
    .await;
    assert_eq!(code, 405);
    let (_, approval) = ask(&server, Method::POST, &format!("{one}/approval"), None).await;
    assert_eq!(approval["code"], 405);
    assert_eq!(*calls.lock().expect("calls"), ["get contents/"]);
}

#[tokio::test]
async fn records_are_written_together_or_not_at_all() {
    let server = still(
        &Memory::new(),
        vec![definition("crates", "Crate").write_through()],
    )
    .await;
    let handle = server.handle();
    let record = |name: &str, expect| Record {
        group: "ware.dev".to_owned(),
        resource: "crates".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        expect,
        object: Some(
            json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {}, "spec": {}}),
        ),
        manager: "warehouse".to_owned(),
    };
    let both = handle
        .commit(vec![
            record("a", Expect::Absent),
            record("b", Expect::Absent),
        ])
        .await
        .expect("commit");
    assert_eq!(
        both[0].value()["metadata"]["managedFields"][0]["manager"],
        "warehouse"
    );
    let lost = handle
        .commit(vec![
            record("c", Expect::Absent),
            record("a", Expect::Absent),
        ])
        .await;
    assert!(matches!(
        lost,
        Err(apiserver::RecordError::Conflict { index: 1, .. })
    ));
    let (_, list) = ask(&server, Method::GET, "/apis/ware.dev/v1/crates", None).await;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn field_selectors_of_the_gateways_kinds_follow_its_own_words() {
    let (server, _) = warehouse().await;
    for (plural, selector, expected) in [
        (
            "crates",
            "spec.nonsense%3D1",
            "\"spec.nonsense\" is not a known field selector",
        ),
        (
            "contents",
            "spec.nonsense%3D1",
            "\"spec.nonsense\" is not a known field selector",
        ),
        (
            "crates",
            "metadata.name!%3Da",
            "unsupported fieldSelector operator \"!=\" for field \"metadata.name\"",
        ),
    ] {
        let path = format!("/apis/ware.dev/v1/{plural}?fieldSelector={selector}");
        let (code, refused) = ask(&server, Method::GET, &path, None).await;
        assert_eq!((code, &refused["message"]), (400, &json!(expected)));
    }
}

#[tokio::test]
async fn the_name_of_a_removed_record_is_known_for_as_long_as_the_store() {
    let medium = Memory::new();
    let crates = || vec![definition("crates", "Crate").write_through()];
    let record = |name: &str, object| Record {
        group: "ware.dev".to_owned(),
        resource: "crates".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        expect: Expect::Any,
        object,
        manager: String::new(),
    };
    let object = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {}, "spec": {}});
    let server = still(&medium, crates()).await;
    let known = |handle: &ServerHandle, name: &str| {
        handle.is_retired("ware.dev", "crates", "default", name)
    };
    let handle = server.handle();
    let put = ["a", "b"].map(|name| record(name, Some(object.clone())));
    handle.commit(put.to_vec()).await.expect("written");
    let removals = vec![record("a", None), record("never", None)];
    let answers = handle.commit(removals).await.expect("removed");
    assert_eq!(answers[0].fields.name, "a");
    drop((handle, server));
    let server = still(&medium, crates()).await;
    let handle = server.handle();
    assert!(known(&handle, "a"), "it was there once");
    assert!(!known(&handle, "b"), "it is there");
    assert!(!known(&handle, "never"), "it never was");
}

#[tokio::test]
async fn applied_records_keep_the_owners_of_their_fields() {
    let (server, _calls) = warehouse().await;
    let apply = async |manager: &str, spec: Value, force: bool| {
        let body = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {"name": "a"}, "spec": spec});
        let path = format!("{CRATES}/a?fieldManager={manager}&force={force}");
        let media = "application/apply-patch+yaml";
        let admin = Some(crate::world::admin());
        let (code, object, _) =
            ask_as(&server, Method::PATCH, &path, media, Some(body), admin).await;
        (code, object)
    };
    // Somebody made it without applying: nobody owns its fields.
    let plain = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": {"name": "b"}, "spec": {"weight": 1}});
    let (code, _) = ask(&server, Method::POST, CRATES, Some(plain)).await;
    assert_eq!(code, 201);

    let (code, made) = apply("one", json!({"weight": 1, "colour": "red"}), false).await;
    assert_eq!(code, 201, "{made}");
    assert_eq!(managers(&made), ["one Apply"]);
    let (code, same) = apply("one", json!({"weight": 2, "colour": "red"}), false).await;
    assert_eq!(
        (code, &same["spec"]["weight"]),
        (200, &json!(2)),
        "an owner changes its own: {same}"
    );
    let (code, refused) = apply("two", json!({"weight": 3}), false).await;
    assert_eq!(
        (code, &refused["message"]),
        (
            409,
            &json!("Apply failed with 1 conflict: conflict with \"one\": .spec.weight")
        )
    );
    let (code, shared) = apply("two", json!({"weight": 2}), false).await;
    assert_eq!(
        (code, managers(&shared)),
        (200, vec!["one Apply", "two Apply"]),
        "it is shared without a change"
    );
    assert_ne!(
        shared["metadata"]["resourceVersion"],
        same["metadata"]["resourceVersion"]
    );
    let (_, again) = apply("two", json!({"weight": 2}), false).await;
    assert_eq!(
        again["metadata"]["resourceVersion"],
        shared["metadata"]["resourceVersion"]
    );
    let (_, got) = ask(&server, Method::GET, &format!("{CRATES}/a"), None).await;
    assert_eq!(got, again, "reads show it, too");
    let (code, gone) = apply("one", json!({"weight": 2}), false).await;
    assert_eq!(
        (code, gone["spec"].get("colour")),
        (200, None),
        "what its owner leaves out goes: {gone}"
    );
}

#[tokio::test]
async fn what_is_kept_under_another_name_keeps_its_owners() {
    let (server, _calls) = warehouse().await;
    for (metadata, colour) in [
        (json!({}), "red"),
        (json!({"name": "mine"}), "blue"),
        (json!({"generateName": "some-"}), "green"),
    ] {
        let body = json!({"apiVersion": "ware.dev/v1", "kind": "Crate", "metadata": metadata,
            "spec": {"rack": "top", "colour": colour}});
        let path = format!("{CRATES}?fieldManager=hand");
        let (code, made) = ask(&server, Method::POST, &path, Some(body)).await;
        assert_eq!(code, 201, "{made}");
        let path = format!("{CRATES}/top.{colour}");
        let (_, got) = ask(&server, Method::GET, &path, None).await;
        assert_eq!(got, made, "owners come with the object, in one write");
        let entry = &got["metadata"]["managedFields"][0];
        assert_eq!(
            (&entry["manager"], &entry["operation"]),
            (&json!("hand"), &json!("Update")),
            "{got}"
        );
        assert!(entry["fieldsV1"]["f:spec"]["f:rack"].is_object(), "{entry}");
    }
}

/// Who owns fields, and how.
fn managers(object: &Value) -> Vec<&'static str> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let known = ["one Apply", "two Apply"];
    let told: Vec<String> = entries
        .iter()
        .map(|e| {
            let word = |key: &str| e[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", word("manager"), word("operation"))
        })
        .collect();
    assert!(told.iter().all(|t| known.contains(&t.as_str())), "{told:?}");
    known
        .into_iter()
        .filter(|k| told.iter().any(|t| t == k))
        .collect()
}
