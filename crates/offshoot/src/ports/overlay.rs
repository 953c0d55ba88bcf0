//! Objects as somebody would write or delete them, over those that the server keeps: what a plan reads.

use std::collections::{BTreeMap, BTreeSet};

use apiserver::gateway::User;
use engine::ports::{Gvk, ObjectSummary, OurKind, Requester};
use model::ObjectKey;
use serde_json::Value;

/// An object's group and kind, namespace, and name.
type ObjectPlace = ((String, String), String, String);

/// What is supposed of objects, and of who wrote them.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    user: User,
    /// Variants and sets that the user would write: what they read, they read as the user (X6).
    written: BTreeSet<(OurKind, ObjectKey)>,
    objects: BTreeMap<ObjectPlace, Option<Value>>,
}

impl Overlay {
    /// Nothing, supposed by this user.
    pub(crate) fn of(user: User) -> Self {
        Self {
            user,
            ..Self::default()
        }
    }

    /// The user would write a variant or a set.
    pub(crate) fn written(&mut self, kind: OurKind, key: &ObjectKey) {
        self.written.insert((kind, key.clone()));
    }

    /// An object would be this, or gone.
    pub(crate) fn put(
        &mut self,
        kind: (String, String),
        (namespace, name): (&str, &str),
        object: Option<Value>,
    ) {
        let place = (kind, namespace.to_owned(), name.to_owned());
        self.objects.insert(place, object);
    }

    /// For whom is read, where somebody else would have written what it is read for.
    pub(super) fn writer(&self, requester: &Requester) -> Option<&User> {
        let entry = (requester.kind, requester.key.clone());
        self.written.contains(&entry).then_some(&self.user)
    }

    /// Whoever supposes it, and is told what comes of it.
    pub(super) fn user(&self) -> &User {
        &self.user
    }

    /// An object of a kind, if anything is supposed of it.
    pub(super) fn object(&self, kind: &Gvk, key: &ObjectKey) -> Option<Option<&Value>> {
        let kind = (kind.group.clone(), kind.kind.clone());
        let name = key.name.to_string();
        let found = self.objects.get(&(kind, key.namespace.to_string(), name));
        found.map(Option::as_ref)
    }

    /// The objects of a kind with what is supposed of them.
    pub(super) fn over(
        &self,
        kind: &Gvk,
        mut all: Vec<ObjectSummary>,
        read: impl Fn(&Value) -> Option<ObjectSummary>,
    ) -> Vec<ObjectSummary> {
        let of_kind =
            |((group, name), ..): &&ObjectPlace| *group == kind.group && *name == kind.kind;
        for place in self.objects.keys().filter(of_kind) {
            let (_, namespace, name) = place;
            all.retain(|o| o.object.namespace != *namespace || o.object.name != *name);
            let object = self.objects.get(place).and_then(Option::as_ref);
            all.extend(object.and_then(&read));
        }
        all
    }
}
