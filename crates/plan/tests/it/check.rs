//! What no plan may do: each invariant is broken on purpose, beside a plan that keeps it.

use model::Lifecycle;
use plan::variant::{Observed, Plan, RevisionRef, VariantStep, check, decide};
use plan::{Next, Report};
use serde_json::{Value, json};

use crate::variant::observed;
use crate::wire::{Json, key, uid};

/// What is wrong with a plan of these steps; nothing if it may be carried out.
fn wrong(o: &Observed, steps: Vec<VariantStep>) -> String {
    let plan = Plan {
        steps,
        report: Report::of("by hand"),
        status: o.status.clone(),
        next: Next::Rest,
    };
    check(&plan, o).map_or_else(|v| v.to_string(), |()| String::new())
}

fn world(value: Value) -> Observed {
    observed(&Json(value))
}

/// A world with one revision downstream: ours unless it says otherwise.
fn with(revision: Value) -> Observed {
    let mut revision = revision;
    for (key, value) in [("ws", json!("packagevariant-1")), ("mine", json!(true))] {
        if revision.get(key).is_none() {
            revision[key] = value;
        }
    }
    world(json!({"downstream": [revision]}))
}

fn only(o: &Observed) -> RevisionRef {
    RevisionRef::of(&o.downstream[0])
}

/// The first draft of a package: `deploy.shop.packagevariant-1`.
fn creation() -> VariantStep {
    let o = world(json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}]}));
    decide(&o).steps.remove(0)
}

const CREATE: &str =
    "the plan would create draft deploy.shop.packagevariant-1 (clone blueprints.nginx.v1), but ";

/// V3: a second draft of ours, or one under a name that is taken, is never made.
#[test]
fn one_draft_at_a_time_under_a_name_of_its_own() {
    let nothing = world(json!({}));
    assert_eq!(wrong(&nothing, vec![creation()]), "");
    assert_eq!(
        wrong(&nothing, vec![creation(), creation()]),
        format!("{CREATE}one draft is enough")
    );
    let open = |revision| wrong(&with(revision), vec![creation()]);
    let already = format!("{CREATE}a draft of ours is open already");
    assert_eq!(open(json!({"ws": "other", "state": "Draft"})), already);
    assert_eq!(open(json!({"ws": "other", "state": "Proposed"})), already);
    assert_eq!(open(json!({"ws": "other", "n": 1})), "");
    assert_eq!(
        open(json!({"ws": "other", "state": "Draft", "deleting": true})),
        ""
    );
    assert_eq!(
        open(json!({"ws": "other", "state": "Draft", "mine": false})),
        ""
    );
    assert_eq!(
        open(json!({"state": "Draft", "mine": false})),
        format!("{CREATE}the name is taken")
    );
}

/// R106, V10: the finalizer stays for as long as nobody deletes the variant or its namespace.
#[test]
fn the_finalizer_goes_with_a_deleted_variant_alone() {
    let remove = || VariantStep::RemoveFinalizer {
        finalizer: "f".to_owned(),
        resource_version: "1".to_owned(),
    };
    for leaving in [
        json!({"variant": {"deleting": true}}),
        json!({"namespaceTerminating": true}),
    ] {
        assert_eq!(wrong(&world(leaving), vec![remove()]), "");
    }
    assert_eq!(
        wrong(&world(json!({})), vec![remove()]),
        "the plan would remove finalizer f, but nobody asked to delete the variant"
    );
}

/// Steps that touch a revision, each with the lifecycles that it may find.
fn touching(o: &Observed, revision: RevisionRef) -> Vec<(VariantStep, &'static [Lifecycle])> {
    let behind = world(json!({
        "variant": {"upstream": "blueprints/nginx@v2"},
        "upstream": [{"at": "blueprints/nginx", "ws": "v2", "n": 2, "commit": "u2"}],
        "downstream": [{"ws": "packagevariant-1", "state": "Draft", "mine": true, "machine": "old"}],
    }));
    let mut update = decide(&behind).steps.remove(0);
    if let VariantStep::UpdateDraft(update) = &mut update {
        update.draft = revision.clone();
    }
    let uid = || o.variant.meta().uid.clone().expect("a uid");
    vec![
        (update, &[Lifecycle::Draft]),
        (
            VariantStep::RenderDraft {
                revision: revision.clone(),
                digest: model::Digest::new(1, &[0]),
            },
            &[Lifecycle::Draft],
        ),
        (
            VariantStep::RevertToDraft {
                revision: revision.clone(),
            },
            &[Lifecycle::Proposed],
        ),
        (
            VariantStep::DeleteRevision {
                revision: revision.clone(),
                why: "so".to_owned(),
            },
            &[Lifecycle::Draft, Lifecycle::Proposed],
        ),
        (
            VariantStep::ProposeDeletion {
                revision: revision.clone(),
                annotations: model::Pairs::new(),
                disown: None,
            },
            &[Lifecycle::Published],
        ),
        (
            VariantStep::Orphan {
                revision,
                owner: uid(),
                why: "so".to_owned(),
            },
            &Lifecycle::ALL,
        ),
    ]
}

