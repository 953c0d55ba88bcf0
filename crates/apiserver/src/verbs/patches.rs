//! Patching and applying: both compute the wanted object, then write like an update.

use objects::write::part::Part;
use objects::write::patching::PatchKind;
use objects::write::update::{Means, check_name};
use objects::write::{WriteOptions, meta};
use objects::{Backing, Failure, Reason};
use serde_json::Value;

use super::{Core, RequestTarget, Whose, Written};
use crate::gateway::Verb;

impl Core {
    /// Changes an object by a patch.
    ///
    /// # Errors
    /// Whatever the patch, the rules, the gateway or the store refuse.
    pub(crate) async fn patch(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        kind: PatchKind,
        patch: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        let compute = |old: &Value| {
            let patched = rules.patched(kind, old, patch)?;
            Ok((rules.named(patched, patch)?, Means::Patch))
        };
        let strategic = (kind == PatchKind::Strategic).then(|| patch.clone());
        let options = WriteOptions {
            strategic,
            ..options.clone()
        };
        self.modify(target, whose, Verb::Patch, &compute, &options)
            .await
    }

    /// Applies a configuration: creates the object or takes over its fields.
    ///
    /// # Errors
    /// Whatever the configuration, the rules, the gateway or the store refuse.
    pub(crate) async fn apply(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        config: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        check_config(target, config)?;
        let part = Part::of(target.subresource.as_str(), rules);
        let stored = target.resource.backing != Backing::Virtual;
        let missing = stored
            && self
                .store
                .get(&target.resource.key(), &target.key())
                .is_none();
        if missing && target.subresource.is_empty() {
            match self.apply_new(target, whose, config, options).await {
                Err(failure) if failure.reason == Reason::AlreadyExists => {}
                other => return other,
            }
        }
        let moment = self.moment();
        let compute = |old: &Value| {
            Ok((
                rules.applied(Some(old), config, part, options, &moment)?,
                Means::Apply,
            ))
        };
        self.modify(target, whose, Verb::Patch, &compute, options)
            .await
    }

    async fn apply_new(
        &self,
        target: &RequestTarget,
        whose: &Whose,
        config: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        let moment = self.moment();
        let mut object = rules.applied(None, config, Part::Main, options, &moment)?;
        let uid = meta(&object, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            let (group, plural) = (&target.resource.group, &target.resource.plural);
            return Err(Failure::conflict(group, plural, &target.name, &why));
        }
        rules.check_identity(&mut object, &target.namespace, Means::Apply)?;
        check_name(&object, &target.name)?;
        self.check_homes(target, true).await?;
        objects::write::version_of(&object)?;
        let prepared = rules.create(object, &target.namespace, options, &moment, Means::Apply)?;
        self.create_once(target, whose, prepared, options).await
    }
}

/// Checks an applied configuration before it is merged; its name is checked with what the merge made.
///
/// # Errors
/// 400 for another type than the path's, or entries of managers.
pub(crate) fn check_config(target: &RequestTarget, config: &Value) -> Result<(), Failure> {
    let rules = target.rules()?;
    let text = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != rules.api_version() || text("kind") != rules.resource.kind {
        let (group, version) = text("apiVersion")
            .split_once('/')
            .unwrap_or_else(|| ("", text("apiVersion")));
        // What is no version at all leaves nothing of the type.
        let (group, version, kind) = match version.contains('/') {
            true => ("", "", ""),
            false => (group, version, text("kind")),
        };
        return Err(Failure::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={kind}"
        )));
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|m| !m.is_null())
    {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}
