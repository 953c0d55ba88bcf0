//! What was acknowledged, by the server or by git, and what everybody did.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A file that somebody added to a package, and was told that it is kept.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// The repository.
    pub(super) repository: String,
    /// The package revision's name.
    pub(super) revision: String,
    /// The file's name, which no other mark has.
    pub(super) file: String,
}

/// A commit that git said was pushed.
#[derive(Debug, Clone)]
pub(super) struct Pushed {
    /// The repository.
    pub(super) repository: String,
    /// The commit.
    pub(super) commit: String,
    /// Where it was pushed to.
    pub(super) reference: String,
}

#[derive(Debug, Default)]
struct Inner {
    story: Vec<String>,
    marks: Vec<Mark>,
    pushed: Vec<Pushed>,
    /// Revisions whose publication was acknowledged, and their repository.
    published: BTreeMap<String, String>,
    /// The commit of each tag, as first seen, by repository and tag.
    tags: BTreeMap<(String, String), String>,
    numbered: u64,
    refused: u64,
    ends: u64,
}

/// What is held against the server.
#[derive(Debug)]
pub(super) struct Ledger {
    began: Instant,
    inner: Mutex<Inner>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            inner: Mutex::default(),
        }
    }
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what somebody did.
    pub(super) fn note(&self, what: &str) {
        let line = format!("{:9.3} {what}", self.began.elapsed().as_secs_f64());
        self.lock().story.push(line);
    }

    /// A number that was not given before.
    pub(super) fn number(&self) -> u64 {
        let mut inner = self.lock();
        inner.numbered += 1;
        // The blueprint's first version is made before anybody counts.
        inner.numbered + 1
    }

    /// Something was not acknowledged: it may have happened or not.
    pub(super) fn refused(&self, what: &str, why: &str) {
        self.note(&format!("{what}: {why}"));
        self.lock().refused += 1;
    }

    /// The server was ended.
    pub(super) fn ended(&self, how: &str) {
        self.note(how);
        self.lock().ends += 1;
    }

    pub(super) fn marked(&self, mark: Mark) {
        self.note(&format!("{} holds {}", mark.revision, mark.file));
        self.lock().marks.push(mark);
    }

    pub(super) fn pushed(&self, pushed: Pushed) {
        self.note(&format!(
            "pushed {} to {} of {}",
            pushed.commit, pushed.reference, pushed.repository
        ));
        self.lock().pushed.push(pushed);
    }

    pub(super) fn published(&self, revision: &str, repository: &str) {
        self.note(&format!("{revision} is published"));
        let (revision, repository) = (revision.to_owned(), repository.to_owned());
        self.lock().published.insert(revision, repository);
    }

    /// The variants of these revisions were deleted, which was acknowledged: drafts may be gone.
    pub(super) fn forget(&self, of: &str) {
        let mut inner = self.lock();
        let published: Vec<String> = inner.published.keys().cloned().collect();
        inner
            .marks
            .retain(|mark| !mark.revision.contains(of) || published.contains(&mark.revision));
        // Their deletion is proposed.
        inner.published.retain(|name, _| !name.contains(of));
    }

    /// The commit that a tag was first seen at.
    pub(super) fn tag(&self, repository: &str, tag: &str, commit: &str) -> String {
        let key = (repository.to_owned(), tag.to_owned());
        let mut inner = self.lock();
        inner
            .tags
            .entry(key)
            .or_insert_with(|| commit.to_owned())
            .clone()
    }

    /// The tags of a repository that were ever seen.
    pub(super) fn tags(&self, repository: &str) -> Vec<String> {
        let inner = self.lock();
        let all = inner.tags.keys().filter(|(r, _)| r == repository);
        all.map(|(_, tag)| tag.clone()).collect()
    }

    pub(super) fn all_marks(&self) -> Vec<Mark> {
        self.lock().marks.clone()
    }

    pub(super) fn all_pushed(&self) -> Vec<Pushed> {
        self.lock().pushed.clone()
    }

    pub(super) fn all_published(&self) -> BTreeMap<String, String> {
        self.lock().published.clone()
    }

    /// How many marks there are.
    pub(super) fn marks(&self) -> u64 {
        u64::try_from(self.lock().marks.len()).unwrap_or(u64::MAX)
    }

    /// What was acknowledged so far, in numbers.
    pub(super) fn summary(&self) -> String {
        let inner = self.lock();
        format!(
            "{} files kept, {} pushes, {} published, {} not acknowledged, {} ends of the server",
            inner.marks.len(),
            inner.pushed.len(),
            inner.published.len(),
            inner.refused,
            inner.ends
        )
    }

    /// Writes what everybody did.
    pub(super) fn write(&self, file: &Path) {
        let story = self.lock().story.join("\n");
        drop(std::fs::write(file, story));
    }
}
