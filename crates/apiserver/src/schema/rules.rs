//! CEL rules of a schema (`x-kubernetes-validations`) as data; `cel` checks and evaluates them.

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression; true means valid. `self` is the value, `oldSelf` its former value.
    pub rule: String,
    /// The text when it fails.
    pub message: Option<String>,
    /// An expression for the text when it fails.
    pub message_expression: Option<String>,
    /// The cause's reason, `FieldValueInvalid` if absent.
    pub reason: Option<String>,
    /// Where the cause points, below the value: `.min`.
    pub field_path: Option<String>,
    /// Whether a rule that names `oldSelf` also holds on creation.
    pub optional_old_self: bool,
}
