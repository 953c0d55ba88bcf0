//! The arena of one document: nodes as byte ranges of the document's text.
//!
//! All offsets are relative to the beginning of the document, so that a tree stays valid when an earlier document
//! of the same stream changes its length. The tree holds no text of its own where the source already says it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

/// A node's number in its tree.
pub(crate) type Id = u32;

/// "There is none": no parent, no marker, no root.
pub(crate) const NONE: u32 = u32::MAX;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A scalar of any style.
    Scalar,
    /// A mapping, block or flow.
    Mapping,
    /// A sequence, block or flow.
    Sequence,
    /// A reference to an anchored node.
    Alias,
}

/// How a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes (also an empty one).
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
    /// A collection by indentation.
    Block,
    /// A collection in brackets, or a single `key: value` pair inside them.
    Flow,
    /// `*name`
    Alias,
}

/// A scalar's content: a part of the source, or text of its own where escapes or folding changed it.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Span(u32, u32),
    Owned(Box<str>),
}

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct NodeData {
    pub(crate) kind: NodeKind,
    pub(crate) style: Style,
    /// Where the node begins, tag and anchor included.
    pub(crate) start: u32,
    /// Where the node begins, tag and anchor excluded.
    pub(crate) content: u32,
    /// Where the node ends (exclusive), without what follows its last line's text.
    pub(crate) end: u32,
    /// Line of `start`, from 0, relative to the document.
    pub(crate) line: u32,
    /// Column of `content` in bytes, from 0.
    pub(crate) col: u32,
    pub(crate) parent: Id,
    /// The `-` of a block item, the `?` of an explicit key, the `:` of a value; else [`NONE`].
    pub(crate) mark: u32,
    /// The anchor's name; empty when there is none.
    pub(crate) anchor: Range<u32>,
    /// The tag as written in the document, resolved to its short form.
    pub(crate) tag: Option<Box<str>>,
    pub(crate) value: Content,
    /// Children in the tree's `children`: items, or keys and values in turn. For an alias, the target's id in
    /// `children.start`, or [`NONE`] when it lies in an earlier document.
    pub(crate) children: Range<u32>,
}

/// A comment: from its `#` to the end of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommentData {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether nothing but blanks stands before it on its line.
    pub(crate) own_line: bool,
}

/// One parsed document.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<NodeData>,
    pub(crate) children: Vec<Id>,
    /// In the order of the text.
    pub(crate) comments: Vec<CommentData>,
    pub(crate) root: Id,
    /// Where the content of the document begins: after byte order mark, directives and `---`.
    pub(crate) head: u32,
    /// Where an explicit `...` stands, else the end of the document's text.
    pub(crate) tail: u32,
    /// Whether the document begins with `---`.
    pub(crate) explicit: bool,
    /// Whether a NEL, LS or PS ends one of the lines: such a text is read, not edited.
    pub(crate) old_breaks: bool,
    /// Whether any node is an alias.
    pub(crate) aliases: bool,
    /// The entries of large mappings by their keys, made when the first one is asked for (`keys`).
    pub(crate) keys: OnceLock<BTreeMap<Id, Vec<u32>>>,
    /// Where line breaks stand in the document's text, looked for when the first line is (`edit::geometry`).
    pub(crate) breaks: OnceLock<Vec<u32>>,
    /// Whether the whole document is JSON, decided when the first change of it asks (`edit::surroundings`).
    pub(crate) json: OnceLock<bool>,
    /// How far it indents mappings and sequences, looked at when something is written like it (`write`).
    pub(crate) habits: OnceLock<[Option<usize>; 2]>,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            children: Vec::new(),
            comments: Vec::new(),
            root: NONE,
            head: 0,
            tail: 0,
            explicit: false,
            old_breaks: false,
            aliases: false,
            keys: OnceLock::new(),
            breaks: OnceLock::new(),
            json: OnceLock::new(),
            habits: OnceLock::new(),
        }
    }

    pub(crate) fn node(&self, id: Id) -> &NodeData {
        &self.nodes[id as usize]
    }

    /// The children of a collection; nothing for scalars and aliases.
    pub(crate) fn children(&self, id: Id) -> &[Id] {
        let node = self.node(id);
        match node.kind {
            NodeKind::Mapping | NodeKind::Sequence => {
                &self.children[node.children.start as usize..node.children.end as usize]
            }
            NodeKind::Scalar | NodeKind::Alias => &[],
        }
    }

    /// The place of a node among its siblings: they are numbered in the order of the text.
    pub(crate) fn place(&self, id: Id) -> Option<usize> {
        let siblings = self.children(self.node(id).parent);
        let known = siblings.binary_search(&id).ok();
        known.or_else(|| siblings.iter().position(|sibling| *sibling == id))
    }

    /// The comments that begin inside a range.
    pub(crate) fn comments_in(&self, range: Range<u32>) -> &[CommentData] {
        let from = self.comments.partition_point(|c| c.start < range.start);
        let to = self.comments.partition_point(|c| c.start < range.end);
        self.comments.get(from..to).unwrap_or_default()
    }
}
