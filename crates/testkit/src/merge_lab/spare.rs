//! What a merge may leave standing beside its other form: what a record asks a person about as a whole (M16, M23).
//!
//! A file that upstream renamed and changed at once is another file (M23): where local changed the old one, both stand
//! until somebody decides. Where the other side deleted the old one, or renamed and changed it too, what is new is new.

use model::{Conflict, Files, PackagePath};

use super::reading::is_yaml;

/// The files and resources of the result that a record asks about as a whole, and the new files of one side beside a file
/// that it deleted and a record asks about, or of which the other side changed comments alone.
pub(super) fn whole(
    [base, local, upstream]: [&Files; 3],
    result: &Files,
    conflicts: &[Conflict],
) -> Files {
    let asked = |side: &Files, other: &Files| {
        let mut files = conflicts
            .iter()
            .filter(|c| c.path.is_empty() && c.resource.is_empty());
        let mut both = base.iter().filter(|(path, _)| !side.contains_key(*path));
        files.any(|c| base.contains_key(&c.file) && !side.contains_key(&c.file))
            || both.any(|(path, old)| other.get(path).is_some_and(|new| new != old))
    };
    let deleting = [(local, upstream), (upstream, local)];
    let deleting = deleting.map(|(side, other)| asked(side, other).then_some(side));
    let both = base
        .keys()
        .any(|path| !local.contains_key(path) && !upstream.contains_key(path));
    let mut out = Files::new();
    for (path, file) in result {
        let mut sides = deleting.iter().flatten();
        let new = both || sides.any(|side| side.contains_key(path));
        if !base.contains_key(path) && new {
            out.insert(path.clone(), file.clone());
            continue;
        }
        let asked = conflicts.iter().filter(|conflict| conflict.path.is_empty());
        let asked: Vec<&str> = asked
            .filter(|conflict| conflict.file == *path)
            .map(|conflict| conflict.resource.as_str())
            .collect();
        if asked.contains(&"") {
            out.insert(path.clone(), file.clone());
            continue;
        }
        let text = file.as_text().unwrap_or_default();
        let documents = text.split("\n---\n");
        let kept: Vec<&str> = documents
            .filter(|document| asked.iter().any(|resource| is(document, resource)))
            .collect();
        if is_yaml(path.as_str()) && !kept.is_empty() {
            let text = kept.join("\n---\n") + "\n";
            out.insert(path.clone(), model::File::text(&text));
        }
    }
    out
}

/// Whether a document is the resource that a record names as `group/Kind/namespace/name`.
fn is(document: &str, resource: &str) -> bool {
    let mut parts = resource.split('/');
    let (_, kind, _, name) = (parts.next(), parts.next(), parts.next(), parts.next());
    let holds = |key: &str, wanted: Option<&str>| {
        wanted.is_some_and(|wanted| {
            let mut lines = document.lines();
            lines.any(|line| line.strip_prefix(key).map(bare) == Some(wanted))
        })
    };
    holds("kind: ", kind) && holds("  name: ", name)
}

/// A value without the comment behind it.
fn bare(value: &str) -> &str {
    value.split(" #").next().unwrap_or_default().trim()
}

/// The texts of upstream's files that local deleted: a comment of upstream goes with what local took away (M14).
pub(super) fn deleted([base, local, upstream]: [&Files; 3]) -> String {
    let renamed = |path: &PackagePath| {
        let bytes = base.get(path).map(|file| file.bytes().clone());
        let mut new = local.iter().filter(|(path, _)| !base.contains_key(*path));
        new.any(|(_, file)| Some(file.bytes()) == bytes.as_ref())
    };
    let gone = upstream.iter().filter(|(path, _)| {
        base.contains_key(*path) && !local.contains_key(*path) && !renamed(path)
    });
    let texts = gone.filter_map(|(_, file)| file.as_text());
    texts.collect::<Vec<_>>().join("\n")
}
