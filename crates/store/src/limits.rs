//! How much is read of a repository, and how much a batch may hold.

use gix::ObjectId;
use gix::objs::Kind;
use model::{Files, PackagePath};

use crate::error::{Error, Result};

/// Limits of what is read and of a batch; each an option with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a package's files together (A11).
    pub package_bytes: u64,
    /// Files of a package.
    pub package_files: u64,
    /// Directories that one look for packages, or for what a commit changed, visits.
    pub visits: u64,
    /// Packages of a repository.
    pub packages: u64,
    /// Refs that a remote may tell of, those among them that we pass over.
    pub refs: usize,
    /// Bytes in which it may do so.
    pub ref_bytes: u64,
    /// Submissions of one batch.
    pub batch: usize,
    /// Bytes of all caches of a store, divided equally among its repositories.
    pub cache_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            package_bytes: 16 << 20,
            package_files: 2_000,
            visits: 200_000,
            packages: 20_000,
            refs: 500_000,
            ref_bytes: 64 << 20,
            batch: 1_000,
            cache_bytes: 32 << 20,
        }
    }
}

/// Bytes of a commit, a tag or one directory that are read: what is larger is told by its size.
pub(crate) const OBJECT: u64 = 16 << 20;

impl Limits {
    /// Whether a package of these files, and so many that are carried unread, could be read again.
    ///
    /// # Errors
    /// The limit that it is beyond, with the largest file where it is too large.
    pub fn check(&self, files: &Files, carried: usize) -> Result<()> {
        let count = files.len() + carried;
        self.check_count(count)?;
        let sizes = files
            .iter()
            .map(|(path, file)| (path, file.bytes().len() as u64));
        self.check_package(sizes)
    }

    pub(crate) fn check_count(&self, count: usize) -> Result<()> {
        limit("number of files of a package", self.package_files, count)
    }

    pub(crate) fn check_package<'p>(
        &self,
        sizes: impl Iterator<Item = (&'p PackagePath, u64)>,
    ) -> Result<()> {
        let (mut all, mut largest) = (0, None);
        for (path, bytes) in sizes {
            all += bytes;
            if largest.is_none_or(|(_, most)| bytes > most) {
                largest = Some((path, bytes));
            }
        }
        let what = || match largest {
            Some((path, bytes)) => {
                format!("size of the package (its largest file is {path} with {bytes} bytes)")
            }
            None => "size of the package".to_owned(),
        };
        if all <= self.package_bytes {
            return Ok(());
        }
        Err(Error::TooLarge {
            what: what(),
            limit: self.package_bytes,
            found: all,
        })
    }

    /// How many bytes an object may have to be read.
    pub(crate) fn object(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Blob => self.package_bytes.max(OBJECT),
            Kind::Commit | Kind::Tag | Kind::Tree => OBJECT,
        }
    }

    /// Refuses an object that is larger.
    pub(crate) fn check_object(&self, kind: Kind, id: &ObjectId, size: u64) -> Result<()> {
        let limit = self.object(kind);
        if size <= limit {
            return Ok(());
        }
        let name = name_of(kind);
        Err(Error::TooLarge {
            what: format!("size in bytes of {name} {id}"),
            limit,
            found: size,
        })
    }
}

/// What an object is to whoever reads of it.
pub(crate) fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Tree => "directory",
        Kind::Blob => "file",
        Kind::Commit => "commit",
        Kind::Tag => "tag",
    }
}

/// Refuses a number beyond a limit.
pub(crate) fn limit(what: &str, limit: u64, found: usize) -> Result<()> {
    let found = found as u64;
    if found > limit {
        return Err(Error::TooLarge {
            what: what.to_owned(),
            limit,
            found,
        });
    }
    Ok(())
}
