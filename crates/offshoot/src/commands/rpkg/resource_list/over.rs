//! A list over the files that it was made of: what a list cannot show stays where it is.
//!
//! That is a document without `kind`, a comment between or behind documents, a file that is no YAML, how lines end. So a
//! file is changed document by document, and one that the list has as it was keeps its bytes.

use std::collections::BTreeMap;

use yaml::{Document, Edit, Limits, Path, Stream};

use super::{Item, head, joined, read, write};
use crate::exit::ExitFailure;

/// The files with what the list has of their resources.
///
/// # Errors
/// As [`write()`] and [`read`]; the list has a resource for a file that is no YAML.
pub(in crate::commands::rpkg) fn over(
    current: Vec<(String, String)>,
    listed: Vec<Item>,
) -> Result<BTreeMap<String, String>, ExitFailure> {
    let mut shown = by_path(read(&write(&current)?)?);
    let mut listed = by_path(listed);
    let mut out = BTreeMap::new();
    for (path, text) in current {
        let was = shown.remove(&path).unwrap_or_default();
        let is = listed.remove(&path).unwrap_or_default();
        let now = match was == is {
            true => Some(text),
            false => rebuilt(&path, &text, &was, is)?,
        };
        out.extend(now.map(|text| (path, text)));
    }
    for new in listed.into_values() {
        out.extend(joined(&new));
    }
    Ok(out)
}

fn by_path(items: Vec<Item>) -> BTreeMap<String, Vec<Item>> {
    let mut out: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items {
        out.entry(item.path.clone()).or_default().push(item);
    }
    out
}

/// A file with what became of the resources that it showed; `None` where nothing is left of it.
fn rebuilt(
    path: &str,
    text: &str,
    was: &[Item],
    is: Vec<Item>,
) -> Result<Option<String>, ExitFailure> {
    let failed = |error: yaml::Error| {
        ExitFailure::of(&format!("write {path}"), &error).hint(
            "pull into a directory and push from there, or give the resource another file \
             (config.kubernetes.io/path)",
        )
    };
    let mut stream = Stream::parse(text, &Limits::default()).map_err(failed)?;
    let (found, new) = paired(was, is);
    // From the last: what is taken out moves only what stands behind it.
    for (old, now) in was.iter().zip(&found).rev() {
        let at = old.index.unwrap_or_default();
        let next = match now {
            Some(now) if now.text == old.text => continue,
            Some(now) => exchanged(&stream, at, old, now),
            None => stream.remove_document(at),
        };
        stream = next.map_err(failed)?;
    }
    for item in new {
        stream = stream.append_document(&item.text).map_err(failed)?;
    }
    let left = stream.documents().any(|document| !document.is_empty());
    Ok(left.then(|| stream.text().to_owned()))
}

/// What became of each resource of a file, and what is new. A function may number resources anew or not at all, so that
/// what a resource is called counts first; one that got another name is found by its number.
fn paired(was: &[Item], is: Vec<Item>) -> (Vec<Option<Item>>, Vec<Item>) {
    let mut is: Vec<(Option<Name>, Option<Item>)> = is
        .into_iter()
        .map(|item| (name(&item.text), Some(item)))
        .collect();
    let names: Vec<Option<Name>> = was.iter().map(|old| name(&old.text)).collect();
    let mut found: Vec<Option<Item>> = vec![None; was.len()];
    for by in [(true, true), (true, false), (false, true)] {
        for ((old, known), place) in was.iter().zip(&names).zip(&mut found) {
            let fits = |(name, item): &&mut (Option<Name>, Option<Item>)| {
                let number = item.as_ref().map(|item| item.index);
                (!by.0 || name == known) && number.is_some_and(|n| !by.1 || n == old.index)
            };
            if place.is_none()
                && let Some((_, item)) = is.iter_mut().find(fits)
            {
                *place = item.take();
            }
        }
    }
    (found, is.into_iter().filter_map(|(_, item)| item).collect())
}

/// What a resource is called.
type Name = [Option<String>; 3];

fn name(text: &str) -> Option<Name> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let root = stream.document(0)?.root();
    let at = |path: &[&str]| {
        let found = root.find(&Path::keys(path.iter().copied()))?;
        Some(found.scalar()?.to_owned())
    };
    Some([
        at(&["kind"]),
        at(&["metadata", "namespace"]),
        at(&["metadata", "name"]),
    ])
}

/// The file with another text of one resource, between the comments that stand around it.
fn exchanged(stream: &Stream, at: usize, old: &Item, now: &Item) -> Result<Stream, yaml::Error> {
    let item = Stream::parse(now.text.as_str(), &Limits::default())?;
    let shown = Stream::parse(old.text.as_str(), &Limits::default())?;
    let above = |stream: &Stream| -> Vec<String> {
        let root = stream.document(0).map(|document| document.root());
        let lines = root.into_iter().flat_map(|root| root.comments().head);
        lines.map(|line| line.text.to_owned()).collect()
    };
    let mut edits = Vec::new();
    edits.extend(item.document(0).map(|document| Edit::SetFragment {
        path: Path::root(),
        fragment: document.root().lift(),
    }));
    if above(&item) != above(&shown) {
        let root = item.document(0).map(|document| document.root());
        edits.extend(root.and_then(|root| head(root, Path::root())));
    }
    let edited = stream.apply(at, &edits)?;
    // What could not be put between them so that it reads as it was sent stands there as it was sent.
    match edited.document(at).is_some_and(|d| shows(d, &now.text)) {
        true => Ok(edited),
        false => stream.replace_document(at, &now.text),
    }
}

/// Whether a document is this in a list, whichever way its lines end.
fn shows(document: Document<'_>, text: &str) -> bool {
    let files = [("a.yaml".to_owned(), document.text().to_owned())];
    let items = write(&files).and_then(|list| read(&list));
    items.is_ok_and(|items| matches!(items.as_slice(), [one] if one.text == text))
}
