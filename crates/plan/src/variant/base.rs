//! *p*: the published state that new drafts of a package start from (V20).

use std::sync::Arc;

use model::{CommitId, Machine, ObjectMeta, Revision, TreeId};

use super::words;

/// The published state that new drafts start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseChoice {
    /// The latest published revision, whoever made it.
    pub revision: Arc<Revision>,
    /// The commit that holds the content.
    pub commit: CommitId,
    /// The package's tree in that commit.
    pub tree: TreeId,
    /// Whether the branch's state was taken, because somebody changed the package there since.
    pub from_branch: bool,
}

/// Chooses *p* among all revisions of a package, placeholder included, in any order.
///
/// It is the published revision with the highest number; where the branch's directory (the
/// placeholder's tree) differs from it, the branch's state.
pub fn base_of(revisions: &[Arc<Revision>]) -> Option<BaseChoice> {
    let latest = revisions
        .iter()
        .filter(|r| r.lifecycle.is_published() && r.revision.is_numbered() && !r.placeholder)
        .max_by_key(|r| r.revision)?;
    let head = revisions
        .iter()
        .find(|r| r.placeholder && r.tree != latest.tree);
    let content = head.unwrap_or(latest);
    Some(BaseChoice {
        revision: Arc::clone(latest),
        commit: content.commit,
        tree: content.tree,
        from_branch: head.is_some(),
    })
}

/// Of which machine output the keys and contents that the spec no longer states are taken over (V22): the open draft's if
/// there is one, else what is published. A draft of what somebody wrote by hand into a variant of a set states nothing.
pub fn stating<'m>(
    variant: &ObjectMeta,
    draft: Option<&'m Machine>,
    published: Option<&'m Machine>,
) -> Option<&'m Machine> {
    let put_back = variant.annotations.contains_key(words::PUT_BACK);
    draft.filter(|_| !put_back).or(published)
}
