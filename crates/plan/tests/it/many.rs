//! One verb for many revisions, as a table: what it means in each lifecycle, and what was seen.

use std::fmt::Write as _;

use model::{Class, Lifecycle, Revision};
use plan::revision::{Fit, RejectionReason, RevisionVerb, fit};

use crate::wire::{Json, revision};

fn at(state: Lifecycle) -> Revision {
    revision(&Json(serde_json::json!({"state": state.as_str()})), "")
}

fn brief(fit: &Fit) -> String {
    match fit {
        Fit::Move(door, to) => format!("{to} by {door:?}"),
        Fit::Delete { approves: true } => "deleted by an approver".to_owned(),
        Fit::Delete { approves: false } => "deleted".to_owned(),
        Fit::Already => "already".to_owned(),
        Fit::Skipped(reason, why) => format!("skipped as {}: {why}", reason.as_str()),
    }
}

#[test]
fn each_verb_fits_skips_or_is_done_already_in_each_lifecycle() {
    let mut table = String::new();
    for verb in RevisionVerb::ALL {
        assert_eq!(RevisionVerb::parse(verb.as_str()), Some(verb));
        for state in Lifecycle::ALL {
            let found = fit(&at(state), verb, None).expect("nothing was seen");
            let (verb, found) = (verb.as_str(), brief(&found));
            writeln!(table, "{verb} {state}: {found}").expect("a text");
        }
    }
    assert_eq!(
        table,
        "propose Draft: Proposed by Main\n\
         propose Proposed: already\n\
         propose Published: skipped as UnfitLifecycle: cannot propose Published package\n\
         propose DeletionProposed: skipped as UnfitLifecycle: cannot propose DeletionProposed package\n\
         approve Draft: skipped as UnfitLifecycle: cannot change approval from Draft to Published\n\
         approve Proposed: Published by Approval\n\
         approve Published: already\n\
         approve DeletionProposed: skipped as UnfitLifecycle: cannot change approval from DeletionProposed to Published\n\
         reject Draft: skipped as UnfitLifecycle: cannot reject deploy.shop.v1 with lifecycle 'Draft'\n\
         reject Proposed: Draft by Approval\n\
         reject Published: skipped as UnfitLifecycle: cannot reject deploy.shop.v1 with lifecycle 'Published'\n\
         reject DeletionProposed: Published by Approval\n\
         propose-delete Draft: skipped as UnfitLifecycle: can only propose published packages for deletion; package deploy.shop.v1 is not published\n\
         propose-delete Proposed: skipped as UnfitLifecycle: can only propose published packages for deletion; package deploy.shop.v1 is not published\n\
         propose-delete Published: DeletionProposed by Main\n\
         propose-delete DeletionProposed: already\n\
         delete Draft: deleted\n\
         delete Proposed: deleted\n\
         delete Published: skipped as DeletionNotProposed: published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion\n\
         delete DeletionProposed: deleted by an approver\n"
    );
}

/// F3: whatever the verb and the lifecycle, what is not as it was seen is refused, also what is done already.
#[test]
fn another_tree_than_the_one_that_was_seen_is_refused_by_every_verb() {
    let other = "0123456789abcdef0123456789abcdef01234567";
    for verb in RevisionVerb::ALL {
        for state in Lifecycle::ALL {
            let revision = at(state);
            let tree = revision.tree.to_string();
            assert_ne!(tree, other);
            assert_eq!(
                fit(&revision, verb, Some(&tree)),
                fit(&revision, verb, None)
            );
            let refused = fit(&revision, verb, Some(other)).expect_err("it was not seen");
            assert_eq!(refused.class, Class::Conflict);
            assert_eq!(refused.reason, Some(RejectionReason::ChangedSinceSeen));
            assert!(refused.message.contains(&tree) && refused.message.contains(other));
        }
    }
}

/// F3: a selection holds drafts in conflict: they are skipped with the reason, and do not keep the others.
#[test]
fn what_has_conflicts_to_decide_is_neither_proposed_nor_approved_with_others() {
    for (state, verb, skips) in [
        ("Draft", RevisionVerb::Propose, true),
        ("Draft", RevisionVerb::Approve, true),
        ("Proposed", RevisionVerb::Approve, true),
        ("Proposed", RevisionVerb::Propose, false),
        ("Proposed", RevisionVerb::Reject, false),
        ("Draft", RevisionVerb::Delete, false),
        ("Published", RevisionVerb::Approve, false),
    ] {
        // The gate in the Kptfile is a picture: without it they wait all the same.
        let world = serde_json::json!({"state": state, "conflicts": "2"});
        let found = fit(&revision(&Json(world), ""), verb, None).expect("nothing was seen");
        let (reason, why) = match &found {
            Fit::Skipped(reason, why) => (Some(*reason), why.as_str()),
            _ => (None, ""),
        };
        let told = why.contains(" conflicts to decide; ")
            && why.contains("offshoot why pkgrev/deploy.shop.v1");
        assert_eq!(told, skips, "{state} {verb:?}: {found:?}");
        // A draft is nothing that is approved: that its conflicts wait is said, and keeps nobody.
        let fits = (state, verb) != ("Draft", RevisionVerb::Approve);
        let waits = reason == Some(RejectionReason::OpenConflicts);
        assert_eq!(waits, skips && fits, "{found:?}");
    }
}

#[test]
fn each_reason_has_a_word_that_is_read_again() {
    for reason in RejectionReason::ALL {
        assert_eq!(RejectionReason::parse(reason.as_str()), Some(reason));
    }
    assert_eq!(RejectionReason::parse("FieldValueInvalid"), None);
}

#[test]
fn what_is_being_deleted_is_deleted_already() {
    let mut revision = at(Lifecycle::Draft);
    revision.meta.deleted = Some("2026-11-23T06:00:00Z".to_owned());
    let found = fit(&revision, RevisionVerb::Delete, None);
    assert_eq!(found.expect("nothing was seen"), Fit::Already);
}
