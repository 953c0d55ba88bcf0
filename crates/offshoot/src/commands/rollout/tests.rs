use super::*;

fn set() -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet",
        "metadata": { "name": "web", "annotations": {} },
        "spec": {
            "upstream": { "repo": "blueprints", "package": "web" },
            "rollout": { "steps": [{ "name": "canary", "percent": 10 }, { "name": "rest" }] },
        },
        "status": {
            "rollout": {
                "id": "2-4f1d0c2a97", "state": "Halted", "halted": "2 members failed, more than 0",
                "upstreams": [{
                    "repo": "blueprints", "package": "web", "revision": "v2", "commit": "ab".repeat(20),
                }],
                "steps": [
                    { "name": "canary", "takes": "aa", "opened": 1, "members": 5, "published": 1, "failed": 2, "suspended": 1 },
                    { "name": "rest", "takes": "bb", "members": 3, "failed": 1 },
                ],
                "step": "canary",
            },
        },
    })
}

fn annotated(pairs: &[(&str, &str)]) -> Value {
    let mut set = set();
    for (key, value) in pairs {
        set["metadata"]["annotations"][*key] = (*value).into();
    }
    set
}

fn resumed(set: &Value) -> Option<String> {
    let verb = said("resume", "web")?;
    wish(&verb, set).ok().map(|(_, told)| told)
}

#[test]
fn a_resume_says_all_that_it_ends() {
    assert_eq!(resumed(&set()), None, "nothing holds it");
    let pause = (PAUSE, "true");
    let undo = (UNDO, "2-4f1d0c2a97");
    let told = resumed(&annotated(&[pause])).unwrap();
    assert_eq!(told, "web resumed: the pause has ended");
    let told = resumed(&annotated(&[undo])).unwrap();
    let undone =
        "the undo of rollout 2-4f1d0c2a97 has ended, and what was taken back is rolled out again";
    assert_eq!(told, format!("web resumed: {undone}"));
    let told = resumed(&annotated(&[pause, undo])).unwrap();
    assert_eq!(
        told,
        format!("web resumed: the pause has ended, and {undone}")
    );
    let told = resumed(&annotated(&[(UNDO, "1-00")])).unwrap();
    assert!(
        told.contains("rollout 1-00, which is not the present one"),
        "{told}"
    );
}

/// What was seen is not what stands once a step or the set is called otherwise.
#[test]
fn another_name_is_another_version() {
    let was = version(&set());
    assert_eq!(version(&set()), was);
    let changes: [fn(&mut Value); 5] = [
        |set| set["metadata"]["name"] = "shop".into(),
        |set| set["status"]["rollout"]["steps"][0]["name"] = "first".into(),
        |set| set["status"]["rollout"]["steps"][1]["takes"] = "cc".into(),
        // Written, and nobody has looked at it yet.
        |set| set["spec"]["rollout"]["steps"][1]["name"] = "others".into(),
        |set| set["spec"]["rollout"]["halt"] = json!({ "failed": 9 }),
    ];
    for change in changes {
        let mut set = set();
        change(&mut set);
        assert_ne!(version(&set), was, "{set}");
        let told = changed(&was, &version(&set));
        assert!(told.starts_with("its steps, "), "{told}");
    }
    let mut counted = set();
    counted["status"]["rollout"]["steps"][0]["published"] = 2.into();
    assert_eq!(version(&counted), was, "counts change all the time");
}

#[test]
fn programs_read_the_version_what_is_wanted_and_how_many_failed() {
    let told = wire(&set());
    assert_eq!(told["version"], version(&set()));
    assert_eq!(told["failed"], 3);
    assert_eq!(told["upstreams"][0]["commit"], "ab".repeat(20));
    assert_eq!(wire(&json!({})), Value::Null);
}

#[test]
fn failed_members_have_a_column() {
    let rollout = api::read_set_status(&set()).rollout.unwrap();
    let table = table(&rollout);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines,
        [
            "STEP             STATE    PUBLISHED FAILED  BESIDES",
            "canary           open        1 of 5      2  suspended 1",
            "rest             closed      0 of 3      1",
        ]
    );
}

