//! Directories inside a repository: the only way to name a place in a tree.

use std::fmt;
use std::sync::Arc;

/// Why a text is not a directory inside a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "directory {text:?} is not valid: it must be relative, without empty, `.` or `..` segments, what some file system \
     takes for `.git` or `.gitmodules`, control characters or backslashes"
)]
pub struct DirError {
    /// The text.
    pub text: String,
}

/// A directory inside a repository, relative to its root; the root itself is empty (X1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dir(Arc<str>);

impl Dir {
    /// The repository's root.
    pub fn root() -> Self {
        Self("".into())
    }

    /// Parses a path; slashes at both ends are dropped, as users write `/apps`.
    ///
    /// # Errors
    /// A text that is no clean relative path.
    pub fn parse(text: &str) -> Result<Self, DirError> {
        let bare = text.trim_matches('/');
        if bare.is_empty() || bare.split('/').all(model::is_path_segment) {
            Ok(Self(bare.into()))
        } else {
            Err(DirError {
                text: text.to_owned(),
            })
        }
    }

    /// From segments that a tree of git already holds; never used to write.
    pub(crate) fn trusted(text: &str) -> Self {
        Self(text.into())
    }

    /// The directory `other` below this one.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        match (self.is_root(), other.is_root()) {
            (true, _) => other.clone(),
            (_, true) => self.clone(),
            _ => Self(format!("{self}/{other}").into()),
        }
    }

    /// The path relative to `base`, if it lies inside (or is) it.
    pub fn below(&self, base: &Self) -> Option<Self> {
        if base.is_root() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(base.as_str())?;
        if rest.is_empty() {
            return Some(Self::root());
        }
        rest.strip_prefix('/').map(|r| Self(r.into()))
    }

    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path, without slashes at its ends.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments, outermost first; none for the root.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|s| !s.is_empty())
    }
}

impl fmt::Display for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl From<&model::PackageName> for Dir {
    fn from(name: &model::PackageName) -> Self {
        Self(name.as_str().into())
    }
}
