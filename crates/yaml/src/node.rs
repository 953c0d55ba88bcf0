//! Reading: handles to the nodes of a document.

use std::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::path::{NodeStep, Path};
use crate::scalar::{self, Reader, Scalar};
use crate::stream::Stream;
use crate::tree::{Content, Id, NONE, NodeData, NodeKind, Style};

/// Mappings of up to so many entries are looked through for keys that stand twice, larger ones by a sorted set.
const FEW: usize = 16;

/// A node of a document. Copying is free.
///
/// Lookups look through aliases, so that `get` and `at` answer as the readers would; [`Node::kind`] does not.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) doc: usize,
    pub(crate) id: Id,
}

/// A key and its value.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The key.
    pub key: Node<'a>,
    /// The value.
    pub value: Node<'a>,
}

impl Entry<'_> {
    /// Whether this is a merge key: a plain `<<`.
    #[must_use]
    pub fn is_merge(&self) -> bool {
        self.key.is_merge_key()
    }
}

impl<'a> Node<'a> {
    pub(crate) fn data(&self) -> &'a NodeData {
        self.stream.tree(self.doc).node(self.id)
    }

    pub(crate) fn with(&self, id: Id) -> Self {
        Node { id, ..*self }
    }

    pub(crate) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        self.stream
            .error(kind, self.doc, self.data().start, message)
    }

    /// What the node is.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        self.data().kind
    }

    /// How the node is written.
    #[must_use]
    pub fn style(&self) -> Style {
        self.data().style
    }

    /// The tag that is written at the node, in short form (`!!int`, `!local`, `!`).
    #[must_use]
    pub fn tag(&self) -> Option<&'a str> {
        self.data().tag.as_deref()
    }

    /// The name of the anchor at the node.
    #[must_use]
    pub fn anchor(&self) -> Option<&'a str> {
        let anchor = &self.data().anchor;
        (!anchor.is_empty()).then(|| self.slice(anchor.start, anchor.end))
    }

    /// The name that an alias refers to.
    #[must_use]
    pub fn alias_name(&self) -> Option<&'a str> {
        let data = self.data();
        (data.kind == NodeKind::Alias).then(|| self.slice(data.content + 1, data.end))
    }

    fn slice(&self, from: u32, to: u32) -> &'a str {
        &self.stream.doc_text(self.doc)[from as usize..to as usize]
    }

    /// Where the node stands in the stream's text, tag and anchor included.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        let base = self.stream.docs()[self.doc].range.start;
        let data = self.data();
        base + data.start as usize..base + data.end as usize
    }

    /// The node's source text, tag and anchor included.
    #[must_use]
    pub fn source(&self) -> &'a str {
        let data = self.data();
        self.slice(data.start, data.end)
    }

    /// The line that the node begins on, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.stream.docs()[self.doc].first_line + self.data().line as usize + 1
    }

    /// The column that the node begins at, in characters from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        let before = &self.stream.text()[..self.span().start];
        let line = &before[before.rfind(['\n', '\r']).map_or(0, |at| at + 1)..];
        line.trim_start_matches('\u{feff}').chars().count() + 1
    }

    /// The content of a scalar after escapes and folding; `None` for other nodes.
    #[must_use]
    pub fn scalar(&self) -> Option<&'a str> {
        let data = self.data();
        (data.kind == NodeKind::Scalar).then(|| match &data.value {
            Content::Span(from, to) => self.slice(*from, *to),
            Content::Owned(text) => text,
        })
    }

    /// What the scalar means to a reader; an alias means what it refers to.
    ///
    /// # Errors
    /// The node is no scalar, or its tag does not fit its text.
    pub fn resolve(&self, reader: Reader) -> Result<Scalar<'a>, Error> {
        let node = self.target()?;
        let Some(text) = node.scalar() else {
            return Err(self.error(ErrorKind::Value, "expected a scalar"));
        };
        scalar::resolve(reader, node.style(), node.tag(), text)
            .map_err(|message| node.error(ErrorKind::Value, message))
    }

    /// The short tag of the node as a reader sees it: written, or resolved from the text.
    #[must_use]
    pub fn resolved_tag(&self, reader: Reader) -> &'a str {
        match (self.tag(), self.kind()) {
            (Some(tag), _) if tag != "!" => tag,
            (_, NodeKind::Mapping) => "!!map",
            (_, NodeKind::Sequence) => "!!seq",
            (_, NodeKind::Alias) => "",
            (_, NodeKind::Scalar)
                if self.style() == Style::Plain && self.scalar() == Some("<<") =>
            {
                "!!merge"
            }
            (_, NodeKind::Scalar) => self.resolve(reader).map_or("!!str", |scalar| scalar.tag()),
        }
    }

    /// The text of a string scalar, as the package tools read it; `None` for everything else.
    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        match self.meaning()? {
            Scalar::Str(std::borrow::Cow::Borrowed(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether the node is null for both readers.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.meaning() == Some(Scalar::Null)
    }

    /// What the scalar means to the package tools, without an error for what is none: those are costly to tell.
    fn meaning(&self) -> Option<Scalar<'a>> {
        let node = self.target().ok()?;
        let text = node.scalar()?;
        scalar::resolve(Reader::V3, node.style(), node.tag(), text).ok()
    }

    /// The node that an alias refers to; the node itself otherwise.
    ///
    /// # Errors
    /// The anchor is not in this stream any more.
    pub fn target(&self) -> Result<Self, Error> {
        let data = self.data();
        if data.kind != NodeKind::Alias {
            return Ok(*self);
        }
        if data.children.start != NONE {
            return Ok(self.with(data.children.start));
        }
        let name = self.alias_name().unwrap_or_default();
        (0..self.doc)
            .rev()
            .find_map(|doc| {
                let tree = self.stream.tree(doc);
                (0..tree.nodes.len() as Id)
                    .rev()
                    .map(|id| Node {
                        stream: self.stream,
                        doc,
                        id,
                    })
                    .find(|node| node.anchor() == Some(name))
            })
            .ok_or_else(|| {
                self.error(
                    ErrorKind::Value,
                    format!("unknown anchor '{name}' referenced"),
                )
            })
    }

    /// The same, for lookups: an alias without a target leads nowhere.
    pub(crate) fn through(&self) -> Self {
        self.target().unwrap_or(*self)
    }

    /// Whether this is a merge key: a plain `<<`.
    pub(crate) fn is_merge_key(&self) -> bool {
        self.scalar() == Some("<<")
            && match self.tag() {
                None => self.style() == Style::Plain,
                Some(tag) => tag == "!!merge",
            }
    }

    /// The text of a key: its scalar's content, through an alias.
    #[must_use]
    pub fn key_text(&self) -> Option<&'a str> {
        self.through().scalar()
    }

    /// The item at a position of a sequence.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<Self> {
        self.items().nth(index)
    }

    /// The entries of a mapping in order, merge keys as they are; nothing for other nodes.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'a>> + Clone + use<'a> {
        let node = self.through();
        let children = if node.kind() == NodeKind::Mapping {
            node.children()
        } else {
            &[]
        };
        children.chunks_exact(2).map(move |pair| Entry {
            key: node.with(pair[0]),
            value: node.with(pair[1]),
        })
    }

    /// The items of a sequence in order; nothing for other nodes.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Self> + use<'a> {
        let node = self.through();
        let children = if node.kind() == NodeKind::Sequence {
            node.children()
        } else {
            &[]
        };
        children.iter().map(move |id| node.with(*id))
    }

    pub(crate) fn children(&self) -> &'a [Id] {
        self.stream.tree(self.doc).children(self.id)
    }

    /// The node at a path from here, through aliases, not through merge keys.
    #[must_use]
    pub fn find(&self, path: &Path) -> Option<Self> {
        path.steps()
            .iter()
            .try_fold(*self, |node, step| match step {
                NodeStep::Key(key) => node.get(key),
                NodeStep::Index(index) => node.at(*index),
            })
    }

    /// The value under a key, or under the same key of a mapping that is merged in with `<<`.
    #[must_use]
    pub fn effective(&self, key: &str) -> Option<Self> {
        self.effective_within(key, 0)
    }

    fn effective_within(&self, key: &str, depth: usize) -> Option<Self> {
        if depth > self.stream.limits().effective_depth() {
            return None;
        }
        self.get(key).filter(|_| key != "<<").or_else(|| {
            let merge = self.entries().find(Entry::is_merge)?.value.through();
            match merge.kind() {
                NodeKind::Sequence => merge
                    .items()
                    .find_map(|item| item.effective_within(key, depth + 1)),
                _ => merge.effective_within(key, depth + 1),
            }
        })
    }

    /// The node around this one; `None` at the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let parent = self.data().parent;
        (parent != NONE).then(|| self.with(parent))
    }

    /// The node's path from the root of its document; a key has the path of its value.
    #[must_use]
    pub fn path(&self) -> Path {
        let mut steps = Vec::new();
        let mut node = *self;
        while let Some(parent) = node.parent() {
            let at = parent
                .children()
                .iter()
                .position(|id| *id == node.id)
                .unwrap_or_default();
            steps.push(match parent.kind() {
                NodeKind::Mapping => {
                    let key = parent.with(parent.children()[at & !1]);
                    NodeStep::Key(key.key_text().unwrap_or_else(|| key.source()).to_owned())
                }
                _ => NodeStep::Index(at),
            });
            node = parent;
        }
        steps.reverse();
        Path(steps)
    }

    /// The keys that a mapping holds more than once, each at its second and later places.
    #[must_use]
    pub fn duplicate_keys(&self) -> Vec<Self> {
        if self.keys_differ() {
            return Vec::new();
        }
        let mut seen = std::collections::BTreeSet::new();
        self.entries()
            .map(|entry| entry.key)
            .filter(|key| key.key_text().is_some_and(|text| !seen.insert(text)))
            .collect()
    }

    /// The keys below this node that stand in their mapping already, in the order of the text: where it stood before, and where it
    /// stands again. What an alias stands for is looked at where it is written.
    #[must_use]
    pub fn repeated_keys(&self) -> Vec<[Self; 2]> {
        let mut found = Vec::new();
        let mut open = vec![*self];
        while let Some(node) = open.pop() {
            if node.kind() == NodeKind::Alias {
                continue;
            }
            if !node.keys_differ() {
                let mut first = std::collections::BTreeMap::new();
                for entry in node.entries() {
                    let Some(key) = entry.key.key_text() else {
                        continue;
                    };
                    match first.get(key) {
                        Some(before) => found.push([*before, entry.key]),
                        None => drop(first.insert(key, entry.key)),
                    }
                }
            }
            open.extend(node.entries().map(|entry| entry.value));
            open.extend(node.items());
        }
        found.sort_by_key(|[_, again]| again.line());
        found
    }

    /// Whether a small mapping holds no key twice: each is compared with those before it, which takes no memory.
    fn keys_differ(&self) -> bool {
        let mut entries = self.entries();
        if entries.len() > FEW {
            return false;
        }
        let own = entries.clone();
        (0..).zip(&mut entries).all(|(at, entry)| {
            let text = entry.key.key_text();
            text.is_none()
                || own
                    .clone()
                    .take(at)
                    .all(|other| other.key.key_text() != text)
        })
    }
}
