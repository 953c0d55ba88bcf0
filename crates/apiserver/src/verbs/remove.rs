//! Deleting one object or a collection.

use std::sync::Arc;

use futures::future::join_all;
use objects::resource::Origin;
use objects::write::delete::{DeleteOptions, Deleted};
use objects::write::{WriteOptions, meta};
use objects::{Backing, Failure, Reason, Resource};
use objectstore::{Expect, Object};
use serde_json::{Value, json};

use super::read::{ListQuery, Page};
use super::{Core, RequestTarget, Shown, Whose, Written, lost};
use crate::gateway::Verb;

/// How often a delete without preconditions is computed again after another write came first.
const ATTEMPTS: usize = 8;

/// How many objects of a collection are deleted at once where each waits for somebody else: git, or the cluster around.
const AT_ONCE: usize = 16;

/// Namespaces that a cluster cannot be without.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The finalizer of a namespace's content, in `spec.finalizers`.
pub(crate) const NAMESPACE_FINALIZER: &str = "kubernetes";

/// The answer to a completed delete of most kinds.
fn success(resource: &Resource, object: &Value) -> Value {
    let mut details = serde_json::Map::new();
    details.insert("name".to_owned(), meta(object, "name").into());
    if !resource.group.is_empty() {
        details.insert("group".to_owned(), resource.group.clone().into());
    }
    details.insert("kind".to_owned(), resource.plural.clone().into());
    details.insert("uid".to_owned(), meta(object, "uid").into());
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

impl Core {
    /// Deletes an object, or marks it until its finalizers are gone.
    ///
    /// # Errors
    /// 404, 409 for preconditions, or what the gateway or the store refuse.
    pub(crate) async fn delete(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        options: &DeleteOptions,
    ) -> Result<Written, Failure> {
        let built_in = target.resource.origin == Origin::BuiltIn;
        if built_in
            && target.resource.plural == "namespaces"
            && IMMORTAL.contains(&target.name.as_str())
        {
            return Err(Failure::forbidden(
                "",
                "namespaces",
                &target.name,
                "this namespace may not be deleted",
            ));
        }
        let mut last = None;
        for _ in 0..ATTEMPTS {
            // Decided anew from what is stored now: a finalizer that came meanwhile makes a mark of what was a removal.
            let (found, old) = self.current(target, whose).await?;
            let deleted = self.decide(target, &old, options)?;
            let written = self
                .write_delete(target, whose, (found, old), deleted, options)
                .await;
            match written {
                Err(failure)
                    if failure.reason == Reason::Conflict
                        && target.resource.backing != Backing::Virtual =>
                {
                    last = Some(failure)
                }
                other => return other,
            }
        }
        Err(last.unwrap_or_else(|| Failure::internal("the object kept changing")))
    }

    fn decide(
        &self,
        target: &RequestTarget,
        old: &Value,
        options: &DeleteOptions,
    ) -> Result<Deleted, Failure> {
        let rules = target.rules()?;
        let moment = self.moment();
        let deleted = rules.delete(old, options, &moment)?;
        match target.resource.built_in_kind() {
            Some("CustomResourceDefinition") => return Ok(with_cleanup(old, deleted, &moment.now)),
            Some("Namespace") => {}
            _ => return Ok(deleted),
        }
        if !meta(old, "deletionTimestamp").is_empty() {
            let finalizers = old.pointer("/spec/finalizers").and_then(Value::as_array);
            return Ok(match finalizers.is_none_or(Vec::is_empty) {
                true => without_grace(old, deleted),
                false => Deleted::Already,
            });
        }
        // A namespace goes when its content has gone: it is marked whatever its own finalizers are.
        let mut marked = if let Deleted::Mark(marked) = deleted {
            marked
        } else {
            old.clone()
        };
        if let Some(metadata) = objects::write::metadata_mut(&mut marked) {
            metadata.insert("deletionTimestamp".to_owned(), moment.now.into());
        }
        if let Some(root) = marked.as_object_mut() {
            root.insert("status".to_owned(), json!({"phase": "Terminating"}));
        }
        Ok(Deleted::Mark(marked))
    }

    async fn write_delete(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        (found, old): (Option<Arc<Object>>, Value),
        deleted: Deleted,
        options: &DeleteOptions,
    ) -> Result<Written, Failure> {
        let held = !matches!(deleted, Deleted::Remove);
        let code = if held && options.cascades { 202 } else { 200 };
        let whole = |object: Value| Written {
            code,
            object: Shown::Value(object),
            warnings: Vec::new(),
        };
        let expect = Expect::Rv(found.map_or(0, |f| f.rv));
        if target.resource.backing != Backing::Stored {
            let new = match deleted {
                Deleted::Already => return Ok(whole(old)),
                Deleted::Mark(new) => Some(new),
                Deleted::Remove => None,
            };
            let status = success(&target.resource, &old);
            let write = WriteOptions {
                dry_run: options.dry_run,
                ..WriteOptions::default()
            };
            let gone = new.is_none();
            let mut written = self
                .hand_over(
                    target,
                    whose,
                    (Verb::Delete, Some(old), new),
                    &write,
                    Vec::new(),
                    200,
                )
                .await?;
            if gone && written.object.value().is_null() {
                written.object = Shown::Value(status);
            }
            return Ok(written);
        }
        match deleted {
            Deleted::Already => Ok(whole(old)),
            Deleted::Mark(marked) if options.dry_run => Ok(whole(marked)),
            Deleted::Mark(marked) => {
                let op = self.op(target, expect, Some(marked))?;
                let written = self.store.commit(vec![op]).await;
                let objects = written.map_err(|e| lost(target, &e))?;
                self.answer(target, objects, Vec::new(), code).await
            }
            Deleted::Remove => {
                let as_object = target.resource.origin == Origin::BuiltIn
                    && matches!(
                        target.resource.plural.as_str(),
                        "serviceaccounts" | "namespaces"
                    );
                if !options.dry_run {
                    let op = self.op(target, expect, None)?;
                    let last = self.store.commit(vec![op]).await;
                    let last = last.map_err(|e| lost(target, &e))?;
                    if as_object {
                        // The last state, under the version of the deletion.
                        return self.answer(target, last, Vec::new(), 200).await;
                    }
                    self.after_write(target).await?;
                }
                Ok(whole(if as_object {
                    old
                } else {
                    success(&target.resource, &old)
                }))
            }
        }
    }

    /// Deletes what a list would show, its page alone where it asks for one; answers the objects as they were before.
    ///
    /// # Errors
    /// What the list refuses, or the first failure; what was deleted before, or at once with it, stays deleted.
    pub(crate) async fn delete_collection(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        query: &ListQuery,
        options: &DeleteOptions,
    ) -> Result<Page, Failure> {
        if target.resource.backing == Backing::Virtual {
            // What is only shown is not deleted by the dozen.
            return Ok(Page {
                rv: self.store.rv(),
                items: Vec::new(),
                token: None,
                remaining: None,
            });
        }
        let page = self.list(target, whose, query).await?;
        let at_once = match target.resource.backing {
            Backing::Stored => 1,
            _ => AT_ONCE,
        };
        for some in page.items.chunks(at_once) {
            let all = some.iter().map(|item| {
                let value = item.value();
                let one = target.clone();
                one.at(meta(&value, "namespace"), meta(&value, "name"))
            });
            let all: Vec<RequestTarget> = all.collect();
            let gone: Vec<_> = all
                .iter()
                .map(|one| self.delete(one, whose, options))
                .collect();
            for gone in join_all(gone).await {
                match gone {
                    Ok(_) => {}
                    Err(failure) if failure.code == 404 => {}
                    Err(failure) => return Err(failure),
                }
            }
        }
        Ok(page)
    }
}

/// A namespace that its content no longer holds, but somebody else does: deleted again it has a grace period, of nothing.
fn without_grace(old: &Value, deleted: Deleted) -> Deleted {
    const FIELD: &str = "deletionGracePeriodSeconds";
    let mut marked = old.clone();
    match (deleted, objects::write::metadata_mut(&mut marked)) {
        (Deleted::Already, Some(metadata)) if !metadata.contains_key(FIELD) => {
            metadata.insert(FIELD.to_owned(), 0.into());
            Deleted::Mark(marked)
        }
        (deleted, _) => deleted,
    }
}

/// A definition goes when its objects have gone: deleting it adds the finalizer that waits for them.
fn with_cleanup(old: &Value, deleted: Deleted, now: &str) -> Deleted {
    if !meta(old, "deletionTimestamp").is_empty() {
        return deleted;
    }
    let mut marked = if let Deleted::Mark(marked) = deleted {
        marked
    } else {
        old.clone()
    };
    if let Some(metadata) = objects::write::metadata_mut(&mut marked) {
        metadata.insert("deletionTimestamp".to_owned(), now.into());
        let list = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = list
            .as_array_mut()
            .filter(|l| !l.iter().any(|f| f == super::crds::CLEANUP))
        {
            list.push(super::crds::CLEANUP.into());
        }
    }
    if let Some(status) = marked.get_mut("status").and_then(Value::as_object_mut) {
        let text =
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        let reason = "InstanceDeletionPending";
        objects::builtin::crd::set_condition(status, "Terminating", "True", reason, text, now);
    }
    Deleted::Mark(marked)
}