/// During an undo, who still has something to do on the way back is named, also where what was before still is published.
#[test]
fn who_is_not_back_yet_is_named() {
    let variant = |published: i64, conflicts: usize| {
        json!({
            "metadata": { "name": "web-canary-web", "generation": 3 },
            "status": {
                "observedGeneration": 3,
                "conditions": [
                    { "type": "Stalled", "status": "False", "reason": "Valid" },
                    { "type": "Ready", "status": "True", "reason": "NoErrors" },
                ],
                "downstreamTargets": [{
                    "name": "canary.web.packagevariant-2", "workspaceName": "packagevariant-2",
                    "lifecycle": "Draft", "conflicts": conflicts,
                }],
                "offshoot": { "state": "conflicts to decide", "publishedGeneration": published },
            },
        })
    };
    assert_eq!(api::read_variant_status(&variant(3, 1)).conflicts(), 1);
    let before = json!({ "repo": "blueprints", "package": "web", "commit": "cd".repeat(20) });
    let member = json!({
        "upstream": { "repo": "blueprints", "package": "web", "revision": "v1", "commit": "ab".repeat(20) },
        "step": "canary", "before": before,
        "specs": format!("{}{}", plan::set::uid_mark("web-canary-web"), "0".repeat(16)),
    });
    let rollout = |state: &str, member: &Value| {
        let mut set = set();
        set["status"]["rollout"]["state"] = state.into();
        set["status"]["rollout"]["members"] = json!([member]);
        api::read_set_status(&set).rollout.unwrap()
    };
    let named = Some("- web-canary-web (canary): conflicts to decide\n".to_owned());
    let undone = rollout("Undone", &member);
    assert_eq!(members::line(&undone, &variant(3, 1)), named);
    assert_eq!(members::line(&undone, &variant(3, 0)), None);
    assert_eq!(members::line(&undone, &variant(2, 0)), named);
    // What the rollout made does not go back.
    let mut made = member.clone();
    made.as_object_mut().unwrap().remove("before");
    let undone = rollout("Undone", &made);
    assert_eq!(members::line(&undone, &variant(2, 0)), None);
    assert_eq!(members::line(&undone, &variant(2, 1)), named);
    let on = rollout("Progressing", &member);
    assert_eq!(members::line(&on, &variant(3, 1)), None, "it is published");
    assert_eq!(members::line(&on, &variant(2, 0)), named);
}

#[test]
fn targets_that_cannot_be_made_are_named_with_the_reason() {
    assert_eq!(members::unmade(&RolloutStatus::default()), "");
    let mut set = set();
    let message = "packagevariant 'web-canary-web' exists already and has another downstream";
    set["status"]["rollout"]["unmade"] =
        json!([{ "name": "web-canary-web", "step": "canary", "message": message }]);
    let rollout = api::read_set_status(&set).rollout.unwrap();
    let told = format!("cannot be made:\n- web-canary-web (canary): {message}\n");
    assert_eq!(members::unmade(&rollout), told);
}

/// The last rollout is told, and that the set wants something that nobody can tell.
#[test]
fn a_set_that_cannot_be_decided_is_told_of() {
    let said = |kind: &str, status: &str, reason: &str| {
        let mut set = set();
        let condition =
            json!({ "type": kind, "status": status, "reason": reason, "message": "it is so" });
        set["status"]["conditions"] = json!([condition]);
        let told = trouble(&api::read_set_status(&set));
        assert_eq!(
            wire(&set).get("trouble").and_then(Value::as_str),
            told.as_deref()
        );
        told
    };
    for reason in ["ValidationError", "TemplateError", "UpstreamNotFound"] {
        let wanted = format!(
            "the set cannot be decided, and what is told of the rollout is of before: {reason}: it is so"
        );
        assert_eq!(said("Stalled", "True", reason), Some(wanted));
    }
    let lost = "the set is not ready: UpstreamNotFound: it is so";
    assert_eq!(
        said("Ready", "False", "UpstreamNotFound").as_deref(),
        Some(lost)
    );
    for (kind, status, reason) in [
        ("Ready", "False", "RollingOut"),
        ("Ready", "True", "Reconciled"),
        ("Stalled", "False", "Valid"),
    ] {
        assert_eq!(said(kind, status, reason), None);
    }
}
