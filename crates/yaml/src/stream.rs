//! A whole file: its text and its documents.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::parse::{self, Doc};
use crate::tree::{NONE, Tree};

/// A parsed text. Cloning is cheap, and it can be shared between threads.
///
/// A stream never changes: [`Stream::apply`] and its neighbours answer with another one, and documents that were not
/// edited are shared between the two.
#[derive(Debug, Clone)]
pub struct Stream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    text: Arc<str>,
    docs: Vec<Doc>,
    limits: Limits,
    encoding: Encoding,
}

/// How the bytes of a text are to be written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl Stream {
    /// Parses a text.
    ///
    /// Duplicate keys are no error here (Y3): they are carried, and refused where a value must be decided.
    ///
    /// # Errors
    /// The text is not what the field's readers accept, or exceeds a limit.
    pub fn parse(text: impl Into<Arc<str>>, limits: &Limits) -> Result<Self, Error> {
        let text = text.into();
        let docs = parse::parse(&text, limits, &[])?;
        Ok(Self::assemble(text, docs, *limits))
    }

    /// Parses bytes: UTF-8, or UTF-16 with a byte order mark, which the readers know too.
    ///
    /// # Errors
    /// As [`Stream::parse`], and when the bytes are neither.
    pub fn parse_bytes(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let (text, encoding) = decode(bytes)?;
        let text: Arc<str> = text.into();
        let docs = parse::parse(&text, limits, &[])?;
        Ok(Self(Arc::new(Inner {
            text,
            docs,
            limits: *limits,
            encoding,
        })))
    }

    /// The text in the encoding that it was parsed from.
    #[must_use]
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        let units = || self.text().encode_utf16();
        match self.0.encoding {
            Encoding::Utf8 => Cow::Borrowed(self.text().as_bytes()),
            Encoding::Utf16Le => units().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16Be => units().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// Parses the first document only; the rest is not looked at.
    pub(crate) fn parse_first(text: &str, limits: &Limits) -> Result<Self, Error> {
        let (docs, end) = parse::parse_first(text, limits)?;
        Ok(Self::assemble(text[..end].into(), docs, *limits))
    }

    pub(crate) fn assemble(text: Arc<str>, docs: Vec<Doc>, limits: Limits) -> Self {
        Self(Arc::new(Inner {
            text,
            docs,
            limits,
            encoding: Encoding::Utf8,
        }))
    }

    /// The same text with other documents, in the encoding of this stream.
    pub(crate) fn renewed(&self, text: Arc<str>, docs: Vec<Doc>) -> Self {
        let Inner {
            limits, encoding, ..
        } = *self.0;
        Self(Arc::new(Inner {
            text,
            docs,
            limits,
            encoding,
        }))
    }

    /// The text, byte for byte.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The text, to share.
    #[must_use]
    pub fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.0.text)
    }

    /// The limits that the text was parsed with, which hold for edits too.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// How many documents there are; none in a text of comments only.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.0.docs.len() == 1 && self.tree(0).root == NONE {
            0
        } else {
            self.0.docs.len()
        }
    }

    /// Whether there is no document at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All documents, the placeholder of an empty text included.
    pub(crate) fn docs(&self) -> &[Doc] {
        &self.0.docs
    }

    pub(crate) fn tree(&self, doc: usize) -> &Tree {
        &self.0.docs[doc].tree
    }

    pub(crate) fn doc_text(&self, doc: usize) -> &str {
        &self.0.text[self.0.docs[doc].range.clone()]
    }

    /// Builds an error at a place of one document.
    pub(crate) fn error(
        &self,
        kind: ErrorKind,
        doc: usize,
        at: u32,
        message: impl Into<String>,
    ) -> Error {
        let base = self.0.docs.get(doc).map_or(0, |doc| doc.range.start);
        Error::at(kind, &self.0.text, base + at as usize, message)
    }
}

/// Bytes as text.
fn decode(bytes: &[u8]) -> Result<(Cow<'_, str>, Encoding), Error> {
    let wide = |read: fn([u8; 2]) -> u16, encoding| {
        let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        match text {
            Ok(text) if bytes.len().is_multiple_of(2) => Ok((Cow::Owned(text), encoding)),
            _ => Err(Error::encoding(0, 1, "the text is not valid UTF-16")),
        }
    };
    match (bytes, std::str::from_utf8(bytes)) {
        ([0xFF, 0xFE, ..], _) => wide(u16::from_le_bytes, Encoding::Utf16Le),
        ([0xFE, 0xFF, ..], _) => wide(u16::from_be_bytes, Encoding::Utf16Be),
        (_, Ok(text)) => Ok((Cow::Borrowed(text), Encoding::Utf8)),
        (_, Err(error)) => {
            let valid = &bytes[..error.valid_up_to()];
            let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
            Err(Error::encoding(
                error.valid_up_to(),
                line,
                "the text is not valid UTF-8",
            ))
        }
    }
}
