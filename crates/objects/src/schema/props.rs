//! The fields of a schema, as Go's type of schemas has them: `JSONSchemaProps` of apiextensions/v1.

use serde_json::Value;

use super::MAX_ERRORS;
use super::render::At;

/// A part of a schema that stands in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A schema.
    Schema,
    /// Schemas by name.
    Schemas,
    /// A list of schemas.
    List,
    /// One or more schemas, or a boolean: read by itself, so that nobody is told what is unknown there.
    Apart,
    /// A list of rules.
    Rules,
    /// A rule.
    Rule,
    /// Where there is more to read.
    Docs,
    /// Something without fields.
    Empty,
    /// Any value.
    Value,
}

impl Part {
    /// What stands in a field; none if there is no such one.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        const RULE: [&str; 6] = [
            "rule",
            "message",
            "messageExpression",
            "reason",
            "fieldPath",
            "optionalOldSelf",
        ];
        let value = |known: bool| known.then_some(Self::Value);
        match self {
            Self::Schema | Self::Apart => schema_field(name),
            Self::Schemas => Some(Self::Schema),
            Self::Rule => value(RULE.contains(&name)),
            Self::Docs => value(matches!(name, "description" | "url")),
            Self::Empty => None,
            Self::List | Self::Rules | Self::Value => Some(Self::Value),
        }
    }

    /// What stands in an item.
    pub(crate) const fn item(self) -> Self {
        match self {
            Self::List | Self::Apart => Self::Schema,
            Self::Rules => Self::Rule,
            _ => Self::Value,
        }
    }
}

fn schema_field(name: &str) -> Option<Part> {
    Some(match name {
        "properties" | "patternProperties" | "definitions" => Part::Schemas,
        "allOf" | "anyOf" | "oneOf" => Part::List,
        "not" => Part::Schema,
        "items" | "additionalItems" | "additionalProperties" => Part::Apart,
        "x-kubernetes-validations" => Part::Rules,
        "externalDocs" => Part::Docs,
        "id"
        | "$schema"
        | "$ref"
        | "description"
        | "type"
        | "format"
        | "title"
        | "default"
        | "maximum"
        | "exclusiveMaximum"
        | "minimum"
        | "exclusiveMinimum"
        | "maxLength"
        | "minLength"
        | "pattern"
        | "maxItems"
        | "minItems"
        | "uniqueItems"
        | "multipleOf"
        | "enum"
        | "maxProperties"
        | "minProperties"
        | "required"
        | "dependencies"
        | "example"
        | "nullable"
        | "x-kubernetes-preserve-unknown-fields"
        | "x-kubernetes-embedded-resource"
        | "x-kubernetes-int-or-string"
        | "x-kubernetes-list-map-keys"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type" => Part::Value,
        _ => return None,
    })
}

/// Takes out of a part of a schema what its type has not, and tells where that was.
pub(crate) fn prune(value: &mut Value, part: Part, at: At<'_>, unknown: &mut Vec<String>) {
    let mut untold = Vec::new();
    let unknown = match part {
        Part::Value => return,
        Part::Apart => &mut untold,
        _ => unknown,
    };
    match value {
        Value::Object(map) => map.retain(|name, found| {
            let at = At::Field(&at, name);
            match part.field(name) {
                Some(below) => prune(found, below, at, unknown),
                None if unknown.len() < MAX_ERRORS => unknown.push(at.path()),
                None => {}
            }
            part.field(name).is_some()
        }),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                prune(item, part.item(), At::Item(&at, i), unknown);
            }
        }
        _ => {}
    }
}
