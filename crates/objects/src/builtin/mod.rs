//! The kinds that the server itself brings, and the metadata rules that every kind shares.
//!
//! [`definitions`] is the list; each has what discovery, storage, tables and OpenAPI need, and
//! [`BuiltInKind::prepare`] / [`BuiltInKind::validate`] its rules with the real server's texts. Nothing here
//! stores or decides who may do what.

pub mod crd;
mod decode;
mod events;
mod forms;
mod kinds;
mod reflected;
mod rules;

pub use decode::metadata_type_error;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::names::NameRule;
use crate::schema::{FieldError, Stack, Structural};

/// A subresource of a built-in kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subresource {
    /// Its name in the path: `status`.
    pub(crate) name: &'static str,
    /// Group, version and kind of its bodies, where they differ from the object's.
    pub(crate) kind: Option<(&'static str, &'static str, &'static str)>,
    /// What may be done with it.
    pub(crate) verbs: &'static [&'static str],
}

/// One built-in kind in one version.
#[derive(Debug, Clone)]
pub(crate) struct BuiltInKind {
    /// API group, empty for the core group.
    pub(crate) group: &'static str,
    /// API version.
    pub(crate) version: &'static str,
    /// Kind.
    pub(crate) kind: &'static str,
    /// Plural, as in paths.
    pub(crate) plural: &'static str,
    /// Singular.
    pub(crate) singular: &'static str,
    /// Short names.
    pub(crate) short_names: &'static [&'static str],
    /// Categories.
    pub(crate) categories: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub(crate) namespaced: bool,
    /// Verbs as discovery lists them; only `create` for reviews, which are never stored.
    pub(crate) verbs: &'static [&'static str],
    /// Subresources.
    pub(crate) subresources: &'static [Subresource],
    /// How names must look.
    pub(crate) name_rule: NameRule,
    /// Whether `metadata.generation` counts changes of the spec.
    pub(crate) generation: bool,
    /// Whether an update must carry a resourceVersion.
    pub(crate) versioned_updates: bool,
    key: &'static str,
}

static SCHEMAS: LazyLock<BTreeMap<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas.json")).unwrap_or_default());

static STRUCTURAL: LazyLock<BTreeMap<String, Structural>> = LazyLock::new(|| {
    let compile = |(key, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        if let Some(metadata) = schema.pointer_mut("/properties/metadata") {
            *metadata = crate::schema::object_meta_json();
        }
        Structural::trusted(&schema).ok().map(|s| (key.clone(), s))
    };
    SCHEMAS.iter().filter_map(compile).collect()
});

/// All built-in kinds, in the order of discovery.
#[must_use]
pub(crate) fn definitions() -> &'static [BuiltInKind] {
    kinds::ALL
}

/// What is wrong with the types of a `TokenRequest`, the body of `serviceaccounts/token`, as [`BuiltInKind::type_error`] says it.
/// It is no resource of its own.
#[must_use]
pub fn token_request_error(object: &Value) -> Option<String> {
    kinds::TOKEN_REQUEST.type_error(object)
}

/// The built-in kind of that group, version and plural.
#[cfg(test)]
pub(crate) fn definition(group: &str, version: &str, plural: &str) -> Option<&'static BuiltInKind> {
    definitions()
        .iter()
        .find(|d| d.group == group && d.version == version && d.plural == plural)
}

impl BuiltInKind {
    /// The schema text with descriptions, for OpenAPI.
    ///
    /// Besides OpenAPI's words it has `x-name` (the component that a part is), `x-field-description` (the
    /// description of the field that holds it), and `x-kubernetes-patch-strategy` / `-merge-key`.
    #[must_use]
    pub(crate) fn schema_json(&self) -> &'static Value {
        SCHEMAS.get(self.key).unwrap_or(&Value::Null)
    }

    /// The compiled schema, with the whole of `metadata`.
    ///
    /// # Panics
    /// Never: a test compiles every schema.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "the schemas are part of the program and all compiled by a test"
    )]
    pub(crate) fn schema(&self) -> &'static Structural {
        STRUCTURAL.get(self.key).expect("built-in schema compiles")
    }

    /// What an object looks like before anybody wrote it: struct fields that the real server's typed objects
    /// always have, and that nobody therefore owns.
    #[must_use]
    pub(crate) fn blank(&self) -> &'static Value {
        forms::blank(self.key)
    }

    /// Root fields that a write to the object resets; the other way round through `/status`.
    #[must_use]
    pub(crate) fn reset(&self, subresource: &str) -> &'static [&'static str] {
        let status = self.subresources.iter().any(|s| s.name == "status");
        match subresource {
            "" | "finalize" if status => &["status"],
            "status" => &["spec"],
            _ => &[],
        }
    }

    /// Whether objects of the kind are stored, in contrast to reviews that are only answered.
    #[must_use]
    pub(crate) fn stored(&self) -> bool {
        self.verbs.contains(&"get")
    }

    /// The first value of a wrong JSON type, or text that is no base64 or no time where one is wanted,
    /// worded as the 400 of the real server after `cannot be handled as a ConfigMap: `.
    #[must_use]
    pub(crate) fn type_error(&self, object: &Value) -> Option<String> {
        let schemas = || match self.kind {
            "CustomResourceDefinition" => crd::mismatch(object),
            _ => None,
        };
        decode::mismatch(object, self.schema().root(), self.kind).or_else(schemas)
    }

    /// Takes out of an object what its type in Go has not; returns the paths, those of `metadata` first.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = self.schema().prune(object);
        if self.kind == "CustomResourceDefinition" {
            unknown.extend(crd::prune(object));
            unknown.sort_by_cached_key(|path| (!path.starts_with("metadata."), path.clone()));
        }
        unknown
    }

    /// Puts what a strategic patch made of an object into the fields one by one, as Go does.
    ///
    /// # Errors
    /// What the first field cannot take, in Go's words.
    pub(crate) fn put_into_fields(&self, object: &mut Value) -> Result<(), String> {
        match reflected::mismatch(object, self.schema().root()) {
            Some(why) => Err(why),
            None => {
                reflected::put(object, self.schema().root());
                Ok(())
            }
        }
    }

    /// Brings an object into the form that is stored: defaults, `stringData` into `data`, empty maps and
    /// nulls dropped, times in their written form. Doing it twice changes nothing.
    pub(crate) fn prepare(&self, object: &mut Value) {
        forms::texts_of_nulls(object);
        self.schema().default(object);
        forms::prepare(self, object);
    }

    /// Brings an object into the form in which the real server's store gives it back, once it is known who wrote what.
    pub(crate) fn settle(&self, object: &mut Value) {
        forms::settle(self, object);
    }

    /// The rules of the kind beyond metadata for a new object (`old` none) or an update.
    #[must_use]
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        stack: Stack,
    ) -> Vec<FieldError> {
        rules::validate(self, object, old, stack)
    }
}

#[cfg(test)]
mod tests;
