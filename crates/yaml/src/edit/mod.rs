//! Edits as values: `Document + [Edit] → Document`.
//!
//! An edit names a place and what shall stand there. It is lowered to one change of one collection or node, written
//! as patches of byte ranges, parsed again, and compared with what was asked for before anybody sees it. Bytes
//! outside the patches are copied, so they cannot change.

mod aliases;
mod attached;
mod batch;
mod change;
mod collections;
mod comment;
mod diff;
mod documents;
mod entries;
mod flow;
mod fragment;
pub(crate) mod geometry;
mod lower;
mod lowered;
mod order;
mod replace;
mod siblings;
mod splice;
mod surroundings;
mod verify;
mod walk;

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::parse::{self, Doc};
use crate::path::Path;
use crate::stream::Stream;
use crate::tree::{NONE, NodeKind};
use crate::value::Value;

pub use attached::{Attached, Attachments};
pub use comment::{Comment, CommentPlace, Comments};
pub use fragment::Fragment;
use geometry::View;

/// One wanted change of a document.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Edit {
    /// Makes the node at a path this value. Missing mappings on the way are created; `null` counts as missing.
    ///
    /// A collection that becomes another one of its kind keeps the entries that stay, with their comments.
    Set {
        /// Where.
        path: Path,
        /// What.
        value: Value,
    },
    /// Adds an item at the end of a sequence, which is created if there is none.
    Append {
        /// The sequence.
        path: Path,
        /// The item.
        value: Value,
    },
    /// Adds an item before the one at `index`, or at the end.
    Insert {
        /// The sequence.
        path: Path,
        /// The position of the new item.
        index: usize,
        /// The item.
        value: Value,
    },
    /// Adds an entry to a mapping before the one at `index`, or at the end.
    InsertKey {
        /// The mapping, created if there is none.
        path: Path,
        /// The position of the new entry; beyond the end means at the end.
        index: usize,
        /// The key, which must not be there.
        key: String,
        /// The value.
        value: Value,
    },
    /// Removes an entry or an item, with the comments directly above it. Removing what is not there is no change.
    Remove {
        /// The entry or item.
        path: Path,
    },
    /// Puts the items of a sequence into another order, each with its comments.
    Order {
        /// The sequence.
        path: Path,
        /// The old positions of all items, in the order in which they shall stand.
        order: Vec<usize>,
    },
    /// Gives an entry another key.
    Rename {
        /// The entry.
        path: Path,
        /// The new key, which must not be there.
        to: String,
    },
    /// Makes the node at a path the one of a YAML text of its own, with the comments and the style that it has there.
    ReplaceText {
        /// Where.
        path: Path,
        /// A text with one document.
        text: String,
    },
    /// Makes the node at a path a copy of a node, with the comments inside it and its style.
    ///
    /// The comments above and beside the entry stay as they are.
    SetFragment {
        /// Where.
        path: Path,
        /// What.
        fragment: Fragment,
    },
    /// Adds a copy of a node as an item of a sequence, with its comments and its style.
    InsertFragment {
        /// The sequence.
        path: Path,
        /// The position of the new item; beyond the end means at the end.
        index: usize,
        /// The item.
        fragment: Fragment,
    },
    /// Adds a copy of a node as an entry of a mapping, with its comments and its style.
    InsertKeyFragment {
        /// The mapping.
        path: Path,
        /// The position of the new entry; beyond the end means at the end.
        index: usize,
        /// The key, which must not be there.
        key: String,
        /// The value.
        fragment: Fragment,
    },
    /// Sets, changes or (with an empty text) removes a comment of an entry or item.
    SetComment {
        /// The entry or item.
        path: Path,
        /// Which comment.
        place: CommentPlace,
        /// The lines; a `#` is added where it is missing.
        text: String,
    },
}

impl Edit {
    /// A [`Edit::Set`].
    pub fn set(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::Set {
            path: path.into(),
            value: value.into(),
        }
    }

    /// A [`Edit::Remove`].
    pub fn remove(path: impl Into<Path>) -> Self {
        Self::Remove { path: path.into() }
    }

    /// A [`Edit::Append`].
    pub fn append(path: impl Into<Path>, value: impl Into<Value>) -> Self {
        Self::Append {
            path: path.into(),
            value: value.into(),
        }
    }

    /// The value that the edit brings in, unless it is a text or a lifted node.
    fn value(&self) -> Option<&Value> {
        match self {
            Self::Set { value, .. }
            | Self::Append { value, .. }
            | Self::Insert { value, .. }
            | Self::InsertKey { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The path that the edit names.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Set { path, .. }
            | Self::Append { path, .. }
            | Self::Insert { path, .. }
            | Self::InsertKey { path, .. }
            | Self::Remove { path }
            | Self::Order { path, .. }
            | Self::Rename { path, .. }
            | Self::ReplaceText { path, .. }
            | Self::SetFragment { path, .. }
            | Self::InsertFragment { path, .. }
            | Self::InsertKeyFragment { path, .. }
            | Self::SetComment { path, .. } => path,
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        match self {
            Self::Set { .. } | Self::ReplaceText { .. } | Self::SetFragment { .. } => {
                write!(f, "set {path}")
            }
            Self::Append { .. } => write!(f, "append to {path}"),
            Self::Insert { index, .. } | Self::InsertFragment { index, .. } => {
                write!(f, "insert into {path} at {index}")
            }
            Self::InsertKey { key, .. } | Self::InsertKeyFragment { key, .. } => {
                write!(f, "add {}", path.join(key.as_str()))
            }
            Self::Remove { .. } => write!(f, "remove {path}"),
            Self::Order { .. } => write!(f, "order {path}"),
            Self::Rename { to, .. } => write!(f, "rename {path} to {to}"),
            Self::SetComment { place, .. } => write!(f, "set the {place} comment of {path}"),
        }
    }
}

/// A replacement of a byte range of a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) text: String,
}

impl Patch {
    pub(crate) fn new(range: std::ops::Range<usize>, text: impl Into<String>) -> Self {
        Self {
            from: range.start,
            to: range.end,
            text: text.into(),
        }
    }
}

impl Stream {
    /// Applies edits to one document, in order. All of them, or none.
    ///
    /// An edit that changes nothing leaves every byte. Each result is parsed again and compared with the wanted
    /// value before it is returned.
    ///
    /// # Errors
    /// A path leads nowhere ([`ErrorKind::Path`]), a key on it stands twice ([`ErrorKind::DuplicateKey`]), or the
    /// change cannot be written so that it reads back ([`ErrorKind::Unwritable`]).
    pub fn apply(&self, document: usize, edits: &[Edit]) -> Result<Self, Error> {
        batch::apply(self, document, edits)
    }

