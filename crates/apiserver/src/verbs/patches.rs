//! Patching and applying: both compute the wanted object, then write like an update.

use serde_json::Value;

use super::{Core, Target, Whose, Written};
use crate::gateway::Verb;
use crate::logic::patching::{self, PatchKind};
use crate::logic::update::{Means, Part};
use crate::logic::{WriteOptions, create, managed, meta, metadata_mut};
use crate::registry::Backing;
use crate::status::Failure;

impl Core {
    /// Changes an object by a patch.
    ///
    /// # Errors
    /// Whatever the patch, the rules, the gateway or the store refuse.
    pub async fn patch(
        &self,
        target: &Target,
        whose: &Whose,
        kind: PatchKind,
        patch: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        let compute = |old: &Value| Ok((patching::apply(rules, kind, old, patch)?, Means::Patch));
        self.modify(target, whose, Verb::Patch, &compute, options)
            .await
    }

    /// Applies a configuration: creates the object or takes over its fields.
    ///
    /// # Errors
    /// Whatever the configuration, the rules, the gateway or the store refuse.
    pub async fn apply(
        &self,
        target: &Target,
        whose: &Whose,
        config: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        check_config(target, config)?;
        let part = if target.subresource == "status" && rules.version.status {
            Part::Status
        } else {
            Part::Main
        };
        let stored = target.resource.backing != Backing::Virtual;
        let missing = stored
            && self
                .store
                .get(&target.resource.key(), &target.key())
                .is_none();
        if missing && target.subresource.is_empty() {
            match self.apply_new(target, whose, config, options).await {
                Err(failure) if failure.reason == "AlreadyExists" => {}
                other => return other,
            }
        }
        let moment = self.moment();
        let compute = |old: &Value| {
            Ok((
                managed::applied(rules, Some(old), config, part, options, &moment)?,
                Means::Apply,
            ))
        };
        self.modify(target, whose, Verb::Patch, &compute, options)
            .await
    }

    async fn apply_new(
        &self,
        target: &Target,
        whose: &Whose,
        config: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Failure> {
        let rules = target.rules()?;
        self.check_namespace(target, true)?;
        let moment = self.moment();
        let mut object = config.clone();
        if let Some(metadata) = metadata_mut(&mut object) {
            metadata
                .entry("name")
                .or_insert_with(|| target.name.clone().into());
        }
        let object = managed::applied(rules, None, &object, Part::Main, options, &moment)?;
        let prepared = create(
            rules,
            object,
            &target.namespace,
            options,
            &moment,
            Means::Apply,
        )?;
        self.create_once(target, whose, prepared, options).await
    }
}

/// Checks an applied configuration before it is merged.
fn check_config(target: &Target, config: &Value) -> Result<(), Failure> {
    let text = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion").is_empty() || text("kind").is_empty() {
        let (group, version) = text("apiVersion")
            .rsplit_once('/')
            .unwrap_or_else(|| ("", text("apiVersion")));
        return Err(Failure::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={}",
            text("kind")
        )));
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|m| !m.is_null())
    {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    match meta(config, "name") {
        "" => Err(Failure::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name
        ))),
        name if name != target.name => Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        ))),
        _ => Ok(()),
    }
}
