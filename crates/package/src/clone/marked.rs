//! What the clones of an upstream package share: written and parsed once for all of them.

use std::sync::Arc;

use model::{Files, GitLock, GitUpstream};

use super::{CloneSpec, mark_file, normal_lock, normal_upstream};
use crate::documents::Parsed;
use crate::kptfile::{Edit, Kptfile};

/// What a parsed file takes in memory beside its text, in multiples of that: nodes and values.
const PARSED: usize = 24;

/// An upstream package with identity marks, its files parsed, and its Kptfile as it reads in every clone but for the name.
///
/// Clones are the same with it and without it; a clone of something else takes from it what is the same there.
#[derive(Debug, Clone)]
pub struct Marked {
    files: Files,
    parsed: Arc<Parsed>,
    kptfile: Option<Aimed>,
}

/// A Kptfile that names its upstream.
#[derive(Debug, Clone)]
struct Aimed {
    upstream: GitUpstream,
    lock: GitLock,
    kptfile: Kptfile,
}

impl Marked {
    /// Marks an upstream package whose clones will name it like this.
    pub fn of(files: &Files, upstream: &GitUpstream, lock: &GitLock) -> Self {
        let mut parsed = Parsed::default();
        let mut warnings = Vec::new();
        let marked = files.iter().map(|(path, file)| {
            let (file, stream) = mark_file(path, file, &mut warnings);
            if let Some(stream) = stream {
                parsed.note(path, &file, stream);
            }
            (path.clone(), file)
        });
        let marked = marked.collect();
        parsed.read();
        Self {
            files: marked,
            parsed: Arc::new(parsed),
            kptfile: aimed(files, upstream, lock),
        }
    }

    /// About how many bytes it takes.
    pub fn weight(files: &Files) -> usize {
        let each = files.values().map(|file| file.bytes().len());
        each.map(|bytes| bytes * (1 + PARSED) + 256).sum()
    }

    /// The files with marks.
    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// The same as they were parsed.
    pub(super) fn parsed(&self) -> &Arc<Parsed> {
        &self.parsed
    }

    /// The Kptfile that lacks nothing but the name, if it is the one of these clones.
    pub(super) fn kptfile(&self, spec: &CloneSpec) -> Option<&Kptfile> {
        let aimed = self.kptfile.as_ref()?;
        (aimed.upstream == spec.upstream && aimed.lock == spec.lock).then_some(&aimed.kptfile)
    }
}

/// Two of the same files are the same.
impl PartialEq for Marked {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Eq for Marked {}

/// The Kptfile with upstream and lock, where it makes no difference that the name is written after them.
fn aimed(files: &Files, upstream: &GitUpstream, lock: &GitLock) -> Option<Aimed> {
    let read = Kptfile::of_files(files).ok()?;
    let name = Edit::SetName("a-name-that-no-package-has".to_owned());
    let aim = [
        Edit::SetUpstream(normal_upstream(upstream)),
        Edit::SetLock(normal_lock(lock)),
    ];
    let kptfile = read.edit(&aim).ok()?;
    let after = kptfile.edit(std::slice::from_ref(&name)).ok()?;
    let before = read.edit(&[&[name], &aim[..]].concat()).ok()?;
    (after.text() == before.text()).then(|| Aimed {
        upstream: upstream.clone(),
        lock: lock.clone(),
        kptfile,
    })
}
