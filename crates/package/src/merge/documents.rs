//! The merge of one YAML file: documents pair by identity, their texts are put together.

use std::collections::BTreeMap;

use model::{ConflictValue, Decision};
use yaml::{Document, Limits, Node, NodeKind, Stream};

use super::join::join;
use super::record::Recorder;
use super::remarks;
use super::rules;
use super::schemas::Schemas;
use super::three::Three;
use super::walk::DocumentMerge;
use crate::lines::breaks;
use crate::values::{
    ResourceIdentity, identity, is_secret, node_value, same, same_but_marks, undecidable, unmarked,
};

/// What becomes of a file.
pub(super) enum FileOutcome {
    /// It holds this text.
    Text(String),
    /// Nothing is left of it.
    Gone,
    /// It cannot be read: it merges as text (M7).
    AsText,
    /// A side holds one identity twice: it is one value (M6).
    OneValue,
}

/// The documents of one side.
struct Documents {
    stream: Option<Stream>,
    ids: Vec<ResourceIdentity>,
    /// Where each of them stands.
    places: BTreeMap<ResourceIdentity, usize>,
}

impl Documents {
    fn document(&self, index: Option<usize>) -> Option<Document<'_>> {
        self.stream.as_ref()?.document(index?)
    }

    fn find(&self, id: &ResourceIdentity) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Whether this holds of all that the file holds, and that is no resource.
    fn nameless(&self, test: fn(Node<'_>) -> bool) -> bool {
        let nameless = matches!(self.ids.as_slice(), [id] if id.record().is_empty());
        nameless && self.document(Some(0)).is_some_and(|d| test(d.root()))
    }
}

/// Merges the texts of a file; `None` is a side without the file.
pub(super) fn merge(
    texts: [Option<&str>; 3],
    schemas: &Schemas<'_>,
    record: &mut Recorder<'_>,
) -> FileOutcome {
    // One side whose documents cannot be told apart decides for all: there is nothing to pair those of the others with.
    let mut read = Vec::with_capacity(3);
    for text in texts {
        match documents(text) {
            Ok(documents) => read.push(documents),
            Err(outcome) => return outcome,
        }
    }
    let [base, local, upstream] = read.as_slice() else {
        return FileOutcome::AsText;
    };
    // What no record can name and no path leads into: it is the file.
    let sides = [base, local, upstream];
    let nameless = |test: fn(Node<'_>) -> bool| sides.iter().any(|side| side.nameless(test));
    if nameless(|root| matches!(root.kind(), NodeKind::Scalar | NodeKind::Alias)) {
        return FileOutcome::AsText;
    }
    if nameless(undecidable) {
        return FileOutcome::OneValue;
    }
    let mut pieces = local_pieces(base, local, upstream, schemas, record);
    for (index, id) in upstream.ids.iter().enumerate() {
        if local.find(id).is_none() {
            new_piece(&mut pieces, index, id, [base, local, upstream], record);
        }
    }
    order(&mut pieces);
    let kept: Vec<&Piece> = pieces.iter().filter(|piece| piece.text.is_some()).collect();
    if kept.is_empty() {
        return FileOutcome::Gone;
    }
    // Whether the first document begins with `---` is the local file's form; a new file keeps upstream's.
    let explicit = local
        .document(Some(0))
        .is_none_or(|first| first.text().starts_with("---"));
    let text = join(kept.into_iter().filter_map(|p| p.text.as_deref()), explicit);
    // Pieces of two sides may bring two kinds of line breaks. A file that mixes them differs in every line from the next
    // upstream, whichever it uses.
    FileOutcome::Text(match texts[1].and_then(breaks) {
        Some("\r\n") if breaks(&text).is_none() => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        Some("\n") if breaks(&text).is_none() => text.replace("\r\n", "\n"),
        _ => text,
    })
}

/// Parses one side; what becomes of the file where its documents do not merge one by one.
fn documents(text: Option<&str>) -> Result<Documents, FileOutcome> {
    let Some(text) = text else {
        return Ok(Documents {
            stream: None,
            ids: Vec::new(),
            places: BTreeMap::new(),
        });
    };
    let Ok(stream) = Stream::parse(text, &Limits::default()) else {
        return Err(FileOutcome::AsText);
    };
    if stream.is_empty() {
        return Err(FileOutcome::AsText);
    }
    let ids: Vec<ResourceIdentity> = stream.documents().map(|d| identity(d.root())).collect();
    let mut places = BTreeMap::new();
    for (index, id) in ids.iter().enumerate() {
        if places.insert(id.clone(), index).is_some() {
            return Err(if id.name.is_empty() {
                FileOutcome::AsText
            } else {
                FileOutcome::OneValue
            });
        }
    }
    Ok(Documents {
        stream: Some(stream),
        ids,
        places,
    })
}

/// A document of the result.
#[derive(Debug)]
struct Piece {
    /// Its text; `None` for a local document that goes.
    text: Option<String>,
    base: Option<usize>,
    local: Option<usize>,
    upstream: Option<usize>,
}

fn local_pieces(
    base: &Documents,
    local: &Documents,
    upstream: &Documents,
    schemas: &Schemas<'_>,
    record: &mut Recorder<'_>,
) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let Some(stream) = &local.stream else {
        return pieces;
    };
    for (index, id) in local.ids.iter().enumerate() {
        let (from, to) = (base.find(id), upstream.find(id));
        let Some(mine) = stream.document(index) else {
            continue;
        };
        let text = match (base.document(from), upstream.document(to)) {
            // V17: what nobody touched is the machine's, byte for byte.
            (Some(ours), Some(theirs)) if bare(ours.text()) == bare(mine.text()) => {
                Some(theirs.text().to_owned())
            }
            (ours, Some(theirs)) => {
                let sides = [ours, Some(mine), Some(theirs)];
                record.enter(id.record(), any_secret(&sides));
                Some(field_merge(
                    stream,
                    [ours, Some(mine), Some(theirs)],
                    schemas,
                    record,
                ))
            }
            (Some(ours), None) => {
                let secret = any_secret(&[Some(ours), Some(mine)]);
                record.enter(id.record(), secret);
                let gone = deleted_upstream(ours, mine, secret, record);
                (!gone).then(|| mine.text().to_owned())
            }
            (None, None) => Some(mine.text().to_owned()),
        };
        pieces.push(Piece {
            text,
            base: from,
            local: Some(index),
            upstream: to,
        });
    }
    pieces
}

