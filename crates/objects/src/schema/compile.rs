//! From the text of a schema to its compiled form.

use serde_json::Value;

use super::cel::Stack;
use super::error::FieldError;
use super::node::Structural;
use super::{parse, structural};

impl Structural {
    /// Compiles the schema text of a CRD version and checks the structural rules.
    ///
    /// # Errors
    /// All rules that the schema breaks, with paths below `base` (`spec.versions[0].schema.openAPIV3Schema`).
    pub(crate) fn from_json_at(
        schema: &Value,
        base: &str,
        stack: Stack,
    ) -> Result<Self, Vec<FieldError>> {
        let (root, read) = parse::whole(schema, base)?;
        let errors = structural::errors(schema, &root, base, read, stack);
        if errors.is_empty() {
            Ok(Self::from_node(root))
        } else {
            Err(errors)
        }
    }

    /// Compiles a schema text that is known to be sound, without the structural rules.
    ///
    /// For built-in kinds, whose schema is ours, and for CRDs stored before a rule was added.
    ///
    /// # Errors
    /// Only what cannot be read at all (wrong JSON types, nesting, patterns).
    pub fn trusted(schema: &Value) -> Result<Self, Vec<FieldError>> {
        Ok(Self::from_node(parse::node(schema, "")?))
    }
}
