//! What housekeeping does to an object: garbage collection by owner references, emptying namespaces and definitions that are deleted.
//!
//! Level-triggered: the store names what changed, everything is decided anew from the current state, and what
//! could not be done is looked at again (`chores`).

use std::sync::Arc;

use objects::Failure;
use objects::resource::Origin;
use objects::write::delete::DeleteOptions;
use objects::write::update::Means;
use objects::write::{WriteOptions, metadata_mut};
use objectstore::{Object, ObjectRef, Owner, Touched};
use serde_json::{Value, json};

use super::crds::CLEANUP;

use super::owners::OwnerFound;
use super::roles::GATHERING;
use super::{Core, RequestTarget, Whose, lost};
use crate::gateway::Verb;

const COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";
impl Core {
    /// What an object in the store is served as.
    pub(crate) fn target_of(&self, at: &ObjectRef, object: &Object) -> Option<RequestTarget> {
        let (resource, _) = at;
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let catalog = self.registry.catalog();
        let found = catalog.get(group, plural)?;
        Some(RequestTarget::stored(
            found,
            &object.fields.namespace,
            &object.fields.name,
        ))
    }

    /// Decides what is due for one object.
    pub(super) async fn look(&self, at: &ObjectRef) -> Result<usize, Failure> {
        let Some(object) = self.store.get(&at.0, &at.1) else {
            return Ok(0);
        };
        let Some(target) = self.target_of(at, &object) else {
            return Ok(0);
        };
        if object.fields.deletion_timestamp.is_some() {
            return self.terminate(&target, &object).await;
        }
        let mut done = match at.0.as_ref() {
            "namespaces" => self.make_account(&object.fields.name).await?,
            GATHERING => self.gather(&target, &object).await?,
            _ => 0,
        };
        if !object.fields.owners.is_empty() {
            done += self.collect(&target, &object).await?;
        }
        Ok(done)
    }

    /// Deletes an object without a living owner; drops references to owners that are gone.
    async fn collect(&self, target: &RequestTarget, object: &Object) -> Result<usize, Failure> {
        let owners = object.fields.owners.iter();
        let found: Vec<(&Owner, OwnerFound)> = owners.map(|o| (o, self.owner(object, o))).collect();
        let count = |wanted: OwnerFound| found.iter().filter(|(_, found)| *found == wanted).count();
        let (solid, waiting) = (count(OwnerFound::Solid), count(OwnerFound::Waiting));
        let gone: Vec<String> = found
            .iter()
            .filter(|(_, found)| *found == OwnerFound::Gone)
            .map(|(owner, _)| owner.uid.clone())
            .collect();
        let whose = self.own(COLLECTOR);
        if solid > 0 {
            if gone.is_empty() {
                return Ok(0);
            }
            return self
                .edit(target, &whose, move |value| drop_owners(value, &gone))
                .await;
        }
        if waiting == 0 && gone.is_empty() {
            return Ok(0);
        }
        // An owner that waits for its dependents waits for theirs, too: each waits in its turn.
        let dependents = !self.store.dependents(&object.fields.uid).is_empty();
        let policy = if waiting > 0 && dependents {
            "Foreground"
        } else {
            "Background"
        };
        let mut done = 0;
        if policy == "Foreground" && self.in_a_circle(object) {
            // Each would wait for the other: this one no longer holds its owners up.
            done += self.edit(target, &whose, unblock).await?;
        }
        let options = DeleteOptions {
            propagation: Some(policy.to_owned()),
            uid: Some(object.fields.uid.clone()),
            ..DeleteOptions::default()
        };
        let deleted = self.delete(target, &whose, &options).await;
        tolerate(deleted.map(|_| done + 1))
    }

