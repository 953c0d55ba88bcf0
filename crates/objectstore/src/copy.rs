//! A logical copy of a store: all objects of one moment as lines of JSON, and a file made from them again.
//!
//! The first line says the format (X7), the version and how many objects follow; then one object a line; the last line
//! holds a digest of all before, so that a copy that was cut off is noticed. The event log is not copied: watches start
//! anew, and versions go on beyond anything that a client can have seen after the copy was made.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::backend::StorageError;
use crate::key::{Key, ResourceKey};
use crate::object::{NewObject, Object};
use crate::redb_file::{Durability, RedbFile};

/// The format that this program writes (X7).
const FORMAT: u64 = 1;

/// How far versions go on beyond a copy's.
const JUMP: u64 = 1 << 20;

/// The longest line: an object of the largest kind, with room to spare.
const LINE: u64 = 64 << 20;

/// All objects of one moment.
#[derive(Debug, Clone)]
pub struct Copy {
    /// The newest version at that moment.
    pub rv: u64,
    /// The objects, by resource and key.
    pub objects: Vec<(ResourceKey, Key, Arc<Object>)>,
}

/// Why a copy could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It is no copy, or a damaged one.
    #[error("read the copy: {0}")]
    Damaged(String),
    /// It was written by a newer program.
    #[error(
        "the copy has format {found}, this program knows formats up to {FORMAT}: use a newer program"
    )]
    NewerFormat {
        /// The format of the copy.
        found: u64,
    },
    /// There is a store already.
    #[error("there are objects already: restore into an empty directory")]
    NotEmpty,
    /// The new store.
    #[error("write the object store")]
    Store(#[source] StorageError),
}

impl Copy {
    /// The lines of the copy, with their ends.
    pub fn lines(self) -> impl Iterator<Item = Bytes> + Send + 'static {
        let count = self.objects.len();
        let head =
            json!({"offshoot": "objects", "format": FORMAT, "rv": self.rv, "objects": count});
        let mut digest = Sha256::new();
        let head = std::iter::once(Some(format!("{head}\n").into_bytes()));
        let bodies = self.objects.into_iter().map(|(resource, key, object)| {
            let mut line = b"{\"resource\":".to_vec();
            line.extend_from_slice(json!(resource.as_ref()).to_string().as_bytes());
            line.extend_from_slice(b",\"key\":");
            line.extend_from_slice(json!(key.as_ref()).to_string().as_bytes());
            line.extend_from_slice(b",\"object\":");
            line.extend_from_slice(&object.bytes());
            line.extend_from_slice(b"}\n");
            Some(line)
        });
        let all = head.chain(bodies).chain(std::iter::once(None));
        all.map(move |line| match line {
            Some(line) => {
                digest.update(&line);
                line.into()
            }
            None => format!("{}\n", json!({"end": hex(&digest.clone().finalize())})).into(),
        })
    }

    /// Reads the lines of a copy.
    ///
    /// # Errors
    /// It is none, was cut off or changed, or was written by a newer program.
    pub fn read(mut from: impl BufRead) -> Result<Self, CopyError> {
        let mut digest = Sha256::new();
        let head = line(&mut from)?;
        digest.update(&head);
        let head = parse(&head)?;
        if head.get("offshoot").and_then(Value::as_str) != Some("objects") {
            return Err(damaged("it does not begin like a copy of objects"));
        }
        let number = |name: &str| head.get(name).and_then(Value::as_u64);
        let found = number("format").ok_or_else(|| damaged("it has no format"))?;
        if found > FORMAT {
            return Err(CopyError::NewerFormat { found });
        }
        let (Some(rv), Some(count)) = (number("rv"), number("objects")) else {
            return Err(damaged("its first line is incomplete"));
        };
        let mut objects = Vec::new();
        for _ in 0..count {
            let text = line(&mut from)?;
            digest.update(&text);
            objects.push(object(parse(&text)?)?);
        }
        let end = parse(&line(&mut from)?)?;
        if end.get("end").and_then(Value::as_str) != Some(hex(&digest.finalize()).as_str()) {
            return Err(damaged(
                "its digest does not fit: it was cut off or changed",
            ));
        }
        Ok(Self { rv, objects })
    }

    /// Writes the copy as a new store below a data directory.
    ///
    /// # Errors
    /// There is a store already, or it cannot be written.
    pub fn restore(&self, data: &Path) -> Result<(), CopyError> {
        let path = data.join("objects.redb");
        let mut file = RedbFile::open(&path, Durability::Immediate).map_err(CopyError::Store)?;
        if !file.is_empty().map_err(CopyError::Store)? {
            return Err(CopyError::NotEmpty);
        }
        // A client may have seen versions from after the copy was made: none of them may come to mean something else.
        file.fill(&self.objects, self.rv + JUMP)
            .map_err(CopyError::Store)
    }
}

fn damaged(why: &str) -> CopyError {
    CopyError::Damaged(why.to_owned())
}

fn line(from: &mut impl BufRead) -> Result<Vec<u8>, CopyError> {
    let mut text = Vec::new();
    let mut limited = std::io::Read::take(from, LINE);
    limited
        .read_until(b'\n', &mut text)
        .map_err(|e| CopyError::Damaged(e.to_string()))?;
    if text.last() == Some(&b'\n') {
        Ok(text)
    } else {
        Err(damaged("it was cut off"))
    }
}

fn parse(text: &[u8]) -> Result<Value, CopyError> {
    serde_json::from_slice(text).map_err(|e| CopyError::Damaged(e.to_string()))
}

fn object(mut line: Value) -> Result<(ResourceKey, Key, Arc<Object>), CopyError> {
    let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(resource), Some(key)) = (text("resource"), text("key")) else {
        return Err(damaged("an object has no place"));
    };
    let value = line.get_mut("object").map(Value::take).unwrap_or_default();
    let rv = value.pointer("/metadata/resourceVersion");
    let rv = rv.and_then(Value::as_str).and_then(|rv| rv.parse().ok());
    let rv = rv.ok_or_else(|| damaged("an object has no version"))?;
    let draft = NewObject::new(&value).map_err(|e| CopyError::Damaged(e.to_string()))?;
    Ok((resource.into(), key.into(), Arc::new(draft.seal(rv))))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests;
