//! What was derived becomes commits (V19): *V* stands beside *M*, *M′* beside *tip′*, and the
//! trailer names the trees of all, so that everything a later merge needs hangs on the draft itself.

use std::collections::BTreeSet;

use model::{
    CommitId, Digest, DraftOwner, Files, Machine, PackageName, Recipe, Revision, TreeId,
    WorkspaceName,
};
use package::derive::Derived;
use plan::variant::BaseRef;
use store::{CommitSpec, Content, Opaque, Written};

use crate::facts::Facts;
use crate::git::{Subject, committer};
use crate::observe::facts;
use crate::repos::OpenRepository;
use crate::transaction::{Begun, DraftCommit, Tip, Transaction, told};
use crate::usecase::{Caller, are_equal, with_room};
use crate::{Engine, Error, Result};

/// What the trailer says beside the trees.
pub(super) struct Noted<'a> {
    /// The variant.
    pub(super) owner: DraftOwner,
    /// Without base and policies.
    pub(super) digest: &'a Digest,
    /// With them.
    pub(super) full_digest: &'a Digest,
    /// *p*.
    pub(super) base: Option<&'a BaseRef>,
    /// What the branch holds where there is no *p* (V20).
    pub(super) directory: Option<TreeId>,
    /// *r′*.
    pub(super) recipe: &'a Recipe,
    /// Whether the draft was another's before (V9).
    pub(super) adopted: bool,
}

impl Noted<'_> {
    fn machine(
        self,
        workspace: &WorkspaceName,
        trees: (TreeId, TreeId),
        derived: &Derived,
    ) -> Machine {
        let keys: BTreeSet<String> = self.recipe.context.keys().cloned().collect();
        Machine {
            owner: self.owner,
            adopted: self.adopted,
            workspace: workspace.clone(),
            digest: self.digest.clone(),
            full_digest: self.full_digest.clone(),
            v_tree: trees.0,
            m_tree: trees.1,
            base: self.base.map(|b| b.commit),
            base_tree: self.base.map(|b| b.tree).or(self.directory),
            gates: derived.gates_added.clone(),
            context_keys: keys,
        }
    }
}

/// A derived draft, about to become commits. None of them is visible yet; the last one holds the
/// others.
pub(super) struct Commits<'a> {
    pub(super) engine: &'a Engine,
    pub(super) open: &'a OpenRepository,
    pub(super) by: &'a Caller,
    pub(super) package: &'a PackageName,
    pub(super) workspace: &'a WorkspaceName,
    /// What *M* holds that is no file: what *p* does.
    pub(super) of_base: &'a [Opaque],
    /// What the draft holds that is no file.
    pub(super) opaque: &'a [Opaque],
    pub(super) derived: &'a Derived,
}

impl Commits<'_> {
    /// A new draft: *M* on the branch's head, *V* beside it where it differs.
    pub(super) fn fresh(
        &self,
        into: &mut Transaction<'_, Begun>,
        head: CommitId,
        subject: Subject<'_>,
        noted: Noted<'_>,
    ) -> Result<(Tip, Machine)> {
        let m = self.aside((&self.derived.m, self.of_base), &[], "a tree")?;
        let v = self.output()?;
        let m_tree = tree_of(&m)?;
        let v_tree = v.as_ref().map_or(Ok(m_tree), tree_of)?;
        facts::keep(self.engine, v_tree, || Facts::of_output(self.derived));
        let machine = noted.machine(self.workspace, (v_tree, m_tree), self.derived);
        let beside = v.as_ref().map(Written::commit);
        let parents: Vec<_> = std::iter::once(head).chain(beside).collect();
        let written = self.commit(into, m_tree, (&parents, subject, String::new()), &machine)?;
        Ok((written, machine))
    }

    /// An open draft: *tip′* on the old tip, *M′* beside it where it differs, *V′* beside that.
    pub(super) fn again(
        &self,
        into: &mut Transaction<'_, Begun>,
        old: &Revision,
        why: &[String],
        noted: Noted<'_>,
    ) -> Result<(Tip, Machine)> {
        let v = self.output()?;
        let mut beside: Vec<CommitId> = v.iter().map(Written::commit).collect();
        let m = self.aside(
            (&self.derived.m, self.of_base),
            &beside,
            "the machine's result for this draft",
        )?;
        let m_tree = tree_of(&m)?;
        let v_tree = v.as_ref().map_or(Ok(m_tree), tree_of)?;
        let is_m = self.derived.tip_equals_m && are_equal(self.opaque, self.of_base);
        let tip = if is_m {
            None
        } else {
            beside = vec![m.commit()];
            Some(self.aside((&self.derived.tip, self.opaque), &[], "a tree")?)
        };
        let tree = tip.as_ref().map_or(Ok(m_tree), tree_of)?;
        facts::keep(self.engine, v_tree, || Facts::of_output(self.derived));
        let machine = noted.machine(self.workspace, (v_tree, m_tree), self.derived);
        let parents: Vec<_> = std::iter::once(old.commit).chain(beside).collect();
        let written = self.commit(
            into,
            tree,
            (&parents, Subject::Render, why.join("; ")),
            &machine,
        )?;
        Ok((written, machine))
    }

    /// *V* in a commit of its own, where it differs from *M*.
    fn output(&self) -> Result<Option<Written>> {
        if self.derived.v_equals_m {
            return Ok(None);
        }
        let opaque = with_room(self.of_base, &self.derived.v);
        let content = (&self.derived.v, opaque.as_slice());
        self.aside(content, &[], "the machine's own output")
            .map(Some)
    }

    fn commit(
        &self,
        into: &mut Transaction<'_, Begun>,
        tree: TreeId,
        (parents, subject, body): (&[CommitId], Subject<'_>, String),
        machine: &Machine,
    ) -> Result<Tip> {
        into.commit(
            self.by,
            &DraftCommit {
                package: self.package,
                workspace: self.workspace,
                content: Content::Tree(tree),
                parents,
                subject,
                body,
                machine: Some(machine),
                conditions: &self.derived.conditions,
                conflicts: told(&self.derived.conflicts),
            },
        )
    }

    /// A commit that shows nothing but the package and stands beside a draft. One that only gives
    /// its tree an id is never published.
    fn aside(
        &self,
        (files, opaque): (&Files, &[Opaque]),
        parents: &[CommitId],
        what: &str,
    ) -> Result<Written> {
        let now = self.engine.now();
        let dir = self.open.layout.dir(self.package);
        let message = format!("{dir} {}: {what}\n", self.workspace);
        let written = self.open.repo.write(CommitSpec {
            base: None,
            dir: &dir,
            content: Content::Files(files, opaque),
            parents,
            author: &committer(now),
            committer: &committer(now),
            message: &message,
        });
        written.map_err(|source| Error::Store {
            attempt: "write the package",
            source,
        })
    }
}

/// The package's tree in a commit that was built.
fn tree_of(written: &Written) -> Result<TreeId> {
    let empty = || Error::refused(model::Class::Bug, "", "a package without files");
    written.tree().ok_or_else(empty)
}
