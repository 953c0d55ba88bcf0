//! What an object lies in, and whether it may be made there.

use objects::resource::Origin;
use objects::{Backing, Failure, Resource};
use objectstore::{Object, ObjectRef, key_of};

use super::crds::DEFINITIONS;
use super::{Core, RequestTarget};
use crate::aggregated::NamespacePhase;

const NAMESPACES: &str = "namespaces";

impl Core {
    /// Writes need a namespace that exists; creates one that stays, and a definition that does.
    pub(super) async fn check_homes(
        &self,
        target: &RequestTarget,
        creating: bool,
    ) -> Result<(), Failure> {
        let namespace = &target.namespace;
        if let Some(host) = &self.host {
            // What is there lies in a namespace that is: only what is new has to ask.
            let asks = target.resource.namespaced && creating;
            if !asks || target.resource.backing == Backing::Virtual {
                return Ok(());
            }
            return match host.namespace(namespace).await? {
                NamespacePhase::Active => Ok(()),
                NamespacePhase::Terminating => Err(terminating(target)),
                NamespacePhase::Absent => Err(Failure::not_found("", NAMESPACES, namespace)),
            };
        }
        if creating {
            for (resource, key) in self.homes(target) {
                let found = self.store.get(&resource, &key);
                if !found.as_deref().is_some_and(Object::stays) {
                    return Err(homeless(target, &resource, found.as_deref()));
                }
            }
            return Ok(());
        }
        let there = || self.store.get(NAMESPACES, &key_of("", namespace)).is_some();
        if target.resource.namespaced && !there() {
            return Err(Failure::not_found("", NAMESPACES, namespace));
        }
        Ok(())
    }

    /// Whether what is served is still defined: who sees a definition go is answered nothing more under it, though the
    /// catalog learns of it a moment after the store.
    pub(crate) fn is_defined(&self, resource: &Resource) -> bool {
        let elsewhere = resource.origin != Origin::Crd || self.host.is_some();
        elsewhere || self.store.get(DEFINITIONS, &resource.key()).is_some()
    }

    /// What has to be there, and to stay, when an object is made: the store looks again when it writes, since deletions go on
    /// between a look and a write. A cluster around this server keeps both itself.
    pub(super) fn homes(&self, target: &RequestTarget) -> Vec<ObjectRef> {
        let mut homes = Vec::new();
        if self.host.is_some() {
            return homes;
        }
        let resource = &target.resource;
        if resource.origin == Origin::Crd {
            homes.push((DEFINITIONS.into(), resource.key()));
        }
        if resource.namespaced {
            homes.push((NAMESPACES.into(), target.namespace.as_str().into()));
        }
        homes
    }
}

/// What a client is told of an object that was to be made in what goes, or has gone.
pub(super) fn homeless(target: &RequestTarget, home: &str, found: Option<&Object>) -> Failure {
    let (group, plural) = (&target.resource.group, &target.resource.plural);
    match (home, found) {
        (DEFINITIONS, None) => Failure::no_such_path(),
        (DEFINITIONS, Some(_)) => Failure {
            message: "create not allowed while custom resource definition is terminating"
                .to_owned(),
            ..Failure::method_not_allowed("create", group, plural, true)
        },
        (_, None) => Failure::not_found("", NAMESPACES, &target.namespace),
        (_, Some(_)) => terminating(target),
    }
}

/// Nothing new is made in a namespace that goes.
fn terminating(target: &RequestTarget) -> Failure {
    let (group, plural) = (&target.resource.group, &target.resource.plural);
    let namespace = &target.namespace;
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let cause = serde_json::json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    Failure::forbidden(group, plural, &target.name, &why).with_causes(vec![cause])
}

#[cfg(test)]
mod tests;
