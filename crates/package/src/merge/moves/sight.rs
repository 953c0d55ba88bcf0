//! Who the resources of a file are. Where each line says plainly what it is, they tell enough to see that nothing moved; a
//! file that is written in any other way is parsed.

use std::collections::{BTreeMap, BTreeSet};

use model::{File, Files, PackagePath};

use yaml::{Limits, Node, Stream};

use crate::ignore::Ignore;
use crate::kptfile;
use crate::schema::split_api_version;
use crate::values::{MERGE_COMMENT, ResourceIdentity, identity};

/// A resource as a package knows it: the directory of the (sub)package, and its identity.
pub(super) type Known<'f> = (&'f str, ResourceIdentity);

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
fn package<'p>(packages: &[&'p str], path: &PackagePath) -> &'p str {
    let own = packages.iter().find(|dir| crate::place::inside(path, dir));
    own.copied().unwrap_or_default()
}

/// Whether a path may hold resources that pair by identity.
pub(super) fn holds_resources(path: &PackagePath, ignored: &[Ignore; 3]) -> bool {
    let name = path.file_name();
    (name.ends_with(".yaml") || name.ends_with(".yml"))
        && !ignored.iter().any(|ignore| ignore.matches(path))
}

/// Which resources are one and the same by their identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// Those of one package or subpackage.
    Package,
    /// All of a tree.
    Tree,
}

impl Within {
    /// The package that counts for a path.
    pub(super) fn package<'p>(self, packages: &[&'p str], path: &PackagePath) -> &'p str {
        match self {
            Self::Package => package(packages, path),
            Self::Tree => "",
        }
    }
}

/// Which resources came into files of a side, and which left files that it changed.
#[derive(Debug, Default)]
pub(super) struct Changes<'f> {
    pub(super) came: BTreeMap<Known<'f>, Vec<&'f PackagePath>>,
    pub(super) left: BTreeMap<Known<'f>, Vec<&'f PackagePath>>,
}

impl<'f> Changes<'f> {
    pub(super) fn between(
        base: &'f Files,
        side: &'f Files,
        (by, within): (By, Within),
        ignored: &[Ignore; 3],
    ) -> Self {
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
            // Most changed files changed values alone, and need no look at who is in them.
            let texts = before
                .and_then(File::as_text)
                .zip(after.and_then(File::as_text));
            if texts.is_some_and(|(before, after)| tells_the_same(before, after)) {
                continue;
            }
            let (was, is) = (all(before, by), all(after, by));
            let sets = [&was, &is].map(|ids| ids.iter().collect());
            let [old_ids, new_ids]: [BTreeSet<&ResourceIdentity>; 2] = sets;
            for id in is.iter().filter(|id| !old_ids.contains(id)) {
                let known = (within.package(&new, path), id.clone());
                changes.came.entry(known).or_default().push(path);
            }
            for id in was.iter().filter(|id| !new_ids.contains(id)) {
                let known = (within.package(&old, path), id.clone());
                changes.left.entry(known).or_default().push(path);
            }
        }
        changes
    }

    /// Whether a resource left one package and came into another.
    pub(super) fn crossing(&self) -> bool {
        let mut packages: BTreeMap<&ResourceIdentity, BTreeSet<&str>> = BTreeMap::new();
        for (to, id) in self.came.keys() {
            packages.entry(id).or_default().insert(to);
        }
        let mut left = self.left.keys();
        left.any(|(from, id)| {
            let mut came = packages.get(id).into_iter().flatten();
            came.any(|to| from != to)
        })
    }
}

/// What a line holds that may say who a resource is, begin or end something, or stand for something else.
const TELLING: [&str; 12] = [
    "name",
    "kind",
    "apiVersion",
    "metadata",
    "kpt-merge",
    "---",
    "...",
    "{",
    "&",
    "*",
    "<<",
    "\t",
];

/// Whether two texts differ in values alone that say nothing of who their resources are: most changes are of this kind, and
/// telling so costs less than finding out twice who they are. `false` says nothing.
fn tells_the_same(before: &str, after: &str) -> bool {
    let (mut old, mut new) = (before.lines(), after.lines());
    loop {
        let (old, new) = match (old.next(), new.next()) {
            (Some(old), Some(new)) => (old, new),
            (None, None) => return true,
            _ => return false,
        };
        let depth = |line: &str| line.len() - line.trim_start().len();
        // A quote that stays open takes in the lines that follow, and so does a block.
        let whole = |line: &str| {
            let even = |quote: char| line.matches(quote).count().is_multiple_of(2);
            even('"') && even('\'') && !line.ends_with(['|', '>', '-', '+', ':'])
        };
        let harmless = |line: &str| whole(line) && !TELLING.iter().any(|word| line.contains(word));
        if old != new && !(depth(old) == depth(new) && harmless(old) && harmless(new)) {
            return false;
        }
    }
}

