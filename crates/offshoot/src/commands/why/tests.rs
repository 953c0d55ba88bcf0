use serde_json::json;

use super::revision;

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
