//! Versions and schemas: pruning, defaulting, validating, and turning one version of an object into another.

use serde_json::Value;

use super::Rules;
use super::part::Part;
use crate::reason::Reason;
use crate::resource::{Origin, Resource, Version};
use crate::schema::{FieldError, Structural, skipped_rules};
use crate::status::Failure;

impl Rules<'_> {
    /// Takes unknown fields out and fills defaults in; returns the paths of the unknown fields.
    #[must_use]
    pub fn admit(self, object: &mut Value) -> Vec<String> {
        admit_as(self.resource, self.version, object)
    }
}

fn admit_as(resource: &Resource, version: &Version, object: &mut Value) -> Vec<String> {
    let Some(schema) = &version.schema else {
        return Vec::new();
    };
    match resource.built_in {
        Some(kind) => {
            let unknown = kind.prune(object);
            kind.prepare(object);
            unknown
        }
        None => {
            let unknown = schema.prune(object);
            schema.default(object);
            unknown
        }
    }
}

/// As [`Rules::admit`] of what an apply made: a null in it that is no value stays, and is refused.
#[must_use]
pub(crate) fn admit_applied(rules: Rules<'_>, object: &mut Value) -> Vec<String> {
    match (&rules.version.schema, rules.resource.built_in) {
        (Some(schema), None) => {
            let unknown = schema.prune(object);
            schema.fill(object);
            unknown
        }
        _ => rules.admit(object),
    }
}

impl Rules<'_> {
    /// Validates an object by its schema; `before` are the errors that were found already.
    #[must_use]
    pub fn check(
        self,
        part: Part,
        new: &Value,
        old: Option<&Value>,
        before: &[FieldError],
    ) -> Vec<FieldError> {
        if let Some(kind) = self.resource.built_in {
            return kind.validate(new, old, self.stack);
        }
        let Some(schema) = &self.version.schema else {
            return Vec::new();
        };
        let mut errors = schema.validate(new, old);
        if part == Part::Status {
            errors.retain(|error| error.path.starts_with("status"));
            errors.iter_mut().for_each(told_from_status);
        }
        if let Some(scale) = &self.version.scale {
            errors.extend(scale.check(new, true));
        }
        self.check_rules(schema, (new, old), before, &mut errors);
        errors
    }

    /// Validates what holds of an object whatever it says it is: what is embedded in it, its lists and its rules.
    #[must_use]
    pub(crate) fn check_contents(
        self,
        new: &Value,
        old: Option<&Value>,
        before: &[FieldError],
    ) -> Vec<FieldError> {
        let Some(schema) = &self.version.schema else {
            return Vec::new();
        };
        let mut errors = Vec::new();
        schema.validate_contents(new, old, &mut errors);
        self.check_rules(schema, (new, old), before, &mut errors);
        errors
    }

    /// Rules are written for objects of the right shape: on others they would fail for reasons that nobody asked about.
    fn check_rules(
        self,
        schema: &Structural,
        (new, old): (&Value, Option<&Value>),
        before: &[FieldError],
        errors: &mut Vec<FieldError>,
    ) {
        let skips = before.iter().chain(&*errors).any(|e| e.kind.skips_rules());
        if skips && schema.has_rules() {
            errors.push(skipped_rules());
        } else if !skips {
            errors.extend(schema.validate_rules(new, old, self.stack));
        }
    }
}

/// Whoever writes the status alone is told of its fields without `status`, where a text says what is `in body`.
fn told_from_status(error: &mut FieldError) {
    let lead = format!("{} in body", error.path);
    if let Some(rest) = error.detail.strip_prefix(&lead) {
        let path = error
            .path
            .trim_start_matches("status")
            .trim_start_matches('.');
        error.detail = format!("{path} in body{rest}");
    }
}

/// What the embedding program finds wrong with an object that is accepted all the same.
#[must_use]
pub(crate) fn review(rules: Rules<'_>, object: &Value) -> Vec<String> {
    let converter = rules.resource.converter.as_ref();
    converter.map_or_else(Vec::new, |c| c.review(object))
}

impl Resource {
    /// An object of the store as a version shows it. What users have defined is read as the definition is now: under the schema of the
    /// version that it is in, whose defaults it takes, then under that of the version that is shown, which has none.
    ///
    /// # Errors
    /// A registered converter refused.
    pub fn read(&self, mut object: Value, to: &Version) -> Result<Value, Failure> {
        if self.origin != Origin::Crd {
            return to_version(self, object, to);
        }
        read_again(self, &mut object);
        turned(self, object, to)
    }

    /// As [`Resource::read`] for many objects: a webhook is asked once.
    ///
    /// # Errors
    /// A registered converter refused.
    pub fn read_all(&self, mut objects: Vec<Value>, to: &Version) -> Result<Vec<Value>, Failure> {
        if self.origin != Origin::Crd {
            return all_to_version(self, objects, to);
        }
        for object in &mut objects {
            read_again(self, object);
        }
        if self.converter.is_none() {
            let one = |object| turned(self, object, to);
            return objects.into_iter().map(one).collect();
        }
        let mut objects = all_converted(self, objects, &self.api_version(&to.name), |_| {})?;
        for object in &mut objects {
            fit(to, object);
        }
        Ok(objects)
    }
}

