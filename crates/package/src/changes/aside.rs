//! What of a package belongs to no class: where it comes from, and what its render reports, as machines write both.
//!
//! A person's edit there must not hide in a class: whatever is not as it is always written stays, and so makes a difference.

use model::{File, Files};
use yaml::{Limits, Path, Stream};

use crate::kptfile::{self, Edit, Kptfile, KptfileFields};

/// The strategy that is written where nobody asks for another one.
const USUAL: &str = "resource-merge";

/// A package without what belongs to no class: its upstream, its lock, and what a render reports. What of them has fields, values or
/// comments that nothing of ours writes is left where it is.
pub fn aside(files: &Files) -> Files {
    let mut bare = files.clone();
    let Ok(kptfile) = Kptfile::without_report(files) else {
        return bare;
    };
    // The report is by far the largest: each edit behind it writes and reads a shorter text.
    let mut edits = vec![
        Edit::SetRenderStatus(None),
        Edit::RemoveCondition("Rendered".to_owned()),
    ];
    if is_plain(&kptfile) {
        edits.extend([Edit::RemoveUpstream, Edit::RemoveLock]);
    }
    let edited = kptfile.edit_text(&edits);
    if let Ok(text) = edited.as_deref()
        && keeps_comments(&kptfile, text)
    {
        // One that says nothing else of its state says nothing of it.
        let text = text.strip_suffix("status: {}\n").unwrap_or(text);
        bare.insert(kptfile::path(), File::text(text));
    }
    bare
}

/// Whether upstream and lock hold what is always written, and agree.
fn is_plain(kptfile: &Kptfile) -> bool {
    let Some(document) = kptfile.stream().document(0) else {
        return false;
    };
    let root = document.root();
    let has_only = |path: &[&str], fields: &[&str]| {
        let path = Path(path.iter().map(|key| (*key).into()).collect());
        root.find(&path).is_none_or(|node| {
            let mut keys = node.entries().map(|entry| entry.key.key_text());
            keys.all(|key| key.is_some_and(|key| fields.contains(&key)))
        })
    };
    has_only(&["upstream"], &["type", "git", "updateStrategy"])
        && has_only(&["upstream", "git"], &["repo", "directory", "ref"])
        && has_only(&["upstreamLock"], &["type", "git"])
        && has_only(
            &["upstreamLock", "git"],
            &["repo", "directory", "ref", "commit"],
        )
        && agree(kptfile.fields())
}

/// Whether the upstream is what the lock says was taken.
fn agree(fields: &KptfileFields) -> bool {
    let (upstream, lock) = (fields.upstream.as_ref(), fields.upstream_lock.as_ref());
    let strategy = upstream.and_then(|u| u.update_strategy.as_deref());
    let wanted = upstream.and_then(|u| u.git.as_ref());
    let taken = lock.and_then(|l| l.git.as_ref());
    // One without the other is what other tools leave, and says nothing else.
    let other = wanted.zip(taken).is_some_and(|(w, t)| !w.is_of(t));
    !other && strategy.is_none_or(|strategy| strategy == USUAL)
}

/// Whether a text has as many comments as the Kptfile: what is taken off takes none along.
fn keeps_comments(kptfile: &Kptfile, text: &str) -> bool {
    let count = |stream: &Stream| stream.documents().map(|d| d.comments().count()).sum();
    let before: usize = count(kptfile.stream());
    before == 0
        || Stream::parse(text, &Limits::default()).is_ok_and(|after| count(&after) == before)
}
