//! Field errors with the texts and reasons of `k8s.io/apimachinery/pkg/util/validation/field`.
//!
//! They are data: the door turns them into `Status.details.causes`; nothing here prints or decides.

use std::fmt;

use serde_json::Value;

use super::render;

/// What is wrong with a field; decides the first words of the message and the cause's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ErrorKind {
    /// A referenced thing does not exist.
    NotFound,
    /// A value that must be given is missing or empty.
    Required,
    /// The same value stands twice where it may stand once.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is not one of the enumerated ones.
    NotSupported,
    /// The value may not be given here.
    Forbidden,
    /// The text or map is too long.
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
}

impl ErrorKind {
    /// The words that a message of this kind starts with.
    #[must_use]
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }

    /// The `reason` of a `StatusCause`.
    #[must_use]
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// Whether an error of this kind makes the server skip CEL rules.
    #[must_use]
    pub(crate) const fn skips_rules(self) -> bool {
        matches!(
            self,
            Self::TypeInvalid | Self::Required | Self::NotSupported | Self::TooLong | Self::TooMany
        )
    }
}

/// The offending value as the message shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BadValue {
    /// Not shown.
    Omitted,
    /// A JSON value, shown as Go's `field.Error` does.
    Json(Value),
    /// Shown literally (where the real server prints something that is no JSON).
    Raw(String),
}

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// Where: `spec.ports[0].name`; empty for the object itself (shown as `<nil>`).
    pub path: String,
    /// What kind of mistake.
    pub(crate) kind: ErrorKind,
    /// The value, if it is shown.
    pub(crate) bad_value: BadValue,
    /// The explanation after the value; may be empty.
    pub detail: String,
}

impl FieldError {
    fn make(path: &str, kind: ErrorKind, bad_value: BadValue, detail: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            kind,
            bad_value,
            detail: detail.into(),
        }
    }

    /// A missing value; `detail` may be empty.
    #[must_use]
    pub fn required(path: &str, detail: impl Into<String>) -> Self {
        Self::make(path, ErrorKind::Required, BadValue::Omitted, detail)
    }

    /// A value that breaks a rule.
    #[must_use]
    pub fn invalid(path: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::make(
            path,
            ErrorKind::Invalid,
            BadValue::Json(value.into()),
            detail,
        )
    }

    /// As [`FieldError::invalid`] with a value shown literally.
    #[must_use]
    pub(crate) fn invalid_raw(
        path: &str,
        value: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self::make(
            path,
            ErrorKind::Invalid,
            BadValue::Raw(value.into()),
            detail,
        )
    }

    /// A value of the wrong JSON type.
    #[must_use]
    pub(crate) fn type_invalid(
        path: &str,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::make(
            path,
            ErrorKind::TypeInvalid,
            BadValue::Json(value.into()),
            detail,
        )
    }

    /// A value that may not be given.
    #[must_use]
    pub fn forbidden(path: &str, detail: impl Into<String>) -> Self {
        Self::make(path, ErrorKind::Forbidden, BadValue::Omitted, detail)
    }

    /// A value that stands twice.
    #[must_use]
    pub fn duplicate(path: &str, value: impl Into<Value>) -> Self {
        Self::make(path, ErrorKind::Duplicate, BadValue::Json(value.into()), "")
    }

    /// A value outside an enumeration; `supported` in the order to be shown.
    #[must_use]
    pub fn not_supported(path: &str, value: impl Into<Value>, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| render::quote(s)).collect();
        let detail = if list.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", list.join(", "))
        };
        Self::make(
            path,
            ErrorKind::NotSupported,
            BadValue::Json(value.into()),
            detail,
        )
    }

    /// A text or map that is longer than `max` bytes.
    #[must_use]
    pub fn too_long(path: &str, max: u64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        Self::make(path, ErrorKind::TooLong, BadValue::Omitted, detail)
    }

    /// A list or map with more than `max` entries.
    #[must_use]
    pub(crate) fn too_many(path: &str, actual: usize, max: u64) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::make(
            path,
            ErrorKind::TooMany,
            BadValue::Json(actual.into()),
            detail,
        )
    }

    /// A referenced thing that does not exist.
    #[must_use]
    pub fn not_found(path: &str, value: impl Into<Value>) -> Self {
        Self::make(path, ErrorKind::NotFound, BadValue::Json(value.into()), "")
    }

    /// The `field` of a `StatusCause`.
    #[must_use]
    pub fn field(&self) -> &str {
        if self.path.is_empty() {
            "<nil>"
        } else {
            &self.path
        }
    }

    /// The `message` of a `StatusCause`: everything but the path.
    #[must_use]
    pub fn body(&self) -> String {
        let mut out = self.kind.text().to_owned();
        match &self.bad_value {
            BadValue::Omitted => {}
            BadValue::Json(value) => {
                out.push_str(": ");
                out.push_str(&render::go_value(value));
            }
            BadValue::Raw(text) => {
                out.push_str(": ");
                out.push_str(text);
            }
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field(), self.body())
    }
}

impl std::error::Error for FieldError {}

/// Joins errors as the real server's aggregate does: each text once, brackets from two on.
#[must_use]
pub(crate) fn aggregate(errors: &[FieldError]) -> String {
    let mut seen = std::collections::BTreeSet::new();
    let texts = errors.iter().map(ToString::to_string);
    let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The message of a 422: `Widget.shop.example.dev "a" is invalid: …`.
///
/// `group` is empty for the core group, which leaves out the dot.
#[must_use]
pub(crate) fn invalid_message(
    kind: &str,
    group: &str,
    name: &str,
    errors: &[FieldError],
) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!(
        "{kind}{dot}{group} {} is invalid: {}",
        render::quote(name),
        aggregate(errors)
    )
}

/// The last cause of a 422 when errors of certain kinds kept CEL rules from being checked.
#[must_use]
pub(crate) fn skipped_rules() -> FieldError {
    FieldError::invalid(
        "",
        Value::Null,
        "some validation rules were not checked because the object was invalid; correct the existing \
         errors to complete validation",
    )
}
