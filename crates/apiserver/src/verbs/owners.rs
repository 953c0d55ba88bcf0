//! Owners as the collector of a cluster looks for them: by group, kind, name and namespace, and then by uid.
//!
//! A reference into another namespace leads nowhere, whatever uid it names: its object is not looked for there.

use objectstore::{Object, Owner, key_of};

use super::Core;

/// What an owner reference leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnerFound {
    /// An owner that stays, or one that nobody can look for: its kind is not served, or it is of a namespace while the
    /// dependent is of none.
    Solid,
    /// An owner that waits until its dependents are gone.
    Waiting,
    /// Nothing.
    Gone,
}

impl Core {
    /// Looks for an owner of an object.
    pub(super) fn owner(&self, of: &Object, owner: &Owner) -> OwnerFound {
        let group = owner.api_version.rsplit_once('/').map_or("", |(g, _)| g);
        let catalog = self.registry.catalog();
        let named =
            |r: &&std::sync::Arc<objects::Resource>| r.group == group && r.kind == owner.kind;
        let Some(resource) = catalog.iter().find(named) else {
            return OwnerFound::Solid;
        };
        let namespace = of.fields.namespace.as_str();
        let key = match (resource.namespaced, namespace.is_empty()) {
            (true, true) => return OwnerFound::Solid,
            (true, false) => key_of(namespace, &owner.name),
            (false, _) => key_of("", &owner.name),
        };
        let place = resource
            .stored_as
            .map_or_else(|| resource.key(), |(plural, _)| plural.into());
        match self.store.get(&place, &key) {
            Some(found) if found.fields.uid == owner.uid => {
                let waits = found.fields.deletion_timestamp.is_some()
                    && found
                        .fields
                        .finalizers
                        .iter()
                        .any(|f| f == "foregroundDeletion");
                if waits {
                    OwnerFound::Waiting
                } else {
                    OwnerFound::Solid
                }
            }
            _ => OwnerFound::Gone,
        }
    }

    /// Whether an object that is deleted in the foreground waits for this one, and this one for it.
    pub(super) fn in_a_circle(&self, object: &Object) -> bool {
        self.store.dependents(&object.fields.uid).iter().any(|at| {
            let dependent = self.store.get(&at.0, &at.1);
            dependent.is_some_and(|d| {
                d.fields.deletion_timestamp.is_some()
                    && d.fields
                        .finalizers
                        .iter()
                        .any(|f| f == "foregroundDeletion")
            })
        })
    }
}
