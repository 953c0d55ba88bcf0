//! CEL rules of a schema (`x-kubernetes-validations`) as data; `cel` checks and evaluates them.

use std::sync::{Arc, OnceLock};

use super::cel::{self, Compiled};
use super::node::Node;

/// One rule.
#[derive(Debug, Clone, Default)]
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
    compiled: Arc<OnceLock<Compiled>>,
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

    /// The compiled form, made at first use; call it on a thread with a large stack.
    pub(crate) fn compiled(&self, node: &Node, object: bool) -> &Compiled {
        self.compiled
            .get_or_init(|| cel::compile(self, node, object))
    }
}
