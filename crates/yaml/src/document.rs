//! One document of a text.

use std::ops::Range;

use crate::node::Node;
use crate::stream::Stream;

/// One document of a [`Stream`].
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) index: usize,
}

impl<'a> Document<'a> {
    /// The position in the stream, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The document's own part of the text, its `---` and its comments included.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.stream.doc_text(self.index)
    }

    /// Where [`Document::text`] stands in the stream's text.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.stream.docs()[self.index].range.clone()
    }

    /// The outermost node.
    #[must_use]
    pub fn root(&self) -> Node<'a> {
        Node {
            stream: self.stream,
            doc: self.index,
            id: self.stream.tree(self.index).root,
        }
    }

    /// Whether there is nothing but comments between the document's markers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let root = self.root();
        root.span().is_empty()
    }
}

impl Stream {
    /// The documents in order.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = Document<'_>> {
        (0..self.len()).map(|index| Document {
            stream: self,
            index,
        })
    }

    /// One document.
    #[must_use]
    pub fn document(&self, index: usize) -> Option<Document<'_>> {
        (index < self.len()).then_some(Document {
            stream: self,
            index,
        })
    }
}
