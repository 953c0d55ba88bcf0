//! The picture in memory: per resource an ordered map of objects and a ring of its latest events.
//!
//! Only the writer changes it, after a transaction is durable and in version order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::sync::watch;

use crate::backend::{Change, Loaded};
use crate::key::{Key, ObjectRef, ResourceKey};
use crate::object::Object;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It came into being.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Event {
    /// The version of the change.
    pub rv: u64,
    /// The state before, if there was one.
    pub old: Option<Arc<Object>>,
    /// The state after; for a deletion the last state under the version of the deletion.
    pub object: Arc<Object>,
    /// What happened.
    pub kind: EventKind,
}

/// What housekeeping may have to do after a change; a set, so that it never grows beyond the objects it names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// The object with this uid is gone: its dependents may have to follow.
    Gone(String),
    /// The object has owners, or waits to be deleted.
    Look(ObjectRef),
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) objects: BTreeMap<Key, Arc<Object>>,
    pub(crate) ring: VecDeque<Event>,
    /// Events up to this version are gone.
    pub(crate) floor: u64,
    /// Tells watchers the version of the newest event.
    pub(crate) tell: watch::Sender<u64>,
}

impl Table {
    fn new(floor: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            ring: VecDeque::new(),
            floor,
            tell: watch::Sender::new(floor),
        }
    }
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) rv: u64,
    pub(crate) compacted: u64,
    pub(crate) tables: BTreeMap<ResourceKey, Table>,
    /// Owner uid → dependents.
    pub(crate) dependents: BTreeMap<String, BTreeSet<ObjectRef>>,
    /// Uid → where the object lives.
    pub(crate) uids: BTreeMap<String, ObjectRef>,
    pub(crate) touched: BTreeSet<Touched>,
    /// All events in all rings, oldest first.
    order: VecDeque<(u64, ResourceKey)>,
    weight: usize,
    budget: usize,
}