/// Merges one document that local and upstream have; its new text.
fn field_merge(
    stream: &Stream,
    documents: [Option<Document<'_>>; 3],
    schemas: &Schemas<'_>,
    record: &mut Recorder<'_>,
) -> String {
    let [base, local, upstream] = documents.map(|document| document.map(|d| d.root()));
    let three = Three {
        base,
        local,
        upstream,
    };
    let [_, Some(mine), Some(theirs)] = documents else {
        return String::new();
    };
    let whole = crate::place::FieldPath::default();
    let conflicts = record.len();
    if [base, local, upstream]
        .into_iter()
        .flatten()
        .any(undecidable)
    {
        // M6: the whole document is one value.
        let taken = match DocumentMerge::new(record).as_one(three) {
            true => theirs,
            false => mine,
        };
        return taken.text().to_owned();
    }
    let own = alone(stream, mine);
    let (stream, index) = match &own {
        Some(own) => (own, 0),
        None => (stream, mine.index()),
    };
    let edited = rules::merge(stream, index, three, schemas, record);
    let schema = rules::schema_of(mine.root(), schemas, record);
    // M16: what both sides added is a conflict unless equal, also where no field clashes. Then one side gives all of it: a
    // union is what neither wrote, and the record could not say who won.
    let added = base.is_none() && !same(mine.root(), theirs.root()) && record.len() == conflicts;
    let one = added.then(|| match record.field(&whole, None, local, upstream) {
        Decision::Local => mine,
        Decision::Upstream => theirs,
    });
    let edited = edited.as_ref().and_then(|edited| edited.document(index));
    let text = one
        .or(edited)
        .map(|merged| remarks::settle(merged, documents, schema, record, conflicts));
    text.unwrap_or_else(|| {
        // What cannot be written stays as it is, and is said.
        record.truncate(conflicts);
        record.kept_local(&whole, base, local, upstream);
        mine.text().to_owned()
    })
}

/// A document by itself: each write copies a whole file, which may hold thousands of documents. `None` where it is the only
/// one, or cannot be read without those before it.
fn alone(stream: &Stream, document: Document<'_>) -> Option<Stream> {
    if stream.len() < 2 {
        return None;
    }
    // What another one follows has to end with its line.
    let next = match document.index() + 1 < stream.len() {
        true => "---\n",
        false => "",
    };
    let text = format!("{}{next}", document.text());
    let own = Stream::parse(text, &Limits::default()).ok()?;
    let same = own.document(0)?.text() == document.text();
    same.then_some(own)
}

/// A document's text without the `---` before it: which document has one follows from what stands before it in the file. What
/// somebody wrote behind it on its line stays.
fn bare(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    let marker = text
        .strip_prefix("---")
        .map(|rest| rest.split_once('\n').unwrap_or((rest, "")));
    match marker {
        Some((line, rest)) if line.trim().is_empty() => rest,
        _ => text,
    }
}

/// A resource that upstream deleted: it goes if nobody touched it.
fn deleted_upstream(
    base: Document<'_>,
    local: Document<'_>,
    secret: bool,
    record: &mut Recorder<'_>,
) -> bool {
    let [ours, mine] = [base, local].map(|document| bare(document.text()).trim());
    if ours == mine || unmarked(ours).trim() == unmarked(mine).trim() {
        return true;
    }
    if same_but_marks(base.root(), local.root()) {
        // Only its form was changed: it stays, as with kpt, and nobody needs to look.
        let values = [base, local].map(|d| node_value(Some(d.root()), secret));
        let [base, local] = values;
        record.note([base, local, ConflictValue::Absent], Decision::Local);
        return false;
    }
    record.resource([Some(base.root()), Some(local.root()), None]) == Decision::Upstream
}

/// A resource that only upstream has: new, or deleted locally.
fn new_piece(
    pieces: &mut Vec<Piece>,
    index: usize,
    id: &ResourceIdentity,
    [base, _, upstream]: [&Documents; 3],
    record: &mut Recorder<'_>,
) {
    let Some(theirs) = upstream.document(Some(index)) else {
        return;
    };
    let from = base.find(id);
    if let Some(ours) = base.document(from) {
        if same_but_marks(ours.root(), theirs.root()) {
            return; // M4: it stays deleted.
        }
        record.enter(id.record(), any_secret(&[Some(ours), Some(theirs)]));
        if record.resource([Some(ours.root()), None, Some(theirs.root())]) == Decision::Local {
            return;
        }
    }
    // Nothing but comments would stand behind a `---` of its own, and be a document for every later merge.
    if theirs.is_empty() {
        return;
    }
    let piece = Piece {
        text: Some(theirs.text().to_owned()),
        base: None,
        local: None,
        upstream: Some(index),
    };
    // Behind the document that it follows upstream: what was added there locally comes after it.
    let preceding = pieces
        .iter()
        .enumerate()
        .filter(|(_, piece)| piece.text.is_some() && piece.upstream.is_some_and(|at| at < index))
        .max_by_key(|(_, piece)| piece.upstream);
    // Without one, behind the old documents up to its position, as kpt orders them.
    let old = |piece: &Piece| piece.base.is_some() && piece.local.is_some_and(|at| at <= index);
    let preceding = preceding
        .map(|(at, _)| at)
        .or_else(|| pieces.iter().rposition(old));
    let at = preceding.map_or(0, |at| at + 1);
    pieces.insert(at, piece);
}

/// Takes upstream's order of documents where upstream changed it and nobody did locally.
fn order(pieces: &mut [Piece]) {
    // Only what all three hold tells who changed the order; what one side added has its place from its neighbours.
    let mut common: Vec<(usize, usize, usize, usize)> = pieces
        .iter()
        .enumerate()
        .filter_map(|(at, piece)| Some((piece.base?, piece.local?, piece.upstream?, at)))
        .collect();
    common.sort_unstable();
    if !common.iter().map(|c| c.1).is_sorted() || common.iter().map(|c| c.2).is_sorted() {
        return;
    }
    // The common documents change places among themselves, so that what stands between them stays where it is.
    let places: Vec<usize> = common.iter().map(|c| c.3).collect();
    common.sort_by_key(|c| c.2);
    let mut moved: Vec<Option<Option<String>>> = common
        .iter()
        .map(|c| pieces.get_mut(c.3).map(|piece| piece.text.take()))
        .collect();
    for (place, text) in places.into_iter().zip(&mut moved) {
        if let (Some(piece), Some(text)) = (pieces.get_mut(place), text.take()) {
            piece.text = text;
        }
    }
}

fn any_secret(documents: &[Option<Document<'_>>]) -> bool {
    documents
        .iter()
        .flatten()
        .any(|document| is_secret(document.root()))
}
