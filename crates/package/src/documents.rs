//! One file as documents that can be changed: parsed once, written at most once.
//!
//! It keeps the text that it was read from. What is written is that text with the fewest edits, so that
//! whatever nobody changed keeps its bytes (V5).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Class, File, PackagePath};
use yaml::owned::Value;
use yaml::{Limits, Node, NodeKind, Stream};

/// A file that cannot be read or written as documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentsError {
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
    /// A key stands twice where its value has to be decided (Y3).
    #[error(
        "{path} line {again}: the key {key:?} stands there already in line {before}; keep one of the two: which one counts depends on who reads the file"
    )]
    Repeated {
        /// The file.
        path: PackagePath,
        /// The key.
        key: String,
        /// The line in which it stands first.
        before: usize,
        /// The line in which it stands again.
        again: usize,
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

impl DocumentsError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        Class::Invalid
    }
}

/// One document: where it stands in the file, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    /// Its number in the stream, documents without content included.
    pub(crate) document: usize,
    /// Its value as read.
    pub(crate) value: Arc<Value>,
}

/// What documents were written to.
#[derive(Debug)]
pub(crate) enum Written {
    /// The text with all documents, as it was parsed to be checked.
    Whole(Stream),
    /// The text without those that were dropped.
    Fewer(String),
}

impl Written {
    /// The text.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Whole(stream) => stream.text(),
            Self::Fewer(text) => text,
        }
    }
}

/// A parsed file.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    path: PackagePath,
    stream: Stream,
    documents: Vec<Document>,
}

impl Documents {
    /// Parses a file.
    pub(crate) fn parse(path: &PackagePath, file: &File) -> Result<Self, DocumentsError> {
        let text = file.as_text().ok_or_else(|| not_text(path, file))?;
        let stream = Stream::parse(text, &Limits::default());
        let stream = stream.map_err(|source| DocumentsError::Parse {
            path: path.clone(),
            source,
        })?;
        Self::of(path, stream)
    }

    /// The same of a text that somebody parsed already.
    pub(crate) fn of(path: &PackagePath, stream: Stream) -> Result<Self, DocumentsError> {
        let wrong = |source| DocumentsError::Parse {
            path: path.clone(),
            source,
        };
        let mut documents = Vec::with_capacity(stream.len());
        for document in stream.documents().filter(|document| !document.is_empty()) {
            let value = Value::read(&document).map_err(wrong)?;
            documents.push(Document {
                document: document.index(),
                value: Arc::new(value),
            });
        }
        Ok(Self {
            path: path.clone(),
            stream,
            documents,
        })
    }

    /// The documents that have content, in order.
    pub(crate) fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// Refuses a document in which a key stands twice; all of them without a number.
    pub(crate) fn no_key_twice(&self, document: Option<usize>) -> Result<(), DocumentsError> {
        let asked = self
            .stream
            .documents()
            .filter(|d| !d.is_empty())
            .enumerate();
        let asked = asked.filter(|(at, _)| document.is_none_or(|only| only == *at));
        let found = asked.flat_map(|(_, d)| d.root().repeated_keys()).next();
        found.map_or(Ok(()), |[before, again]| {
            Err(DocumentsError::Repeated {
                path: self.path.clone(),
                key: again.key_text().unwrap_or_default().to_owned(),
                before: before.line(),
                again: again.line(),
            })
        })
    }

    /// The file's text.
    pub(crate) fn text(&self) -> &str {
        self.stream.text()
    }

    /// The file as it was parsed, as if it was written.
    pub(crate) fn whole(&self) -> Written {
        Written::Whole(self.stream.clone())
    }

