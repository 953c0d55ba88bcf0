//! The merge of one file: by id or bytes first, then as YAML, else by lines or as one value (M7, M16, M21).

use model::{Decision, File, FileMode, PackagePath};

use super::documents::{self, FileOutcome};
use super::options::MergeError;
use super::record::Recorder;
use super::schemas::Schemas;
use super::sides::{FileKind, Files3, Own};
use super::{kptfile, lines};

/// The file of the result; `None` if there is none.
pub(super) fn merge(
    path: &PackagePath,
    kind: FileKind,
    sides: Files3<'_>,
    schemas: &Schemas<'_>,
    record: &mut Recorder<'_>,
) -> Result<Option<File>, MergeError> {
    let [base, local, upstream] = sides;
    let own = matches!(kind, FileKind::Kptfile(Own::Name | Own::Identity));
    // Most files of a package end here: nothing of them is parsed, and they keep their bytes and their id.
    if base == upstream || local == upstream {
        return Ok(local.cloned());
    }
    // A Kptfile with an identity of its own is not taken over whole: upstream's has upstream's name.
    if base == local && !own {
        return Ok(upstream.cloned());
    }
    let texts = sides.map(|file| file.map(File::as_text));
    // A side without the file is no obstacle; one that is no text leaves nothing to pair the others' documents with.
    let readable = texts.iter().all(|text| !matches!(text, Some(None)));
    let texts = texts.map(Option::flatten);
    let outcome = match kind {
        FileKind::Kptfile(own) if readable => kptfile::merge(path, texts, own, record)?,
        FileKind::Yaml if readable => documents::merge(texts, schemas, record),
        _ => FileOutcome::AsText,
    };
    Ok(match outcome {
        FileOutcome::Gone => None,
        FileOutcome::OneValue => as_one_value(sides, record),
        FileOutcome::AsText => as_text(path, sides, record),
        FileOutcome::Text(text) => Some(put(sides, text)),
    })
}

/// A file that is no resources: what both sides changed merges by lines where it can (M21).
fn as_text(path: &PackagePath, sides: Files3<'_>, record: &mut Recorder<'_>) -> Option<File> {
    match lines::file(path, sides, record) {
        Some(text) => Some(put(sides, text)),
        None => as_one_value(sides, record),
    }
}

/// A file that is one value: from the side that changed it; if both did, what is local stays, or
/// comes back where it was deleted (as kpt does), and the conflict says so.
fn as_one_value(sides: Files3<'_>, record: &mut Recorder<'_>) -> Option<File> {
    let [base, local, upstream] = sides;
    if base == local {
        return upstream.cloned();
    }
    // A mode is no content: who only made a file executable is not asked about what the other side wrote.
    if same_but_mode(local, upstream) || same_but_mode(base, upstream) {
        return local.map(|file| with_mode(file.clone(), mode(sides)));
    }
    let decision = match local {
        Some(_) => Decision::Local,
        None => Decision::Upstream,
    };
    let decision = record.whole_file(sides, decision);
    match decision {
        Decision::Local => local.cloned(),
        Decision::Upstream => upstream.cloned(),
    }
}

fn same_but_mode(a: Option<&File>, b: Option<&File>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.bytes() == b.bytes(),
        _ => false,
    }
}

/// A new text in the local file, which stays as it is where the text is the same.
fn put(sides: Files3<'_>, text: String) -> File {
    let [_, local, upstream] = sides;
    let mode = mode(sides);
    // Known bytes keep their id, so that nothing is hashed and written anew for them.
    for known in [local, upstream].into_iter().flatten() {
        if known.bytes().as_ref() == text.as_bytes() && known.mode() == mode {
            return known.clone();
        }
    }
    File::New {
        mode,
        bytes: text.into_bytes().into(),
    }
}

/// The mode merges on its own: upstream's if upstream changed it.
fn mode([base, local, upstream]: Files3<'_>) -> FileMode {
    let modes = [base, local, upstream].map(|file| file.map(File::mode));
    match modes {
        [base, Some(_), Some(upstream)] if base != Some(upstream) && base.is_some() => upstream,
        [_, Some(local), _] => local,
        [_, None, upstream] => upstream.unwrap_or_default(),
    }
}

fn with_mode(file: File, mode: FileMode) -> File {
    if file.mode() == mode {
        return file;
    }
    File::New {
        mode,
        bytes: file.bytes().clone(),
    }
}
