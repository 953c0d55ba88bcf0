//! Users' definitions: from a stored `CustomResourceDefinition` to a served resource.

use std::sync::Arc;

use objects::builtin::crd::{self, Taken};
use objects::resource::{Converter, Origin};
use objects::write::part::Part;
use objects::write::{WriteOptions, managed};
use objects::{Failure, Resource};
use objectstore::{CommitError, Expect};
use serde_json::Value;

use super::{Core, RequestTarget, lost};
use crate::registry::Catalog;
use crate::webhook::Webhook;

/// The resource of definitions in the store.
pub(super) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The finalizer that keeps a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Whether the server serves a resource of this name without any definition.
pub(super) fn is_ours(catalog: &Catalog, group: &str, plural: &str) -> bool {
    let served = catalog.get(group, plural);
    served.is_some_and(|resource| resource.origin != Origin::Crd)
}

impl Core {
    /// Serves every stored definition: done once, when a server starts.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn load_crds(&self) -> Result<(), Failure> {
        for (key, _) in self.store.list(DEFINITIONS, "").objects {
            self.refresh_crd(&key).await?;
        }
        Ok(())
    }

    /// Brings what is served in line with a stored definition, and its status with what is served.
    pub(crate) async fn refresh_crd(&self, name: &str) -> Result<(), Failure> {
        let Some(stored) = self.store.get(DEFINITIONS, name) else {
            if let Some((plural, group)) = name.split_once('.') {
                let catalog = self.registry.catalog();
                if catalog
                    .get(group, plural)
                    .is_some_and(|r| r.origin == Origin::Crd)
                {
                    self.registry.remove(group, plural);
                }
                self.registry.unclaim(name);
                return self.reconsider(group).await;
            }
            return Ok(());
        };
        let definition = stored.value();
        let resource = match Resource::from_crd(&definition) {
            Ok(resource) => resource,
            Err(error) => {
                tracing::warn!(definition = name, %error, "a stored definition cannot be served");
                return Ok(());
            }
        };
        self.establish(name).await?;
        let Some(stored) = self.store.get(DEFINITIONS, name) else {
            // It went meanwhile, and whoever saw it go has looked already.
            return Ok(());
        };
        // What the server itself serves stays what it is, and its objects are nobody's to delete with a definition.
        let ours = is_ours(&self.registry.catalog(), &resource.group, &resource.plural);
        if ours {
            return Ok(());
        }
        let established = crd::is_established(&stored.value());
        let served = resource.versions.iter().filter(|v| v.served);
        let served: Vec<String> = served.map(|v| v.name.clone()).collect();
        self.registry.claim(name, &resource.group, served);
        if established {
            let catalog = self.registry.catalog();
            let before = catalog.get(&resource.group, &resource.plural);
            // What was written under what the definition said before is read as it says now.
            let since = before.map_or(stored.rv, |_| self.store.rv());
            let ours = self.converters.get(name).cloned();
            let webhook =
                || Webhook::of(&definition).map(|w| -> Arc<dyn Converter> { Arc::new(w) });
            let converter = ours.or_else(webhook);
            let mut resource = resource;
            resource.backing = before.map(|r| r.backing).unwrap_or_default();
            resource.origin = Origin::Crd;
            resource.converter = converter;
            resource.since = since;
            self.registry.put(resource);
        }
        Ok(())
    }

    /// Looks again at the definitions of a group whose names were in conflict: some may be free now.
    async fn reconsider(&self, group: &str) -> Result<(), Failure> {
        for (key, other) in self.store.list(DEFINITIONS, "").objects {
            let same = key
                .split_once('.')
                .is_some_and(|(_, theirs)| theirs == group);
            if same && crd::is_in_conflict(&other.value()) {
                Box::pin(self.refresh_crd(&key)).await?;
            }
        }
        Ok(())
    }

    /// Writes the status of a definition, if it is not so already.
    async fn establish(&self, name: &str) -> Result<(), Failure> {
        for _ in 0..8 {
            let Some(stored) = self.store.get(DEFINITIONS, name) else {
                return Ok(());
            };
            let catalog = self.registry.catalog();
            let Some(resource) = catalog.get("apiextensions.k8s.io", "customresourcedefinitions")
            else {
                return Ok(());
            };
            let target = RequestTarget::stored(&Arc::clone(resource), "", name);
            let mut new = stored.value();
            let group = new.pointer("/spec/group").cloned();
            let mut taken = Taken::default();
            let own = catalog.iter().filter(|r| r.origin != Origin::Crd);
            let own = own.filter(|r| group.as_ref().and_then(Value::as_str) == Some(&r.group));
            for resource in own {
                let names = [&resource.plural, &resource.singular].into_iter();
                let names = names.chain(&resource.short_names).cloned();
                taken.resources.extend(names);
                let kinds = [&resource.kind, &resource.list_kind];
                taken.kinds.extend(kinds.into_iter().cloned());
            }
            for (key, other) in self.store.list(DEFINITIONS, "").objects {
                let other = other.value();
                if key.as_ref() != name && other.pointer("/spec/group") == group.as_ref() {
                    taken.add(&other);
                }
            }
            let now = self.moment().now;
            let before = new.clone();
            crd::track_storage(&mut new);
            taken.accept(&mut new, &now);
            if stored.fields.deletion_timestamp.is_some() {
                let text = "CustomResource deletion is in progress";
                if let Some(status) = new.get_mut("status").and_then(Value::as_object_mut) {
                    crd::set_condition(
                        status,
                        "Terminating",
                        "True",
                        "InstanceDeletionInProgress",
                        text,
                        &now,
                    );
                }
            }
            if new == before {
                return Ok(());
            }
            let mut asked = new.clone();
            let options = WriteOptions {
                field_manager: "kube-apiserver".to_owned(),
                ..WriteOptions::default()
            };
            let moment = self.moment();
            let rules = target.rules()?;
            rules.updated(&before, &mut asked, Part::Status, &options, &moment);
            managed::take(&mut new, &asked);
            let op = self.op(&target, Expect::Rv(stored.rv), Some(new))?;
            match self.store.commit(vec![op]).await {
                Ok(_) => return Ok(()),
                Err(CommitError::Conflict { .. }) => {}
                Err(error @ CommitError::Homeless { .. }) => return Err(lost(&target, &error)),
                Err(CommitError::Storage(error)) => return Err(super::unstored(&error)),
            }
        }
        Err(Failure::internal("the definition kept changing"))
    }
}
