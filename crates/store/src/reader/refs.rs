//! Refs as they are on this disk, with the commits that they lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use gix::ObjectId;
use model::CommitId;

use super::RepoReader;
use crate::disk::{Disk, RawRefs};
use crate::error::{Error, Result};
use crate::lru::lock;
use crate::object::commit_id;
use crate::refname::PENDING;
use crate::{RefName, Refs};

impl<D: Disk> RepoReader<D> {
    pub(crate) fn list_refs(&self) -> Result<Arc<Refs>> {
        self.look()?;
        let raw = self.disk.list()?;
        let mut broken = self.disk.broken_refs();
        let mut listed = lock(&self.listed);
        // What leads nowhere may lead somewhere by now.
        let fine = broken.is_empty() && lock(&self.broken).is_empty();
        if let Some((before, refs)) = &*listed
            && fine
            && **before == raw
        {
            return Ok(Arc::clone(refs));
        }
        let (mut refs, mut aside) = (Refs::new(), BTreeMap::new());
        for (name, id) in &raw {
            if name.as_str().starts_with(PENDING) {
                continue;
            }
            // Of thousands of refs a few moved since the last list.
            let still = |(before, refs): &(Arc<RawRefs>, Arc<Refs>)| {
                let same = before.get(name) == Some(id);
                same.then(|| refs.get(name).copied()).flatten()
            };
            let commit = match listed.as_ref().and_then(still) {
                Some(commit) => Some(commit),
                None => match self.follow(*id)? {
                    Ok(None) => {
                        aside.insert(name.clone(), format!("object {id} is no commit"));
                        None
                    }
                    Ok(Some(commit)) => Some(commit_id(&commit)),
                    Err(why) => {
                        broken.insert(name.clone(), why);
                        None
                    }
                },
            };
            refs.extend(commit.map(|commit| (name.clone(), commit)));
        }
        *lock(&self.broken) = broken;
        *lock(&self.aside) = aside;
        let refs = Arc::new(refs);
        *listed = Some((Arc::new(raw), Arc::clone(&refs)));
        Ok(refs)
    }

    /// Where a ref leads, or why nowhere: one that cannot be followed keeps nobody from the others.
    fn follow(&self, id: ObjectId) -> Result<Result<Option<ObjectId>, String>> {
        match self.peel(id) {
            Ok(None) if self.peeled.get(&id).is_none() && self.kind(&id)?.is_none() => {
                Ok(Err(format!("object {id} is not in the repository")))
            }
            Ok(end) => Ok(Ok(end)),
            Err(
                error @ (Error::Missing { .. } | Error::Damaged { .. } | Error::TooLarge { .. }),
            ) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn find_ref(&self, name: &RefName) -> Result<Option<CommitId>> {
        Ok(self
            .find_refs(&[], std::slice::from_ref(name))?
            .remove(name))
    }

    /// The refs below directories, and these names: one look at the disk for all of them.
    pub(crate) fn find_refs(&self, dirs: &[RefName], names: &[RefName]) -> Result<Refs> {
        self.look()?;
        let ours = |name: &RefName| !name.as_str().starts_with(PENDING);
        let mut refs = Refs::new();
        let view = self.disk.view()?;
        for dir in dirs {
            for (name, id) in view.below(dir)? {
                if ours(&name)
                    && let Ok(Some(commit)) = self.follow(id)?
                {
                    refs.insert(name, commit_id(&commit));
                }
            }
        }
        for name in names.iter().filter(|name| ours(name)) {
            if let Some(id) = view.get(name)? {
                refs.extend(self.peel(id)?.map(|id| (name.clone(), commit_id(&id))));
            }
        }
        Ok(refs)
    }

    /// What the last list left out, and why.
    pub(crate) fn broken_refs(&self) -> BTreeMap<RefName, String> {
        let mut all = lock(&self.aside).clone();
        all.extend(lock(&self.broken).clone());
        all
    }
}
