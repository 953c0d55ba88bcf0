//! The compiled schema: one [`Node`] for each place in an object.
//!
//! A node holds only what defaulting, pruning, validation and server-side apply ask; descriptions stay in
//! the schema text and reach clients through `openapi`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use regex::Regex;
use serde_json::{Value, json};

use super::error::FieldError;
use super::parse;
use super::rules::Rule;
use super::structural;

/// A JSON type that a schema may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

impl Type {
    /// The name that schemas and messages use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// The type of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [
            Self::Object,
            Self::Array,
            Self::String,
            Self::Integer,
            Self::Number,
            Self::Boolean,
        ]
        .into_iter()
        .find(|t| t.name() == name)
    }
}

/// How a list is merged and compared (`x-kubernetes-list-type`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    /// One value, replaced as a whole.
    #[default]
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects told apart by these keys.
    Map(Vec<String>),
}

/// What a map may hold beyond its named properties.
#[derive(Debug, Clone)]
pub enum Additional {
    /// Anything (`true`).
    Any,
    /// Nothing (`false`).
    Nothing,
    /// Values of this shape.
    Schema(Box<Node>),
}

/// A pattern that texts match; built when the first text is held against it.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    read: expr::Pattern,
    built: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// Reads a pattern; the error is worded as Go's `regexp/syntax` does.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(Self {
            read: expr::Pattern::parse(text)?,
            built: Arc::default(),
        })
    }

    /// About the states of its automaton.
    pub(crate) fn weight(&self) -> u64 {
        self.read.weight()
    }

    /// Whether a text matches.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let built = self.built.get_or_init(|| self.read.build().ok());
        built.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

/// Limits on values; none set means none checked.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) pattern: Option<(String, Option<Pattern>)>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<u64>,
    pub(crate) min_properties: Option<u64>,
}

/// Logical combinations; their parts only validate, they never default or prune.
#[derive(Debug, Clone, Default)]
pub struct Logic {
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Node>,
}

