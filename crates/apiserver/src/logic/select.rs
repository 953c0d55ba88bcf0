//! Label and field selectors: parsing in the words of the real server, and matching.

use serde_json::Value;

use crate::registry::{Backing, Resource, Version};
use crate::schema::Type;
use crate::status::Failure;
use crate::storage::Object;

/// One requirement on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Need {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
    Greater(String, i64),
    Less(String, i64),
}

/// A parsed label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    needs: Vec<Need>,
}

impl Labels {
    /// Parses a label selector.
    ///
    /// # Errors
    /// 400, saying what was not understood.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let mut needs = Vec::new();
        for part in split(text) {
            let part = part.trim();
            if part.is_empty() {
                if text.trim().is_empty() {
                    continue;
                }
                return Err(unparsable("found '', expected: identifier after ','"));
            }
            needs.push(need(part).map_err(|why| unparsable(&why))?);
        }
        Ok(Self { needs })
    }

    /// Whether nothing is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Whether an object fits.
    #[must_use]
    pub fn matches(&self, object: &Object) -> bool {
        self.matches_with(|key| object.fields.labels.get(key))
    }

    /// Whether a value fits.
    #[must_use]
    pub fn matches_value(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.matches_with(|key| labels.and_then(|l| l.get(key)).and_then(Value::as_str))
    }

    fn matches_with<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let number = |key: &str| label(key).and_then(|v| v.parse::<i64>().ok());
        self.needs.iter().all(|need| match need {
            Need::In(key, values) => label(key).is_some_and(|v| values.iter().any(|w| w == v)),
            Need::NotIn(key, values) => !label(key).is_some_and(|v| values.iter().any(|w| w == v)),
            Need::Exists(key) => label(key).is_some(),
            Need::Missing(key) => label(key).is_none(),
            Need::Greater(key, than) => number(key).is_some_and(|v| v > *than),
            Need::Less(key, than) => number(key).is_some_and(|v| v < *than),
        })
    }
}

fn unparsable(why: &str) -> Failure {
    Failure::bad_request(format!("unable to parse requirement: {why}"))
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn need(part: &str) -> Result<Need, String> {
    let key = |text: &str| -> Result<String, String> {
        let text = text.trim();
        match crate::builtin::names::qualified_name(text).first() {
            Some(problem) => Err(format!("<nil>: Invalid value: \"{text}\": {problem}")),
            None => Ok(text.to_owned()),
        }
    };
    if let Some(rest) = part.strip_prefix('!').filter(|_| !part.contains('=')) {
        return Ok(Need::Missing(key(rest)?));
    }
    for (operator, negated) in [("!=", true), ("==", false), ("=", false)] {
        if let Some((left, right)) = part.split_once(operator) {
            let (left, right) = (key(left)?, value(right)?);
            return Ok(if negated {
                Need::NotIn(left, vec![right])
            } else {
                Need::In(left, vec![right])
            });
        }
    }
    for (operator, greater) in [('>', true), ('<', false)] {
        if let Some((left, right)) = part.split_once(operator) {
            let bound = right.trim().parse::<i64>().map_err(|_| {
                "values[0][x]: Invalid value: for 'Gt', 'Lt' operators, the value must be an integer".to_owned()
            })?;
            return Ok(if greater {
                Need::Greater(key(left)?, bound)
            } else {
                Need::Less(key(left)?, bound)
            });
        }
    }
    let mut words = part.splitn(2, char::is_whitespace);
    let (name, rest) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default().trim(),
    );
    if rest.is_empty() {
        return Ok(Need::Exists(key(name)?));
    }
    let (negated, list) = match (rest.strip_prefix("notin"), rest.strip_prefix("in")) {
        (Some(list), _) => (true, list),
        (_, Some(list)) => (false, list),
        _ => {
            return Err(format!(
                "found '{rest}', expected: in, notin, =, ==, !=, gt, lt"
            ));
        }
    };
    let inner = list
        .trim()
        .strip_prefix('(')
        .and_then(|l| l.strip_suffix(')'));
    let inner = inner.ok_or_else(|| format!("found '{}' expected: '('", list.trim()))?;
    let values = inner.split(',').map(value).collect::<Result<Vec<_>, _>>()?;
    let name = key(name)?;
    Ok(if negated {
        Need::NotIn(name, values)
    } else {
        Need::In(name, values)
    })
}

