//! All changes of a document in one go: written as patches of one text, parsed once, checked once.
//!
//! Here the wanted value is known as a whole, so that one comparison at the end is enough, also where several entries
//! go to one place. This is the short way; where it is not sure of itself it answers nothing, and the caller goes the
//! long way, edit after edit.

use crate::edit::{Edit, Patch, patched, patches_of};
use crate::stream::Stream;

/// The document with all edits made, each path meant in the document as it is.
///
/// Nothing where edits need more than one look, might touch each other, cannot be written, or where the result is
/// not what `holds` expects.
pub(crate) fn at_once(
    stream: &Stream,
    doc: usize,
    edits: &[Edit],
    holds: impl FnOnce(&Stream) -> bool,
) -> Option<Stream> {
    let mut patches: Vec<Patch> = Vec::new();
    for edit in edits {
        patches.extend(patches_of(stream, doc, edit)?);
    }
    // A stable order: what is inserted at one place stays in the order of the edits.
    patches.sort_by_key(|patch| (patch.from, patch.to));
    let apart = patches.windows(2).all(|pair| match pair {
        [a, b] => a.to <= b.from,
        _ => true,
    });
    if !apart {
        return None;
    }
    let text = patched(stream.doc_text(doc), &mut patches);
    if doc + 1 < stream.docs().len() && !text.ends_with(['\n', '\r']) {
        return None;
    }
    stream.with_doc(doc, &text).ok().filter(holds)
}