    /// Moves an object that waits to be deleted on.
    async fn terminate(&self, target: &RequestTarget, object: &Object) -> Result<usize, Failure> {
        let resource = target.resource.key();
        if has(object, "orphan") {
            let mut each = Each::default();
            for at in self.store.dependents(&object.fields.uid) {
                each.add(self.release(&at, &object.fields.uid).await);
            }
            let done = each.end()?;
            return Ok(done + self.unfinalize(target, "orphan").await?);
        }
        if has(object, "foregroundDeletion") {
            return self.foreground(target, object).await;
        }
        if has(object, CLEANUP)
            && resource.as_ref() == "customresourcedefinitions.apiextensions.k8s.io"
        {
            return self.empty_crd(target).await;
        }
        if resource.as_ref() == "namespaces" {
            return self.empty_namespace(target, object).await;
        }
        Ok(0)
    }

    /// Foreground deletion: dependents first, then the owner; those that block hold it.
    async fn foreground(&self, target: &RequestTarget, object: &Object) -> Result<usize, Failure> {
        let uid = &object.fields.uid;
        let mut each = Each::default();
        for at in self.store.dependents(uid) {
            let Some(dependent) = self.store.get(&at.0, &at.1) else {
                continue;
            };
            if dependent.fields.deletion_timestamp.is_none()
                && let Some(target) = self.target_of(&at, &dependent)
            {
                each.add(self.collect(&target, &dependent).await);
            }
        }
        // What cannot be collected is tried again, and holds nobody up that it does not block.
        let collected = each.end();
        // Asked anew: collecting may just have removed the last of them.
        let blocking = self.store.dependents(uid).iter().any(|at| {
            let dependent = self.store.get(&at.0, &at.1);
            dependent.is_some_and(|d| {
                let mut blocks = d.fields.owners.iter().filter(|o| o.uid == *uid && o.block);
                // What names this object from elsewhere, or is itself, does not hold it up.
                let counts = |o: &Owner| self.owner(&d, o) == OwnerFound::Waiting;
                d.fields.uid != *uid && blocks.any(counts)
            })
        });
        if blocking {
            return collected;
        }
        let done = self.unfinalize(target, "foregroundDeletion").await?;
        collected.map(|collected| collected + done)
    }

    /// Takes an owner off a dependent that is to stay.
    async fn release(&self, at: &ObjectRef, uid: &str) -> Result<usize, Failure> {
        let Some(object) = self.store.get(&at.0, &at.1) else {
            return Ok(0);
        };
        let Some(target) = self.target_of(at, &object) else {
            return Ok(0);
        };
        let dead = vec![uid.to_owned()];
        self.edit(&target, &self.own(COLLECTOR), move |value| {
            drop_owners(value, &dead)
        })
        .await
    }

    async fn unfinalize(
        &self,
        target: &RequestTarget,
        finalizer: &'static str,
    ) -> Result<usize, Failure> {
        self.edit(target, &self.own(COLLECTOR), move |value| {
            if let Some(Value::Array(list)) =
                metadata_mut(value).and_then(|m| m.get_mut("finalizers"))
            {
                list.retain(|f| f != finalizer);
            }
        })
        .await
    }

