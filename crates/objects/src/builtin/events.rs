//! Rules of events: old ones need little, new ones (with `eventTime`) name who reports what.
//!
//! The same object is served in two groups with other field names; both are read here.

use serde_json::Value;

use crate::names;
use crate::schema::FieldError;

/// The first text of those fields.
fn text<'a>(object: &'a Value, pointers: &[&str]) -> &'a str {
    let found = pointers
        .iter()
        .filter_map(|p| object.pointer(p))
        .filter_map(Value::as_str);
    found
        .into_iter()
        .find(|t| !t.is_empty())
        .unwrap_or_default()
}

/// Checks a new event of the core group (`group` empty) or of events.k8s.io.
pub(super) fn check(object: &Value, group: &str, errors: &mut Vec<FieldError>) {
    let namespace = text(object, &["/metadata/namespace"]);
    let about = text(
        object,
        &["/involvedObject/namespace", "/regarding/namespace"],
    );
    let new_style = !text(object, &["/eventTime"]).is_empty();
    let matches = match (about.is_empty(), new_style) {
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (true, false) => matches!(namespace, "" | "default"),
        (false, true) => true,
        (false, false) => namespace == about,
    };
    if !matches {
        let at = "involvedObject.namespace";
        errors.push(FieldError::invalid(
            at,
            about,
            "does not match event.namespace",
        ));
    }
    if new_style {
        reporter(object, group.is_empty(), errors);
    }
    if !group.is_empty() {
        new_only(object, new_style, errors);
    }
}

fn reporter(object: &Value, core: bool, errors: &mut Vec<FieldError>) {
    let field = if core {
        "reportingComponent"
    } else {
        "reportingController"
    };
    let controller = text(object, &["/reportingComponent", "/reportingController"]);
    if controller.is_empty() {
        errors.push(FieldError::required(field, ""));
    }
    for problem in names::qualified_name(controller) {
        errors.push(FieldError::invalid(field, controller, problem));
    }
    for field in ["reportingInstance", "action", "reason"] {
        let value = text(object, &[&format!("/{field}")]);
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        too_long(field, value, 128, errors);
    }
    too_long(
        "message",
        text(object, &["/message", "/note"]),
        1024,
        errors,
    );
}

fn too_long(field: &str, value: &str, limit: usize, errors: &mut Vec<FieldError>) {
    if value.len() > limit {
        errors.push(FieldError::invalid(
            field,
            "",
            format!("can have at most {limit} characters"),
        ));
    }
}

fn new_only(object: &Value, timed: bool, errors: &mut Vec<FieldError>) {
    if !timed {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(object, &["/type"]);
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid(
            "type",
            "",
            format!("has invalid value: {kind}"),
        ));
    }
    let set = |field: &str| match object.get(field) {
        Some(Value::Object(map)) => map.values().any(|v| v != ""),
        Some(Value::Number(count)) => count.as_i64() != Some(0),
        Some(Value::String(text)) => !text.is_empty(),
        _ => false,
    };
    for (old, field) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        if set(old) {
            errors.push(FieldError::invalid(field, "", "needs to be unset"));
        }
    }
}
