use serde_json::json;

use super::{itself, revision};

/// V4: what the merge took is not what a draft holds that somebody edited there since.
#[test]
fn a_conflict_that_was_edited_is_not_said_to_hold_upstreams_value() {
    let told = |state: &str| {
        revision(&json!({
            "spec": {"lifecycle": "Draft"},
            "status": {"conflicts": [{
                "id": "c1", "state": state, "file": "a.yaml", "resource": "R", "path": "data.k", "decision": "upstream",
                "base": {"value": "1"}, "local": {"value": "2"}, "upstream": {"value": "3"},
            }]},
        }))
    };
    let open = told("open");
    assert!(open.contains("upstream 3; upstream was taken\n"), "{open}");
    let resolved = told("resolved");
    let wanted = "upstream 3; the merge took upstream, and the draft was edited there since\n";
    assert!(resolved.contains(wanted), "{resolved}");
}

/// Who reviews sees what a value holds, and no value writes over the line that says which one was taken.
#[test]
fn what_a_package_says_holds_nothing_that_a_terminal_obeys() {
    let told = revision(&json!({
        "spec": {"lifecycle": "Draft", "readinessGates": [{"conditionType": "g"}]},
        "status": {
            "conditions": [{"type": "g", "status": "False", "message": "broken\u{1b}[2K"}],
            "conflicts": [{
                "id": "c1", "state": "open", "file": "a.yaml", "resource": "R\u{202e}", "path": "data.k\n- conflict c2", "decision": "upstream",
                "base": {"value": "1"}, "local": {"value": "evil\u{200b}"}, "upstream": {"value": "3"},
            }],
        },
    }));
    assert!(
        !told.contains(['\u{1b}', '\u{202e}', '\u{200b}']),
        "{told:?}"
    );
    assert!(
        told.contains("evil<U+200B>") && told.contains("R<U+202E>"),
        "{told}"
    );
    assert!(!told.contains("\n- conflict c2"), "{told}");
}

/// The hint hangs on the reason, not on the words: an older server, which says Error, is told in its words alone.
#[test]
fn a_repository_that_is_not_ready_has_the_way_out_of_its_reason() {
    let told = |reason: &str, secret: bool| {
        let mut object = json!({
            "spec": {"git": {}},
            "status": {"conditions": [{
                "type": "Ready", "status": "False", "reason": reason,
                "message": "there is no git repository at file:///gone.git",
            }]},
        });
        if secret {
            object["spec"]["git"]["secretRef"] = json!({"name": "auth"});
        }
        itself(&object)
    };
    for (reason, secret, way) in [
        ("NoRepository", false, "repo reg --create)"),
        ("RepositoryGone", false, "repo unreg, repo reg --create"),
        ("NoBranch", false, "--create-branch"),
        ("BranchGone", false, "push the branch again"),
        ("OutsideAllowed", false, "--repositories-below DIR"),
        ("SecretNotFound", true, "make the Secret"),
        ("CredentialsRefused", true, "mend the user name"),
        ("CredentialsRefused", false, "make a Secret of type"),
    ] {
        let told = told(reason, secret);
        assert!(told.contains("  hint: ") && told.contains(way), "{told}");
    }
    for reason in ["Error", "OfTomorrow"] {
        let told = told(reason, false);
        assert!(
            !told.contains("hint") && told.contains("there is no git repository"),
            "{told}"
        );
    }
}