/// Reads an object under the schema of the version that it is in.
fn read_again(resource: &Resource, object: &mut Value) {
    let said = object.get("apiVersion").and_then(Value::as_str);
    let said = said.and_then(|said| said.rsplit('/').next());
    match said.and_then(|said| resource.version(said)) {
        Some(version) => {
            fit(version, object);
            if let Some(schema) = &version.schema {
                schema.fill(object);
            }
        }
        // A version that the definition has no more knows no field.
        None => {
            if let Some(root) = object.as_object_mut() {
                root.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
            }
        }
    }
}

/// Takes out what a version's schema does not know, and nulls that are no values and have no default.
fn fit(version: &Version, object: &mut Value) {
    if let Some(schema) = &version.schema {
        drop(schema.prune(object));
        schema.drop_nulls(object);
    }
}

/// An object of a user's kind in another of its versions: nothing is filled in on the way.
fn turned(resource: &Resource, object: Value, to: &Version) -> Result<Value, Failure> {
    in_version(resource, object, to, |object| fit(to, object))
}

/// Turns an object into another version of its resource.
///
/// # Errors
/// A registered converter refused.
fn to_version(resource: &Resource, object: Value, to: &Version) -> Result<Value, Failure> {
    // Each version has fields and defaults of its own.
    in_version(resource, object, to, |object| {
        drop(admit_as(resource, to, object));
    })
}

/// An object in a version: as it is where it says so already, else converted and read by that one's schema.
fn in_version(
    resource: &Resource,
    mut object: Value,
    to: &Version,
    read: impl FnOnce(&mut Value),
) -> Result<Value, Failure> {
    let wanted = resource.api_version(&to.name);
    if object.get("apiVersion").and_then(Value::as_str) == Some(wanted.as_str()) {
        return Ok(object);
    }
    if resource.converter.is_some() {
        object = converted(resource, object, &wanted)?;
    } else if let Some(root) = object.as_object_mut() {
        root.insert("apiVersion".to_owned(), wanted.into());
    }
    read(&mut object);
    Ok(object)
}

impl Resource {
    /// Turns an object into the version in which it is kept.
    ///
    /// # Errors
    /// A registered converter refused, or the definition has lost its storage version.
    pub fn to_storage(&self, object: Value) -> Result<Value, Failure> {
        if let Some((_, api_version)) = self.stored_as {
            return converted(self, object, api_version);
        }
        let version = self
            .version(&self.storage_version)
            .ok_or_else(|| Failure::internal(format!("{} has no storage version", self.key())))?;
        if self.origin == Origin::Crd {
            // Its defaults come when it is read.
            return turned(self, object, version);
        }
        to_version(self, object, version)
    }
}

impl Rules<'_> {
    /// An object as it would be read once it was stored: the version in which it is kept has defaults of its own.
    ///
    /// # Errors
    /// As [`Resource::to_storage`].
    pub fn once_stored(self, object: Value) -> Result<Value, Failure> {
        let kept = self.resource.to_storage(object)?;
        self.resource.read(kept, self.version)
    }
}

fn converted(resource: &Resource, object: Value, api_version: &str) -> Result<Value, Failure> {
    let Some(converter) = &resource.converter else {
        return Ok(object);
    };
    converter
        .convert(object, api_version)
        .map_err(|why| unconverted(resource, &why))
}

/// A webhook's refusal in its own words, which name it; another converter's with the resource.
fn unconverted(resource: &Resource, why: &str) -> Failure {
    if why.starts_with("conversion webhook for ") {
        Failure::new(500, Reason::Unknown, why)
    } else {
        Failure::internal(format!("conversion for {} failed: {why}", resource.key()))
    }
}

/// As [`to_version`] for many objects: a webhook is asked once.
fn all_to_version(
    resource: &Resource,
    objects: Vec<Value>,
    to: &Version,
) -> Result<Vec<Value>, Failure> {
    let wanted = resource.api_version(&to.name);
    if resource.converter.is_some() {
        return all_converted(resource, objects, &wanted, |object| {
            drop(admit_as(resource, to, object));
        });
    }
    let one = |object| to_version(resource, object, to);
    objects.into_iter().map(one).collect()
}

/// Has those that are in another version converted, each of which is then admitted.
fn all_converted(
    resource: &Resource,
    mut objects: Vec<Value>,
    wanted: &str,
    admit: impl Fn(&mut Value),
) -> Result<Vec<Value>, Failure> {
    if let Some(converter) = &resource.converter {
        let other = |o: &Value| o.get("apiVersion").and_then(Value::as_str) != Some(wanted);
        let places: Vec<usize> = (0..objects.len())
            .filter(|at| objects.get(*at).is_some_and(other))
            .collect();
        let taken = |at: &usize| objects.get_mut(*at).map(Value::take);
        let old: Vec<Value> = places.iter().filter_map(taken).collect();
        let converted = converter
            .convert_all(old, wanted)
            .map_err(|why| unconverted(resource, &why))?;
        for (at, mut object) in places.into_iter().zip(converted) {
            admit(&mut object);
            if let Some(place) = objects.get_mut(at) {
                *place = object;
            }
        }
    }
    Ok(objects)
}
