//! What a save does to files that no GET shows: they stay, unless it names them (A11).

use std::collections::{BTreeMap, BTreeSet};

use model::{Class, File, FileMode, Files, PackagePath, Problem};
use store::{Opaque, Snapshot};

use crate::{Error, Result};

/// What a person saves of a draft's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Save {
    /// What the package's texts shall be.
    pub texts: BTreeMap<PackagePath, String>,
    /// What goes besides, of what is not shown: binary files, and what is beyond the limits.
    pub remove: BTreeSet<PackagePath>,
}

impl From<BTreeMap<PackagePath, String>> for Save {
    fn from(texts: BTreeMap<PackagePath, String>) -> Self {
        Self {
            texts,
            remove: BTreeSet::new(),
        }
    }
}

/// A draft's content as it shall be.
pub(super) struct Kept {
    /// Its files.
    pub(super) files: Files,
    /// What is carried unread.
    pub(super) opaque: Vec<Opaque>,
    /// What the caller should know.
    pub(super) warnings: Vec<String>,
}

impl Kept {
    /// Whether something at this path is carried.
    pub(super) fn carries(&self, path: &PackagePath) -> bool {
        self.opaque
            .iter()
            .any(|o| o.path == path.as_str().as_bytes())
    }
}

/// The texts in place of the old ones, beside what was not shown.
///
/// # Errors
/// A path that is to go and is sent, too; a text where something stands that is not shown and no file.
pub(super) fn merge(before: &Snapshot, save: Save) -> Result<Kept> {
    let Save { texts, remove } = save;
    let mut problems: Vec<Problem> = remove
        .iter()
        .filter(|path| texts.contains_key(*path))
        .map(|path| {
            let text = format!("{path} is to be removed, but spec.resources holds it");
            Problem::new("metadata.annotations", text)
        })
        .collect();
    let mut opaque = Vec::with_capacity(before.opaque.len());
    for carried in &before.opaque {
        let path = String::from_utf8_lossy(&carried.path);
        let named = PackagePath::parse(&path).ok();
        let gone = |paths: &dyn Fn(&PackagePath) -> bool| named.as_ref().is_some_and(paths);
        let replaced = carried.is_hidden() && gone(&|path| texts.contains_key(path));
        if replaced || gone(&|path| remove.contains(path)) {
            continue;
        }
        if let Some(sent) = in_the_way(&texts, &path) {
            let text = format!(
                "spec.resources[{sent}]: {path} stands there, a {} that is not shown",
                carried.what()
            );
            problems.push(Problem::new(format!("spec.resources[{sent}]"), text));
        }
        opaque.push(carried.clone());
    }
    if !problems.is_empty() {
        let class = Class::Invalid;
        return Err(Error::Refused {
            class,
            reason: None,
            problems,
        });
    }
    let there = |path: &PackagePath| {
        before.files.contains_key(path)
            || before
                .opaque
                .iter()
                .any(|o| o.path == path.as_str().as_bytes())
    };
    let nowhere = remove.iter().filter(|path| !there(path));
    let warnings = nowhere
        .map(|path| format!("{path} is to be removed, but is not in the package"))
        .collect();
    Ok(Kept {
        files: files(&before.files, texts, &remove),
        opaque,
        warnings,
    })
}

/// A text at this path, below it, or where one of its directories is.
fn in_the_way<'t>(texts: &'t BTreeMap<PackagePath, String>, path: &str) -> Option<&'t PackagePath> {
    let clash = |sent: &&PackagePath| {
        let (sent, below) = (sent.as_str(), |a: &str, b: &str| {
            a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'))
        });
        sent == path || below(sent, path) || below(path, sent)
    };
    texts.keys().find(clash)
}

/// Files that are no text stay. Texts tell no mode: a file keeps its own, also under another name.
fn files(
    old: &Files,
    texts: BTreeMap<PackagePath, String>,
    remove: &BTreeSet<PackagePath>,
) -> Files {
    let mut files: Files = old
        .iter()
        .filter(|(path, file)| file.as_text().is_none() && !remove.contains(*path))
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect();
    let renamed = old.iter().filter(|(path, _)| !texts.contains_key(*path));
    let renamed: BTreeSet<&[u8]> = renamed
        .filter(|(_, file)| file.mode() == FileMode::Executable)
        .map(|(_, file)| file.bytes().as_ref())
        .collect();
    for (path, text) in texts {
        let file = match old.get(&path) {
            Some(file) => file.with_bytes(text.into_bytes()),
            None if renamed.contains(text.as_bytes()) => File::New {
                mode: FileMode::Executable,
                bytes: text.into_bytes().into(),
            },
            None => File::new(text.into_bytes()),
        };
        files.insert(path, file);
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_mode_also_under_another_name() {
        let path = |text: &str| PackagePath::parse(text).expect("a path");
        let script = |mode| File::New {
            mode,
            bytes: b"#!/bin/sh\n".to_vec().into(),
        };
        let old = Files::from([
            (path("run.sh"), script(FileMode::Executable)),
            (path("kept.sh"), script(FileMode::Executable)),
        ]);
        let text = |name: &str, text: &str| (path(name), text.to_owned());
        let sent = BTreeMap::from([
            text("go.sh", "#!/bin/sh\n"),
            text("kept.sh", "#!/bin/sh\ntrue\n"),
            text("new.sh", "#!/bin/sh\nfalse\n"),
        ]);
        let saved = files(&old, sent, &BTreeSet::new());
        let modes: Vec<_> = saved.iter().map(|(p, f)| (p.as_str(), f.mode())).collect();
        let (may, not) = (FileMode::Executable, FileMode::Regular);
        assert_eq!(modes, [("go.sh", may), ("kept.sh", may), ("new.sh", not)]);
    }
}
