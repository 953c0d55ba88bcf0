//! Packages on a branch that are not what was published of them: their variants are up to date all the same, since what they are to have
//! is published. Nothing is asked here.

use std::collections::BTreeMap;

use model::VariantStatus;

/// The reason of `BranchChanged` where the package's directory is not there any more.
const GONE: &str = "DirectoryGone";

/// How many are named.
const NAMED: usize = 5;

/// How a package on the branch has left what was published of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Drift {
    /// Somebody changed it there past us.
    Branch,
    /// Somebody removed its directory.
    Gone,
    /// It starts anew after our last commit.
    Lineage,
}

impl Drift {
    /// What a variant says; nothing where it lacks its tag alone, which is counted as such.
    pub(super) fn of(status: &VariantStatus) -> Option<Self> {
        let changed = status.condition("BranchChanged");
        let reason = changed.map_or("", |c| c.reason.as_str());
        match (status.drift()?, reason) {
            ("lineage", _) => Some(Self::Lineage),
            (_, model::NOT_TAGGED) => None,
            (_, GONE) => Some(Self::Gone),
            _ => Some(Self::Branch),
        }
    }

    fn words(self, count: usize) -> String {
        match (self, count) {
            (Self::Branch, count) => format!("{count} changed on the branch"),
            (Self::Gone, count) => format!("{count} gone from the branch"),
            (Self::Lineage, 1) => "1 starts anew on the branch".to_owned(),
            (Self::Lineage, count) => format!("{count} start anew on the branch"),
        }
    }
}

/// A line for all of them, with names; nothing where there is none.
pub(super) fn line(all: impl Iterator<Item = (Drift, String)>) -> Option<String> {
    let mut kinds: BTreeMap<Drift, Vec<String>> = BTreeMap::new();
    for (drift, name) in all {
        kinds.entry(drift).or_default().push(name);
    }
    let part = |(drift, names): (Drift, Vec<String>)| {
        let rest = if names.len() > NAMED { ", …" } else { "" };
        let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
        format!("{}: {}{rest}", drift.words(names.len()), first.join(", "))
    };
    let parts: Vec<String> = kinds.into_iter().map(part).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "drift: {}; offshoot why pvar/NAME tells more\n",
            parts.join("; ")
        )
    })
}
