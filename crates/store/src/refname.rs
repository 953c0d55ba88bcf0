//! Full names of refs, such as `refs/heads/main`.

use std::fmt;
use std::sync::Arc;

/// Why a text cannot name a ref.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot name a ref: git refuses it (see git-check-ref-format)")]
pub struct RefNameError {
    /// The text.
    pub text: String,
}

/// The full name of a ref, below `refs/`, as `git check-ref-format` allows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(Arc<str>);

impl RefName {
    /// Parses a full name.
    ///
    /// # Errors
    /// A name outside `refs/` or one that git refuses.
    pub fn parse(full: &str) -> Result<Self, RefNameError> {
        let segments = full.strip_prefix("refs/");
        let fine = full.len() <= 1024 && segments.is_some_and(|s| s.split('/').all(is_segment));
        if fine && !full.contains("@{") {
            Ok(Self(full.into()))
        } else {
            Err(RefNameError {
                text: full.to_owned(),
            })
        }
    }

    /// `refs/heads/<short>`.
    ///
    /// # Errors
    /// As [`RefName::parse`].
    pub fn branch(short: &str) -> Result<Self, RefNameError> {
        Self::parse(&format!("refs/heads/{short}"))
    }

    /// `refs/tags/<short>`.
    ///
    /// # Errors
    /// As [`RefName::parse`].
    pub fn tag(short: &str) -> Result<Self, RefNameError> {
        Self::parse(&format!("refs/tags/{short}"))
    }

    /// The full name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without `refs/heads/` or `refs/tags/`; other names as they are.
    pub fn short(&self) -> &str {
        let branch = self.0.strip_prefix("refs/heads/");
        branch
            .or_else(|| self.0.strip_prefix("refs/tags/"))
            .unwrap_or(&self.0)
    }

    /// The names that would have to be directories for this ref to exist.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &str> {
        let name: &str = &self.0;
        let cuts = name.match_indices('/').skip(1);
        cuts.filter_map(move |(at, _)| name.get(..at))
    }

    /// A name for messages about no ref in particular.
    pub(crate) fn unknown() -> Self {
        Self("refs/heads".into())
    }

    /// Where this ref's new value waits for the answer of a remote.
    pub(crate) fn pending(&self) -> Self {
        let rest = self.0.strip_prefix("refs/").unwrap_or(&self.0);
        Self(format!("{PENDING}{rest}").into())
    }
}

/// Everything that this crate keeps for itself in a mirror and never shows or pushes.
pub(crate) const PENDING: &str = "refs/offshoot/pending/";

/// Whether a ref is the remote's to say; ours are pins and pending values.
pub(crate) fn mirrored(name: &RefName) -> bool {
    let name = name.as_str();
    [
        "refs/heads/",
        "refs/tags/",
        "refs/offshoot/recovery/",
        "refs/offshoot/conflicts/",
    ]
    .iter()
    .any(|p| name.starts_with(p))
}

fn is_segment(s: &str) -> bool {
    let bad = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    !s.is_empty()
        && !s.starts_with('.')
        && !s.ends_with('.')
        && !s.ends_with(".lock")
        && !s.contains("..")
        && !s.contains(bad)
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl std::borrow::Borrow<str> for RefName {
    fn borrow(&self) -> &str {
        &self.0
    }
}
