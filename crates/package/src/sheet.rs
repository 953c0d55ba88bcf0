//! One file as documents that can be changed: parsed once, written at most once.
//!
//! A sheet keeps the text that it was read from. What is written is that text with the fewest edits, so that
//! whatever nobody changed keeps its bytes (V5).

use std::sync::Arc;

use model::{Class, File, PackagePath};
use yaml::owned::Value;
use yaml::{Limits, Stream};

/// A file that cannot be read or written as documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// Not UTF-8, or binary.
    #[error(
        "{path}: line {line}: the file is not text in UTF-8; give it a name that is no resource's, or list it in .krmignore"
    )]
    NotText {
        /// The file.
        path: PackagePath,
        /// The first line that is none.
        line: usize,
    },
    /// Not YAML, or beyond a limit.
    #[error("{path}: {source}")]
    Parse {
        /// The file.
        path: PackagePath,
        /// Where, and why.
        source: yaml::Error,
    },
    /// A change that cannot be written so that it reads back as meant.
    #[error("{path}: cannot write the change: {source}")]
    Write {
        /// The file.
        path: PackagePath,
        /// Where, and why.
        source: yaml::Error,
    },
}

impl SheetError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        Class::Invalid
    }
}

/// One document: where it stands in the file, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// Its number in the stream, documents without content included.
    pub(crate) document: usize,
    /// Its value as read.
    pub(crate) value: Arc<Value>,
}

/// A parsed file.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    path: PackagePath,
    stream: Stream,
    leaves: Vec<Leaf>,
}

impl Sheet {
    /// Parses a file.
    pub(crate) fn parse(path: &PackagePath, file: &File) -> Result<Self, SheetError> {
        let text = file.as_text().ok_or_else(|| not_text(path, file))?;
        let stream = Stream::parse(text, &Limits::default());
        let stream = stream.map_err(|source| SheetError::Parse {
            path: path.clone(),
            source,
        })?;
        Self::of(path, stream)
    }

    /// The same of a text that somebody parsed already.
    pub(crate) fn of(path: &PackagePath, stream: Stream) -> Result<Self, SheetError> {
        let wrong = |source| SheetError::Parse {
            path: path.clone(),
            source,
        };
        let mut leaves = Vec::with_capacity(stream.len());
        for document in stream.documents().filter(|document| !document.is_empty()) {
            let value = Value::read(&document).map_err(wrong)?;
            leaves.push(Leaf {
                document: document.index(),
                value: Arc::new(value),
            });
        }
        Ok(Self {
            path: path.clone(),
            stream,
            leaves,
        })
    }

    /// The documents that have content, in order.
    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The text of one document alone, saying this.
    pub(crate) fn only(&self, at: usize, value: &Arc<Value>) -> Result<String, SheetError> {
        let text = self.rewrite(|other| (other == at).then(|| value.clone()))?;
        let text = text.unwrap_or_else(|| self.stream.text().to_owned());
        Ok(text
            .strip_prefix("---\n")
            .map(str::to_owned)
            .unwrap_or(text))
    }

    /// The text in which each document says what the function answers; `None` in the answer drops the document.
    ///
    /// Answers nothing where that is the text as it is.
    pub(crate) fn rewrite(
        &self,
        now: impl Fn(usize) -> Option<Arc<Value>>,
    ) -> Result<Option<String>, SheetError> {
        let mut pairs = Vec::new();
        let mut dropped = Vec::new();
        for (at, leaf) in self.leaves.iter().enumerate() {
            match now(at) {
                Some(value) if Arc::ptr_eq(&value, &leaf.value) => {}
                Some(value) => pairs.push((leaf, value)),
                None => dropped.push(leaf.document),
            }
        }
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(leaf, value)| (leaf.document, &*leaf.value, &**value))
            .collect();
        let written =
            yaml::owned::rewrite(&self.stream, &pairs).map_err(|source| SheetError::Write {
                path: self.path.clone(),
                source,
            })?;
        if written.is_none() && dropped.is_empty() {
            return Ok(None);
        }
        let stream = written.as_ref().unwrap_or(&self.stream);
        if dropped.is_empty() {
            return Ok(Some(stream.text().to_owned()));
        }
        let kept = stream
            .documents()
            .filter(|document| !dropped.contains(&document.index()));
        Ok(Some(kept.map(|document| document.text()).collect()))
    }
}

fn not_text(path: &PackagePath, file: &File) -> SheetError {
    let good = file
        .bytes()
        .utf8_chunks()
        .next()
        .map_or("", |chunk| chunk.valid());
    SheetError::NotText {
        path: path.clone(),
        line: 1 + good.matches('\n').count(),
    }
}
