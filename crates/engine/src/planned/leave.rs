//! What becomes of revisions that go: with their variant, or because that went elsewhere.

use plan::variant::{Observed, Plan, VariantStep};

use super::{Fate, Leaving};

/// What becomes of revisions that go.
pub(super) fn note(o: &Observed, decided: &Plan, leaving: &mut Option<Leaving>) {
    let key = o.variant.key();
    let fates = decided.steps.iter().filter_map(|step| match step {
        VariantStep::DeleteRevision { revision, why } => {
            Some((revision.key.name.clone(), Fate::DELETED, why.clone()))
        }
        VariantStep::ProposeDeletion { revision, .. } => Some((
            revision.key.name.clone(),
            Fate::DELETION_PROPOSED,
            String::new(),
        )),
        VariantStep::Orphan { revision, why, .. } => {
            Some((revision.key.name.clone(), Fate::ORPHANED, why.clone()))
        }
        _ => None,
    });
    let goes = o.variant.meta().is_deleting();
    let branch = || {
        let mut all = o.downstream.iter();
        let head = all.find(|r| goes && r.placeholder)?;
        Some(head.key.name.clone())
    };
    for (name, fate, why) in fates {
        let entry = leaving.get_or_insert_with(|| Leaving {
            variant: key.clone(),
            why: match goes {
                true => "its packagevariant goes".to_owned(),
                false => why,
            },
            revisions: Vec::new(),
            branch: branch(),
        });
        if !entry.revisions.iter().any(|known| known.name == name) {
            let mut seen = o.downstream.iter().chain(&o.elsewhere);
            let tree = seen.find(|r| r.key.name == name).map(|r| r.tree);
            entry.revisions.push(Fate { name, fate, tree });
        }
    }
    if goes && leaving.is_none() {
        *leaving = Some(Leaving {
            variant: key.clone(),
            why: "its packagevariant goes, and owns nothing".to_owned(),
            revisions: Vec::new(),
            branch: branch(),
        });
    }
}
