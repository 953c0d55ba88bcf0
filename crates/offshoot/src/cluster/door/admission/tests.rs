use axum::body::{Bytes, to_bytes};

use super::*;

const OWN: &str = "system:serviceaccount:offshoot-system:offshoot";

/// A cluster's client for one path: whatever is asked goes to the webhook.
async fn ask(path: &str, body: impl Into<Body>) -> (StatusCode, String) {
    let request = http::Request::post(path).body(body.into()).unwrap();
    let answer = tower::ServiceExt::oneshot(written_by(OWN), request).await;
    let (parts, body) = answer.unwrap().into_parts();
    let text = to_bytes(body, LIMIT).await.unwrap();
    (parts.status, String::from_utf8(text.to_vec()).unwrap())
}

fn question(resource: &str, by: &str, old: &Value, new: &Value) -> Value {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "operation": operation, "object": new, "oldObject": old,
            "resource": {"group": "config.porch.kpt.dev", "version": "v1alpha1", "resource": resource},
            "userInfo": {"username": by, "groups": ["team"]},
        },
    })
}

/// What the cluster stores after the answer.
async fn stored(resource: &str, by: &str, old: &Value, new: &Value) -> Value {
    let (code, said) = ask("/written-by", question(resource, by, old, new).to_string()).await;
    assert_eq!(code, StatusCode::OK, "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let response = &said["response"];
    assert_eq!(
        (&response["uid"], &response["allowed"]),
        (&json!("u-1"), &json!(true))
    );
    let Some(patch) = response["patch"].as_str() else {
        assert_eq!(response["patchType"], Value::Null);
        return new.clone();
    };
    assert_eq!(response["patchType"], "JSONPatch");
    let patch: json_patch::Patch =
        serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
    let mut stored = new.clone();
    json_patch::patch(&mut stored, &patch).unwrap();
    stored
}

fn writer(object: &Value) -> Option<String> {
    let writer = writers(OWN.to_owned()).writer(object)?;
    assert_eq!(writer.groups, ["team"]);
    Some(writer.name)
}

fn record(name: &str) -> Value {
    json!(json!({"username": name, "groups": ["team"]}).to_string())
}

fn variant(annotations: &Value, revision: u64) -> Value {
    json!({
        "metadata": {"name": "v", "annotations": annotations},
        "spec": {"upstream": {"revision": revision}},
    })
}

const MARK: &str = "offshoot.dev/written-by";

#[tokio::test]
async fn a_variant_and_a_set_are_whose_who_wrote_them_whatever_they_say() {
    for resource in ["packagevariants", "packagevariantsets"] {
        for annotations in [
            json!({}),
            json!(null),
            json!({"a": "b"}),
            json!({MARK: record("root")}),
        ] {
            let new = variant(&annotations, 1);
            let stored = stored(resource, "ann", &Value::Null, &new).await;
            assert_eq!(writer(&stored), Some("ann".to_owned()), "{annotations}");
            assert_eq!(stored["metadata"]["annotations"]["a"], annotations["a"]);
        }
        let bare = json!({"metadata": {"name": "v"}, "spec": {}});
        let stored = stored(resource, "ann", &Value::Null, &bare).await;
        assert_eq!(writer(&stored), Some("ann".to_owned()));
    }
}

#[tokio::test]
async fn only_a_wish_is_a_write() {
    let old = variant(&json!({MARK: record("ann"), "a": "b"}), 1);
    let changed = |change: fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        new
    };
    let owner = |controller: bool| json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": controller}]);
    for (new, by) in [
        (old.clone(), "ann"),
        (changed(|new| new["status"] = json!({"ready": true})), "ann"),
        (
            changed(|new| new["metadata"]["finalizers"] = json!(["x"])),
            "ann",
        ),
        (
            changed(|new| new["metadata"]["annotations"] = json!({"a": "b"})),
            "ann",
        ),
        (
            changed(|new| new["metadata"]["annotations"][MARK] = record("root")),
            "ann",
        ),
        (
            changed(|new| new["metadata"]["annotations"]["a"] = json!("c")),
            "bob",
        ),
        (
            changed(|new| new["metadata"]["annotations"] = json!(null)),
            "bob",
        ),
        (
            changed(|new| new["metadata"]["labels"] = json!({"a": "b"})),
            "bob",
        ),
        (
            changed(|new| new["spec"]["upstream"]["revision"] = json!(2)),
            "bob",
        ),
    ] {
        let stored = stored("packagevariants", "bob", &old, &new).await;
        assert_eq!(writer(&stored).as_deref(), Some(by), "{new}");
    }
    let owned = |owners: Value| {
        let mut new = old.clone();
        new["metadata"]["ownerReferences"] = owners;
        new
    };
    for (old, new, by) in [
        (owned(json!(null)), owned(owner(true)), "bob"),
        (owned(json!(null)), owned(owner(false)), "ann"),
        (owned(owner(true)), owned(json!([])), "ann"),
    ] {
        let stored = stored("packagevariants", "bob", &old, &new).await;
        assert_eq!(writer(&stored).as_deref(), Some(by), "{new}");
    }
    // Nobody is recorded, and nobody writes: nobody is invented.
    let unknown = variant(&json!({}), 1);
    let forged = variant(&json!({MARK: record("root")}), 1);
    let stored = stored("packagevariants", "bob", &unknown, &forged).await;
    assert_eq!(writer(&stored), None);
}

