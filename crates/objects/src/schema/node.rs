//! The compiled schema: one [`Node`] for each place in an object.
//!
//! A node holds only what defaulting, pruning, validation and server-side apply ask; descriptions stay in
//! the schema text and reach clients through `openapi`.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::Value;

use super::rules::Rule;

/// A JSON type that a schema may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
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
    pub(crate) const fn name(self) -> &'static str {
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
    pub(crate) fn named(name: &str) -> Option<Self> {
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
pub(crate) enum ListType {
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
pub(crate) enum Additional {
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
pub(crate) struct Limits {
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
pub(crate) struct Logic {
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Node>,
}

/// What a place or one below it has: what none has is not looked for in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Has {
    /// CEL rules.
    pub(crate) rules: bool,
    /// Defaults.
    pub(crate) defaults: bool,
    /// Objects of their own right.
    pub(crate) embedded: bool,
    /// Lists that hold each element once.
    pub(crate) sets: bool,
}

/// Before anybody has looked, anything may be there.
impl Default for Has {
    fn default() -> Self {
        Self {
            rules: true,
            defaults: true,
            embedded: true,
            sets: true,
        }
    }
}

/// The schema of one place in an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
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
    pub(super) has: Has,
}

impl Node {
    /// The schema of the property `name`, named or additional.
    #[must_use]
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional {
            Some(Additional::Schema(node)) => Some(node),
            _ => None,
        })
    }

    /// Whether any place below has CEL rules.
    #[must_use]
    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.properties.values().any(Self::has_rules)
            || self.items.as_deref().is_some_and(Self::has_rules)
            || matches!(&self.additional, Some(Additional::Schema(node)) if node.has_rules())
    }

    /// What this place or one below it has.
    pub(crate) const fn has(&self) -> Has {
        self.has
    }

    /// Looks once at what there is here and below.
    fn look(&mut self) -> Has {
        let mut has = Has {
            rules: !self.rules.is_empty(),
            defaults: self.default.is_some(),
            embedded: self.embedded,
            sets: self.list_type != ListType::Atomic,
        };
        let below = self
            .properties
            .values_mut()
            .chain(self.items.as_deref_mut());
        let below = below.chain(match &mut self.additional {
            Some(Additional::Schema(node)) => Some(node.as_mut()),
            _ => None,
        });
        for node in below {
            let more = node.look();
            has.rules |= more.rules;
            has.defaults |= more.defaults;
            has.embedded |= more.embedded;
            has.sets |= more.sets;
        }
        self.has = has;
        has
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
}

/// A schema that is ready for use; cheap to clone.
#[derive(Debug, Clone)]
pub struct Structural {
    root: Arc<Node>,
}

impl Structural {
    pub(crate) fn from_node(mut root: Node) -> Self {
        root.look();
        Self {
            root: Arc::new(root),
        }
    }

    /// The node of the whole object.
    #[must_use]
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// Whether the schema has CEL rules anywhere.
    #[must_use]
    pub(crate) fn has_rules(&self) -> bool {
        self.root.has().rules
    }

    /// Whether the schema has defaults anywhere.
    #[must_use]
    pub(crate) fn has_defaults(&self) -> bool {
        self.root.has().defaults
    }
}