    /// A text of one document that holds a value.
    ///
    /// # Errors
    /// The value cannot be written, or exceeds a limit.
    pub fn from_value(value: &Value, limits: &crate::Limits) -> Result<Self, Error> {
        if value.deeper_than(limits.effective_depth()) {
            return Err(Error::at(
                ErrorKind::Limit,
                "",
                0,
                "the value is nested too deeply",
            ));
        }
        let stream = Self::parse(crate::render(value), limits)?;
        match stream.document(0) {
            Some(document) if document.root().equals(value) => Ok(stream),
            _ => Err(Error::at(
                ErrorKind::Unwritable,
                stream.text(),
                0,
                "the value cannot be written",
            )),
        }
    }

    pub(crate) fn view(&self, doc: usize) -> View<'_> {
        View {
            text: self.doc_text(doc),
            tree: self.tree(doc),
            blocks: true,
        }
    }

    /// The stream with another text for one document, which must still be one document.
    pub(crate) fn with_doc(&self, doc: usize, text: &str) -> Result<Self, Error> {
        // Of many documents each is written in its turn: what stands in all others is looked at only where it may be meant.
        let anchors = match text.contains('*') {
            true => self.anchors_before(doc),
            false => Vec::new(),
        };
        let parsed = parse::parse(text, self.limits(), &anchors)?;
        let [new] = parsed.as_slice() else {
            return Err(Error::at(
                ErrorKind::Unwritable,
                text,
                0,
                "the result is not one document any more",
            ));
        };
        if self.docs().len() == 1 {
            return Ok(self.renewed(text.into(), parsed));
        }
        let old = &self.docs()[doc];
        let mut whole = String::with_capacity(self.text().len() + text.len() - old.range.len());
        whole.push_str(&self.text()[..old.range.start]);
        whole.push_str(text);
        whole.push_str(&self.text()[old.range.end..]);
        let lines = crate::error::line_breaks(text);
        let old_lines = crate::error::line_breaks(self.doc_text(doc));
        let docs = self
            .docs()
            .iter()
            .enumerate()
            .map(|(at, other)| match at.cmp(&doc) {
                std::cmp::Ordering::Less => other.clone(),
                std::cmp::Ordering::Equal => Doc {
                    range: old.range.start..old.range.start + text.len(),
                    first_line: old.first_line,
                    tree: Arc::clone(&new.tree),
                },
                std::cmp::Ordering::Greater => Doc {
                    range: other.range.start + text.len() - old.range.len()
                        ..other.range.end + text.len() - old.range.len(),
                    first_line: other.first_line + lines - old_lines,
                    tree: Arc::clone(&other.tree),
                },
            });
        let docs: Vec<Doc> = docs.collect();
        let far = docs[doc + 1..].iter().any(|later| {
            let mut nodes = later.tree.nodes.iter();
            later.tree.aliases
                && nodes.any(|node| node.kind == NodeKind::Alias && node.children.start == NONE)
        });
        if far {
            // A later document refers to an anchor of an earlier one, perhaps of this one.
            parse::parse(&whole, self.limits(), &[])?;
        }
        Ok(self.renewed(whole.into(), docs))
    }

    fn anchors_before(&self, doc: usize) -> Vec<&str> {
        let mut names = Vec::new();
        for index in 0..doc {
            let text = self.doc_text(index);
            let nodes = self
                .tree(index)
                .nodes
                .iter()
                .filter(|node| !node.anchor.is_empty());
            names.extend(
                nodes.map(|node| &text[node.anchor.start as usize..node.anchor.end as usize]),
            );
        }
        names
    }
}

/// The patches of an edit that can be made on the document as it is, together with others.
pub(crate) fn patches_of(stream: &Stream, doc: usize, edit: &Edit) -> Option<Vec<Patch>> {
    let mut patches = Vec::new();
    for op in lower::ops(stream, doc, edit)? {
        patches.extend(splice::written_apart(stream, doc, &op)?);
    }
    Some(patches)
}

/// Puts patches into a text. They must not overlap.
pub(crate) fn patched(text: &str, patches: &mut [Patch]) -> String {
    patches.sort_by_key(|patch| (patch.from, patch.to));
    let grown: usize = patches.iter().map(|patch| patch.text.len()).sum();
    let mut out = String::with_capacity(text.len() + grown);
    let mut from = 0;
    for patch in patches.iter() {
        out.push_str(&text[from..patch.from.max(from)]);
        out.push_str(&patch.text);
        from = patch.to.max(from);
    }
    out.push_str(&text[from..]);
    out
}
