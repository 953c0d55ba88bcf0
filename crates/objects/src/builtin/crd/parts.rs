//! Rules of the parts of a CRD's version: scale paths, columns, selectable fields.

use serde_json::Value;

use super::text;
use crate::schema::{FieldError, Structural, Type};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "date",
    "date-time",
    "password",
];

fn simple_path(path: &str, at: &str, errors: &mut Vec<FieldError>) -> bool {
    if !path.starts_with('.') {
        let detail = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(at, path, detail));
        return false;
    }
    true
}

pub(super) fn scale(version: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|s| s.is_object())
    else {
        return;
    };
    let rules: [(&str, bool, &[&str], &str); 3] = [
        (
            "specReplicasPath",
            true,
            &[".spec."],
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            true,
            &[".status."],
            "should be a json path under .status",
        ),
        (
            "labelSelectorPath",
            false,
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
        ),
    ];
    for (field, needed, prefixes, detail) in rules {
        let at = format!("{at}.scale.{field}");
        let path = text(scale, field);
        if path.is_empty() {
            if needed {
                errors.push(FieldError::required(&at, ""));
            }
        } else if simple_path(&path, &at, errors) && !prefixes.iter().any(|p| path.starts_with(p)) {
            errors.push(FieldError::invalid(&at, path.as_str(), detail));
        }
    }
}

pub(super) fn columns(version: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let list = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array);
    for (i, column) in list.into_iter().flatten().enumerate() {
        let at = format!("{at}[{i}]");
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(&format!("{at}.name"), ""));
        }
        let kind = text(column, "type");
        if kind.is_empty() {
            let detail = format!("must be one of {}", COLUMN_TYPES.join(","));
            errors.push(FieldError::required(&format!("{at}.type"), detail));
        } else if !COLUMN_TYPES.contains(&kind.as_str()) {
            let detail = format!("must be one of {}", COLUMN_TYPES.join(","));
            errors.push(FieldError::invalid(&format!("{at}.type"), kind, detail));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format.as_str()) {
            let mut all = COLUMN_FORMATS;
            all.sort_unstable();
            let detail = format!("must be one of {}", all.join(","));
            errors.push(FieldError::invalid(&format!("{at}.format"), format, detail));
        }
        let path = text(column, "jsonPath");
        let at = format!("{at}.JSONPath");
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            simple_path(&path, &at, errors);
        }
    }
}

pub(super) fn selectable(version: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(list) = version.get("selectableFields").and_then(Value::as_array) else {
        return;
    };
    if list.len() > 8 {
        errors.push(FieldError::too_many(at, list.len(), 8));
    }
    let schema = version
        .pointer("/schema/openAPIV3Schema")
        .and_then(|s| Structural::trusted(s).ok());
    let mut seen: Vec<String> = Vec::new();
    for (i, field) in list.iter().enumerate() {
        let path = text(field, "jsonPath");
        let at = format!("{at}[{i}].jsonPath");
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if !path.starts_with('.') {
            let detail = "is an invalid path: must be a simple json path starting with .";
            errors.push(FieldError::invalid(&at, path.as_str(), detail));
        } else if let Some(problem) = schema.as_ref().and_then(|s| selectable_problem(s, &path)) {
            errors.push(FieldError::invalid(&at, path.as_str(), problem));
        } else if seen.contains(&path) {
            errors.push(FieldError::duplicate(&at, path.as_str()));
        }
        seen.push(path);
    }
}

fn selectable_problem(schema: &Structural, path: &str) -> Option<&'static str> {
    let mut node = schema.root();
    let steps = path.trim_start_matches('.').split('.');
    for (depth, name) in steps.enumerate() {
        if depth == 0 && name == "metadata" {
            return Some("must not point to fields in metadata");
        }
        match node.properties.get(name) {
            Some(below) => node = below,
            None => return Some("is an invalid path: does not refer to a valid field"),
        }
    }
    match node.types.as_slice() {
        [Type::String | Type::Boolean | Type::Integer] => None,
        _ => Some(
            "must point to a field of type string, boolean or integer. Enum string fields and strings \
                   with formats are allowed.",
        ),
    }
}
