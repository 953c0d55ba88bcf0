//! CEL rules of a schema (`x-kubernetes-validations`) as data; `cel` checks and evaluates them.

use std::sync::{Arc, OnceLock};

use expr::{ExprError, Rule as Program};

/// One rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rule {
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
    pub(super) compiled: Arc<OnceLock<Compiled>>,
}

/// A rule's compiled parts.
#[derive(Debug, Clone)]
pub(crate) struct Compiled {
    pub(super) rule: Result<Program, ExprError>,
    pub(super) message: Option<Program>,
    /// Whether it compares with the former value.
    pub(crate) transition: bool,
}

impl Rule {
    pub(crate) fn new(
        rule: String,
        [message, message_expression]: [Option<String>; 2],
        reason: Option<String>,
        field_path: Option<String>,
        optional_old_self: bool,
    ) -> Self {
        let compiled = Arc::default();
        Self {
            rule,
            message,
            message_expression,
            reason,
            field_path,
            optional_old_self,
            compiled,
        }
    }
}