/// The schema of one place in an object.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// Allowed types; empty allows any. Two for int-or-string.
    pub types: Vec<Type>,
    /// The `format`, if any.
    pub format: Option<String>,
    /// Whether null is a value here.
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`
    pub embedded: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// Named properties of an object.
    pub properties: BTreeMap<String, Self>,
    /// Other properties of an object.
    pub additional: Option<Additional>,
    /// Items of a list.
    pub items: Option<Box<Self>>,
    /// Properties that must be there.
    pub required: Vec<String>,
    /// The value that a missing property takes.
    pub default: Option<Value>,
    /// How a list is merged.
    pub list_type: ListType,
    /// `x-kubernetes-map-type: atomic`: a map replaced as a whole.
    pub atomic_map: bool,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Rule>,
    pub(crate) limits: Limits,
    pub(crate) logic: Option<Box<Logic>>,
}

impl Node {
    /// The schema of the property `name`, named or additional.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        })
    }

    /// Whether any place below has CEL rules.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.properties.values().any(Self::has_rules)
            || self.items.as_deref().is_some_and(Self::has_rules)
            || matches!(&self.additional, Some(Additional::Schema(node)) if node.has_rules())
    }

    /// How many places there are here and below that a rule can name.
    pub(crate) fn places(&self) -> usize {
        let below = self.properties.values().chain(self.items.as_deref());
        let below = below.chain(match &self.additional {
            Some(Additional::Schema(node)) => Some(node.as_ref()),
            _ => None,
        });
        below.map(Self::places).fold(1, usize::saturating_add)
    }

    /// What all patterns here and below weigh.
    pub(crate) fn weight(&self) -> u64 {
        let own = self
            .limits
            .pattern
            .as_ref()
            .and_then(|(_, read)| read.as_ref());
        let mut below: Vec<&Self> = self.properties.values().collect();
        below.extend(self.items.as_deref());
        if let Some(logic) = &self.logic {
            below.extend(&logic.not);
            for list in [&logic.all_of, &logic.any_of, &logic.one_of] {
                below.extend(list);
            }
        }
        if let Some(Additional::Schema(node)) = &self.additional {
            below.push(node);
        }
        let below = below.into_iter().map(Self::weight);
        below.fold(own.map_or(0, Pattern::weight), u64::saturating_add)
    }

    fn has_defaults(&self) -> bool {
        self.default.is_some()
            || self.properties.values().any(Self::has_defaults)
            || self.items.as_deref().is_some_and(Self::has_defaults)
            || matches!(&self.additional, Some(Additional::Schema(node)) if node.has_defaults())
    }
}

/// A schema that is ready for use; cheap to clone.
#[derive(Debug, Clone)]
pub struct Structural {
    root: Arc<Node>,
    has_rules: bool,
    has_defaults: bool,
}

impl Structural {
    /// Compiles the schema text of a CRD version and checks the structural rules.
    ///
    /// # Errors
    /// All rules that the schema breaks, with paths below the empty path (`properties[spec].type`).
    pub fn from_json(schema: &Value) -> Result<Self, Vec<FieldError>> {
        Self::from_json_at(schema, "")
    }

    /// As [`Structural::from_json`], with error paths below `base`
    /// (`spec.versions[0].schema.openAPIV3Schema`).
    ///
    /// # Errors
    /// All rules that the schema breaks.
    pub fn from_json_at(schema: &Value, base: &str) -> Result<Self, Vec<FieldError>> {
        let root = parse::node(schema, base)?;
        let errors = structural::errors(schema, &root, base);
        if errors.is_empty() {
            Ok(Self::from_node(root))
        } else {
            Err(errors)
        }
    }

    /// Compiles a schema text that is known to be sound, without the structural rules.
    ///
    /// For built-in kinds, whose schema is ours, and for CRDs stored before a rule was added.
    ///
    /// # Errors
    /// Only what cannot be read at all (wrong JSON types, nesting, patterns).
    pub fn trusted(schema: &Value) -> Result<Self, Vec<FieldError>> {
        Ok(Self::from_node(parse::node(schema, "")?))
    }

    pub(crate) fn from_node(root: Node) -> Self {
        let (has_rules, has_defaults) = (root.has_rules(), root.has_defaults());
        Self {
            root: Arc::new(root),
            has_rules,
            has_defaults,
        }
    }

    /// The node of the whole object.
    #[must_use]
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Whether the schema has CEL rules anywhere.
    #[must_use]
    pub const fn has_rules(&self) -> bool {
        self.has_rules
    }

    /// Whether the schema has defaults anywhere.
    #[must_use]
    pub const fn has_defaults(&self) -> bool {
        self.has_defaults
    }
}

/// The schema of `metadata` (meta/v1 `ObjectMeta`), which every kind shares.
#[must_use]
pub fn object_meta() -> &'static Node {
    static NODE: LazyLock<Node> =
        LazyLock::new(|| parse::node(&object_meta_json(), "").unwrap_or_default());
    &NODE
}

/// [`object_meta`] as a schema text, without descriptions.
#[must_use]
pub(crate) fn object_meta_json() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let owner = json!({
        "type": "object",
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": text, "kind": text, "name": text, "uid": text,
            "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
        },
    });
    let entry = json!({
        "type": "object",
        "properties": {
            "manager": text, "operation": text, "apiVersion": text, "time": text, "fieldsType": text,
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "subresource": text,
        },
    });
    json!({
        "type": "object",
        "properties": {
            "name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text,
            "resourceVersion": text,
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": {"type": "string", "format": "date-time", "nullable": true},
            "deletionTimestamp": {"type": "string", "format": "date-time", "nullable": true},
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": texts, "annotations": texts,
            "ownerReferences": {
                "type": "array", "items": owner,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            },
            "finalizers": {
                "type": "array", "items": text, "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
            "managedFields": {"type": "array", "items": entry, "x-kubernetes-list-type": "atomic"},
        },
    })
}
