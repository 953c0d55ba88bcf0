//! One object at rest: its JSON bytes and the few typed fields that selectors, owners and tables need.
//!
//! No tree is kept. The resource version is not known before the writer gives it out, so a [`NewObject`] remembers
//! where it belongs and [`NewObject::seal`] splices it in.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::labels::LabelSet;
use crate::text::{Packer, Text};

/// An owner reference, as far as garbage collection cares.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Owner {
    /// Uid of the owner.
    pub uid: String,
    /// Group and version of the owner.
    #[serde(rename = "apiVersion", default)]
    pub api_version: String,
    /// Kind of the owner.
    #[serde(default)]
    pub kind: String,
    /// Name of the owner.
    #[serde(default)]
    pub name: String,
    /// Whether the owner's foreground deletion waits for this object.
    #[serde(rename = "blockOwnerDeletion", default)]
    pub block: bool,
    /// Whether the owner is the managing controller.
    #[serde(default)]
    pub controller: bool,
}

/// The typed fields of an object's metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredFields {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`, empty for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`, zero where there is none.
    pub generation: i64,
    /// `metadata.labels`.
    pub labels: LabelSet,
    /// `metadata.ownerReferences`.
    #[serde(rename = "ownerReferences")]
    pub owners: Vec<Owner>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `metadata.deletionTimestamp`.
    pub deletion_timestamp: Option<String>,
    /// `metadata.creationTimestamp`.
    pub creation_timestamp: Option<String>,
}

impl StoredFields {
    /// As large as it is: most objects have one owner, and room for four would be made.
    fn trimmed(mut self) -> Self {
        self.owners.shrink_to_fit();
        self.finalizers.shrink_to_fit();
        self
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    metadata: StoredFields,
}

/// An immutable stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The resource version of its last change.
    pub rv: u64,
    /// Its typed metadata, shared with the states before that had the same.
    pub fields: Arc<StoredFields>,
    text: Text,
    body_at: u32,
    rv_at: u32,
}

impl Object {
    /// The whole object as JSON, keys in alphabetical order after `apiVersion` and `kind`.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.text.bytes()
    }

    /// What follows `{"apiVersion":…,"kind":…,` in [`Self::bytes`]: built-in kinds are listed without both.
    #[must_use]
    pub fn body(&self) -> Bytes {
        self.bytes().slice(self.body_at as usize..)
    }

    /// Whether it is not on its way out.
    #[must_use]
    pub fn stays(&self) -> bool {
        self.fields.deletion_timestamp.is_none()
    }

    /// Whether it is written in this `apiVersion`.
    #[must_use]
    pub fn is_of(&self, api_version: &str) -> bool {
        const KEY: &[u8] = b"{\"apiVersion\":\"";
        let bytes = self.bytes();
        let rest = bytes.strip_prefix(KEY);
        let rest = rest.and_then(|rest| rest.strip_prefix(api_version.as_bytes()));
        rest.is_some_and(|rest| rest.starts_with(b"\""))
    }

    /// Parses the object.
    ///
    /// Bytes at rest were written by [`NewObject::seal`], so they parse; a damaged store gives null.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap_or(Value::Null)
    }

    /// The same object under another resource version: the last state of a deleted object.
    #[must_use]
    pub fn at(&self, rv: u64) -> Self {
        let start = self.rv_at as usize;
        let end = start + decimal_len(self.rv);
        let old = self.bytes();
        let mut bytes = Vec::with_capacity(old.len() + 20);
        bytes.extend_from_slice(old.get(..start).unwrap_or_default());
        bytes.extend_from_slice(rv.to_string().as_bytes());
        bytes.extend_from_slice(old.get(end..).unwrap_or_default());
        Self {
            rv,
            text: self.text.another(bytes),
            fields: Arc::clone(&self.fields),
            ..*self
        }
    }

    /// How many bytes of memory it stands for in budgets: its packed text and, at a guess, its metadata.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.text.weight() + 512
    }

    /// How many bytes [`Self::bytes`] has.
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.text.len()
    }

    /// How many bytes [`Self::body`] has.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.text.len().saturating_sub(self.body_at as usize)
    }

    /// The durable form: two offsets and the bytes.
    pub(crate) fn to_disk(&self) -> Vec<u8> {
        let bytes = self.bytes();
        let mut out = Vec::with_capacity(bytes.len() + 8);
        out.extend_from_slice(&self.body_at.to_le_bytes());
        out.extend_from_slice(&self.rv_at.to_le_bytes());
        out.extend_from_slice(&bytes);
        out
    }

    /// Reads the durable form; `None` if it is damaged.
    pub(super) fn from_disk(disk: &[u8], packer: &mut Packer) -> Option<Self> {
        let body_at = u32::from_le_bytes(disk.get(..4)?.try_into().ok()?);
        let rv_at = u32::from_le_bytes(disk.get(4..8)?.try_into().ok()?);
        let bytes = disk.get(8..)?;
        let envelope: Envelope = serde_json::from_slice(bytes).ok()?;
        let digits = bytes.get(rv_at as usize..)?;
        let end = digits.iter().position(|b| !b.is_ascii_digit())?;
        let rv = std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()?;
        Some(Self {
            rv,
            fields: Arc::new(envelope.metadata.trimmed()),
            text: packer.keep(bytes.to_vec()),
            body_at,
            rv_at,
        })
    }
}

/// How many digits `n` has.
fn decimal_len(n: u64) -> usize {
    n.checked_ilog10().map_or(1, |digits| digits as usize + 1)
}

