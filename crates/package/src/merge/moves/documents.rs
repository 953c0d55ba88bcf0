//! Files as their documents, which go from one to another: thousands may, so that each is found, taken and put in few steps.

use std::collections::BTreeMap;

use model::{File, FileMode, Files, PackagePath};
use yaml::{Limits, Stream};

use super::super::join::join;
use crate::values::{ResourceIdentity, identity};

/// A document in its file, with its neighbours.
struct Part {
    id: ResourceIdentity,
    text: String,
    before: Option<usize>,
    behind: Option<usize>,
}

/// What was taken out of a file: a document, and the file's mode.
pub(super) struct Taken {
    id: ResourceIdentity,
    text: String,
    mode: FileMode,
}

/// Where a document goes, by the number of the one that it stands beside.
pub(super) enum Beside {
    Behind(usize),
    Before(usize),
}

/// A file as its documents.
pub(super) struct Documents {
    /// Those that were there and those that came; one that went is in no place any more.
    parts: Vec<Part>,
    places: BTreeMap<ResourceIdentity, usize>,
    first: Option<usize>,
    last: Option<usize>,
    /// Whether its first document begins with `---`.
    explicit: bool,
    /// `None` for a file that is not there yet.
    mode: Option<FileMode>,
    changed: bool,
}

impl Documents {
    /// `None` where the documents cannot be told apart (M6, M7).
    fn read(file: Option<&File>) -> Option<Self> {
        let mut documents = Self {
            parts: Vec::new(),
            places: BTreeMap::new(),
            first: None,
            last: None,
            explicit: false,
            mode: file.map(File::mode),
            changed: false,
        };
        let Some(file) = file else {
            return Some(documents);
        };
        let stream = Stream::parse(file.as_text()?, &Limits::default()).ok()?;
        for document in stream.documents() {
            let (id, text) = (identity(document.root()), document.text().to_owned());
            if documents.places.contains_key(&id) {
                return None;
            }
            documents.explicit |= documents.parts.is_empty() && text.starts_with("---");
            documents.link(id, text, None);
        }
        (!documents.parts.is_empty()).then_some(documents)
    }

    /// The number of a resource's document: those that were there at first are numbered in their order.
    pub(super) fn position(&self, id: &ResourceIdentity) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// The text of a resource.
    pub(super) fn text(&self, id: &ResourceIdentity) -> Option<&str> {
        Some(&self.parts.get(self.position(id)?)?.text)
    }

    /// The resource before or behind another one.
    pub(super) fn neighbour(
        &self,
        id: &ResourceIdentity,
        forwards: bool,
    ) -> Option<ResourceIdentity> {
        let part = self.parts.get(self.position(id)?)?;
        let place = if forwards { part.behind } else { part.before };
        Some(self.parts.get(place?)?.id.clone())
    }

    pub(super) fn take(&mut self, id: &ResourceIdentity) -> Option<Taken> {
        let at = self.places.remove(id)?;
        self.changed = true;
        let part = self.parts.get_mut(at)?;
        let (before, behind) = (part.before.take(), part.behind.take());
        let taken = Taken {
            id: id.clone(),
            text: std::mem::take(&mut part.text),
            mode: self.mode.unwrap_or_default(),
        };
        self.join(before, behind);
        Some(taken)
    }

    /// Puts a document beside another one, or at the end.
    pub(super) fn put(&mut self, taken: Taken, beside: Option<Beside>) {
        let Taken { id, text, mode } = taken;
        self.link(id, text, beside);
        // A file that only the move makes has the mode of the one that the resource left.
        self.mode.get_or_insert(mode);
        self.changed = true;
    }

    fn link(&mut self, id: ResourceIdentity, text: String, beside: Option<Beside>) {
        let behind = |at: usize| self.parts.get(at).and_then(|part| part.behind);
        let before = |at: usize| self.parts.get(at).and_then(|part| part.before);
        let (before, behind) = match beside {
            Some(Beside::Behind(at)) => (Some(at), behind(at)),
            Some(Beside::Before(at)) => (before(at), Some(at)),
            None => (self.last, None),
        };
        let new = self.parts.len();
        self.places.insert(id.clone(), new);
        self.parts.push(Part {
            id,
            text,
            before: None,
            behind: None,
        });
        self.join(before, Some(new));
        self.join(Some(new), behind);
    }

    /// Makes two documents neighbours; `None` is the beginning or the end of the file.
    fn join(&mut self, before: Option<usize>, behind: Option<usize>) {
        match before.and_then(|at| self.parts.get_mut(at)) {
            Some(part) => part.behind = behind,
            None => self.first = behind,
        }
        match behind.and_then(|at| self.parts.get_mut(at)) {
            Some(part) => part.before = before,
            None => self.last = before,
        }
    }

    /// The file; `None` where nothing is left of it.
    fn file(&self) -> Option<File> {
        let next = |part: &&Part| self.parts.get(part.behind?);
        let first = self.parts.get(self.first?)?;
        let texts = std::iter::successors(Some(first), next);
        let text = join(texts.map(|part| part.text.as_str()), self.explicit);
        Some(File::New {
            mode: self.mode.unwrap_or_default(),
            bytes: text.into_bytes().into(),
        })
    }
}

/// The files of a side that were looked into.
pub(super) struct Opened<'f> {
    files: &'f Files,
    opened: BTreeMap<PackagePath, Option<Documents>>,
}

impl<'f> Opened<'f> {
    pub(super) fn new(files: &'f Files) -> Self {
        Self {
            files,
            opened: BTreeMap::new(),
        }
    }

    pub(super) fn open(&mut self, path: &PackagePath) -> Option<&mut Documents> {
        if !self.opened.contains_key(path) {
            let read = Documents::read(self.files.get(path));
            self.opened.insert(path.clone(), read);
        }
        self.opened.get_mut(path)?.as_mut()
    }

    /// The files that changed; `None` for one of which nothing is left.
    pub(super) fn changed(self) -> impl Iterator<Item = (PackagePath, Option<File>)> {
        let changed = self.opened.into_iter().filter_map(|(path, documents)| {
            let documents = documents.filter(|documents| documents.changed)?;
            Some((path, documents))
        });
        // A file from which everything went is no file any more, as on the side that moved it.
        changed.map(|(path, documents)| (path, documents.file()))
    }
}
