//! Where commits are kept that no other ref leads to any more (V23). Names refs; never moves one.

use model::CommitId;
use store::{Expect, RefEdit, RefName, Scope};

use crate::Engine;

/// Below it they stand in our copy of a repository, and nowhere else.
const HERE: &str = "refs/offshoot/recovered";

/// Below it they stand in the remote, and so in every copy of it.
const REMOTE: &str = "refs/offshoot/recovery";

/// The ref that keeps a commit which was at something of this name; `None` where no ref can be called so.
pub(crate) fn edit(engine: &Engine, of: &str, commit: CommitId) -> Option<RefEdit> {
    let (dir, scope) = match engine.inner.options.lasting_copies {
        true => (HERE, Scope::Local),
        false => (REMOTE, Scope::Remote),
    };
    let name = RefName::parse(&format!("{dir}/{of}/{commit}")).ok()?;
    Some(RefEdit {
        name,
        expect: Expect::Any,
        to: Some(commit),
        scope,
    })
}

/// The directories below which they stand.
pub(crate) fn directories() -> impl Iterator<Item = RefName> {
    [HERE, REMOTE]
        .into_iter()
        .filter_map(|dir| RefName::parse(dir).ok())
}

/// What such a ref keeps: `OF/COMMIT`; `None` of any other ref.
pub(crate) fn of(name: &RefName) -> Option<&str> {
    let below = |dir| name.as_str().strip_prefix(dir)?.strip_prefix('/');
    below(HERE).or_else(|| below(REMOTE))
}
