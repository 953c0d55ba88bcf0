//! Field selectors: `metadata.name=a,spec.size!=3` (`k8s.io/apimachinery/pkg/fields`).
//!
//! A version of a resource says which fields it offers; the embedding program may offer all keys of a map, which are written in
//! brackets: `spec.labels[example.dev/tier]=web`.

use serde_json::Value;

use crate::resource::{Backing, Resource, Version};
use crate::schema::{Type, quote};
use crate::status::Failure;

/// One term of a field selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerm {
    /// The field, by dotted path.
    pub field: String,
    /// The value, unescaped.
    pub value: String,
    /// Whether the field must have another value.
    pub negated: bool,
}

impl FieldTerm {
    /// Takes a field selector apart, in the order of its terms' texts.
    ///
    /// # Errors
    /// 400, saying what was not understood.
    pub fn all(text: &str) -> Result<Vec<Self>, Failure> {
        let mut parts = split(text);
        parts.sort_unstable();
        parts.into_iter().map(|part| term(text, part)).collect()
    }

    /// The text of its field in an object: absent is empty, booleans and integers as text.
    #[must_use]
    pub fn text_in(&self, object: &Value) -> String {
        text_at(object, &self.field)
    }
}

/// Splits at commas that no backslash stands before; empty parts are left out.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}

fn term(whole: &str, part: &str) -> Result<FieldTerm, Failure> {
    let signs = ["!=", "==", "="]
        .into_iter()
        .filter_map(|sign| Some((part.find(sign)?, sign)));
    // The first sign counts; of two that begin at one place the longer one.
    let Some((at, sign)) = signs.min_by_key(|(at, sign)| (*at, std::cmp::Reverse(sign.len())))
    else {
        return Err(Failure::bad_request(format!(
            "invalid selector: '{whole}'; can't understand '{part}'"
        )));
    };
    let (field, value) = part.split_at(at);
    let value = value.get(sign.len()..).unwrap_or_default();
    Ok(FieldTerm {
        field: field.to_owned(),
        value: unescape(value).map_err(Failure::bad_request)?,
        negated: sign == "!=",
    })
}

fn unescape(text: &str) -> Result<String, String> {
    let wrong =
        |sequence: String| format!("invalid field selector: invalid escape sequence: {sequence}");
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(wrong(format!("\\{c}"))),
                None => return Err(wrong("\\".to_owned())),
            },
            ',' | '=' => {
                let number = u32::from(c);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {number}"
                ));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// What an object must fulfil.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Need {
    term: FieldTerm,
    /// Where the field stands in a stored object: the first place that holds something.
    places: Vec<String>,
    /// What an absent field counts as.
    absent: &'static str,
}

/// A parsed field selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelection {
    needs: Vec<Need>,
}

impl FieldSelection {
    /// Parses a field selector and checks that the version offers its fields.
    ///
    /// # Errors
    /// 400, naming what was not understood or is not offered.
    pub fn parse(text: &str, resource: &Resource, version: &Version) -> Result<Self, Failure> {
        let mut needs = Vec::new();
        for term in FieldTerm::all(text)? {
            offered(&term.field, resource, version)?;
            if aggregated(resource) {
                equal_to_something(&term)?;
            }
            let places = places(&term.field, resource);
            let absent = absent(&term.field, resource, version);
            needs.push(Need {
                term,
                places,
                absent,
            });
        }
        Ok(Self { needs })
    }

    /// Whether nothing is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The one name that is asked for, if one is.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let mut terms = self.needs.iter().map(|need| &need.term);
        let named = terms.find(|term| term.field == "metadata.name" && !term.negated);
        named.map(|term| term.value.as_str())
    }

    /// Whether an object of this namespace and name fits; it is only read where another field is asked for.
    #[must_use]
    pub fn matches(&self, (namespace, name): (&str, &str), read: impl Fn() -> Value) -> bool {
        let mut parsed: Option<Value> = None;
        self.needs.iter().all(|need| {
            let wanted = &need.term.value;
            let equal = match need.term.field.as_str() {
                "metadata.name" => name == wanted,
                "metadata.namespace" => namespace == wanted,
                _ => {
                    let value = parsed.get_or_insert_with(&read);
                    let mut texts = need.places.iter().map(|place| text_at(value, place));
                    let found = texts.find(|text| !text.is_empty());
                    found.as_deref().unwrap_or(need.absent) == wanted
                }
            };
            equal != need.term.negated
        })
    }
}