/// The named resources of a file.
pub(super) fn all(file: Option<&File>, by: By) -> Vec<ResourceIdentity> {
    let text = file.and_then(File::as_text).unwrap_or_default();
    let scanned = match is_plain(text) {
        true => Some(scan(text, by)),
        false => None,
    };
    // A name that an alias, a tag or a block stands for is none that a line says.
    let odd = |id: &ResourceIdentity| {
        let mut said = [&id.name, &id.namespace, &id.kind, &id.group].into_iter();
        said.any(|text| {
            text.trim_start()
                .starts_with(['{', '&', '*', '>', '|', '!'])
        })
    };
    match scanned {
        Some(ids) if !ids.iter().any(odd) => ids,
        scanned => parsed(text, by).or(scanned).unwrap_or_default(),
    }
}

/// Whether every line without indentation is a plain key, and no document is indented as a whole.
fn is_plain(text: &str) -> bool {
    let mut first = true;
    text.lines().all(|line| {
        if line.starts_with("---") {
            first = true;
            return line.trim_end() == "---" || line.starts_with("--- #");
        }
        let content = line.trim_start();
        if content.is_empty() || content.starts_with(['#', '%']) {
            return true;
        }
        let indented = content.len() < line.len();
        let begins = std::mem::replace(&mut first, false);
        match line.split_once(':') {
            _ if indented => !begins && !content.starts_with(['"', '\'', '?']),
            Some((key, _)) => {
                !key.starts_with(['{', '[', '"', '\'', '?', '!', '&', '*']) && !key.ends_with(' ')
            }
            None => true,
        }
    })
}

/// The named resources of a file as its fields say; `None` where it cannot be read.
fn parsed(text: &str, by: By) -> Option<Vec<ResourceIdentity>> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let mut all: Vec<ResourceIdentity> = stream
        .documents()
        .map(|document| match by {
            By::Comment => identity(document.root()),
            By::Fields => fields(document.root()),
        })
        .collect();
    all.retain(|id| !id.name.is_empty() && !id.kind.is_empty());
    Some(all)
}

/// The identity that the fields of a resource alone say.
pub(super) fn fields(root: Node<'_>) -> ResourceIdentity {
    let text = |node: Option<Node<'_>>| {
        let node = node.and_then(|node| node.target().ok());
        node.and_then(|node| node.scalar())
            .unwrap_or_default()
            .to_owned()
    };
    let field = |key: &str| text(root.get("metadata").and_then(|metadata| metadata.get(key)));
    ResourceIdentity {
        group: split_api_version(&text(root.get("apiVersion")))
            .0
            .to_owned(),
        kind: text(root.get("kind")),
        namespace: field("namespace"),
        name: field("name"),
    }
}

/// The named resources of a file as its lines say.
fn scan(text: &str, by: By) -> Vec<ResourceIdentity> {
    let mut all = Vec::new();
    let mut id = ResourceIdentity::default();
    let mut metadata = Metadata::Outside;
    // Whether a comment of a clone has said namespace and name.
    let mut said = false;
    for line in text.lines() {
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
                        // A map on one line is not scanned: as a name it is an odd one, and the file gets parsed.
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
    fn field(&mut self, line: &str, id: &mut ResourceIdentity, said: bool) {
        let Self::Inside(depth) = self else {
            return;
        };
        let field = line.trim_start();
        let indent = line.len() - field.len();
        // Names that stand deeper are those of labels, owners and the like.
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
fn marked(value: &str, id: &mut ResourceIdentity) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# kpt-merge: a/web
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
data:
  a: \"x\" # said
  b: |
    text
---
apiVersion: v1
kind: Secret
metadata:
  labels:
    tier: front
  name: key
";

    #[test]
    fn what_changes_nobodys_name_is_told_without_a_scan() {
        let ids = |text: &str| all(Some(&File::text(text)), By::Comment);
        for (from, to, told) in [
            ("\"x\"", "\"y\"", true),
            ("# said", "# told", true),
            ("tier: front", "tier: back", true),
            ("    text", "    other", true),
            ("\"x\" # said", "'x", false),
            ("b: |", "b: >", false),
            ("name: web", "name: shop", false),
            ("kind: Secret", "kind: ConfigMap", false),
            ("a/web", "a/shop", false),
            ("  labels:\n    tier: front\n", "", false),
            ("---\n", "--- # next\n", false),
        ] {
            let changed = TEXT.replace(from, to);
            assert_ne!(changed, TEXT, "{from}");
            assert_eq!(tells_the_same(TEXT, &changed), told, "{from} → {to}");
            assert!(!told || ids(TEXT) == ids(&changed), "{from} → {to}");
        }
    }
}
