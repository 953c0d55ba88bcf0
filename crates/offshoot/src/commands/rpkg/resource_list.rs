//! A package's resources as one ResourceList, and back: what a pipe of functions reads and writes.
//!
//! Texts are lifted over as they are, with their comments and their style; nothing is written anew.

mod over;

use yaml::{CommentPlace, Edit, Limits, Node, Path, Stream};

use super::directory::METADATA;
use crate::exit::ExitFailure;

pub(super) use over::over;

/// The annotations that say which file an item belongs to, and where in it, in the newer form and the older one.
const PATHS: [&str; 2] = [
    "internal.config.kubernetes.io/path",
    "config.kubernetes.io/path",
];
const INDEXES: [&str; 2] = [
    "internal.config.kubernetes.io/index",
    "config.kubernetes.io/index",
];

/// The list of everything in the files that is a resource; a file that is not YAML is no part of it.
///
/// # Errors
/// A resource that cannot be written, by its file.
pub(super) fn write(files: &[(String, String)]) -> Result<String, ExitFailure> {
    let mut items = Vec::new();
    let mut heads = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| holds_resources(path)) {
        let failed = |error: yaml::Error| ExitFailure::of(&format!("write {path}"), &error);
        let Ok(stream) = Stream::parse(text.as_str(), &Limits::default()) else {
            continue;
        };
        for document in stream.documents() {
            let at = document.index();
            let root = document.root();
            if root.get("kind").is_none() {
                continue;
            }
            heads.extend(head(root, Path::keys(["items"]).join(items.len())));
            let marked = stream.apply(at, &marks(path, at)).map_err(failed)?;
            let fragment = marked.document(at).map(|marked| marked.root().lift());
            items.extend(fragment.map(|fragment| Edit::InsertFragment {
                path: Path::keys(["items"]),
                index: usize::MAX,
                fragment,
            }));
        }
    }
    let none = if items.is_empty() { " []" } else { "" };
    let empty = format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:{none}\n");
    let list = Stream::parse(empty, &Limits::default())
        .and_then(|list| list.apply(0, &items))
        .and_then(|list| list.apply(0, &heads));
    let list = list.map_err(|error| ExitFailure::of("write the ResourceList", &error))?;
    Ok(list.text().to_owned())
}

/// The edit that writes the comments above a node above another place.
fn head(node: Node<'_>, path: Path) -> Option<Edit> {
    let lines: Vec<_> = node.comments().head.iter().map(|line| line.text).collect();
    (!lines.is_empty()).then(|| Edit::SetComment {
        path,
        place: CommentPlace::Head,
        text: lines.join("\n"),
    })
}

/// Whether a file is one whose resources functions see.
fn holds_resources(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    matches!(ending, Some("yaml" | "yml")) || name == "Kptfile" || path == METADATA
}

fn marks(path: &str, index: usize) -> Vec<Edit> {
    let index = index.to_string();
    let set = |key: &str, text: &str| Edit::set(mark(key), text);
    let indexes = INDEXES.iter().map(|key| set(key, &index));
    indexes
        .chain(PATHS.iter().map(|key| set(key, path)))
        .collect()
}

/// One resource of a list: its file, its place in it where the list says one, and its text without the marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    path: String,
    index: Option<usize>,
    text: String,
}

/// The resources of a list, by file, in the order of their index.
///
/// # Errors
/// What is no ResourceList, or an item that cannot be read.
pub(super) fn read(text: &str) -> Result<Vec<Item>, ExitFailure> {
    let failed = |error: yaml::Error| ExitFailure::of("read the ResourceList", &error);
    let list = Stream::parse(text, &Limits::default()).map_err(failed)?;
    let Some(document) = list.documents().find(|document| !document.is_empty()) else {
        return Ok(Vec::new());
    };
    let kind = document.root().get("kind").and_then(|kind| kind.as_str());
    if kind != Some("ResourceList") {
        return Err(ExitFailure::new("standard input is no ResourceList")
            .hint("give what `offshoot rpkg pull NAME` prints, or name a directory"));
    }
    let mut found = Vec::new();
    let items = document.root().get("items");
    for item in items.into_iter().flat_map(|items| items.items()) {
        let marked = Stream::parse("null\n", &Limits::default());
        let marked = marked.and_then(|empty| {
            let fragment = item.lift();
            let path = Path::root();
            let bare = empty.apply(0, &[Edit::SetFragment { path, fragment }])?;
            bare.apply(0, head(item, Path::root()).as_slice())
        });
        found.push(unmarked(&marked.map_err(failed)?).map_err(failed)?);
    }
    let place = |item: &Item| item.index.unwrap_or_default();
    found.sort_by(|a, b| (&a.path, place(a)).cmp(&(&b.path, place(b))));
    Ok(found)
}

/// The files of a list's resources alone: those with one path become one file.
pub(super) fn joined(items: &[Item]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for Item { path, text, .. } in items {
        match files.last_mut().filter(|(known, _)| known == path) {
            Some((_, all)) => *all = format!("{all}---\n{text}"),
            None => files.push((path.clone(), text.clone())),
        }
    }
    files
}

/// An item without the marks.
fn unmarked(item: &Stream) -> Result<Item, yaml::Error> {
    let noted = |keys: [&str; 2]| {
        let root = item.document(0)?.root();
        let annotations = root.get("metadata")?.get("annotations")?;
        let text = |key: &str| Some(annotations.get(key)?.scalar()?.to_owned());
        keys.iter().find_map(|key| text(key))
    };
    let path = noted(PATHS).unwrap_or_else(|| place(item));
    let index = noted(INDEXES).and_then(|text| text.parse().ok());
    let edits: Vec<Edit> = PATHS
        .iter()
        .chain(&INDEXES)
        .map(|key| Edit::remove(mark(key)))
        .collect();
    let mut bare = item.apply(0, &edits)?;
    let annotations = Path::keys(["metadata", "annotations"]);
    let left = bare
        .document(0)
        .and_then(|document| document.root().find(&annotations));
    if left.is_some_and(|left| left.entries().len() == 0) {
        bare = bare.apply(0, &[Edit::remove(annotations)])?;
    }
    Ok(Item {
        path,
        index,
        text: bare.text().to_owned(),
    })
}

/// Where a resource belongs that a function made without saying it.
fn place(item: &Stream) -> String {
    let at = |path: &[&str]| {
        let root = item.document(0)?.root();
        Some(
            root.find(&Path::keys(path.iter().copied()))?
                .scalar()?
                .to_lowercase(),
        )
    };
    let kind = at(&["kind"]).unwrap_or_default();
    if kind == "kptrevisionmetadata" {
        return METADATA.to_owned();
    }
    let file = format!(
        "{kind}_{}.yaml",
        at(&["metadata", "name"]).unwrap_or_default()
    );
    match at(&["metadata", "namespace"]) {
        Some(namespace) => format!("{namespace}/{file}"),
        None => file,
    }
}

fn mark(key: &str) -> Path {
    Path::keys(["metadata", "annotations", key])
}

#[cfg(test)]
mod tests;
