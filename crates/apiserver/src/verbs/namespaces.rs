//! The end of a namespace: its content goes first, and its status tells what is left.

use std::collections::BTreeMap;

use objects::write::delete::DeleteOptions;
use objects::write::part::Part;
use objects::write::{Moment, Rules, WriteOptions, managed};
use objects::{Backing, Failure};
use objectstore::{CommitError, Expect, Object};
use serde_json::Value;

use super::keep::{Each, tolerate};
use super::remove::NAMESPACE_FINALIZER;
use super::{Core, RequestTarget, lost};

const CONTROLLER: &str = "system:serviceaccount:kube-system:namespace-controller";

/// What a namespace still holds.
#[derive(Default)]
struct Left {
    /// Objects by resource.
    resources: BTreeMap<String, usize>,
    /// Objects by finalizer.
    finalizers: BTreeMap<String, usize>,
    /// Why an object could not be deleted.
    failed: Option<String>,
}

/// Takes the finalizer off that keeps a namespace until its content is gone.
fn release(rules: Rules<'_>, value: &mut Value, moment: &Moment) {
    let old = value.clone();
    let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(Value::Array(list)) = spec.get_mut("finalizers") {
        list.retain(|f| f != NAMESPACE_FINALIZER);
        if list.is_empty() {
            spec.shift_remove("finalizers");
        }
    }
    let mut asked = value.clone();
    let (part, by) = (Part::Finalize, controller());
    rules.updated(&old, &mut asked, part, &by, moment);
    managed::take(value, &asked);
}

impl Core {
    /// Deletes what a deleted namespace holds, then lets it go.
    pub(super) async fn empty_namespace(
        &self,
        target: &RequestTarget,
        namespace: &Object,
    ) -> Result<usize, Failure> {
        let whose = self.own(CONTROLLER);
        let value = namespace.value();
        let spec = value.pointer("/spec/finalizers").and_then(Value::as_array);
        if spec.is_none_or(Vec::is_empty) {
            // Whoever took the finalizers off before has said that nobody needs to look.
            return Ok(0);
        }
        let mut each = Each::default();
        let mut left = Left::default();
        let catalog = self.registry.catalog();
        let kept = |backing| matches!(backing, Backing::Stored | Backing::WriteThrough);
        for resource in catalog
            .iter()
            .filter(|r| r.namespaced && kept(r.backing) && r.stored_as.is_none())
        {
            let all = RequestTarget::stored(resource, &namespace.fields.name, "");
            for (key, object) in self.store.list(&resource.key(), &all.prefix()).objects {
                if object.fields.deletion_timestamp.is_none() {
                    let one = all
                        .clone()
                        .at(&object.fields.namespace, &object.fields.name);
                    let propagation = Some("Background".to_owned());
                    let options = DeleteOptions {
                        propagation,
                        ..DeleteOptions::default()
                    };
                    each.add(tolerate(
                        self.delete(&one, &whose, &options).await.map(|_| 1),
                    ));
                }
                if let Some(object) = self.store.get(&resource.key(), &key) {
                    // The controller joins plural and group, whether there is a group or not.
                    let named = format!("{}.{}", resource.plural, resource.group);
                    *left.resources.entry(named).or_default() += 1;
                    for finalizer in &object.fields.finalizers {
                        *left.finalizers.entry(finalizer.clone()).or_default() += 1;
                    }
                }
            }
        }
        if !left.resources.is_empty() {
            left.failed = each.failed.as_ref().map(ToString::to_string);
            let told = self.tell_what_is_left(target, &left).await?;
            return Ok(each.end()? + told);
        }
        let others = spec.is_some_and(|all| all.iter().any(|f| f != NAMESPACE_FINALIZER));
        if others || !namespace.fields.finalizers.is_empty() {
            // It stays for somebody else's sake, and says that its content is gone.
            self.tell_what_is_left(target, &left).await?;
        }
        let (rules, moment) = (target.rules()?, self.moment());
        let released = self.edit_raw(target, |value| release(rules, value, &moment));
        Ok(each.end()? + released.await?)
    }

    /// Writes the conditions of a namespace that waits for its content.
    async fn tell_what_is_left(
        &self,
        target: &RequestTarget,
        left: &Left,
    ) -> Result<usize, Failure> {
        let Some(found) = self.store.get(&target.resource.key(), &target.key()) else {
            return Ok(0);
        };
        let old = found.value();
        let moment = self.moment();
        let mut new = old.clone();
        let Some(status) = new.get_mut("status").and_then(Value::as_object_mut) else {
            return Ok(0);
        };
        for (kind, value, reason, message) in conditions(left) {
            objects::builtin::crd::set_condition(
                status,
                kind,
                value,
                reason,
                &message,
                &moment.now,
            );
        }
        if new == old {
            return Ok(0);
        }
        let mut asked = new.clone();
        let rules = target.rules()?;
        rules.updated(&old, &mut asked, Part::Status, &controller(), &moment);
        managed::take(&mut new, &asked);
        let op = self.op(target, Expect::Rv(found.rv), Some(new))?;
        match self.store.commit(vec![op]).await {
            Ok(_) => Ok(1),
            // Whoever came first makes an event that leads here again.
            Err(CommitError::Conflict { .. }) => Ok(0),
            Err(error) => Err(lost(target, &error)),
        }
    }
}

/// What the controller of namespaces writes under.
fn controller() -> WriteOptions {
    WriteOptions {
        field_manager: "kube-controller-manager".to_owned(),
        ..WriteOptions::default()
    }
}

type Condition = (&'static str, &'static str, &'static str, String);

/// The conditions in the order and words of the real server.
fn conditions(left: &Left) -> Vec<Condition> {
    let text = str::to_owned;
    let failed = match &left.failed {
        None => (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            text("All content successfully deleted, may be waiting on finalization"),
        ),
        Some(why) => (
            "NamespaceDeletionContentFailure",
            "True",
            "ContentDeletionFailed",
            format!(
                "Failed to delete all resource types, {} remaining: {why}",
                left.resources.len()
            ),
        ),
    };
    vec![
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            text("All resources successfully discovered"),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            text("All legacy kube types successfully parsed"),
        ),
        failed,
        remaining(left),
        finalizing(left),
    ]
}

fn counted(map: &BTreeMap<String, usize>, join: &str) -> String {
    let told = |(name, n): (&String, &usize)| format!("{name} {join} {n} resource instances");
    map.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// Whether objects are left.
fn remaining(left: &Left) -> Condition {
    let kind = "NamespaceContentRemaining";
    if left.resources.is_empty() {
        let text = "All content successfully removed";
        return (kind, "False", "ContentRemoved", text.to_owned());
    }
    let text = counted(&left.resources, "has");
    let text = format!("Some resources are remaining: {text}");
    (kind, "True", "SomeResourcesRemain", text)
}

/// Whether finalizers keep them.
fn finalizing(left: &Left) -> Condition {
    let kind = "NamespaceFinalizersRemaining";
    if left.finalizers.is_empty() {
        let text = "All content-preserving finalizers finished";
        return (kind, "False", "ContentHasNoFinalizers", text.to_owned());
    }
    let text = counted(&left.finalizers, "in");
    let text = format!("Some content in the namespace has finalizers remaining: {text}");
    (kind, "True", "SomeFinalizersRemain", text)
}