fn value(text: &str) -> Result<String, String> {
    let text = text.trim();
    match crate::builtin::names::label_value(text).first() {
        Some(problem) => Err(format!(
            "values[0][x]: Invalid value: \"{text}\": {problem}"
        )),
        None => Ok(text.to_owned()),
    }
}

/// A parsed field selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    needs: Vec<Wanted>,
}

/// One requirement on a field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    field: String,
    value: String,
    negated: bool,
    /// What an absent field counts as.
    absent: &'static str,
}

impl Fields {
    /// Parses a field selector and checks that the version offers its fields.
    ///
    /// # Errors
    /// 400, naming what was not understood or is not offered.
    pub fn parse(text: &str, resource: &Resource, version: &Version) -> Result<Self, Failure> {
        let mut needs = Vec::new();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let found = ["!=", "==", "="]
                .iter()
                .find_map(|op| part.split_once(op).map(|(l, r)| (l, r, *op == "!=")));
            let Some((left, right, negated)) = found else {
                return Err(Failure::bad_request(format!(
                    "invalid selector: '{part}'; can't understand '{part}'"
                )));
            };
            let offered = matches!(left, "metadata.name" | "metadata.namespace")
                || version
                    .selectable
                    .iter()
                    .any(|path| path.trim_start_matches('.') == left);
            if !offered {
                return Err(not_offered(left, resource, version));
            }
            if negated && aggregated(resource) {
                return Err(Failure::bad_request(format!(
                    "unsupported fieldSelector operator \"!=\" for field \"{left}\""
                )));
            }
            needs.push(Wanted {
                field: left.to_owned(),
                value: unescape(right),
                negated,
                absent: absent(left, resource, version),
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
        self.needs
            .iter()
            .find(|need| need.field == "metadata.name" && !need.negated)
            .map(|need| need.value.as_str())
    }

    /// Whether an object fits; it is only parsed where a field beyond its name is asked for.
    #[must_use]
    pub fn matches(&self, object: &Object) -> bool {
        let mut parsed: Option<Value> = None;
        self.needs.iter().all(|need| {
            let wanted = need.value.as_str();
            let equal = match need.field.as_str() {
                "metadata.name" => object.fields.name == wanted,
                "metadata.namespace" => object.fields.namespace == wanted,
                other => {
                    let found = text_at(parsed.get_or_insert_with(|| object.value()), other);
                    let found = if found.is_empty() {
                        need.absent
                    } else {
                        &found
                    };
                    found == wanted
                }
            };
            equal != need.negated
        })
    }
}

/// Whether users know the resource from an aggregated server, whose words and rules hold for it.
fn aggregated(resource: &Resource) -> bool {
    matches!(resource.backing, Backing::WriteThrough | Backing::Virtual)
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

fn not_offered(field: &str, resource: &Resource, version: &Version) -> Failure {
    if aggregated(resource) {
        return Failure::bad_request(format!("\"{field}\" is not a known field selector"));
    }
    if resource.custom() {
        return Failure::bad_request(format!("field label not supported: {field}"));
    }
    let message = if version.selectable.is_empty() {
        format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )
    } else {
        format!("field label not supported: {field}")
    };
    Failure::bad_request(message)
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

/// The text of a field by dotted path; absent is empty, booleans and integers as text.
#[must_use]
pub fn text_at(object: &Value, path: &str) -> String {
    let found = path
        .trim_start_matches('.')
        .split('.')
        .try_fold(object, |value, key| value.get(key));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