#[tokio::test]
async fn our_own_account_stamps_nothing_but_for_whom_a_set_writes() {
    let old = variant(&json!({MARK: record("ann")}), 1);
    let new = variant(&json!({MARK: record("ann")}), 2);
    let kept = stored("packagevariants", OWN, &old, &new).await;
    assert_eq!(writer(&kept), Some("ann".to_owned()));
    let bare = stored(
        "packagevariants",
        OWN,
        &Value::Null,
        &variant(&json!({}), 1),
    )
    .await;
    assert_eq!(writer(&bare), None);
    let made = variant(&json!({MARK: record("bob")}), 1);
    let made = stored("packagevariants", OWN, &Value::Null, &made).await;
    assert_eq!(writer(&made), Some("bob".to_owned()));
    // A name that only begins like ours is somebody else's.
    let other = format!("{OWN}-2");
    let theirs = stored("packagevariants", &other, &old, &new).await;
    assert_eq!(writer(&theirs), Some(other));
}

#[tokio::test]
async fn a_secret_is_whose_who_named_it_or_the_address_that_it_is_sent_to() {
    const SET: &str = "offshoot.dev/secret-set-by";
    let repository = |secret: &str, address: &str, set: &str| {
        json!({
            "metadata": {"name": "r", "annotations": {SET: record(set)}},
            "spec": {"git": {"repo": address, "secretRef": {"name": secret}}},
        })
    };
    let old = repository("token", "https://one", "ann");
    let rules = setters(OWN.to_owned());
    for (new, by) in [
        (repository("token", "https://one", "ann"), Some("ann")),
        (repository("token", "https://one", "root"), Some("bob")),
        (repository("token", "https://two", "ann"), Some("bob")),
        (repository("other", "https://one", "ann"), Some("bob")),
        (repository("", "https://one", "ann"), None),
    ] {
        let stored = stored("repositories", "bob", &old, &new).await;
        let setter = rules.setter(&stored).map(|user| user.name);
        assert_eq!(setter.as_deref(), by, "{new}");
        assert_eq!(writer(&stored), None);
    }
    let made = stored("repositories", "bob", &Value::Null, &old).await;
    assert_eq!(rules.setter(&made).unwrap().name, "bob");
    let ours = stored(
        "repositories",
        OWN,
        &old,
        &repository("token", "https://one", "root"),
    )
    .await;
    assert_eq!(rules.setter(&ours).unwrap().name, "ann");
}

