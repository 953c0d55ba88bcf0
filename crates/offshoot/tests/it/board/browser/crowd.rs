//! A fleet in which something of every kind is to be seen, and whatever others write holds HTML: names, labels, messages,
//! contents, values of conflicts, steps, what a plan and a change answer.

use serde_json::{Value, json};

use crate::board::fake::Fake;

/// What would run, wherever it came into a page as it is: in a text, or in an attribute that it ends.
pub(super) const MARK: &str = "\"'><img src=x onerror=alert(1)>";
/// Whether something of it became a part of the page.
pub(super) const RUNS: &str = "document.querySelector('img, [onerror]') !== null";

/// The draft with a conflict, and the proposal.
pub(super) const DRAFT: &str = "edge.web.v2";
const PROPOSAL: &str = "edge.shop.v2";

/// All pages, each with what it shows once it is there.
pub(super) const VIEWS: [(&str, &str); 14] = [
    ("", "Waiting for you"),
    ("sets", "Rollout: "),
    ("targets", "3 of 3 targets"),
    ("targets?sort=label:region", "3 of 3 targets"),
    ("changes", "in 3 classes"),
    ("conflicts", "Taking it would make"),
    ("plan", "Plan"),
    ("revision?name=edge.web.v2", "Fields"),
    ("revision?name=edge.web.v2&part=files", "deployment.yaml"),
    ("revision?name=edge.web.v2&part=why", "Render report"),
    ("revision?name=edge.web.v2&part=blame", "deployment.yaml"),
    (
        "revision?name=edge.web.v2&part=history",
        "Revisions of this package",
    ),
    ("revision?name=edge.old.v1", "what stands below goes"),
    ("revision?name=none", "none"),
];

fn variant(name: &str, repository: &str, package: &str, ready: &Value, targets: &Value) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "generation": 1,
            "ownerReferences": [{ "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": "web", "uid": "web", "controller": true }],
        },
        "spec": { "downstream": { "repo": repository, "package": package } },
        "status": {
            "observedGeneration": 1, "conditions": [ready], "downstreamTargets": targets,
            "offshoot": { "versions": format!("web/v1 → {MARK}") },
        },
    })
}

/// A revision; the tree tells two of them apart.
pub(super) fn revision(name: &str, package: &str, lifecycle: &str, tree: u8) -> Value {
    let (_, workspace) = name.rsplit_once('.').unwrap_or((name, "v1"));
    let conflicts = match name {
        DRAFT => json!([{
            "id": "c1", "file": "deployment.yaml", "resource": format!("apps/Deployment/{MARK}"),
            "path": format!("spec.{MARK}"), "state": "open", "decision": "upstream",
            "base": { "value": format!("\"{MARK} base\"") },
            "local": { "value": format!("\"{MARK} local\"") },
            "upstream": { "value": format!("\"{MARK} upstream\"") },
        }]),
        _ => json!([]),
    };
    json!({
        "metadata": { "name": name, "namespace": "default", "labels": { "region": MARK } },
        "spec": {
            "packageName": package, "repository": "edge", "workspaceName": workspace,
            "revision": usize::from(lifecycle == "Published"), "lifecycle": lifecycle,
        },
        "status": {
            "conflicts": conflicts,
            "conditions": [{ "type": "Ready", "status": "False", "reason": "Said", "message": MARK }],
            "renderStatus": { "error": MARK },
            "offshoot": { "tree": format!("{tree:040x}") },
        },
    })
}

fn resources(image: &str) -> Value {
    let text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n  image: \"{image}\"\n"
    );
    json!({ "spec": { "resources": { "deployment.yaml": text, "notes.txt": format!("{MARK} {image}\n") } } })
}

/// What a plan says: a class with an input, and one of each of what is listed besides.
fn plan() -> Value {
    let id = "ab".repeat(32);
    let value = json!({ "parts": [{ "literal": MARK }] });
    let document = json!({
        "format": 1,
        "sets": [{ "set": "default/web", "steps": ["canary", MARK] }],
        "classes": [{
            "id": id, "count": 2, "first": "default/web-edge",
            "contents": { "deployment.yaml": MARK },
            "changes": [{
                "kind": "changed", "file": "deployment.yaml", "resource": format!("apps/Deployment/{MARK}"),
                "path": "spec.image", "before": value, "after": { "parts": [{ "input": "context.region" }] },
            }],
            "inputs": [{ "input": "context.region", "values": [{ "value": MARK, "count": 1 }, { "value": "us", "count": 1 }] }],
        }],
        "targets": [{
            "variant": format!("default/{MARK}"), "set": "default/web", "verdict": "upgrade", "class": id, "step": MARK,
        }],
        "leaving": [{ "variant": format!("default/{MARK}"), "why": MARK, "revisions": [] }],
        "failed": [{ "variant": "default/web", "reason": "RenderFailed", "message": MARK }],
        "unknown": [{ "what": MARK, "why": MARK }],
    });
    json!({ "status": { "document": document } })
}

