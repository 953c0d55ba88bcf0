//! What must hold at every moment, a crash included: no draft is half made, a variant has at most one
//! open draft (I1), tags stand (I4), and nobody did what must not be done (I3, S2).

use std::collections::{BTreeMap, BTreeSet};

use model::{CommitId, Files, ObjectKey, Revision};
use store::RefName;

use super::Violation;
use super::fixtures::{Derived, NOWHERE, NS, REGIONS, TARGETS, TENANT};
use super::people;
use super::reading::Seen;
use super::world::{Tenants, World};

/// How the workspaces of machines begin.
pub(super) const MACHINE: &str = "packagevariant-";
/// How the workspaces of what a person makes alone begin.
pub(super) const PERSONS: &str = "mine";

impl World {
    /// Looks at git as everybody sees it now.
    ///
    /// # Errors
    /// A promise that does not hold at this very moment.
    pub(super) fn look(&self) -> Result<(), Violation> {
        if let Some(what) = self.durable.ledger.open().wrong.first() {
            return Err(Violation(what.clone()));
        }
        for (_, url) in TARGETS {
            self.look_at(&self.seen(url)?)?;
        }
        Ok(())
    }

    fn look_at(&self, seen: &Seen) -> Result<(), Violation> {
        let url = &seen.url;
        // Of two variants for one package each ignores the draft of the other (V15).
        let mut open: BTreeMap<(String, Option<ObjectKey>), BTreeSet<String>> = BTreeMap::new();
        let is_tag = |(name, _): &(&RefName, &CommitId)| name.as_str().starts_with("refs/tags/");
        // Of two that are new at once, the lower number came first.
        for (name, commit) in by_number(seen.refs.iter().filter(is_tag).collect()) {
            let mut promises = self.durable.ledger.open();
            let told = promises.see_tag(url, name.short(), *commit);
            told.map_err(Violation)?;
        }
        for (name, commit) in seen.refs.iter() {
            let Some((package, workspace, revision)) = people::draft_of(url, name) else {
                continue;
            };
            let dir = package.split_once('/').map_or("", |(_, p)| p);
            let files = seen.files(*commit, dir)?;
            let maker = self.maker(seen, *commit)?;
            self.whole(seen, &files, dir, maker.as_ref())
                .map_err(|why| Violation(format!("half-made draft {name} of {url}: {why}")))?;
            // What a person pushes to the name of a published one is not the variant's any more: it stays
            // and is told of, and the variant makes its next draft beside it.
            let record = self.record(&revision);
            let published = record.as_ref().is_some_and(|r| r.lifecycle.is_published());
            let kept = self.is_left_over(seen, record.as_ref(), *commit)?;
            // One that an older copy brought back stands beside the one that was made since.
            let back = self.durable.ledger.open().is_brought_back(url, name);
            if workspace.starts_with(MACHINE) && !published && !kept && !back {
                let several = self.tenants == Tenants::Shared || self.rolls();
                let of = maker.filter(|_| several || self.again.is_some());
                open.entry((package, of)).or_default().insert(workspace);
            }
        }
        match open.into_iter().find(|(_, all)| all.len() > 1) {
            Some(((package, of), all)) => Err(Violation(format!(
                "I1: {package} has open drafts {all:?} of {of:?}"
            ))),
            None => Ok(()),
        }
    }

    /// Whether a draft is of a variant that is gone: an older copy of its repository was put back, and whoever comes after it
    /// under its name takes over nothing that is not its own (V9).
    fn is_left_over(
        &self,
        seen: &Seen,
        record: Option<&Revision>,
        at: CommitId,
    ) -> Result<bool, Violation> {
        let controller = record.and_then(|r| r.meta.controller());
        let uid = match controller {
            Some(owner) => Some(owner.uid.clone()),
            None => people::machine(&*seen.repo, at).map_err(Violation)?,
        };
        let all = self.durable.twin.variants();
        Ok(uid.is_some_and(|uid| !all.iter().any(|v| v.meta.uid.as_ref() == Some(&uid))))
    }

    /// The variant that an open draft was made for last; none in worlds where it makes no difference.
    fn maker(&self, seen: &Seen, at: CommitId) -> Result<Option<ObjectKey>, Violation> {
        let restricted = !self.durable.ledger.open().denied.is_empty();
        let one = self.tenants == Tenants::None && self.again.is_none();
        if one && !restricted && !self.rolls() {
            return Ok(None);
        }
        people::maker(&*seen.repo, at).map_err(Violation)
    }

    /// Whether files are a complete derivation of inputs that there once were, and that whoever asked might read (X6).
    fn whole(
        &self,
        seen: &Seen,
        files: &Files,
        package: &str,
        maker: Option<&ObjectKey>,
    ) -> Result<(), String> {
        let Some(complete) = &self.complete else {
            return Ok(());
        };
        let derived = Derived::of(files, package);
        if let Some(why) = derived.half_made(complete) {
            return Err(why);
        }
        let host = &derived.host;
        if let Some(maker) = maker {
            let promises = self.durable.ledger.open();
            if promises.rights.get(maker).is_some_and(|h| h.contains(host)) {
                return Err(format!(
                    "X6: {maker} holds {host}, which its writer may not read"
                ));
            }
        }
        let denied = maker.is_some_and(|m| self.durable.ledger.open().denied.contains(m));
        let theirs =
            maker.is_none_or(|m| m.namespace.as_str() == TENANT) && self.theirs.contains(host);
        let ours = maker.is_none_or(|m| m.namespace.as_str() == NS) && self.hosts.contains(host);
        // What was published, whoever's variant made it, stays where nothing new may be read.
        let kept = denied && !ours && is_published(seen, package, host)?;
        let version = derived
            .version
            .0
            .strip_prefix('v')
            .and_then(|v| v.parse::<u64>().ok());
        let known = version.is_some_and(|v| (1..=self.version).contains(&v))
            && REGIONS.contains(&derived.region.as_str())
            && (ours || theirs || kept || (denied && host == NOWHERE));
        if known {
            return Ok(());
        }
        let (version, region) = (&derived.version, &derived.region);
        Err(format!(
            "nobody asked for {version:?}, {region}, {host} of {maker:?}"
        ))
    }
}

/// Whether a published revision of a package holds this host.
fn is_published(seen: &Seen, package: &str, host: &str) -> Result<bool, String> {
    let prefix = format!("refs/tags/{package}/");
    for (name, commit) in seen.refs.iter() {
        if !name.as_str().starts_with(&prefix) {
            continue;
        }
        let files = people::files(&*seen.repo, *commit, package)?;
        if Derived::of(&files, package).host == host {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tags by their length, then by name: `v9` before `v10`.
fn by_number<'a>(mut tags: Vec<(&'a RefName, &'a CommitId)>) -> Vec<(&'a RefName, &'a CommitId)> {
    tags.sort_by_key(|(name, _)| (name.as_str().len(), name.as_str()));
    tags
}
