//! What the paths of a scale subresource find in an object, and what they may not find there.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::meta;
use crate::apply;
use crate::printed::{go_type, go_value};
use crate::resource::Scale;
use crate::schema::{FieldError, Structural, object_meta_json};

impl Scale {
    /// Why an applied Scale is none, in the words of structured-merge-diff.
    #[must_use]
    pub fn unfit(scale: &Value) -> Option<String> {
        static SCALE: LazyLock<Option<Structural>> = LazyLock::new(|| {
            let count = json!({"type": "integer"});
            let schema = json!({"type": "object", "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": object_meta_json(),
                "spec": {"type": "object", "properties": {"replicas": count}},
                "status": {"type": "object", "properties": {"replicas": count, "selector": {"type": "string"}}},
            }});
            Structural::trusted(&schema).ok()
        });
        let why = apply::unfit(scale, SCALE.as_ref()?)?;
        let (namespace, name) = (meta(scale, "namespace"), meta(scale, "name"));
        Some(format!(
            "failed to create typed patch object ({namespace}/{name}; autoscaling/v1, Kind=Scale): {why}"
        ))
    }
}

/// The value at a path; an error in Go's words where the path leads through something that is no map.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    for key in path.trim_start_matches('.').split('.') {
        let Some(map) = value.as_object() else {
            if value.is_null() {
                return Ok(None);
            }
            return Err(misfit(path, value, "map[string]interface{}"));
        };
        match map.get(key) {
            Some(below) => value = below,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn misfit(path: &str, value: &Value, wanted: &str) -> String {
    format!(
        ".{} accessor error: {} is of the type {}, expected {wanted}",
        path.trim_start_matches('.'),
        go_value(value),
        go_type(value)
    )
}

/// The whole number at a path; an error where something else is there.
fn count(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| misfit(path, value, "int64")),
    }
}

/// The text at a path; an error where something else is there.
fn text_at(object: &Value, path: &str) -> Result<Option<String>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(value) => Err(misfit(path, value, "string")),
    }
}

impl Scale {
    /// The wanted count of an object, if it has one.
    ///
    /// # Errors
    /// Something else is there.
    pub fn wanted(&self, object: &Value) -> Result<Option<i64>, String> {
        count(object, &self.spec_replicas)
    }

    /// The actual count of an object, if it has one.
    ///
    /// # Errors
    /// Something else is there.
    pub fn there(&self, object: &Value) -> Result<Option<i64>, String> {
        count(object, &self.status_replicas)
    }

    /// The selector of an object, if it has one.
    ///
    /// # Errors
    /// Something else is there.
    pub fn selector(&self, object: &Value) -> Result<Option<String>, String> {
        let path = self.selector.as_deref();
        path.map_or(Ok(None), |path| text_at(object, path))
    }

    /// What is wrong with what the paths find: `spec` asks for the wanted count, too.
    #[must_use]
    pub fn check(&self, object: &Value, spec: bool) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let wanted = spec.then_some(&self.spec_replicas);
        for path in wanted.into_iter().chain([&self.status_replicas]) {
            let why = match count(object, path) {
                Err(why) => (0, why),
                Ok(Some(number)) if number < 0 => {
                    (number, "should be a non-negative integer".to_owned())
                }
                Ok(Some(number)) if number > i64::from(i32::MAX) => (
                    number,
                    format!("should be less than or equal to {}", i32::MAX),
                ),
                Ok(_) => continue,
            };
            errors.push(FieldError::invalid(path, why.0, why.1));
        }
        if let Some(path) = &self.selector
            && let Err(why) = text_at(object, path)
        {
            errors.push(FieldError::invalid(path, "", why));
        }
        errors
    }
}
