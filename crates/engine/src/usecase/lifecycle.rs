//! Moves between lifecycles that touch refs only: propose, reject, propose deletion, withdraw it.

use std::sync::Arc;

use model::{CommitId, Lifecycle, Revision};
use store::{Expect, RefEdit, RefName};

use super::Caller;
use crate::discover::tag_of;
use crate::ports::{EventType, OurKind};
use crate::repos::OpenRepository;
use crate::{Engine, Error, Result, kept};

/// The ref edits that move a revision from one lifecycle to another, its content at `to_commit`.
///
/// # Errors
/// A move that is no such move: an approval has content to publish.
pub(super) fn refs(
    engine: &Engine,
    open: &OpenRepository,
    revision: &Arc<Revision>,
    to: Lifecycle,
    to_commit: CommitId,
) -> Result<Vec<RefEdit>> {
    use Lifecycle::{DeletionProposed, Draft, Proposed, Published};
    let (package, ws) = (&revision.package, &revision.workspace);
    let layout = &open.layout;
    let from = revision.lifecycle;
    let at = revision.commit;
    let edits = match (from, to) {
        (Draft, Draft) => vec![update(layout.draft(package, ws)?, at, to_commit)],
        (Proposed, Proposed) => vec![update(layout.proposed(package, ws)?, at, to_commit)],
        (Draft, Proposed) => {
            let left = RefEdit::delete(layout.draft(package, ws)?, at);
            let shown = layout.proposed(package, ws)?;
            [vec![left], shows(engine, open, revision, shown, to_commit)?].concat()
        }
        (Proposed, Draft) => {
            let left = RefEdit::delete(layout.proposed(package, ws)?, at);
            let shown = layout.draft(package, ws)?;
            [vec![left], shows(engine, open, revision, shown, to_commit)?].concat()
        }
        (Published, DeletionProposed) => {
            vec![RefEdit::create(
                layout.deletion(package, &mark(open, revision))?,
                at,
            )]
        }
        (DeletionProposed, Published) => {
            let name = layout.deletion(package, &mark(open, revision))?;
            vec![RefEdit {
                expect: Expect::Any,
                ..RefEdit::delete(name, at)
            }]
        }
        _ => {
            return Err(Error::refused(
                model::Class::Bug,
                "spec.lifecycle",
                format!("{from} cannot become {to} by moving refs"),
            ));
        }
    };
    Ok(edits)
}

/// The ref that shows a revision after a move, where there should be none yet. One that stands there all the same was pushed by a
/// person, or left by a move that was cut short: what it holds is not the revision's, and stays reachable (V23).
fn shows(
    engine: &Engine,
    open: &OpenRepository,
    revision: &Revision,
    name: RefName,
    to: CommitId,
) -> Result<Vec<RefEdit>> {
    let failed = |source| Error::Store {
        attempt: "read the refs",
        source,
    };
    let Some(stands) = open.repo.find_ref(&name).map_err(failed)? else {
        return Ok(vec![RefEdit::create(name, to)]);
    };
    if stands == to {
        return Ok(Vec::new());
    }
    let mut edits = vec![update(name, stands, to)];
    if !open.repo.is_ancestor(stands, to).map_err(failed)? {
        edits.extend(kept::edit(engine, revision.key.name.as_str(), stands));
    }
    Ok(edits)
}

/// What whoever moved a revision is told of what is kept.
pub(super) fn told_of(refs: &[RefEdit]) -> Option<String> {
    let kept = refs.iter().find(|edit| kept::of(&edit.name).is_some())?;
    Some(format!(
        "something else was pushed to where the revision stands now: it is kept as {}",
        kept.name.as_str()
    ))
}

/// The last segment of the ref that marks a revision for deletion: its tag's, or the branch.
pub(super) fn mark(open: &OpenRepository, revision: &Revision) -> String {
    if revision.placeholder {
        open.layout.branch().to_owned()
    } else {
        tag_of(revision)
    }
}

fn update(name: RefName, from: CommitId, to: CommitId) -> RefEdit {
    RefEdit::update(name, from, to)
}

/// Tells people about a move that was made from another lifecycle. Nobody waits for it: it is durable already.
pub(super) fn tell(engine: &Engine, by: &Caller, from: Lifecycle, revision: &Revision) {
    let (reason, what) = match revision.lifecycle {
        // It was published before, by whoever approved it then.
        Lifecycle::Published if from == Lifecycle::DeletionProposed => (
            "DeletionWithdrawn",
            "kept: its proposed deletion was withdrawn".to_owned(),
        ),
        Lifecycle::Draft => ("Draft", "taken back into draft".to_owned()),
        Lifecycle::Proposed => ("Proposed", "proposed for approval".to_owned()),
        Lifecycle::Published => ("Published", format!("published as {}", tag_of(revision))),
        Lifecycle::DeletionProposed => ("DeletionProposed", "proposed for deletion".to_owned()),
    };
    let message = format!("{what} by {}", by.user);
    let (engine, key) = (engine.clone(), revision.key.clone());
    tokio::spawn(async move {
        let (kind, normal) = (OurKind::Revision, EventType::Normal);
        engine.tell(kind, &key, normal, reason, message).await;
    });
}

/// What a record says about itself after such a move.
pub(super) fn moved(open: &OpenRepository, record: &mut Revision, to: Lifecycle) {
    record.lifecycle = to;
    let dir = open.layout.dir(&record.package);
    if let Some(lock) = &mut record.self_lock {
        match to {
            Lifecycle::Draft => lock.git_ref = format!("drafts/{dir}/{}", record.workspace),
            Lifecycle::Proposed => lock.git_ref = format!("proposed/{dir}/{}", record.workspace),
            Lifecycle::Published | Lifecycle::DeletionProposed => {}
        }
        lock.commit = Some(record.commit);
    }
}