/// V3, V10: what the variant does not own, what moved meanwhile, the branch's head, and what stands elsewhere in its
/// life is left alone.
#[test]
fn a_revision_is_touched_only_as_it_was_seen_and_where_its_lifecycle_allows() {
    for state in Lifecycle::ALL {
        let mut o = with(json!({"state": state.as_str()}));
        let asked = world(json!({"variant": {"proposed": "revert"}}));
        o.variant = asked.variant;
        let all = touching(&o, only(&o)).len();
        for i in 0..all {
            let step = |o: &Observed, revision: RevisionRef| touching(o, revision).swap_remove(i);
            let (plain, allowed) = step(&o, only(&o));
            let what = format!("{} in {state}", plain.summary());
            let would = format!("the plan would {}, but ", plain.summary());
            let may = allowed.contains(&state);
            let verdict = match may {
                true => String::new(),
                false => format!("{would}its lifecycle forbids it"),
            };
            assert_eq!(wrong(&o, vec![plain.clone()]), verdict, "{what}");

            let mut foreign = o.clone();
            foreign.downstream = with(json!({"state": state.as_str(), "mine": false})).downstream;
            assert_eq!(
                wrong(&foreign, vec![plain.clone()]),
                format!("{would}the variant does not own it"),
                "{what}"
            );

            let mut head = o.clone();
            head.downstream =
                with(json!({"state": state.as_str(), "placeholder": true})).downstream;
            let (at_head, _) = step(&head, only(&head));
            assert_eq!(
                wrong(&head, vec![at_head]),
                format!("{would}a branch's head is nobody's"),
                "{what}"
            );

            let mut old = only(&o);
            old.resource_version = "0".to_owned();
            let (stale, _) = step(&o, old);
            assert_eq!(
                wrong(&o, vec![stale]),
                format!("{would}it expects what was not seen"),
                "{what}"
            );

            let mut elsewhere = o.clone();
            elsewhere.elsewhere = std::mem::take(&mut elsewhere.downstream);
            assert_eq!(wrong(&elsewhere, vec![plain.clone()]), verdict, "{what}");
            elsewhere.elsewhere.clear();
            assert_eq!(
                wrong(&elsewhere, vec![plain]),
                format!("{would}it expects what was not seen"),
                "{what}"
            );
        }
    }
}

/// V10: only proposals that carry this variant's name are withdrawn, owned or not, and only in the package that is the
/// downstream now.
#[test]
fn only_proposals_of_its_name_are_withdrawn_and_only_in_the_downstream() {
    let marked = json!({"offshoot.dev/deletion-proposed-by": "fleet/shop"});
    let withdraw = |o: &Observed, revision: RevisionRef| {
        let step = VariantStep::WithdrawDeletionProposal {
            revision,
            remove_annotations: Vec::new(),
        };
        let said = wrong(o, vec![step]);
        said.split_once("but ")
            .map_or_else(|| said.clone(), |(_, why)| why.to_owned())
    };
    for mine in [true, false] {
        let o = with(json!({"state": "DeletionProposed", "mine": mine, "annotations": marked}));
        assert_eq!(withdraw(&o, only(&o)), "");
        let mut old = only(&o);
        old.resource_version = "0".to_owned();
        assert_eq!(withdraw(&o, old), "it expects what was not seen");
        let mut elsewhere = o.clone();
        elsewhere.elsewhere = std::mem::take(&mut elsewhere.downstream);
        assert_eq!(
            withdraw(&elsewhere, only(&o)),
            "it is not in the downstream package"
        );
    }
    let others = json!({"offshoot.dev/deletion-proposed-by": "fleet/other"});
    for not_ours in [
        json!({"state": "DeletionProposed"}),
        json!({"state": "DeletionProposed", "annotations": others}),
        json!({"state": "Published", "annotations": marked}),
        json!({"state": "DeletionProposed", "placeholder": true, "annotations": marked}),
    ] {
        let o = with(not_ours);
        assert_eq!(
            withdraw(&o, only(&o)),
            "the variant did not propose its deletion"
        );
    }
}