/// Whether users know the resource from an aggregated server, whose words and rules hold for it.
fn aggregated(resource: &Resource) -> bool {
    matches!(resource.backing, Backing::WriteThrough | Backing::Virtual)
}

/// Such servers look for equal values only, and for none that is empty.
fn equal_to_something(term: &FieldTerm) -> Result<(), Failure> {
    let FieldTerm {
        field,
        value,
        negated,
    } = term;
    let refuse = |why: String| {
        Err(Failure::bad_request(format!(
            "unsupported fieldSelector {why}"
        )))
    };
    match (negated, value.as_str()) {
        (true, _) => refuse(format!("operator \"!=\" for field \"{field}\"")),
        (false, "") => refuse(format!(
            "value \"\" for field \"{field}\" with operator \"=\""
        )),
        (false, _) => Ok(()),
    }
}

/// What an absent field counts as: of an aggregated server's Go types, a number is zero.
fn absent(field: &str, resource: &Resource, version: &Version) -> &'static str {
    let Some(schema) = version.schema.as_ref().filter(|_| aggregated(resource)) else {
        return "";
    };
    let node = field
        .split('.')
        .try_fold(schema.root(), |node, key| node.property(key));
    let number = node.is_some_and(|node| node.types.contains(&Type::Integer));
    if number { "0" } else { "" }
}

fn offered(field: &str, resource: &Resource, version: &Version) -> Result<(), Failure> {
    let is_namespace = resource
        .built_in
        .is_some_and(|kind| kind.kind == "Namespace");
    let placed = resource.namespaced || !(resource.custom() || is_namespace);
    let always = field == "metadata.name" || (field == "metadata.namespace" && placed);
    let is_it = |path: &String| path.trim_start_matches('.') == field;
    if always || version.selectable.iter().any(is_it) {
        return Ok(());
    }
    let entry = field.strip_suffix(']').and_then(|f| f.split_once('['));
    match entry.filter(|(map, _)| version.selectable_maps.iter().any(|m| m == map)) {
        Some((_, "")) => Err(Failure::bad_request(format!(
            "label key cannot be empty in field selector \"{field}\""
        ))),
        Some(_) => Ok(()),
        None => Err(not_offered(field, resource, version)),
    }
}

fn not_offered(field: &str, resource: &Resource, version: &Version) -> Failure {
    if aggregated(resource) {
        return Failure::bad_request(format!("{} is not a known field selector", quote(field)));
    }
    let message = if resource.custom() || !version.selectable.is_empty() {
        format!("field label not supported: {field}")
    } else {
        format!(
            "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            quote(field)
        )
    };
    Failure::bad_request(message)
}

/// Where a field of a request stands in a stored object. Events are stored in the core group's words whichever group is asked.
fn places(field: &str, resource: &Resource) -> Vec<String> {
    let is_event = resource.built_in.is_some_and(|kind| kind.kind == "Event");
    if !is_event {
        return vec![field.to_owned()];
    }
    match field {
        "source" => vec![
            "source.component".to_owned(),
            "reportingComponent".to_owned(),
        ],
        "reportingController" => vec!["reportingComponent".to_owned()],
        _ => match field.strip_prefix("regarding.") {
            Some(rest) => vec![format!("involvedObject.{rest}")],
            None => vec![field.to_owned()],
        },
    }
}

/// The text of a field by dotted path, keys of maps in brackets; absent is empty, booleans and integers as text.
#[must_use]
pub(super) fn text_at(object: &Value, path: &str) -> String {
    let (fields, key) = match path.strip_suffix(']').and_then(|p| p.split_once('[')) {
        Some((fields, key)) => (fields, Some(key)),
        None => (path, None),
    };
    let found = fields
        .trim_start_matches('.')
        .split('.')
        .chain(key)
        .try_fold(object, |value, key| value.get(key));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
