//! What schemas and comments tell of a value.

use yaml::Node;

use crate::schema::{Entries, ListRule, Schema};

/// What is known of a value: its fields, or how its elements pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'s> {
    /// What is known of its fields, or of its elements' fields.
    pub(super) schema: Schema<'s>,
    /// How it merges if it is a list.
    pub(super) list: ListRule<'s>,
    /// What its entries are to each other if it is a map.
    pub(super) entries: Entries,
}

impl<'s> Known<'s> {
    /// A document, or an element of a list: what it is, its identity says, and each of its fields merges for itself.
    pub(super) fn of(schema: Schema<'s>) -> Self {
        Self {
            schema,
            list: ListRule::Unstated,
            entries: Entries::Free,
        }
    }

    /// What a comment of the field says, where nothing else is known (kyaml's `$openapi` comments).
    pub(super) fn or_comment(self, node: Node<'_>) -> Self {
        if self.list != ListRule::Unstated || !matches!(self.schema, Schema::Unknown) {
            return self;
        }
        let comments = node.comments();
        let mut lines = comments.line.iter().chain(&comments.head);
        let said = lines.find_map(|comment| Schema::of_comment(comment.text));
        said.map_or(self, |(list, schema)| Self {
            schema,
            list,
            ..self
        })
    }

    pub(super) fn field(self, name: &str) -> Self {
        let (list, schema) = match self.schema.list(name) {
            (ListRule::Unstated, Schema::Unknown) => (ListRule::Unstated, self.schema.field(name)),
            stated => stated,
        };
        Self {
            schema,
            list,
            entries: self.schema.entries(name),
        }
    }
}