/// R28, V3: a proposal is taken back only where the spec asks for it.
#[test]
fn a_proposal_is_taken_back_only_on_request() {
    let o = with(json!({"state": "Proposed"}));
    let revert = VariantStep::RevertToDraft { revision: only(&o) };
    assert_eq!(
        wrong(&o, vec![revert]),
        "the plan would revert deploy.shop.packagevariant-1 to draft, but nobody asked to take proposals back"
    );
}

/// V9: what somebody else controls is not adopted, nor the branch's head.
#[test]
fn only_what_nobody_else_controls_is_adopted() {
    let verdict = |revision: Value| {
        let o = with(revision);
        let adopt = |revision| VariantStep::Adopt {
            revision,
            owner: model::OwnerReference {
                api_version: "v1".to_owned(),
                kind: "PackageVariant".to_owned(),
                name: "shop".to_owned(),
                uid: uid("uid-shop"),
                controller: true,
                block_owner_deletion: false,
            },
            replace: Vec::new(),
            labels: model::Pairs::new(),
            annotations: model::Pairs::new(),
        };
        let mut other = only(&o);
        other.key = key("deploy.shop.other");
        assert_eq!(
            wrong(&o, vec![adopt(other)]),
            "the plan would adopt Draft deploy.shop.other, but it expects what was not seen"
        );
        wrong(&o, vec![adopt(only(&o))])
    };
    let would = "the plan would adopt Draft deploy.shop.packagevariant-1, but ";
    assert_eq!(verdict(json!({"state": "Draft", "mine": false})), "");
    // A former life of this variant controls it.
    assert_eq!(
        verdict(
            json!({"state": "Draft", "mine": false, "owners": ["PackageVariant shop uid-former"]})
        ),
        ""
    );
    assert_eq!(
        verdict(
            json!({"state": "Draft", "mine": false, "owners": ["PackageVariant other uid-other"]})
        ),
        format!("{would}somebody else controls it")
    );
    assert_eq!(
        verdict(
            json!({"state": "Draft", "mine": false, "owners": ["Deployment other uid-other plain"]})
        ),
        ""
    );
    assert_eq!(
        verdict(
            json!({"state": "Draft", "mine": false, "placeholder": true, "ws": "packagevariant-1"})
        ),
        format!("{would}a branch's head is nobody's")
    );
}

/// V17a: a digest is noted on what was seen, whosever it is.
#[test]
fn a_digest_is_noted_on_what_was_seen() {
    let o = with(json!({"n": 1, "mine": false}));
    let note = |revision| VariantStep::NoteDigest {
        revision,
        digest: model::Digest::new(1, &[0]),
    };
    assert_eq!(wrong(&o, vec![note(only(&o))]), "");
    let mut moved = only(&o);
    moved.lifecycle = Lifecycle::DeletionProposed;
    assert_eq!(
        wrong(&o, vec![note(moved)]),
        "the plan would note on deploy.shop.packagevariant-1 that nothing changes, but it expects what was not seen"
    );
}

/// A suspended variant gets its finalizer and nothing else, until it is deleted.
#[test]
fn a_suspended_variant_is_left_alone() {
    let finalizer = || VariantStep::AddFinalizer {
        finalizer: "f".to_owned(),
        resource_version: "1".to_owned(),
    };
    let suspended = world(json!({"variant": {"suspend": true}}));
    assert_eq!(wrong(&suspended, vec![finalizer()]), "");
    assert_eq!(
        wrong(&suspended, vec![finalizer(), creation()]),
        format!("{CREATE}the variant is suspended")
    );
    let deleting = world(json!({"variant": {"suspend": true, "deleting": true},
        "downstream": [{"ws": "packagevariant-1", "state": "Draft", "mine": true}]}));
    let delete = VariantStep::DeleteRevision {
        revision: only(&deleting),
        why: "so".to_owned(),
    };
    assert_eq!(wrong(&deleting, vec![delete]), "");
}
