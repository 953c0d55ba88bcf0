//! Local changes that nobody made: what a render wrote because something else was edited (M4).
//!
//! A person sets a value that functions spread, and upstream deletes a resource that they spread it to. Such a
//! resource was not edited. It is told by a render: with the base's text in its place it comes out as it is.

use model::{Conflict, ConflictValue, File, Files};
use yaml::{Limits, Stream};

use crate::conflicts::document;
use crate::kptfile;
use crate::render::Options;

use super::progress::{Halt, Progress};

/// The local side with every resource that upstream deleted, or deleted something in, and that a render alone changed
/// as the base has it; `None` where there is none.
pub(super) fn undone(
    progress: &mut Progress,
    base: &Files,
    local: &Files,
    conflicts: &[Conflict],
) -> Result<Option<Files>, Halt> {
    let asks = |c: &&Conflict| {
        let deleted = c.upstream == ConflictValue::Absent && c.base != ConflictValue::Absent;
        let function = c.file.file_name() == kptfile::FILE_NAME;
        deleted && !function && !c.resource.is_empty()
    };
    let mut asked: Vec<&Conflict> = conflicts.iter().filter(asks).collect();
    asked.dedup_by_key(|c| (&c.file, &c.resource));
    let bare = with(base, local, &asked);
    if bare == *local {
        return Ok(None);
    }
    let options = Options {
        without_status: true,
        ..Options::default()
    };
    let rendered = progress.render(&bare, options)?;
    if !rendered.status.succeeded() {
        return Ok(None);
    }
    let again = |c: &&Conflict| {
        let [Some(new), Some(own)] = [&rendered.files, local].map(|files| parsed(files, c)) else {
            return false;
        };
        match (document(&new, c), document(&own, c)) {
            (Some(new), Some(own)) => new.text() == own.text(),
            _ => false,
        }
    };
    let rendered_alone: Vec<&Conflict> = asked.into_iter().filter(again).collect();
    let undone = with(base, local, &rendered_alone);
    Ok((undone != *local).then_some(undone))
}

/// The local side with the resources of these conflicts as the base has them.
fn with(base: &Files, local: &Files, conflicts: &[&Conflict]) -> Files {
    let mut files = local.clone();
    for conflict in conflicts {
        let old = parsed(base, conflict);
        let old = old.as_ref().and_then(|stream| document(stream, conflict));
        let Some((old, stream)) = old.zip(parsed(&files, conflict)) else {
            continue;
        };
        let index = document(&stream, conflict).map(|document| document.index());
        let replaced = index.and_then(|index| stream.replace_document(index, old.text()).ok());
        if let (Some(replaced), Some(file)) = (replaced, files.get_mut(&conflict.file)) {
            *file = file.with_bytes(replaced.text().as_bytes().to_vec());
        }
    }
    files
}

fn parsed(files: &Files, conflict: &Conflict) -> Option<Stream> {
    let text = files.get(&conflict.file).and_then(File::as_text)?;
    Stream::parse(text, &Limits::default()).ok()
}