    /// Whether a document of the file holds an alias: what it stands for changes where its anchor does.
    pub(crate) fn has_aliases(&self) -> bool {
        let mut open: Vec<Node<'_>> = match self.stream.text().contains('*') {
            true => self.stream.documents().map(|d| d.root()).collect(),
            false => Vec::new(),
        };
        while let Some(node) = open.pop() {
            match node.kind() {
                NodeKind::Alias => return true,
                NodeKind::Mapping => open.extend(node.entries().map(|entry| entry.value)),
                NodeKind::Sequence => open.extend(node.items()),
                NodeKind::Scalar => {}
            }
        }
        false
    }

    /// The text of one document alone, saying this.
    pub(crate) fn only(&self, at: usize, value: &Arc<Value>) -> Result<String, DocumentsError> {
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
    ) -> Result<Option<String>, DocumentsError> {
        Ok(match self.written(now)? {
            Some(Written::Whole(stream)) => Some(stream.text().to_owned()),
            Some(Written::Fewer(text)) => Some(text),
            None => None,
        })
    }

    /// The same, parsed where no document is dropped.
    pub(crate) fn written(
        &self,
        now: impl Fn(usize) -> Option<Arc<Value>>,
    ) -> Result<Option<Written>, DocumentsError> {
        let mut pairs = Vec::new();
        let mut dropped = Vec::new();
        for (at, document) in self.documents.iter().enumerate() {
            match now(at) {
                Some(value) if Arc::ptr_eq(&value, &document.value) => {}
                Some(value) => pairs.push((document, value)),
                None => dropped.push(document.document),
            }
        }
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(document, value)| (document.document, &*document.value, &**value))
            .collect();
        let written =
            yaml::owned::rewrite(&self.stream, &pairs).map_err(|source| DocumentsError::Write {
                path: self.path.clone(),
                source,
            })?;
        if written.is_none() && dropped.is_empty() {
            return Ok(None);
        }
        let stream = written.as_ref().unwrap_or(&self.stream);
        if dropped.is_empty() {
            return Ok(Some(Written::Whole(stream.clone())));
        }
        let kept = stream
            .documents()
            .filter(|document| !dropped.contains(&document.index()));
        let text = kept.map(|document| document.text()).collect();
        Ok(Some(Written::Fewer(text)))
    }
}

/// Files that were parsed already, each with the bytes that it was parsed from: whoever reads the same bytes again is given
/// the same documents. Of any other bytes nothing is known, and they are parsed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parsed {
    own: BTreeMap<PackagePath, Known>,
    /// What others know, too.
    shared: Option<Arc<Self>>,
}

/// What was parsed says nothing that the files do not say.
impl PartialEq for Parsed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Parsed {}

/// A file that was parsed.
#[derive(Debug, Clone)]
struct Known {
    bytes: Arc<[u8]>,
    stream: Stream,
    /// Its documents, where somebody has read them.
    documents: Option<Documents>,
}

impl Parsed {
    /// Notes what a file was parsed to. Its documents are read when somebody asks for them.
    pub(crate) fn note(&mut self, path: &PackagePath, file: &File, stream: Stream) {
        let known = Known {
            bytes: Arc::clone(file.bytes()),
            stream,
            documents: None,
        };
        self.own.insert(path.clone(), known);
    }

    /// Reads the documents of all files that were noted, for those who share them.
    pub(crate) fn read(&mut self) {
        for (path, known) in &mut self.own {
            known.documents = Documents::of(path, known.stream.clone()).ok();
        }
    }

    fn known(&self, path: &PackagePath, file: &File) -> Option<&Known> {
        let is_it = |known: &&Known| {
            Arc::ptr_eq(&known.bytes, file.bytes()) || known.bytes == *file.bytes()
        };
        let own = self.own.get(path).filter(is_it);
        own.or_else(|| self.shared.as_ref()?.known(path, file))
    }

    /// Looks there for what is not known here.
    pub(crate) fn share(&mut self, shared: &Arc<Self>) {
        self.shared = Some(Arc::clone(shared));
    }

    /// A file as it was parsed.
    pub(crate) fn stream(&self, path: &PackagePath, file: &File) -> Option<&Stream> {
        self.known(path, file).map(|known| &known.stream)
    }

    /// The documents of a file.
    pub(crate) fn documents(
        &self,
        path: &PackagePath,
        file: &File,
    ) -> Result<Documents, DocumentsError> {
        match self.known(path, file) {
            Some(Known {
                documents: Some(documents),
                ..
            }) => Ok(documents.clone()),
            Some(known) => Documents::of(path, known.stream.clone()),
            None => Documents::parse(path, file),
        }
    }

    /// All that another one knows, too.
    pub(crate) fn extend(&mut self, other: Self) {
        self.own.extend(other.own);
    }
}

fn not_text(path: &PackagePath, file: &File) -> DocumentsError {
    let good = file
        .bytes()
        .utf8_chunks()
        .next()
        .map_or("", |chunk| chunk.valid());
    DocumentsError::NotText {
        path: path.clone(),
        line: 1 + good.matches('\n').count(),
    }
}
