//! One change of a document's tree, and what it brings in.

use super::comment::CommentPlace;
use super::fragment::Fragment;
use crate::error::Error;
use crate::quote::Context;
use crate::tree::{Id, Style};
use crate::value::Value;
use crate::write::{At, Writer, value_is_block};

/// One change of the tree.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Another node in the place of this one; [`NONE`] for a document without any.
    Replace { node: Id, new: New },
    /// A new entry or item before the one at `index` of a collection that has some.
    Insert {
        parent: Id,
        index: usize,
        key: Option<String>,
        new: New,
    },
    /// An entry or item less.
    Remove { parent: Id, index: usize },
    /// The items of a sequence in another order, by their old positions.
    Order { parent: Id, order: Vec<usize> },
    /// Another key.
    Rename {
        parent: Id,
        index: usize,
        to: String,
    },
    /// Another comment at the entry of a node.
    Comment {
        node: Id,
        place: CommentPlace,
        text: String,
    },
}

/// What a change brings in.
#[derive(Debug, Clone)]
pub(super) enum New {
    Value(Value),
    Copy(Fragment),
}

impl New {
    /// Whether it takes lines of its own in block style.
    pub(super) fn is_block(&self) -> bool {
        match self {
            Self::Value(value) => value_is_block(value),
            Self::Copy(fragment) => fragment.is_block(),
        }
    }

    /// Whether it stands on one line behind its marker.
    pub(super) fn is_inline(&self, like: Style) -> bool {
        match self {
            Self::Value(Value::Str(text)) => {
                !(text.contains('\n') && matches!(like, Style::Literal | Style::Folded))
            }
            Self::Value(value) => !value_is_block(value),
            Self::Copy(fragment) => fragment.is_inline(),
        }
    }

    pub(super) fn after(&self, writer: &mut Writer<'_>, like: Style, at: At<'_>) {
        match self {
            Self::Value(value) => writer.after(value, like, at),
            Self::Copy(fragment) => fragment.after(writer, at),
        }
    }

    pub(super) fn flow(
        &self,
        writer: &mut Writer<'_>,
        like: Style,
        context: Context,
    ) -> Result<(), Error> {
        match self {
            Self::Value(value) => writer.flow(value, like, context),
            Self::Copy(fragment) => fragment.flow(writer, context)?,
        }
        Ok(())
    }
}
