//! Where it is noted that somebody approved a deletion: on the record of the branch, before the revision's own record goes.
//! A tag that is gone without that is missed (V20).

use std::sync::Arc;

use model::{ObjectKey, ObjectName, Revision, WorkspaceName, compose_name};

use crate::repos::OpenRepository;
use crate::transaction::Follow;
use crate::{Engine, Error, Result, discover, given_up};

/// Where the deletion of a revision is noted that somebody approved.
pub(super) enum Noting {
    /// On this record of the branch.
    On(Box<Follow>),
    /// It is noted already, or the branch holds nothing of the package.
    Needless,
    /// What the branch holds has no record yet: the look that makes it notes the deletion, if the revision's own record is still
    /// there to tell of it.
    Later,
}

/// How the deletion of a revision is noted.
///
/// # Errors
/// Git or the object store cannot be read.
pub(super) async fn noting(
    engine: &Engine,
    open: &OpenRepository,
    siblings: &[Arc<Revision>],
    deleted: &Revision,
) -> Result<Noting> {
    let known = siblings.iter().find(|s| s.placeholder).cloned();
    let head = match known {
        Some(head) => Some(head),
        None => stored(engine, open, deleted).await?,
    };
    let Some(head) = head else {
        let at = discover::head_of(open)?;
        let tree = at
            .map(|at| open.tree_at(at, &deleted.package))
            .transpose()?;
        return Ok(match tree.flatten() {
            Some(_) => Noting::Later,
            None => Noting::Needless,
        });
    };
    let mut record = Revision::clone(&head);
    given_up::note(&mut record, [deleted.revision]);
    Ok(if record == *head {
        Noting::Needless
    } else {
        Noting::On(Box::new(Follow::put(record, Some(head))))
    })
}

/// The record of the branch by the store's word: a list that came late may hide it.
async fn stored(
    engine: &Engine,
    open: &OpenRepository,
    of: &Revision,
) -> Result<Option<Arc<Revision>>> {
    let Ok(branch) = WorkspaceName::parse(open.layout.branch()) else {
        return Ok(None);
    };
    let name = compose_name(&of.repository, &of.package, &branch);
    let Ok(name) = ObjectName::parse(&name) else {
        return Ok(None);
    };
    let key = ObjectKey::new(of.key.namespace.clone(), name);
    let found = engine.ports().records.get(&key).await;
    let found = found.map_err(|source| Error::Port { source })?;
    let ours = found.filter(|r| r.placeholder && r.package == of.package);
    Ok(ours.map(Arc::new))
}