#[tokio::test]
async fn what_is_not_asked_about_is_let_through_unchanged() {
    let new = variant(&json!({}), 1);
    assert_eq!(
        stored("packagerevisionsets", "ann", &Value::Null, &new).await,
        new
    );
    for change in [
        json!({"operation": "DELETE"}),
        json!({"subResource": "status"}),
        json!({"object": null}),
        json!({"resource": {"group": "other.dev", "version": "v1", "resource": "packagevariants"}}),
    ] {
        let mut asked = question("packagevariants", "ann", &Value::Null, &new);
        for (name, value) in change.as_object().unwrap() {
            asked["request"][name] = value.clone();
        }
        let (code, said) = ask("/written-by", asked.to_string()).await;
        assert_eq!(code, StatusCode::OK);
        assert!(!said.contains("patch"), "{said}");
    }
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let mut old = question("packagevariants", "ann", &Value::Null, &Value::Null);
    old["apiVersion"] = json!("admission.k8s.io/v1beta1");
    for body in ["", "{}", "[1]", &old.to_string()] {
        let (code, said) = ask("/written-by", body.to_owned()).await;
        assert_eq!(code, StatusCode::BAD_REQUEST, "{said}");
    }
    let long = format!("{{\"a\":\"{}\"}}", "b".repeat(LIMIT));
    let (code, _) = ask("/written-by", long).await;
    assert_eq!(code, StatusCode::PAYLOAD_TOO_LARGE);
    let (code, _) = ask("/written-by/more", "").await;
    assert_eq!(code, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn questions_that_never_end_hold_up_nobody() {
    let hangs = || Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
    let router = written_by(OWN);
    let send = |body: Body| {
        let request = http::Request::post("/written-by").body(body).unwrap();
        tower::ServiceExt::oneshot(router.clone(), request)
    };
    let hanging = futures::future::join_all((0..200).map(|_| send(hangs())));
    let new = variant(&json!({}), 1);
    let asked = question("packagevariants", "ann", &Value::Null, &new).to_string();
    let answered = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = send(Body::from(asked));
        let answer = tokio::time::timeout(Duration::from_millis(100), asked).await;
        answer.expect("at once").unwrap().status()
    };
    let (hanging, answered) = tokio::join!(hanging, answered);
    for one in hanging {
        assert_eq!(one.unwrap().status(), StatusCode::REQUEST_TIMEOUT);
    }
    assert_eq!(answered, StatusCode::OK);
}

/// A rollout that can never end is told to whoever writes it, and written all the same.
#[tokio::test]
async fn whoever_writes_a_rollout_that_can_never_end_is_told() {
    let set = |ring: &str| {
        let ring = json!({"matchLabels": {"ring": ring}});
        json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "upstream": {"repo": "blueprints", "package": "web"},
                "targets": [{"repositories": [{"name": "edge", "packageNames": ["web"]}]}],
                "rollout": {"steps": [
                    {"name": "canary", "selector": {"matchLabels": {"ring": "0"}}},
                    {"name": "early", "selector": ring},
                    {"name": "rest"},
                ]},
            },
        })
    };
    let warnings = async |resource: &str, set: &Value| {
        let question = question(resource, "ann", &Value::Null, set).to_string();
        let (code, said) = ask("/written-by", question).await;
        assert_eq!(code, StatusCode::OK, "{said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["response"]["allowed"], json!(true));
        said["response"]["warnings"].clone()
    };
    let sets = "packagevariantsets";
    assert_eq!(warnings(sets, &set("1")).await, Value::Null);
    assert_eq!(warnings("packagevariants", &set("0")).await, Value::Null);
    let said = warnings(sets, &set("0")).await;
    let text = said[0].as_str().unwrap_or_default();
    let wanted = "step 'early' can never have a target, and the rollout halts there";
    assert!(text.starts_with(wanted), "{said}");
}
