//! Values as records of conflicts hold them: as JSON, or as a hash where they are no text, may be secret or are too long.

use model::{Conflict, ConflictValue, File, PackagePath};
use sha2::{Digest, Sha256};
use yaml::{Node, Reader};

use super::compare::canonical;
use crate::place::{FieldPath, PathStep, hex};

/// Whether a path of a Secret may show its value: metadata and the type may, nothing else.
pub(crate) fn hidden(path: &FieldPath) -> bool {
    match path.0.first() {
        Some(PathStep::Field(name)) if name == "metadata" => {
            // An annotation may hold the whole Secret (kubectl's last-applied-configuration).
            path.0.get(1) == Some(&PathStep::Field("annotations".to_owned())) || path.0.len() < 2
        }
        Some(PathStep::Field(name)) => !matches!(name.as_str(), "type" | "apiVersion" | "kind"),
        _ => true,
    }
}

/// A node's value as a record holds it.
pub(crate) fn node_value(node: Option<Node<'_>>, secret: bool) -> ConflictValue {
    read_by(Reader::V3, node, secret)
}

/// The same as a cluster reads it.
pub(crate) fn cluster_value(node: Option<Node<'_>>, secret: bool) -> ConflictValue {
    read_by(Reader::Sigs, node, secret)
}

fn read_by(reader: Reader, node: Option<Node<'_>>, secret: bool) -> ConflictValue {
    let Some(node) = node else {
        return ConflictValue::Absent;
    };
    let json = match node.to_value(reader).ok().and_then(|value| value.to_json()) {
        Some(json) => canonical(&json),
        None => serde_json::Value::from(node.source()).to_string(),
    };
    if secret {
        hash(json.as_bytes())
    } else {
        ConflictValue::Json(json)
    }
}

/// A file as a record holds it: its text, or the hash of what is no text.
pub(crate) fn file_value(file: Option<&File>) -> ConflictValue {
    match file {
        None => ConflictValue::Absent,
        Some(file) => match file.as_text() {
            Some(text) if !looks_secret(text) => {
                ConflictValue::Json(serde_json::Value::from(text).to_string())
            }
            _ => hash(file.bytes()),
        },
    }
}

/// The longest value that a record holds as it is, in bytes: each record is written with all of its conflicts, and stores have
/// limits.
const LONGEST: usize = 4096;
/// The longest one beside a longer one.
const BESIDE: usize = 1024;

/// Leaves of the values of a conflict no more than a record has room for: where one is too long, a hash of it and of others that
/// are not short either, so that equal values still look equal. What a record says of lines, comments, order and places is read
/// from it again, and stays.
pub(crate) fn abridge(conflict: &mut Conflict) {
    let mark = |end: &str| conflict.path.ends_with(end);
    if ["#lines", "#comment", "#order", "#file"]
        .into_iter()
        .any(mark)
    {
        return;
    }
    let sides = [
        &mut conflict.base,
        &mut conflict.local,
        &mut conflict.upstream,
    ];
    let too_long = |value: &ConflictValue| match value {
        ConflictValue::Json(json) => json.len() > LONGEST,
        value => value.abridged().is_some(),
    };
    if sides.iter().any(|value| too_long(value)) {
        for value in sides {
            *value = short(std::mem::replace(value, ConflictValue::Absent));
        }
    }
}

/// A value as the record of a conflict would hold it.
pub(crate) fn as_in(conflict: &Conflict, value: ConflictValue) -> ConflictValue {
    let sides = [&conflict.base, &conflict.local, &conflict.upstream];
    match sides.into_iter().any(|side| side.abridged().is_some()) {
        true => short(value),
        false => value,
    }
}

fn short(value: ConflictValue) -> ConflictValue {
    let ConflictValue::Json(json) = value else {
        return value;
    };
    if json.len() <= BESIDE {
        return ConflictValue::Json(json);
    }
    let what = match json.as_bytes().first() {
        Some(b'{') => MAP,
        Some(b'[') => LIST,
        _ => "a text",
    };
    let digest = hex(&Sha256::digest(json.as_bytes()), 32);
    ConflictValue::Hash(format!("sha256:{digest} ({what} of {} bytes)", json.len()))
}

const MAP: &str = "a map";
const LIST: &str = "a list";

/// Whether a value is a map or a list, also where it is told by its hash.
pub(crate) fn is_collection(value: &ConflictValue) -> bool {
    match value {
        ConflictValue::Json(json) => json.starts_with(['{', '[']),
        value => value
            .abridged()
            .is_some_and(|told| told.starts_with(MAP) || told.starts_with(LIST)),
    }
}

/// A file that may hold a Secret is never recorded in clear.
pub(crate) fn looks_secret(text: &str) -> bool {
    text.contains("Secret")
}

pub(crate) fn hash(bytes: &[u8]) -> ConflictValue {
    ConflictValue::Hash(format!("sha256:{}", hex(&Sha256::digest(bytes), 32)))
}

/// The hash of all files of a subpackage, in the order of their paths; absent where there is none.
pub(crate) fn tree_value<'f>(
    files: impl IntoIterator<Item = (&'f PackagePath, &'f File)>,
) -> ConflictValue {
    let mut files = files.into_iter().peekable();
    if files.peek().is_none() {
        return ConflictValue::Absent;
    }
    let mut hash = Sha256::new();
    for (path, file) in files {
        hash.update(path.as_str().as_bytes());
        hash.update([0]);
        hash.update(Sha256::digest(file.bytes()));
    }
    ConflictValue::Hash(format!("sha256:{}", hex(&hash.finalize(), 32)))
}
