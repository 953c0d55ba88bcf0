//! The merge of a Kptfile: by identity, in order, in place (M15).

use model::PackagePath;
use yaml::Stream;

use super::apply;
use super::documents::FileOutcome;
use super::options::{MergeError, Side};
use super::pipelines;
use super::record::Recorder;
use super::remarks;
use super::runtime::run_as;
use super::sides::Own;
use super::three::Three;
use super::value;
use super::walk::DocumentMerge;
use crate::kptfile::Kptfile;
use crate::place::FieldPath;
use crate::schema::Schema;
use crate::values::identity;

/// What a downstream package calls its own: a raw upstream has nothing to say about it.
static IDENTITY: &[&[&str]] = &[
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["upstream"],
    &["upstreamLock"],
];

/// The part of it that stays where a strategy takes upstream's files.
static NAME: &[&[&str]] = &[&["metadata", "name"], &["metadata", "namespace"]];

/// Merges the texts of a Kptfile; a second document is carried untouched (M6).
///
/// A root's Kptfile that cannot be read is an error (M5); a subpackage's merges as text.
pub(super) fn merge(
    path: &PackagePath,
    texts: [Option<&str>; 3],
    own: Own,
    record: &mut Recorder<'_>,
) -> Result<FileOutcome, MergeError> {
    let root = path.dir().is_empty();
    let sides = [Side::Base, Side::Local, Side::Upstream];
    let mut read = Vec::with_capacity(3);
    for (side, text) in sides.into_iter().zip(texts) {
        match text.map(Kptfile::parse).transpose() {
            Ok(kptfile) => read.push(kptfile),
            Err(source) if root => return Err(MergeError::ReadKptfile { side, source }),
            Err(_) => return Ok(FileOutcome::AsText),
        }
    }
    let [base, Some(local), Some(upstream)] = read.as_slice() else {
        return Ok(FileOutcome::AsText);
    };
    // What cannot be written there is compared as it stands.
    let alike = |side: &Kptfile| run_as(side, local).unwrap_or_else(|_| side.clone());
    let base = base.as_ref().map(alike);
    let upstream = alike(upstream);
    let (local, upstream) = (local.stream(), upstream.stream());
    let base_stream = base.as_ref().map(Kptfile::stream);
    let base = base_stream
        .and_then(|stream| stream.document(0))
        .map(|d| d.root());
    let three = Three {
        base,
        local: local.document(0).map(|d| d.root()),
        upstream: upstream.document(0).map(|d| d.root()),
    };
    let id = three.local.map(identity).unwrap_or_default();
    record.enter(id.record(), false);
    let conflicts = record.len();
    Ok(match merged(local, three, own, record) {
        Some(stream) => FileOutcome::Text(remarked(
            &stream,
            [base_stream, Some(local), Some(upstream)],
            record,
            conflicts,
        )),
        None => {
            let whole = FieldPath::default();
            record.truncate(conflicts);
            record.kept_local(&whole, three.base, three.local, three.upstream);
            FileOutcome::Text(local.text().to_owned())
        }
    })
}

/// Merges the first document; `None` where that cannot be written. Functions, and lists of them, that come together to what no rule
/// allows are one value each (M13b).
fn merged(local: &Stream, three: Three<'_>, own: Own, record: &mut Recorder<'_>) -> Option<Stream> {
    let since = record.len();
    let mut whole: Vec<FieldPath> = Vec::new();
    loop {
        let mut walk = DocumentMerge::new(record);
        walk.whole = &whole;
        walk.own = match own {
            Own::Nothing => &[],
            Own::Name => NAME,
            Own::Identity => IDENTITY,
        };
        value::document(&mut walk, three, Schema::kptfile());
        let ops = walk.ops;
        let stream = apply::apply(local, 0, ops)?;
        let sides = [three.base, three.local, three.upstream];
        let broken = pipelines::broken(stream.document(0)?.root(), sides);
        let known = |path: &FieldPath| whole.binary_search(path).is_ok();
        let more = broken
            .into_iter()
            .filter_map(|[function, list]| [function, list].into_iter().find(|path| !known(path)));
        let more: Vec<FieldPath> = more.collect();
        if more.is_empty() {
            return Some(stream);
        }
        record.truncate(since);
        whole.extend(more);
        whole.sort();
        whole.dedup();
    }
}

/// The merged text, with the comments of the first document that no field carries.
fn remarked(
    merged: &Stream,
    sides: [Option<&Stream>; 3],
    record: &mut Recorder<'_>,
    since: usize,
) -> String {
    let documents = sides.map(|side| side.and_then(|stream| stream.document(0)));
    let Some(first) = merged.document(0) else {
        return merged.text().to_owned();
    };
    let text = remarks::settle(first, documents, Schema::kptfile(), record, since);
    let mut whole = merged.text().to_owned();
    whole.replace_range(first.span(), &text);
    whole
}
