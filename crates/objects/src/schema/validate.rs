//! Validation of values by a schema, with the texts of the real server.
//!
//! Unchanged invalid parts are tolerated on update (ratcheting): a part that equals its former self is
//! not looked into.

use serde_json::{Map, Value};

use super::error::{BadValue, ErrorKind, FieldError};
use super::node::{Additional, Logic, Node, Structural, Type};
use super::render::{At, go_float, go_value, quote, sorted_json};
use super::{MAX_ERRORS, embedded, formats, lists};

impl Structural {
    /// Validates an object; `old` is its former state on update.
    ///
    /// Covers schema, embedded resources and list types, in this order; CEL rules are
    /// a step of their own. Metadata of the object itself is the caller's
    /// (`schema::metadata`).
    #[must_use]
    pub fn validate(&self, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut validator = Validator::default();
        validator.node(value, old, self.root(), At::ROOT);
        let mut errors = validator.errors;
        self.validate_contents(value, old, &mut errors);
        errors
    }

    /// Validates what holds of a value beside the types of its fields: what is embedded in it, and that lists hold each element once.
    pub(crate) fn validate_contents(
        &self,
        value: &Value,
        old: Option<&Value>,
        errors: &mut Vec<FieldError>,
    ) {
        embedded::check(value, self.root(), At::ROOT, errors);
        let mut old_duplicates = Vec::new();
        if let Some(old) = old {
            lists::duplicates(old, self.root(), At::ROOT, &mut old_duplicates);
        }
        if old_duplicates.is_empty() {
            lists::duplicates(value, self.root(), At::ROOT, errors);
        }
    }
}

/// Collects what is wrong with a value.
#[derive(Default)]
pub(crate) struct Validator {
    pub(crate) errors: Vec<FieldError>,
}

impl Validator {
    /// Validates `value` at this place; nothing to say where it equals `old`.
    pub(crate) fn node(&mut self, value: &Value, old: Option<&Value>, node: &Node, at: At<'_>) {
        if old == Some(value) || self.errors.len() > MAX_ERRORS {
            return;
        }
        self.kind(value, node, at);
        if !value.is_null() {
            if let Some(logic) = &node.logic {
                self.logic(value, old, logic, at);
            }
            match value {
                Value::String(text) => self.text(text, node, at),
                Value::Number(number) => self.number(number, node, at),
                Value::Array(items) => self.list(items, old, node, at),
                Value::Object(map) => self.map(map, old, node, at),
                _ => {}
            }
        }
        self.allowed(value, node, at);
    }

    fn kind(&mut self, value: &Value, node: &Node, at: At<'_>) {
        if node.types.is_empty() || (value.is_null() && node.nullable) {
            return;
        }
        let found = type_name(value);
        let integral = || value.as_f64().is_some_and(|f| f.fract() == 0.0);
        let fits = node.types.iter().any(|wanted| match wanted {
            Type::Number => value.is_number(),
            Type::Integer => found == "integer" || (value.is_number() && integral()),
            other => other.name() == found,
        });
        if !fits {
            let wanted: Vec<&str> = node.types.iter().map(|t| t.name()).collect();
            self.wrong_type(at, &wanted.join(","), Value::from(found), found);
        }
    }

    fn wrong_type(&mut self, at: At<'_>, wanted: &str, shown: Value, found: &str) {
        let path = &at.path();
        let detail = format!("{path} in body must be of type {wanted}: {}", quote(found));
        self.errors
            .push(FieldError::type_invalid(path, shown, detail));
    }

    fn broken(&mut self, at: At<'_>, value: impl Into<Value>, rule: &str) {
        let path = &at.path();
        self.errors.push(FieldError::invalid(
            path,
            value,
            format!("{path} in body {rule}"),
        ));
    }

    fn allowed(&mut self, value: &Value, node: &Node, at: At<'_>) {
        let Some(allowed) = &node.limits.allowed else {
            return;
        };
        if allowed.iter().any(|a| same(a, value)) || (value.is_null() && node.nullable) {
            return;
        }
        let texts: Vec<String> = allowed
            .iter()
            .map(|a| a.as_str().map_or_else(|| sorted_json(a), str::to_owned))
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.errors
            .push(FieldError::not_supported(&at.path(), value.clone(), &texts));
    }

    fn text(&mut self, text: &str, node: &Node, at: At<'_>) {
        let limits = &node.limits;
        let length = || text.chars().count() as u64;
        if let Some(max) = limits.max_length.filter(|max| length() > *max) {
            self.errors.push(FieldError::too_long(&at.path(), max));
        } else if let Some(min) = limits.min_length.filter(|min| length() < *min) {
            self.broken(at, text, &format!("should be at least {min} chars long"));
        } else if let Some((pattern, Some(regex))) = &limits.pattern
            && !regex.is_match(text)
        {
            self.broken(at, text, &format!("should match '{pattern}'"));
        }
        if let Some(format) = &node.format
            && !formats::matches(format, text)
        {
            self.wrong_type(at, format, Value::from(text), text);
        }
    }

    fn number(&mut self, number: &serde_json::Number, node: &Node, at: At<'_>) {
        let limits = &node.limits;
        let value = number.as_f64().unwrap_or_default();
        let shown = || Value::Number(number.clone());
        if let Some(factor) = limits.multiple_of {
            self.multiple(number, value, factor, at);
        }
        if let Some(max) = limits.maximum {
            let text = go_float(max);
            if limits.exclusive_maximum && value >= max {
                self.broken(at, shown(), &format!("should be less than {text}"));
            } else if value > max {
                self.broken(
                    at,
                    shown(),
                    &format!("should be less than or equal to {text}"),
                );
            }
        }
        if let Some(min) = limits.minimum {
            let text = go_float(min);
            if limits.exclusive_minimum && value <= min {
                self.broken(at, shown(), &format!("should be greater than {text}"));
            } else if value < min {
                self.broken(
                    at,
                    shown(),
                    &format!("should be greater than or equal to {text}"),
                );
            }
        }
    }

