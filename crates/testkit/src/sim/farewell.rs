//! Whether a variant that is let go has nothing left (I3): asked of the store and of git at the very
//! moment when its finalizer leaves.

use std::time::Duration;

use engine::ports::StoredVariant;
use model::{CommitId, DeletionPolicy, ObjectKey, Revision};
use store::{RefName, Repo};
use tokio::time::Instant;

use super::check::MACHINE;
use super::fixtures::TARGETS;
use super::people;
use super::ports::Ports;

/// For how long a proposal that a person pushed, or a draft that an older copy brought back, may be unknown: a remote is looked at every two seconds, and may be out of reach for
/// nine. Until then it is the person's; once it is known it goes with its variant or is told of.
const UNHEARD: Duration = Duration::from_secs(15);

impl Ports {
    /// Notes where a variant is let go although something of it is left (I3).
    ///
    /// What is decided on an older version of the object is refused, so that nothing is let go by it.
    pub(super) fn lets_go(&self, key: &ObjectKey, version: &str, finalizers: &[String]) {
        let found = self.twin.variant(key.namespace.as_str(), key.name.as_str());
        let last = |v: &StoredVariant| {
            let now = v.meta.resource_version == version;
            now && v.meta.deleted.is_some() && finalizers.is_empty()
        };
        let Some(variant) = found.filter(last) else {
            return;
        };
        let registered = |r: &&Revision| {
            let repository = r.repository.as_str();
            self.twin
                .repository(key.namespace.as_str(), repository)
                .is_some()
        };
        let uid = variant.meta.uid.as_ref();
        let all = self.twin.revisions();
        let mut owned = all
            .iter()
            .filter(|r| uid.is_some_and(|uid| r.meta.is_owned_by(uid)))
            .filter(registered);
        if let Some(record) = owned.next() {
            let what = format!("I3: {key} is let go while it owns {}", record.key);
            self.ledger.open().wrong.push(what);
        }
        if let Err(why) = self.leaves_nothing(&variant) {
            self.ledger.open().wrong.push(why);
        }
    }

    /// Whether git has no open draft of a variant that takes its drafts along.
    fn leaves_nothing(&self, variant: &StoredVariant) -> Result<(), String> {
        let key = &variant.key;
        let parsed = variant.parsed.as_ref();
        let spec = &parsed.map_err(|why| format!("I3: {key}: {why:?}"))?.spec;
        let at = &spec.downstream;
        let target = TARGETS.iter().find(|(name, _)| *name == at.repo.as_str());
        let Some((_, url)) = target.filter(|_| spec.deletion == DeletionPolicy::Delete) else {
            return Ok(());
        };
        let unreadable = |e: store::Error| format!("I6: {url} cannot be read: {e}");
        let outside = self.store.outside(url).map_err(unreadable)?;
        let refs = outside.refs().map_err(unreadable)?;
        let open = |place: &str| format!("refs/heads/{place}/{}/{MACHINE}", at.package);
        let left = [open("drafts"), open("proposed")];
        let told = |name: &store::RefName| {
            let promises = self.ledger.open();
            let of = (url.to_string(), name.to_string());
            let since = [&promises.proposed, &promises.brought_back].map(|when| when.get(&of));
            let mut since = since.into_iter().flatten().map(Instant::elapsed);
            since.all(|since| since > UNHEARD)
        };
        for (name, commit) in refs.iter().filter(|(name, _)| told(name)) {
            // Another variant's, of a namespace that writes to the same place, is none of its business.
            if left.iter().any(|p| name.as_str().starts_with(p))
                && people::maker(&*outside, *commit)?.is_none_or(|maker| maker == *key)
                && !self.is_beside(&*outside, key, (url, name, *commit))?
            {
                return Err(format!("I3: {key} is let go while {name} stands"));
            }
        }
        Ok(())
    }

    /// Whether a person pushed this under the name of a published revision: it is theirs, stays there, and is told of (V23).
    fn is_beside(
        &self,
        outside: &dyn Repo,
        variant: &ObjectKey,
        (url, name, commit): (&str, &RefName, CommitId),
    ) -> Result<bool, String> {
        let Some((_, _, revision)) = people::draft_of(url, name) else {
            return Ok(false);
        };
        let namespace = variant.namespace.as_str();
        let record = self.twin.revision(namespace, revision.name.as_str());
        let Some(published) = record.filter(|r| r.lifecycle.is_published()) else {
            return Ok(false);
        };
        let leads = outside.is_ancestor(commit, published.commit);
        leads
            .map(|leads| !leads)
            .map_err(|e| format!("I6: {name} of {url} cannot be read: {e}"))
    }
}
