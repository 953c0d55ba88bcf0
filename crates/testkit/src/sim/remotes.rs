//! What befalls repositories while we use them: they cannot be reached for a while, are tidied by whoever owns them, put
//! back to an older copy, made anew, and hold refs that lead nowhere.

use std::collections::BTreeSet;
use std::time::Duration;

use store::RefName;
use tokio::time::Instant;

use super::faults::Fault;
use super::fixtures::{BLUEPRINTS, NS, TARGETS};
use super::people;
use super::settled::{Checked, broken};
use super::world::World;

impl World {
    /// One of them.
    pub(super) async fn trouble(&mut self) {
        let focus = self.durable.chaos.focus().map(|(_, fault)| fault);
        let focus = focus.filter(|_| self.durable.chaos.is_about_remotes() && self.wide.one_in(2));
        let usual = [
            Fault::Away,
            Fault::Away,
            Fault::Pruned,
            Fault::Pruned,
            Fault::Nowhere,
            Fault::Restored,
            Fault::Emptied,
        ];
        let fault = focus.or_else(|| self.wide.pick(&usual).copied());
        let Some((name, url)) = self.wide.pick(&TARGETS).copied() else {
            return;
        };
        match fault {
            Some(Fault::Away) => self.go_away(),
            Some(Fault::Pruned) => self.prune(url),
            Some(Fault::Nowhere) => self.lead_nowhere(),
            Some(Fault::Restored) => self.restore(name, url),
            Some(Fault::Emptied) => {
                let store = &self.durable.store;
                let before = store.copy(url);
                store.replace(url);
                people::found(store, url).await;
                if !people::is_founded(store, url) {
                    // Nobody could push to it just then: it is the one that it was.
                    store.put_copy(url, &before);
                    return;
                }
                self.befell(url, Fault::Emptied);
                self.forget(name, url);
            }
            _ => {}
        }
    }

    fn befell(&self, url: &str, fault: Fault) {
        let chaos = &self.durable.chaos;
        chaos.struck(&format!("repository {url}"), fault);
    }

    fn go_away(&mut self) {
        let [_, (_, url)] = TARGETS;
        let pause = Duration::from_millis(500 + self.wide.roll(9_000));
        self.durable.chaos.go_away(url, Instant::now() + pause);
        self.durable.chaos.struck("git remote", Fault::Away);
    }

    fn prune(&mut self, url: &str) {
        self.durable.store.prune(url);
        self.durable.store.prune(BLUEPRINTS);
        self.befell(url, Fault::Pruned);
        self.pruned = true;
    }

    /// A ref leads nowhere, or those that did are taken away.
    fn lead_nowhere(&mut self) {
        let [(_, url), _] = TARGETS;
        let short = format!("drafts/shop/odd-{}", self.wide.roll(2));
        let Ok(name) = RefName::branch(&short) else {
            return;
        };
        let leads = self.nowhere.insert(name.clone());
        if !leads {
            self.nowhere.remove(&name);
        }
        self.durable.store.lead_nowhere(url, &name, leads);
        self.befell(url, Fault::Nowhere);
    }

    /// Takes a copy of a repository, or puts the one back that was taken.
    fn restore(&mut self, name: &str, url: &str) {
        // A copy that lacks what a person will put back would be without it for good.
        if !self.untagged.is_empty() && !self.copies.contains_key(url) {
            return;
        }
        let Some(copy) = self.copies.remove(url) else {
            let copy = self.durable.store.copy(url);
            self.copies.insert(url.to_owned(), copy);
            self.durable.chaos.say(format!("{url} is copied"));
            return;
        };
        let before = self.open_refs(url);
        self.durable.store.put_copy(url, &copy);
        self.befell(url, Fault::Restored);
        self.forget(name, url);
        let back = self.open_refs(url);
        let mut promises = self.durable.ledger.open();
        for name in back.difference(&before) {
            let of = (url.to_owned(), name.to_string());
            promises.brought_back.insert(of, Instant::now());
        }
    }

    /// The refs of drafts and proposals; none where they cannot be read, which the next look tells.
    fn open_refs(&self, url: &str) -> BTreeSet<RefName> {
        let seen = self.durable.store.outside(url).and_then(|o| o.refs());
        let seen = seen.unwrap_or_default();
        let open = |name: &RefName| {
            let short = name.short();
            short.starts_with("drafts/") || short.starts_with("proposed/")
        };
        seen.keys().filter(|name| open(name)).cloned().collect()
    }

    /// What was in a repository is gone by somebody's will: nothing is promised about it any more.
    fn forget(&mut self, name: &str, url: &str) {
        if url == TARGETS[0].1 {
            self.untagged.clear();
            let odd = (0..2).filter_map(|n| RefName::branch(&format!("drafts/shop/odd-{n}")).ok());
            odd.for_each(|name| self.durable.store.lead_nowhere(url, &name, false));
            self.nowhere.clear();
        }
        self.durable.ledger.open().forget_repository(name, url);
    }

    /// Every ref that leads nowhere is told of, and keeps nobody from the others.
    ///
    /// # Errors
    /// A status that does not name one.
    pub(super) fn tells_of_nowhere(&self) -> Checked {
        let [(repo, _), _] = TARGETS;
        let stored = self.durable.twin.repository(NS, repo);
        let conditions = stored.map(|s| s.status.conditions).unwrap_or_default();
        let ready = conditions.iter().find(|c| c.kind == "Ready");
        let told = |name: &RefName| ready.is_some_and(|c| c.message.contains(name.short()));
        match self.nowhere.iter().find(|name| !told(name)) {
            Some(name) => broken(format!(
                "I8: {name} leads nowhere, and {repo} says {ready:?}"
            )),
            None => Ok(()),
        }
    }
}
