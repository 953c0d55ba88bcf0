//! From the schema text to nodes.
//!
//! Lenient: it reads what it knows. The law for CRDs stands in `structural`.

use serde_json::{Map, Value};

use super::error::FieldError;
use super::node::{Additional, Limits, ListType, Logic, Node, Pattern, Type};
use super::render::{child, index, key};
use super::rules::Rule;

/// Deepest nesting of a schema; a hostile CRD must not exhaust the stack.
pub(crate) const MAX_DEPTH: usize = 80;

/// What all patterns of a schema may weigh: they stay in memory once they were built.
const PATTERNS: u64 = 100_000;

/// Reads one schema node and everything below it.
pub(crate) fn node(schema: &Value, path: &str) -> Result<Node, Vec<FieldError>> {
    match whole(schema, path)? {
        (node, errors) if errors.is_empty() => Ok(node),
        (_, errors) => Err(errors),
    }
}

/// As [`node`], with what is wrong in it where it can be read all the same.
///
/// # Errors
/// It is no schema at all, or a larger one than is read.
pub(crate) fn whole(
    schema: &Value,
    path: &str,
) -> Result<(Node, Vec<FieldError>), Vec<FieldError>> {
    let mut reader = Reader::default();
    let node = reader.read(schema, path, 0);
    let weight = node.weight();
    if weight > PATTERNS {
        let what =
            format!("all patterns together weigh {weight}, which exceeds the limit of {PATTERNS}");
        reader.refused.push(FieldError::forbidden(path, what));
    }
    if reader.refused.is_empty() {
        Ok((node, reader.errors))
    } else {
        Err(reader.refused)
    }
}

/// What was found while a schema is read.
#[derive(Default)]
struct Reader {
    /// Mistakes that the rest can be read beside.
    errors: Vec<FieldError>,
    /// What makes it no schema that is read.
    refused: Vec<FieldError>,
}

impl Reader {
    fn read(&mut self, schema: &Value, path: &str, depth: usize) -> Node {
        let Some(map) = schema.as_object() else {
            self.refused.push(FieldError::invalid(
                path,
                schema.clone(),
                "must be a schema object",
            ));
            return Node::default();
        };
        if depth > MAX_DEPTH {
            self.refused.push(FieldError::forbidden(
                path,
                format!("schemas may nest {MAX_DEPTH} levels at most"),
            ));
            return Node::default();
        }
        let flag = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or(false);
        let mut node = Node {
            types: types(map, path, &mut self.errors),
            format: text(map, "format"),
            nullable: flag("nullable"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            required: texts(map, "required"),
            default: map.get("default").cloned(),
            atomic_map: map.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
            list_type: list_type(map),
            rules: rules(map),
            limits: limits(map, path, &mut self.errors),
            ..Node::default()
        };
        if node.int_or_string && node.types.is_empty() {
            node.types = vec![Type::Integer, Type::String];
        }
        self.below(map, path, depth, &mut node);
        node.logic = self.logic(map, path, depth);
        node
    }

    fn below(&mut self, map: &Map<String, Value>, path: &str, depth: usize, node: &mut Node) {
        if let Some(Value::Object(properties)) = map.get("properties") {
            let base = child(path, "properties");
            for (name, schema) in properties {
                node.properties.insert(
                    name.clone(),
                    self.read(schema, &key(&base, name), depth + 1),
                );
            }
        }
        node.additional = match map.get("additionalProperties") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(true)) => Some(Additional::Any),
            Some(Value::Bool(false)) => Some(Additional::Nothing),
            Some(schema) => {
                let path = child(path, "additionalProperties");
                Some(Additional::Schema(Box::new(self.read(
                    schema,
                    &path,
                    depth + 1,
                ))))
            }
        };
        node.items = match map.get("items") {
            None | Some(Value::Null) => None,
            Some(Value::Array(_)) => {
                let text = "items must be a schema object and not an array";
                self.errors
                    .push(FieldError::forbidden(&child(path, "items"), text));
                None
            }
            Some(schema) => Some(Box::new(self.read(
                schema,
                &child(path, "items"),
                depth + 1,
            ))),
        };
    }

    fn logic(&mut self, map: &Map<String, Value>, path: &str, depth: usize) -> Option<Box<Logic>> {
        let mut list = |name: &str| -> Vec<Node> {
            let base = child(path, name);
            let items = map.get(name).and_then(Value::as_array);
            let nodes = items.into_iter().flatten().enumerate();
            nodes
                .map(|(i, schema)| self.read(schema, &index(&base, i), depth + 1))
                .collect()
        };
        let (all_of, any_of, one_of) = (list("allOf"), list("anyOf"), list("oneOf"));
        let not = match map.get("not") {
            None | Some(Value::Null) => None,
            Some(schema) => Some(self.read(schema, &child(path, "not"), depth + 1)),
        };
        let logic = Logic {
            all_of,
            any_of,
            one_of,
            not,
        };
        let empty = logic.all_of.is_empty()
            && logic.any_of.is_empty()
            && logic.one_of.is_empty()
            && logic.not.is_none();
        (!empty).then(|| Box::new(logic))
    }
}

fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    map.get(name)
        .and_then(Value::as_str)
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
}

pub(crate) fn texts(map: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = map.get(name).and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|v| v.as_str().map(str::to_owned))
        .collect()
}

fn types(map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) -> Vec<Type> {
    match map.get("type").and_then(Value::as_str) {
        None | Some("") => Vec::new(),
        Some(name) => match Type::named(name) {
            Some(found) => vec![found],
            None => {
                let all = ["array", "boolean", "integer", "number", "object", "string"];
                errors.push(FieldError::not_supported(&child(path, "type"), name, &all));
                Vec::new()
            }
        },
    }
}

fn list_type(map: &Map<String, Value>) -> ListType {
    match map.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(texts(map, "x-kubernetes-list-map-keys")),
        _ => ListType::Atomic,
    }
}

fn rules(map: &Map<String, Value>) -> Vec<Rule> {
    let items = map
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    let objects = items.into_iter().flatten().filter_map(Value::as_object);
    objects
        .map(|rule| {
            Rule::new(
                text(rule, "rule").unwrap_or_default(),
                [text(rule, "message"), text(rule, "messageExpression")],
                text(rule, "reason"),
                text(rule, "fieldPath"),
                rule.get("optionalOldSelf")
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
            )
        })
        .collect()
}

fn limits(map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) -> Limits {
    let number = |name: &str| map.get(name).and_then(Value::as_f64);
    let count = |name: &str| map.get(name).and_then(Value::as_u64);
    let flag = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or(false);
    let pattern = text(map, "pattern").map(|text| match Pattern::parse(&text) {
        Ok(pattern) => (text, Some(pattern)),
        Err(problem) => {
            let detail = format!(
                "must be a valid regular expression, but isn't: error parsing regexp: {problem}"
            );
            errors.push(FieldError::invalid(
                &child(path, "pattern"),
                text.clone(),
                detail,
            ));
            (text, None)
        }
    });
    Limits {
        allowed: map.get("enum").and_then(Value::as_array).cloned(),
        maximum: number("maximum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        minimum: number("minimum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        multiple_of: number("multipleOf"),
        max_length: count("maxLength"),
        min_length: count("minLength"),
        pattern,
        max_items: count("maxItems"),
        min_items: count("minItems"),
        unique_items: flag("uniqueItems"),
        max_properties: count("maxProperties"),
        min_properties: count("minProperties"),
    }
}
