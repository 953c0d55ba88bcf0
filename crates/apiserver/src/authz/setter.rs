//! Who set a field, recorded by the server where the embedding program asks for it.
//!
//! A field may name something that only some may read: a Secret. Whoever sets it, or what it is used for, is recorded
//! in an annotation that only the server writes; a change of anything else leaves the record as it is, so that nobody
//! answers for what another has set. Whoever changes the record itself, to whatever value, or takes it away, answers
//! for the field from then on.

use serde_json::{Value, json};

use super::writer;
use crate::gateway::User;
use crate::verbs::{Core, Target, Whose};

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

impl Core {
    /// Records from now on who sets this field. Only the first call counts.
    pub fn record_setters(&self, setters: Setters) {
        drop(self.setters.set(setters));
    }

    /// Puts the record into an object that is about to be stored.
    pub(crate) fn sign_field(
        &self,
        target: &Target,
        whose: &Whose,
        old: Option<&Value>,
        new: &mut Value,
    ) {
        let Some(setters) = self.setters.get() else {
            return;
        };
        let (group, plural) = &setters.resource;
        let listed = (group, plural) == (&target.resource.group, &target.resource.plural);
        if !listed || !target.subresource.is_empty() {
            return;
        }
        let own = whose.user.name == setters.own && whose.user.is_master();
        let kept = old.filter(|old| own || setters.same(old, new));
        let record = match kept {
            Some(old) => setters.record(old).cloned(),
            None if own => None,
            None => {
                let User { name, groups, .. } = &whose.user;
                let record = json!({ "username": name, "groups": groups });
                Some(Value::String(record.to_string()))
            }
        };
        let record = record.filter(|_| setters.is_set(new));
        writer::write(new, setters.annotation, record);
    }

    /// Who set the field of an object, as far as it was recorded.
    #[must_use]
    pub fn setter_of(&self, object: &Value) -> Option<User> {
        let record = self.setters.get()?.record(object)?.as_str()?;
        let record: Value = serde_json::from_str(record).ok()?;
        let groups = record["groups"].as_array().into_iter().flatten();
        let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
        Some(User::new(record["username"].as_str()?, &groups))
    }
}
