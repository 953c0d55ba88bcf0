//! Who set a field, recorded by the server where the embedding program asks for it.
//!
//! A field may name something that only some may read: a Secret. Whoever sets it, or what it is used for, is recorded
//! in an annotation that only the server writes; a change of anything else leaves the record as it is, so that nobody
//! answers for what another has set. Whoever changes the record itself, to whatever value, or takes it away, answers
//! for the field from then on.

use serde_json::Value;

use super::writer;
use crate::access::User;

/// A field whose setter is recorded.
#[derive(Debug, Clone)]
pub struct Setters {
    /// The annotation.
    pub annotation: &'static str,
    /// Group and plural of the resource.
    pub resource: (String, String),
    /// The field, as a JSON pointer: without a text there, nothing is recorded.
    pub field: &'static str,
    /// What it is used for, as JSON pointers: a change of these sets it anew.
    pub beside: &'static [&'static str],
    /// The name of the program's own user, who sets nothing.
    pub own: String,
}

impl Setters {
    /// Puts the record into an object that `user` is about to have stored, whatever stands there. With `own` it is the
    /// program that writes, who sets nothing.
    pub fn sign(&self, user: &User, own: bool, old: Option<&Value>, new: &mut Value) {
        let kept = old.filter(|old| own || self.same(old, new));
        let record = match kept {
            Some(old) => self.record(old).cloned(),
            None if own => None,
            None => Some(writer::record_of(user)),
        };
        let record = record.filter(|_| self.is_set(new));
        writer::write(new, self.annotation, record);
    }

    /// Who set the field of an object, as far as it was recorded.
    #[must_use]
    pub fn setter(&self, object: &Value) -> Option<User> {
        writer::user_of(self.record(object)?)
    }

    fn is_set(&self, object: &Value) -> bool {
        let field = object.pointer(self.field).and_then(Value::as_str);
        field.is_some_and(|text| !text.is_empty())
    }

    fn record<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let annotations = object.get("metadata")?.get("annotations")?;
        annotations.get(self.annotation)
    }

    /// Whether the field, what it is used for and the record are the same in both.
    fn same(&self, old: &Value, new: &Value) -> bool {
        let mut fields = std::iter::once(&self.field).chain(self.beside);
        fields.all(|field| old.pointer(field) == new.pointer(field))
            && self.record(old) == self.record(new)
    }
}
