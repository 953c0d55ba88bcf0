//! Changes of whole documents: taken away, put in, exchanged.

use super::entries::strip_at_end;
use super::verify;
use crate::error::{Error, ErrorKind};
use crate::stream::Stream;
use crate::tree::NONE;

/// A document's text on its way into a stream.
struct Part {
    text: String,
    /// Whether it begins with `---`.
    explicit: bool,
    /// The document of the old stream that it is; `None` for a new one.
    old: Option<usize>,
}

impl Stream {
    /// The stream without one document.
    ///
    /// # Errors
    /// There is no such document.
    pub fn remove_document(&self, index: usize) -> Result<Self, Error> {
        self.exchanged(index, index + 1, None)
    }

    /// The stream with another text for one document: the text of one or more documents.
    ///
    /// # Errors
    /// There is no such document, or the text is not valid.
    pub fn replace_document(&self, index: usize, text: &str) -> Result<Self, Error> {
        self.exchanged(index, index + 1, Some(text))
    }

    /// The stream with more documents before the one at `index`; `index` may be the number of documents.
    ///
    /// # Errors
    /// There are fewer documents, or the text is not valid.
    pub fn insert_document(&self, index: usize, text: &str) -> Result<Self, Error> {
        self.exchanged(index, index, Some(text))
    }

    /// The stream with more documents at its end.
    ///
    /// # Errors
    /// The text is not valid.
    pub fn append_document(&self, text: &str) -> Result<Self, Error> {
        self.insert_document(self.len(), text)
    }

    /// Puts the documents of a text into the place of those from `from` to `to`.
    fn exchanged(&self, from: usize, to: usize, text: Option<&str>) -> Result<Self, Error> {
        if to > self.len() {
            let message = format!("there are {} documents, none at {from}", self.len());
            return Err(Error::at(ErrorKind::Path, self.text(), 0, message));
        }
        let mut parts: Vec<Part> = (0..self.docs().len()).map(|doc| self.part(doc)).collect();
        let mut new = Vec::new();
        if let Some(text) = text {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let stream = Self::parse(text, self.limits())?;
            new.extend((0..stream.len()).map(|doc| Part {
                old: None,
                ..stream.part(doc)
            }));
            if stream.is_empty() {
                return Err(Error::at(
                    ErrorKind::Value,
                    text,
                    0,
                    "the text holds no document",
                ));
            }
        }
        if self.is_empty() {
            // Comments alone come before the first document.
            let comments = std::mem::take(&mut parts[0].text);
            if let Some(first) = new.first_mut() {
                first.text.insert_str(0, &ended(comments, "\n"));
            }
            parts.clear();
        }
        parts.splice(from..to, new);
        let text = self.joined(&parts);
        let next = Self::parse(text, self.limits())?;
        let kept = next.len() == parts.len() && self.kept(&next, &parts);
        if kept {
            Ok(self.renewed(next.shared_text(), next.docs().to_vec()))
        } else {
            Err(unwritable(&next))
        }
    }

    fn part(&self, doc: usize) -> Part {
        let tree = self.tree(doc);
        let text = self.doc_text(doc);
        Part {
            text: text.to_owned(),
            explicit: tree.explicit,
            old: Some(doc),
        }
    }

    /// The parts as one text, with the separators that are missing.
    fn joined(&self, parts: &[Part]) -> String {
        let eol = self.view(0).eol(0);
        let mut out = String::new();
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                out = ended(out, eol);
                if !part.explicit {
                    out.push_str("---");
                    out.push_str(eol);
                }
            }
            let last = at + 1 == parts.len();
            out.push_str(&if last {
                part.text.clone()
            } else {
                self.closed(part)
            });
        }
        out
    }

    /// A part that another one follows: a block scalar at its very end must not gain a line break.
    fn closed(&self, part: &Part) -> String {
        let Some(doc) = part.old.filter(|_| !part.text.ends_with(['\n', '\r'])) else {
            return part.text.clone();
        };
        let view = self.view(doc);
        let root = view.tree.root;
        let patch = (root != NONE)
            .then(|| strip_at_end(view, root, view.text.len()))
            .flatten();
        super::patched(view.text, &mut Vec::from_iter(patch))
    }

    fn kept(&self, next: &Self, parts: &[Part]) -> bool {
        parts.iter().enumerate().all(|(at, part)| {
            let old = part.old.and_then(|old| self.document(old));
            match (old, next.document(at)) {
                (Some(old), Some(new)) => verify::same(old.root(), new.root()),
                (None, Some(_)) => true,
                (_, None) => false,
            }
        })
    }
}

/// A text that ends with a line break, if there is any text.
fn ended(mut text: String, eol: &str) -> String {
    if !text.is_empty() && !text.ends_with(['\n', '\r', '\u{feff}']) {
        text.push_str(eol);
    }
    text
}

fn unwritable(stream: &Stream) -> Error {
    let message = "the documents would not read back as wanted";
    Error::at(ErrorKind::Unwritable, stream.text(), 0, message)
}