impl State {
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            rv: 0,
            compacted: 0,
            tables: BTreeMap::new(),
            dependents: BTreeMap::new(),
            uids: BTreeMap::new(),
            touched: BTreeSet::new(),
            order: VecDeque::new(),
            weight: 0,
            budget,
        }
    }

    /// Builds the picture from what the medium holds; the rings are refilled from the log, newest state first.
    pub(crate) fn load(loaded: Loaded, budget: usize) -> Self {
        let mut state = Self::new(budget);
        state.rv = loaded.rv;
        state.compacted = loaded.compacted;
        let mut current: BTreeMap<ObjectRef, Arc<Object>> = BTreeMap::new();
        for (resource, key, object) in loaded.objects {
            let resource = state.shared(resource);
            current.insert((resource.clone(), key.clone()), Arc::clone(&object));
            state.index(&resource, &key, &object);
            state.table(&resource).objects.insert(key, object);
        }
        let mut events = Vec::with_capacity(loaded.log.len());
        // An entry holds what was before it. What came of it is what the next one started from, or what is stored.
        for entry in loaded.log.into_iter().rev() {
            let at = (entry.resource.clone(), entry.key);
            let new = match &entry.old {
                Some(old) => current.insert(at, Arc::clone(old)),
                None => current.remove(&at),
            };
            if let Some(event) = event(entry.rv, entry.old, new) {
                events.push((entry.resource, event));
            }
        }
        for (resource, event) in events.into_iter().rev() {
            state.push(&resource, event);
        }
        state
    }

    pub(crate) fn table(&mut self, resource: &ResourceKey) -> &mut Table {
        let floor = self.compacted;
        self.tables
            .entry(resource.clone())
            .or_insert_with(|| Table::new(floor))
    }

    /// The one text that all objects of a resource name it by.
    fn shared(&mut self, resource: ResourceKey) -> ResourceKey {
        let known = self.tables.get_key_value(&resource);
        match known.map(|(known, _)| known.clone()) {
            Some(known) => known,
            None => {
                self.table(&resource);
                resource
            }
        }
    }

    pub(crate) fn get(&self, resource: &str, key: &str) -> Option<&Arc<Object>> {
        self.tables.get(resource)?.objects.get(key)
    }

    /// Takes over one durable change.
    pub(crate) fn apply(&mut self, change: Change) {
        let Change { mut entry, new } = change;
        entry.resource = self.shared(entry.resource);
        // Off before on: an object that keeps its uid would lose its place in the index otherwise.
        if let Some(old) = &entry.old {
            self.unindex(&entry.resource, &entry.key, old);
        }
        let table = self.table(&entry.resource);
        match &new {
            Some(object) => drop(table.objects.insert(entry.key.clone(), Arc::clone(object))),
            None => drop(table.objects.remove(&entry.key)),
        }
        match (&new, &entry.old) {
            (Some(object), _) => {
                self.index(&entry.resource, &entry.key, object);
            }
            (None, Some(old)) => self.touch_around(&entry.resource, old),
            (None, None) => {}
        }
        self.rv = self.rv.max(entry.rv);
        if let Some(event) = event(entry.rv, entry.old, new) {
            self.push(&entry.resource, event);
        }
    }

    /// An object is gone: dependents may have to follow, and whoever waited for its end may go.
    fn touch_around(&mut self, resource: &ResourceKey, old: &Object) {
        self.touched.insert(Touched::Gone(old.fields.uid.clone()));
        let owners = old
            .fields
            .owners
            .iter()
            .filter_map(|owner| self.uids.get(&owner.uid).cloned());
        let mut around: Vec<ObjectRef> = owners.collect();
        around.push(("namespaces".into(), old.fields.namespace.as_str().into()));
        around.push((
            "customresourcedefinitions.apiextensions.k8s.io".into(),
            resource.clone(),
        ));
        for at in around {
            let waits = self
                .get(&at.0, &at.1)
                .is_some_and(|o| o.fields.deletion_timestamp.is_some());
            if waits {
                self.touched.insert(Touched::Look(at));
            }
        }
    }

    /// Tells the watchers of the resources that changed.
    pub(crate) fn announce(&self, resources: &BTreeSet<ResourceKey>) {
        for resource in resources {
            if let Some(table) = self.tables.get(resource) {
                table.tell.send_replace(self.rv);
            }
        }
    }

    /// Forgets all events: what a compaction to the newest version leaves.
    pub(crate) fn forget_events(&mut self) {
        self.compacted = self.rv;
        self.order.clear();
        self.weight = 0;
        for table in self.tables.values_mut() {
            table.ring.clear();
            table.floor = self.compacted;
        }
    }

    /// The version up to which all rings have forgotten.
    pub(crate) fn oldest(&self) -> u64 {
        self.order
            .front()
            .map_or(self.rv, |(rv, _)| rv.saturating_sub(1))
            .max(self.compacted)
    }

    fn push(&mut self, resource: &ResourceKey, event: Event) {
        self.weight += event.object.weight();
        self.order.push_back((event.rv, resource.clone()));
        self.table(resource).ring.push_back(event);
        // One budget for all: the oldest event goes, whatever resource it is of. Its floor tells watchers that are behind it.
        while self.weight > self.budget {
            let Some((rv, resource)) = self.order.pop_front() else {
                break;
            };
            let table = self.table(&resource);
            table.floor = table.floor.max(rv);
            let freed = table
                .ring
                .pop_front()
                .map_or(0, |gone| gone.object.weight());
            self.weight = self.weight.saturating_sub(freed);
        }
    }

    fn index(&mut self, resource: &ResourceKey, key: &Key, object: &Object) {
        let at = (resource.clone(), key.clone());
        for owner in &object.fields.owners {
            self.dependents
                .entry(owner.uid.clone())
                .or_default()
                .insert(at.clone());
        }
        if !object.fields.uid.is_empty() {
            self.uids.insert(object.fields.uid.clone(), at.clone());
        }
        if !object.fields.owners.is_empty() || object.fields.deletion_timestamp.is_some() {
            self.touched.insert(Touched::Look(at));
        }
    }

    fn unindex(&mut self, resource: &ResourceKey, key: &Key, object: &Object) {
        let at = (resource.clone(), key.clone());
        for owner in &object.fields.owners {
            if let Some(set) = self.dependents.get_mut(&owner.uid) {
                set.remove(&at);
                if set.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        self.uids.remove(&object.fields.uid);
    }
}

/// Makes the event of a change; nothing happened where there was neither an old nor a new state.
fn event(rv: u64, old: Option<Arc<Object>>, new: Option<Arc<Object>>) -> Option<Event> {
    let (object, kind) = match (&old, new) {
        (None, Some(new)) => (new, EventKind::Added),
        (Some(_), Some(new)) => (new, EventKind::Modified),
        (Some(old), None) => (Arc::new(old.at(rv)), EventKind::Deleted),
        (None, None) => return None,
    };
    Some(Event {
        rv,
        old,
        object,
        kind,
    })
}
