//! What others do to a repository in memory, beside whoever writes to it through us.

use model::TreeId;

use super::{Copied, MemoryStore};
use crate::RefName;
use crate::lru::lock;
use crate::object::Oid as _;

impl MemoryStore {
    /// Makes the repository at a URL anew, empty.
    pub fn replace(&self, url: &str) {
        self.put_copy(url, &Copied::default());
    }

    /// The repository at a URL as it stands now; an empty one if there is none.
    pub fn copy(&self, url: &str) -> Copied {
        let site = lock(&self.world).sites.get(url).cloned();
        site.map_or_else(Copied::default, |site| lock(&site).copied())
    }

    /// Puts a copy in the place of the repository at a URL, as whoever restores a backup does.
    pub fn put_copy(&self, url: &str, copy: &Copied) {
        if let Some(site) = lock(&self.world).sites.get(url) {
            lock(site).replace(copy);
        }
    }

    /// Makes a ref of the repository at a URL lead to an object that is not there, or takes such a ref away.
    pub fn lead_nowhere(&self, url: &str, name: &RefName, leads: bool) {
        if let Some(site) = lock(&self.world).sites.get(url) {
            lock(site).lead_nowhere(name, leads);
        }
    }

    /// Makes a tag that leads to a tree, if there is none of its name; whether it was made.
    pub fn tag_tree(&self, url: &str, name: &RefName, tree: TreeId) -> bool {
        let site = lock(&self.world).sites.get(url).cloned();
        let made = site.zip(tree.oid().ok());
        made.is_some_and(|(site, tree)| lock(&site).lead_to(name, tree))
    }
}
