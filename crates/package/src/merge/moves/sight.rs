//! Who the resources of a file are, as far as its lines tell at first sight: enough to see that nothing moved, without
//! parsing anything.

use std::collections::BTreeMap;

use model::{File, Files, PackagePath};

use super::super::marks::{Identity, MERGE_COMMENT};
use crate::ignore::Ignore;
use crate::kptfile;
use crate::schema::split_api_version;

/// A resource as a package knows it: the directory of the (sub)package, and its identity.
pub(super) type Known<'f> = (&'f str, Identity);

/// Whether a comment of a clone says who a resource is, or its fields alone do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Comment,
    Fields,
}

/// The directories of a side's packages, the innermost first.
pub(super) fn packages(files: &Files) -> Vec<&str> {
    let own = files
        .keys()
        .filter(|path| path.file_name() == kptfile::FILE_NAME);
    let mut dirs: Vec<&str> = own
        .map(PackagePath::dir)
        .filter(|dir| !dir.is_empty())
        .collect();
    dirs.sort_by_key(|dir| std::cmp::Reverse(dir.len()));
    dirs
}

/// The package that a path belongs to.
pub(super) fn package<'p>(packages: &[&'p str], path: &PackagePath) -> &'p str {
    let own = packages
        .iter()
        .find(|dir| super::super::layout::inside(path, dir));
    own.copied().unwrap_or_default()
}

/// Whether a path may hold resources that pair by identity.
pub(super) fn holds_resources(path: &PackagePath, ignored: &[Ignore; 3]) -> bool {
    let name = path.file_name();
    (name.ends_with(".yaml") || name.ends_with(".yml"))
        && !ignored.iter().any(|ignore| ignore.matches(path))
}

/// Which resources came into files of a side, and which left files that it changed.
#[derive(Debug, Default)]
pub(super) struct Changes<'f> {
    pub(super) came: BTreeMap<Known<'f>, Vec<&'f PackagePath>>,
    pub(super) left: BTreeMap<Known<'f>, Vec<&'f PackagePath>>,
}

impl<'f> Changes<'f> {
    pub(super) fn between(base: &'f Files, side: &'f Files, by: By, ignored: &[Ignore; 3]) -> Self {
        let mut changes = Self::default();
        let (old, new) = (packages(base), packages(side));
        let gone = base.iter().filter(|(path, _)| !side.contains_key(*path));
        let gone = gone.map(|(path, file)| (path, Some(file), None));
        let there = side
            .iter()
            .map(|(path, file)| (path, base.get(path), Some(file)));
        for (path, before, after) in there.chain(gone) {
            if before == after || !holds_resources(path, ignored) {
                continue;
            }
            let (was, is) = (all(before, by), all(after, by));
            for id in is.iter().filter(|id| !was.contains(id)) {
                let known = (package(&new, path), id.clone());
                changes.came.entry(known).or_default().push(path);
            }
            for id in was.iter().filter(|id| !is.contains(id)) {
                let known = (package(&old, path), id.clone());
                changes.left.entry(known).or_default().push(path);
            }
        }
        changes
    }
}

/// The named resources of a file.
pub(super) fn all(file: Option<&File>, by: By) -> Vec<Identity> {
    let mut all = Vec::new();
    let mut id = Identity::default();
    let mut metadata = Metadata::Outside;
    // Whether a comment of a clone has said namespace and name.
    let mut said = false;
    for line in file.and_then(File::as_text).unwrap_or_default().lines() {
        match line.as_bytes().first() {
            None | Some(b'#') => {}
            Some(b' ') => metadata.field(line, &mut id, said),
            Some(b'-') if line.starts_with("---") => {
                all.push(std::mem::take(&mut id));
                (metadata, said) = (Metadata::Outside, false);
            }
            Some(_) => {
                metadata = Metadata::Outside;
                let Some((key, value)) = line.split_once(':') else {
                    continue;
                };
                match key {
                    "kind" => bare(value).clone_into(&mut id.kind),
                    "apiVersion" => split_api_version(bare(value)).0.clone_into(&mut id.group),
                    "metadata" => {
                        metadata = Metadata::Inside(None);
                        said = by == By::Comment && marked(value, &mut id);
                        if !said && value.trim_start().starts_with('{') {
                            value.clone_into(&mut id.name);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    all.push(id);
    all.retain(|id| !id.name.is_empty() && !id.kind.is_empty());
    all
}

/// Whether a line stands in `metadata`, and how deep its fields stand.
enum Metadata {
    Outside,
    Inside(Option<usize>),
}

impl Metadata {
    fn field(&mut self, line: &str, id: &mut Identity, said: bool) {
        let Self::Inside(depth) = self else {
            return;
        };
        let field = line.trim_start();
        let indent = line.len() - field.len();
        if said || field.starts_with('#') || *depth.get_or_insert(indent) != indent {
            return;
        }
        match field.split_once(':') {
            Some(("name", value)) => bare(value).clone_into(&mut id.name),
            Some(("namespace", value)) => bare(value).clone_into(&mut id.namespace),
            _ => {}
        }
    }
}

/// Takes namespace and name from a clone's comment, if there is one.
fn marked(value: &str, id: &mut Identity) -> bool {
    let said = value
        .split_once(MERGE_COMMENT)
        .and_then(|(_, said)| said.trim().split_once('/'));
    let Some((namespace, name)) = said else {
        return false;
    };
    namespace.clone_into(&mut id.namespace);
    name.clone_into(&mut id.name);
    true
}

/// A scalar without its comment and quotes.
fn bare(value: &str) -> &str {
    let value = value
        .find(" #")
        .and_then(|at| value.get(..at))
        .unwrap_or(value);
    value.trim().trim_matches(['"', '\''])
}
