//! Facts recorded from a real server, and the directives one by one.

use serde_json::json;

use super::*;

#[test]
fn a_patch_that_does_not_fit_is_one_refusal() {
    let doc = json!({"spec": {"a": 1}});
    for patch in [
        json!([{"op": "test", "path": "/spec/a", "value": 2}]),
        json!([{"op": "remove", "path": "/spec/b"}]),
        json!([{"op": "bogus", "path": "/spec/a"}]),
        json!([{"op": "add", "path": "/missing/deep", "value": 1}]),
    ] {
        let error = json_patch(&doc, &patch).unwrap_err();
        assert!(matches!(error, PatchError::Unfit(_)), "{patch}");
        assert_eq!(
            error.to_string(),
            "the server rejected our request due to an error in our request"
        );
    }
    assert!(matches!(
        json_patch(&doc, &json!({})),
        Err(PatchError::Unreadable(_))
    ));
    assert_eq!(json_patch(&doc, &json!([])).unwrap(), doc);
    assert!(merge_patch(&doc, &json!([1])).is_err());
    assert_eq!(
        merge_patch(&doc, &json!({"spec": {"a": null, "b": 2}})).unwrap(),
        json!({"spec": {"b": 2}})
    );
}

fn config_map() -> &'static Value {
    crate::builtin::definition("", "v1", "configmaps")
        .unwrap()
        .schema_json()
}

#[test]
fn finalizers_merge_as_a_set_with_the_patchs_items_first() {
    let doc = json!({"metadata": {"finalizers": ["example.dev/a"]}, "data": {"k": "v", "l": "w"}});
    let patched = |patch: Value| strategic(&doc, &patch, config_map()).unwrap();
    assert_eq!(
        patched(json!({"metadata": {"finalizers": ["example.dev/b"]}}))["metadata"]["finalizers"],
        json!(["example.dev/b", "example.dev/a"])
    );
    assert_eq!(
        patched(json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.dev/a"]}}))["metadata"],
        json!({"finalizers": []})
    );
    assert_eq!(
        patched(json!({"data": {"k": null, "m": "x"}}))["data"],
        json!({"l": "w", "m": "x"})
    );
    assert_eq!(
        patched(json!({"data": {"$patch": "replace", "z": "1"}}))["data"],
        json!({"z": "1"})
    );
    assert_eq!(
        patched(json!({"data": {"$patch": "delete"}}))["data"],
        json!({})
    );
    assert_eq!(
        patched(json!({"data": {"$retainKeys": ["l"], "l": "x"}}))["data"],
        json!({"l": "x"})
    );
    assert!(
        strategic(
            &doc,
            &json!({"data": {"$retainKeys": ["l"], "q": "x"}}),
            config_map()
        )
        .is_err()
    );
}

#[test]
fn lists_with_a_merge_key_merge_by_item() {
    let account = crate::builtin::definition("", "v1", "serviceaccounts")
        .unwrap()
        .schema_json();
    let doc = json!({"secrets": [{"name": "a"}, {"name": "b", "kind": "x"}, {"name": "c"}]});
    let patched = |patch: Value| strategic(&doc, &patch, account).unwrap()["secrets"].clone();
    assert_eq!(
        patched(json!({"secrets": [{"name": "b", "kind": "y"}]})),
        json!([{"name": "a"}, {"name": "b", "kind": "y"}, {"name": "c"}])
    );
    assert_eq!(
        patched(json!({"secrets": [{"name": "a", "$patch": "delete"}]})),
        json!([{"name": "b", "kind": "x"}, {"name": "c"}])
    );
    assert_eq!(
        patched(json!({"secrets": [{"$patch": "replace"}, {"name": "z"}]})),
        json!([{"name": "z"}])
    );
    assert_eq!(
        patched(json!({
            "$setElementOrder/secrets": [{"name": "c"}, {"name": "d"}, {"name": "a"}],
            "secrets": [{"name": "d"}],
        })),
        json!([{"name": "b", "kind": "x"}, {"name": "c"}, {"name": "d"}, {"name": "a"}])
    );
    assert!(strategic(&doc, &json!({"secrets": [{"kind": "no key"}]}), account).is_err());
    let owned = json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "x"}]}});
    let more = json!({"metadata": {"ownerReferences": [{"uid": "2", "name": "y"}]}});
    let both = strategic(&owned, &more, account).unwrap();
    assert_eq!(
        both["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_test_for_null_holds_where_a_member_is_missing() {
    let doc = json!({"metadata": {"name": "a"}, "list": []});
    let test = |path: &str| json_patch(&doc, &json!([{"op": "test", "path": path, "value": null}]));
    assert_eq!(test("/metadata/finalizers"), Ok(doc.clone()));
    assert_eq!(test("/spec"), Ok(doc.clone()));
    for path in ["/metadata/name", "/spec/a", "/list/0", "/metadata/name/x"] {
        assert!(matches!(test(path), Err(PatchError::Unfit(_))), "{path}");
    }
    // As kube-rs adds the first finalizer.
    let add = json!([
        {"op": "test", "path": "/metadata/finalizers", "value": null},
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/c"]},
    ]);
    let made = json_patch(&doc, &add).unwrap();
    assert_eq!(made["metadata"]["finalizers"], json!(["a.b/c"]));
    assert!(json_patch(&made, &add).is_err(), "somebody else was first");
}