fn sets(fake: &Fake) {
    let step = |name: &str, opened: Option<i64>| json!({ "name": name, "takes": "aa", "opened": opened, "members": 2, "published": 1, "conflicts": 1, "failed": 1 });
    let rollout = json!({
        "id": "2-4f1d0c2a97", "state": "Halted", "message": MARK, "halted": MARK, "step": "canary",
        "steps": [step("canary", Some(1)), step(MARK, None)],
        "diverged": [MARK], "taken": [MARK],
    });
    let said = json!([{ "type": "Stalled", "status": "True", "reason": "Said", "message": MARK }]);
    for name in ["web", MARK] {
        fake.put(
            "packagevariantsets",
            &json!({
                "metadata": { "name": name, "namespace": "default", "uid": name },
                "spec": {
                    "upstream": { "repo": "blueprints", "package": "web", "revision": MARK },
                    "targets": [{ "repositories": [{ "name": "edge" }] }],
                    "rollout": { "steps": [{ "name": "canary", "percent": 10 }, { "name": MARK }] },
                },
                "status": { "conditions": said, "rollout": rollout },
            }),
        );
    }
}

/// The fleet, for a user who may do everything, or nothing but look.
pub(in crate::board) async fn crowd(allowed: bool) -> Fake {
    let fake = Fake::start(&format!("ann {MARK}"), allowed).await;
    for name in ["edge", MARK] {
        let labels = json!({ "region": MARK, "tier": "edge" });
        fake.put(
            "repositories",
            &json!({ "metadata": { "name": name, "namespace": "default", "labels": labels } }),
        );
    }
    sets(&fake);
    let ready = |status: &str, reason: &str| json!({ "type": "Ready", "status": status, "reason": reason, "message": MARK });
    let target = |name: &str, lifecycle: &str, conflicts: usize| json!([{ "name": name, "workspaceName": "v2", "lifecycle": lifecycle, "conflicts": conflicts }]);
    for one in [
        variant(
            "web-edge",
            "edge",
            "web",
            &ready("False", "ConflictsOpen"),
            &target(DRAFT, "Draft", 1),
        ),
        variant(
            "web-shop",
            "edge",
            "shop",
            &ready("False", "WaitingForApproval"),
            &target(PROPOSAL, "Proposed", 0),
        ),
        variant(
            MARK,
            MARK,
            MARK,
            &ready("False", "RenderFailed"),
            &json!([]),
        ),
    ] {
        fake.put("packagevariants", &one);
    }
    for one in [
        revision("edge.web.v1", "web", "Published", 1),
        revision(DRAFT, "web", "Draft", 2),
        revision("edge.shop.v1", "shop", "Published", 3),
        revision(PROPOSAL, "shop", "Proposed", 4),
        revision("edge.old.v1", "old", "DeletionProposed", 6),
        // It cannot be compared: a name that is none stands in it.
        revision(MARK, MARK, "Draft", 5),
    ] {
        let name = one["metadata"]["name"].as_str().unwrap();
        let image = if name.ends_with("v1") {
            "web:1.4"
        } else {
            "<img src=x onerror=alert(1)>"
        };
        fake.also(
            &format!("packagerevisionresources/{name}"),
            resources(image),
        );
        fake.put("packagerevisions", &one);
    }
    let field = json!({ "file": "deployment.yaml", "path": "spec.image", "layer": MARK, "what": MARK, "document": 0 });
    fake.also(
        &format!("explanations/blame.{DRAFT}"),
        json!({ "status": { "fields": [field] } }),
    );
    fake.also("plans", plan());
    let told = |name: &str| json!({ "name": name, "result": "Refused", "reason": "Conflict", "message": MARK });
    fake.also(
        "bulkchanges",
        json!({ "status": { "results": [told(PROPOSAL), told(MARK)] } }),
    );
    fake
}