    /// The real server cuts the factor to a whole number for whole values; then 0.25 becomes 0, which
    /// it complains about as such.
    fn multiple(&mut self, number: &serde_json::Number, value: f64, factor: f64, at: At<'_>) {
        let whole = !number.is_f64();
        let factor = if whole { factor.trunc() } else { factor };
        if factor <= 0.0 {
            let (shown, path) = (go_float(factor), at.path());
            let detail = format!("factor MultipleOf declared for {path} must be positive: {shown}");
            self.errors.push(FieldError {
                path,
                kind: ErrorKind::Invalid,
                bad_value: BadValue::Raw(shown),
                detail,
            });
            return;
        }
        let times = if factor < 1.0 {
            1.0 / factor * value
        } else {
            value / factor
        };
        if times.fract().abs() > 1e-9 * times.abs().max(1.0) {
            let shown = Value::Number(number.clone());
            self.broken(
                at,
                shown,
                &format!("should be a multiple of {}", go_float(factor)),
            );
        }
    }

    fn list(&mut self, items: &[Value], old: Option<&Value>, node: &Node, at: At<'_>) {
        let limits = &node.limits;
        let former = lists::Former::of(old, &node.list_type);
        if let Some(below) = &node.items {
            for (i, item) in items.iter().enumerate() {
                self.node(item, former.find(item), below, At::Item(&at, i));
            }
        }
        let count = items.len() as u64;
        if let Some(min) = limits.min_items.filter(|min| count < *min) {
            self.broken(at, count, &format!("should have at least {min} items"));
        }
        if let Some(max) = limits.max_items.filter(|max| count > *max) {
            self.errors
                .push(FieldError::too_many(&at.path(), items.len(), max));
        }
        if limits.unique_items {
            let mut seen = std::collections::BTreeSet::new();
            if !items.iter().all(|item| seen.insert(sorted_json(item))) {
                self.broken(at, "", "shouldn't contain duplicates");
            }
        }
    }

    fn map(&mut self, map: &Map<String, Value>, old: Option<&Value>, node: &Node, at: At<'_>) {
        let limits = &node.limits;
        let count = map.len() as u64;
        if let Some(min) = limits.min_properties.filter(|min| count < *min) {
            self.broken(at, count, &format!("should have at least {min} properties"));
            return;
        }
        if let Some(max) = limits.max_properties.filter(|max| count > *max) {
            self.errors
                .push(FieldError::too_many(&at.path(), map.len(), max));
            return;
        }
        for (name, found) in map {
            let old = if node.atomic_map {
                None
            } else {
                old.and_then(|o| o.get(name))
            };
            match (node.properties.get(name), &node.additional) {
                (Some(below), _) => self.node(found, old, below, At::Field(&at, name)),
                (None, Some(Additional::Schema(below))) => {
                    self.node(found, old, below, At::Field(&at, name));
                }
                (None, Some(Additional::Nothing)) => {
                    let at = At::Field(&at, name);
                    self.broken(at, "", "is a forbidden property");
                }
                _ => {}
            }
        }
        for name in &node.required {
            if !map.contains_key(name) {
                let missing = At::Field(&at, name).path();
                self.errors.push(FieldError::required(&missing, ""));
            }
        }
    }

    fn logic(&mut self, value: &Value, old: Option<&Value>, logic: &Logic, at: At<'_>) {
        let attempt = |node: &Node| {
            let mut inner = Self::default();
            inner.node(value, old, node, at);
            inner.errors
        };
        let best = |parts: &[Node]| {
            let results: Vec<_> = parts.iter().map(attempt).collect();
            let passed = results.iter().filter(|r| r.is_empty()).count();
            let nearest = results
                .into_iter()
                .filter(|r| !r.is_empty())
                .min_by_key(Vec::len);
            (passed, nearest.unwrap_or_default())
        };
        let name = || go_value(&Value::from(at.path()));
        let whole = |text: String| FieldError::invalid("", "", text);
        let mut passed_all = 0;
        for part in &logic.all_of {
            let errors = attempt(part);
            passed_all += usize::from(errors.is_empty());
            self.errors.extend(errors);
        }
        if passed_all < logic.all_of.len() {
            let none = if passed_all == 0 {
                ". None validated"
            } else {
                ""
            };
            self.errors.push(whole(format!(
                "{} must validate all the schemas (allOf){none}",
                name()
            )));
        }
        if !logic.any_of.is_empty() {
            let (passed, nearest) = best(&logic.any_of);
            if passed == 0 {
                let text = format!("{} must validate at least one schema (anyOf)", name());
                self.errors.push(whole(text));
                self.errors.extend(nearest);
            }
        }
        if !logic.one_of.is_empty() {
            let (passed, nearest) = best(&logic.one_of);
            if passed != 1 {
                let found = if passed == 0 {
                    "Found none valid".to_owned()
                } else {
                    format!("Found {passed} valid alternatives")
                };
                let text = format!(
                    "{} must validate one and only one schema (oneOf). {found}",
                    name()
                );
                self.errors.push(whole(text));
                if passed == 0 {
                    self.errors.extend(nearest);
                }
            }
        }
        if let Some(part) = &logic.not
            && attempt(part).is_empty()
        {
            self.errors.push(whole(format!(
                "{} must not validate the schema (not)",
                name()
            )));
        }
    }
}

/// The name of a value's JSON type as messages use it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Equality that does not tell 1 from 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}
