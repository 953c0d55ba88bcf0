//! Rules of the parts of a CRD's version: scale paths, columns, selectable fields.

use std::collections::BTreeSet;

use serde_json::Value;

use super::text;
use crate::schema::{FieldError, route};

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

/// Fields that a version's objects can be selected by; `schema` is what they are looked for in, if there is one at this level.
pub(super) fn selectable(
    version: &Value,
    schema: Option<&Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let list = version.get("selectableFields").and_then(Value::as_array);
    let Some(list) = list.filter(|list| !list.is_empty()) else {
        return;
    };
    let Some(schema) = schema else {
        let why = match at.starts_with("spec.selectableFields") {
            true => "may only be set when validations.schema is included",
            false => "may only be set when `version.schema.openAPIV3Schema` is not included",
        };
        errors.push(FieldError::invalid(at, "", why));
        return;
    };
    let mut seen = BTreeSet::new();
    for (i, field) in list.iter().enumerate() {
        let path = text(field, "jsonPath");
        let at = format!("{at}[{i}].jsonPath");
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let mut told = |why: &str| errors.push(FieldError::invalid(&at, path.as_str(), why));
        let (names, found) = match route::find(&path, schema, false) {
            Ok(found) => found,
            Err(why) => {
                told(&format!("is an invalid path: {why}"));
                continue;
            }
        };
        if names.first().is_some_and(|name| name == "metadata") {
            told("must not point to fields in metadata");
        }
        let kind = found.map(|schema| text(schema, "type")).unwrap_or_default();
        if !matches!(kind.as_str(), "string" | "boolean" | "integer") {
            told(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            );
        }
        if !seen.insert(names) {
            errors.push(FieldError::duplicate(&at, path.as_str()));
        }
    }
    if seen.len() > 8 {
        errors.push(FieldError::too_many(at, seen.len(), 8));
    }
}