    pub(crate) async fn edit(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<usize, Failure> {
        let compute = |old: &Value| {
            let mut new = old.clone();
            change(&mut new);
            Ok((new, Means::Patch))
        };
        let options = WriteOptions {
            field_manager: whose.agent.clone(),
            ..WriteOptions::default()
        };
        tolerate(
            self.modify(target, whose, Verb::Patch, &compute, &options)
                .await
                .map(|_| 1),
        )
    }

    /// Deletes all objects of a deleted definition, then lets it go.
    async fn empty_crd(&self, target: &RequestTarget) -> Result<usize, Failure> {
        let Some((plural, group)) = target.name.split_once('.') else {
            return Ok(0);
        };
        let catalog = self.registry.catalog();
        let mut each = Each::default();
        let defined = catalog.get(group, plural);
        if let Some(resource) = defined.filter(|r| r.origin == Origin::Crd) {
            let whose = self.own(COLLECTOR);
            for (_, object) in self.store.list(&resource.key(), "").objects {
                if object.fields.deletion_timestamp.is_none() {
                    let one = RequestTarget::stored(
                        resource,
                        &object.fields.namespace,
                        &object.fields.name,
                    );
                    let deleted = self.delete(&one, &whose, &DeleteOptions::default()).await;
                    each.add(tolerate(deleted.map(|_| 1)));
                }
            }
            // What finalizers hold is still served under the definition: it goes behind the last of them.
            if !self.store.list(&resource.key(), "").objects.is_empty() {
                return each.end();
            }
        }
        Ok(each.end()? + self.unfinalize(target, CLEANUP).await?)
    }

    /// Changes an object outside the rules of updates, and removes it once nothing holds it.
    pub(super) async fn edit_raw(
        &self,
        target: &RequestTarget,
        change: impl Fn(&mut Value),
    ) -> Result<usize, Failure> {
        let Some(found) = self.store.get(&target.resource.key(), &target.key()) else {
            return Ok(0);
        };
        let old = found.value();
        let mut new = old.clone();
        change(&mut new);
        let empty = |pointer: &str| {
            new.pointer(pointer)
                .and_then(Value::as_array)
                .is_none_or(Vec::is_empty)
        };
        let free = empty("/spec/finalizers") && empty("/metadata/finalizers");
        if new == old && !free {
            return Ok(0);
        }
        // Whether anything holds it was seen in this very state: a finalizer that came since makes it a conflict.
        let expect = objectstore::Expect::Rv(found.rv);
        let op = self.op(target, expect, (!free).then_some(new))?;
        match self.store.commit(vec![op]).await {
            Ok(_) => Ok(1),
            Err(objectstore::CommitError::Conflict { .. }) => {
                self.store
                    .touch([Touched::Look((target.resource.key(), target.key()))]);
                Ok(0)
            }
            Err(error) => Err(lost(target, &error)),
        }
    }

    /// Makes the namespaces that every cluster has.
    ///
    /// # Errors
    /// The store failed.
    pub(crate) async fn bootstrap(&self) -> Result<(), Failure> {
        let catalog = self.registry.catalog();
        let Some(resource) = catalog.get("", "namespaces") else {
            return Ok(());
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let target = RequestTarget::stored(&Arc::clone(resource), "", "");
            if self.store.get("namespaces", name).is_some() {
                continue;
            }
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let whose = self.own("system:kube-apiserver");
            drop(
                self.create(
                    &target,
                    &whose,
                    body,
                    &WriteOptions {
                        field_manager: whose.agent.clone(),
                        ..WriteOptions::default()
                    },
                )
                .await?,
            );
        }
        Ok(())
    }
}

/// What was done to several objects, none of which keeps the others: the first failure is told once all had their turn.
#[derive(Debug, Default)]
pub(super) struct Each {
    done: usize,
    pub(super) failed: Option<Failure>,
}

impl Each {
    pub(super) fn add(&mut self, step: Result<usize, Failure>) {
        match step {
            Ok(count) => self.done += count,
            Err(failure) => drop(self.failed.get_or_insert(failure)),
        }
    }

    pub(super) fn end(self) -> Result<usize, Failure> {
        self.failed.map_or(Ok(self.done), Err)
    }
}

fn has(object: &Object, finalizer: &str) -> bool {
    object.fields.finalizers.iter().any(|f| f == finalizer)
}

/// An object that went or changed meanwhile is looked at again when its event comes; that is no failure.
pub(super) fn tolerate(step: Result<usize, Failure>) -> Result<usize, Failure> {
    match step {
        Err(failure) if matches!(failure.code, 404 | 409) => Ok(0),
        other => other,
    }
}

/// Lets an object's owners go before it.
fn unblock(value: &mut Value) {
    let owners = metadata_mut(value).and_then(|m| m.get_mut("ownerReferences"));
    for owner in owners.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(owner) = owner.as_object_mut() {
            owner.insert("blockOwnerDeletion".to_owned(), false.into());
        }
    }
}

fn drop_owners(value: &mut Value, uids: &[String]) {
    let Some(metadata) = metadata_mut(value) else {
        return;
    };
    if let Some(Value::Array(list)) = metadata.get_mut("ownerReferences") {
        list.retain(|o| {
            !uids
                .iter()
                .any(|uid| o.get("uid").and_then(Value::as_str) == Some(uid))
        });
    }
}
