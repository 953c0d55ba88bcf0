//! Values as records of conflicts hold them: as JSON, or as a hash where they are no text or may be secret.

use model::{ConflictValue, File, PackagePath};
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
