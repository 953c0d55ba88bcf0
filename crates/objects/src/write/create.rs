//! What a create makes of a body.

use serde_json::{Map, Value, json};

use super::{
    Moment, Prepared, Rules, WriteOptions, convert, managed, meta, metadata, metadata_mut,
    mistyped_refusal, other_type, version_of,
};
use crate::reason::Reason;
use crate::resource::Backing;
use crate::status::Failure;
use crate::write::part::Part;
use crate::write::update::Means;

impl Rules<'_> {
    /// Computes a new object from a body.
    ///
    /// # Errors
    /// The refusals of the real server: 400 for what cannot be this kind, 422 for what breaks a rule, 500 for a
    /// given resource version.
    pub fn create(
        self,
        mut object: Value,
        namespace: &str,
        options: &WriteOptions,
        moment: &Moment,
        means: Means,
    ) -> Result<Prepared, Failure> {
        let mut warnings = Vec::new();
        self.check_types(&object)?;
        self.check_identity(&mut object, namespace, means)?;
        let versioned = means == Means::Post && version_of(&object).is_ok_and(|v| v != 0);
        warnings.extend(metadata::single_owners(&mut object, means));
        if let Some(metadata) = metadata_mut(&mut object) {
            metadata::texts_of_nulls(metadata);
        }
        let mistyped = other_type(self, &object);
        if !mistyped.is_empty() {
            warnings.extend(self.read_strictly(&object, options)?);
            return Err(mistyped_refusal(self, &object, None, mistyped).with_warnings(warnings));
        }
        let unknown = match means {
            Means::Apply => convert::admit_applied(self, &mut object),
            Means::Post | Means::Put | Means::Patch => self.admit(&mut object),
        };
        self.report_unknown(&unknown, options, &mut warnings)?;
        let given_managers = object.pointer("/metadata/managedFields").cloned();
        let marks = marks(self, &object, (means, options.dry_run));
        fill(self, &mut object, moment);
        if let Some(metadata) = metadata_mut(&mut object) {
            metadata.extend(marks);
        }
        let mut untold = false;
        if self.version.status
            && self.resource.custom()
            && let Some(root) = object.as_object_mut()
            && let Some(status) = root.remove("status")
        {
            untold = managed::misfits(self, &json!({"status": status}));
        }
        match means {
            Means::Apply => managed::take(
                &mut object,
                &json!({"metadata": {"managedFields": given_managers}}),
            ),
            _ => self.created(&mut object, given_managers, options, moment),
        }
        if untold {
            managed::take(&mut object, &Value::Null);
        }
        if let Some(kind) = self.resource.built_in {
            kind.settle(&mut object);
        }
        start(self, &mut object);
        let mut errors = metadata::validate(self, &object);
        let early = warnings.clone();
        warnings.extend(metadata::warnings(self, None, &object));
        warnings.extend(convert::review(self, &object));
        let own = self.check(Part::Main, &object, None, &errors);
        if !own.is_empty() && untyped_meta(self) {
            errors.clear();
        }
        errors.extend(own);
        if !errors.is_empty() {
            let refused = self.invalid(meta(&object, "name"), &errors);
            return Err(refused.with_warnings(early));
        }
        // The store refuses it, once everything else is right; a dry run does not ask the store.
        if versioned && !options.dry_run {
            return Err(Failure::new(
                500,
                Reason::Unknown,
                "resourceVersion should not be set on objects to be created",
            )
            .with_warnings(early));
        }
        Ok(Prepared { object, warnings })
    }
}

/// Whether a kind's own rules come before those of metadata, which are not looked at if one is broken.
fn untyped_meta(rules: Rules<'_>) -> bool {
    let kind = rules.resource.built_in;
    kind.is_some_and(|kind| kind.group.is_empty() && kind.kind == "Event")
}

/// What stays of what an object says of itself: in a dry run what the store takes off, and where it is made by other means than a POST the
/// time of its deletion, as at the real server. What others keep is theirs to delete.
fn marks(rules: Rules<'_>, object: &Value, (means, dry_run): (Means, bool)) -> Map<String, Value> {
    let mut kept = Map::new();
    let made_otherwise = means != Means::Post && rules.resource.backing == Backing::Stored;
    let mut fields = Vec::new();
    if dry_run {
        fields.push("resourceVersion");
    }
    if made_otherwise && dry_run {
        fields.push("selfLink");
    }
    if made_otherwise {
        fields.extend(["deletionGracePeriodSeconds", "deletionTimestamp"]);
    }
    for field in fields {
        let said = object.get("metadata").and_then(|all| all.get(field));
        let Some(said) = said.filter(|said| !said.is_null() && **said != "") else {
            continue;
        };
        let time = said.as_str().filter(|_| field == "deletionTimestamp");
        let value = match time.and_then(|time| time.parse::<jiff::Timestamp>().ok()) {
            Some(time) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into(),
            None => said.clone(),
        };
        kept.insert(field.to_owned(), value);
    }
    kept
}

/// Sets what only the server may set.
fn fill(rules: Rules<'_>, object: &mut Value, moment: &Moment) {
    let Some(metadata) = metadata_mut(object) else {
        return;
    };
    // Kinds that do not count generations keep the one that somebody gave them.
    if rules.counts_generations() {
        metadata.remove("generation");
    }
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
        "resourceVersion",
    ] {
        metadata.remove(field);
    }
    metadata::tidy(metadata);
    metadata.insert("uid".to_owned(), moment.uid.clone().into());
    metadata.insert("creationTimestamp".to_owned(), moment.now.clone().into());
    if rules.counts_generations() {
        metadata.insert("generation".to_owned(), 1.into());
    }
    let name = metadata
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let stem = metadata
        .get("generateName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if name.is_empty() && !stem.is_empty() {
        // A generated name has at most 63 characters, so that it can be a label value.
        let kept: String = stem.chars().take(58).collect();
        let generated = format!("{kept}{}", moment.suffix);
        metadata.insert("name".to_owned(), generated.into());
    }
}

/// The first status of the built-in kinds that have one.
fn start(rules: Rules<'_>, object: &mut Value) {
    match rules.resource.built_in.map(|kind| kind.kind) {
        Some("Namespace") => {
            // A name that was generated is labelled late: nobody owns that label.
            let name = meta(object, "name").to_owned();
            if let Some(metadata) = metadata_mut(object) {
                let labels = metadata.entry("labels").or_insert_with(|| json!({}));
                labels["kubernetes.io/metadata.name"] = name.into();
            }
            if let Some(root) = object.as_object_mut() {
                let spec = root.entry("spec").or_insert_with(|| json!({}));
                let given = spec.get("finalizers").and_then(Value::as_array).cloned();
                let mut finalizers = given.unwrap_or_default();
                if !finalizers.contains(&"kubernetes".into()) {
                    finalizers.push("kubernetes".into());
                }
                *spec = json!({"finalizers": finalizers});
                root.insert("status".to_owned(), json!({"phase": "Active"}));
            }
        }
        Some("CustomResourceDefinition") => crate::builtin::crd::start_status(object),
        _ => {}
    }
}