/// An object that is ready to be written, all but for its resource version.
#[derive(Debug, Clone)]
#[must_use = "give it to Store::commit; until then nothing is stored"]
pub struct NewObject {
    /// Its typed metadata.
    pub fields: StoredFields,
    text: Vec<u8>,
    body_at: usize,
    rv_at: usize,
}

impl NewObject {
    /// Writes `value` down, dropping any resource version that it carries.
    ///
    /// # Errors
    /// The metadata does not have the shape that every Kubernetes object shares.
    pub fn new(value: &Value) -> Result<Self, serde_json::Error> {
        let empty = Map::new();
        let root = value.as_object().unwrap_or(&empty);
        let metadata = root
            .get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let fields =
            StoredFields::deserialize(&Value::Object(metadata_for_fields(metadata)))?.trimmed();
        let mut text = Vec::with_capacity(512);
        text.push(b'{');
        for key in ["apiVersion", "kind"] {
            if let Some(found) = root.get(key) {
                entry(&mut text, key, found)?;
            }
        }
        if text.len() > 1 {
            text.push(b',');
        }
        let body_at = text.len();
        let mut rv_at = 0;
        let mut keys: Vec<&str> = root
            .keys()
            .map(String::as_str)
            .filter(|k| !matches!(*k, "apiVersion" | "kind" | "metadata"))
            .collect();
        keys.push("metadata");
        keys.sort_unstable();
        for key in keys {
            if text.len() > body_at {
                text.push(b',');
            }
            if key == "metadata" {
                text.extend_from_slice(b"\"metadata\":");
                rv_at = write_metadata(&mut text, metadata)?;
            } else if let Some(found) = root.get(key) {
                member(&mut text, key, found)?;
            }
        }
        text.push(b'}');
        Ok(Self {
            fields,
            text,
            body_at,
            rv_at,
        })
    }

    /// How long the object is, its resource version apart.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether nothing was written (never: an object has at least metadata).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Completes the object with the resource version that the writer gave out.
    #[must_use]
    pub fn seal(self, rv: u64) -> Object {
        self.seal_after(None, rv, &mut Packer::default())
    }

    /// Completes it as the next state of `before`, packed like the others of its resource.
    pub(super) fn seal_after(
        self,
        before: Option<&Object>,
        rv: u64,
        packer: &mut Packer,
    ) -> Object {
        let same = before.filter(|before| *before.fields == self.fields);
        let digits = rv.to_string();
        let mut bytes = Vec::with_capacity(self.text.len() + digits.len());
        bytes.extend_from_slice(self.text.get(..self.rv_at).unwrap_or_default());
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(self.text.get(self.rv_at..).unwrap_or_default());
        Object {
            rv,
            fields: same.map_or_else(|| Arc::new(self.fields), |o| Arc::clone(&o.fields)),
            text: packer.keep(bytes),
            body_at: u32::try_from(self.body_at).unwrap_or(u32::MAX),
            rv_at: u32::try_from(self.rv_at).unwrap_or(u32::MAX),
        }
    }
}

/// Takes the members that [`StoredFields`] knows, leaving out nulls (clients send them for absent).
fn metadata_for_fields(metadata: &Map<String, Value>) -> Map<String, Value> {
    const KNOWN: [&str; 9] = [
        "name",
        "namespace",
        "uid",
        "generation",
        "labels",
        "ownerReferences",
        "finalizers",
        "deletionTimestamp",
        "creationTimestamp",
    ];
    let known = KNOWN
        .iter()
        .filter_map(|key| metadata.get(*key).map(|v| ((*key).to_owned(), v.clone())));
    known.filter(|(_, v)| !v.is_null()).collect()
}

/// Writes the metadata with an empty resource version and tells where its digits belong.
fn write_metadata(
    text: &mut Vec<u8>,
    metadata: &Map<String, Value>,
) -> Result<usize, serde_json::Error> {
    let mut keys: Vec<&str> = metadata
        .keys()
        .map(String::as_str)
        .filter(|k| *k != "resourceVersion")
        .collect();
    keys.push("resourceVersion");
    keys.sort_unstable();
    let mut rv_at = 0;
    text.push(b'{');
    for (i, key) in keys.into_iter().enumerate() {
        if i > 0 {
            text.push(b',');
        }
        if key == "resourceVersion" {
            text.extend_from_slice(b"\"resourceVersion\":\"");
            rv_at = text.len();
            text.push(b'"');
        } else if let Some(found) = metadata.get(key) {
            member(text, key, found)?;
        }
    }
    text.push(b'}');
    Ok(rv_at)
}

fn entry(text: &mut Vec<u8>, key: &str, value: &Value) -> Result<(), serde_json::Error> {
    if text.len() > 1 {
        text.push(b',');
    }
    member(text, key, value)
}

fn member(text: &mut Vec<u8>, key: &str, value: &Value) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *text, key)?;
    text.push(b':');
    sorted(text, value)
}

/// Writes a value with the keys of every object in alphabetical order: equal objects have equal bytes.
pub fn sorted(text: &mut Vec<u8>, value: &Value) -> Result<(), serde_json::Error> {
    match value {
        Value::Object(map) => {
            let mut members: Vec<(&String, &Value)> = map.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            text.push(b'{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                if i > 0 {
                    text.push(b',');
                }
                serde_json::to_writer(&mut *text, key)?;
                text.push(b':');
                sorted(text, value)?;
            }
            text.push(b'}');
            Ok(())
        }
        Value::Array(items) => {
            text.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    text.push(b',');
                }
                sorted(text, item)?;
            }
            text.push(b']');
            Ok(())
        }
        scalar => serde_json::to_writer(&mut *text, scalar),
    }
}
