//! `RevisionRecord`: what is remembered of a package revision where a cluster keeps it.
//!
//! The payload is the `PackageRevision` as it is served, in the form that the embedded server stores. Uid, labels, owners,
//! finalizers and times of the revision are part of it and never the record's own (C3): a collector of the cluster collects
//! what is served. Only its version is the record's, since the cluster gives it out.

use serde_json::{Map, Value};

use crate::{object_of, str_at};

/// The group of records.
pub const RECORD_GROUP: &str = "offshoot.dev";

/// The format of payloads that this version writes (X7).
pub const RECORD_FORMAT: i64 = 1;

/// A record, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionRecord {
    /// In which term it was written.
    pub term: i64,
    /// The record's own uid, by which a removal names it.
    pub uid: String,
    /// The package revision with the record's version; `None` in a record that marks the beginning of a term.
    pub revision: Option<Value>,
}

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadRecord {
    /// A newer version wrote it (X7): it must not be written over by this one.
    #[error("record {name} has format {found}, this version reads formats up to {RECORD_FORMAT}")]
    Newer {
        /// Namespace and name.
        name: String,
        /// Its format.
        found: i64,
    },
    /// A field is missing or of the wrong type.
    #[error("record {name}: {field} is missing or of the wrong type")]
    Field {
        /// Namespace and name.
        name: String,
        /// Where.
        field: &'static str,
    },
}

/// Writes the record of a package revision; at `version` where it is there already.
pub fn write_record(
    (namespace, name): (&str, &str),
    term: i64,
    revision: Option<&Value>,
    version: Option<&str>,
) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), name.into());
    metadata.insert("namespace".to_owned(), namespace.into());
    if let Some(version) = version {
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    let mut spec = object_of([("term", term.into()), ("format", RECORD_FORMAT.into())]);
    if let Some(revision) = revision {
        let mut payload = revision.clone();
        if let Some(own) = payload.get_mut("metadata").and_then(Value::as_object_mut) {
            // Name, namespace and version are the record's: nothing is kept twice.
            for field in ["name", "namespace", "resourceVersion"] {
                own.shift_remove(field);
            }
        }
        spec["payload"] = payload;
    }
    object_of([
        ("apiVersion", format!("{RECORD_GROUP}/v1alpha1").into()),
        ("kind", "RevisionRecord".into()),
        ("metadata", metadata.into()),
        ("spec", spec),
    ])
}

/// Reads a record as the cluster keeps it.
///
/// # Errors
/// It is of a newer version, or damaged.
pub fn read_record(record: &Value) -> Result<RevisionRecord, UnreadRecord> {
    let text = |field| str_at(record, &["metadata", field]).unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let called = || format!("{namespace}/{name}");
    let missing = |field| UnreadRecord::Field {
        name: called(),
        field,
    };
    let number = |field| record.pointer(field).and_then(Value::as_i64);
    let format = number("/spec/format").ok_or_else(|| missing("spec.format"))?;
    if format > RECORD_FORMAT {
        return Err(UnreadRecord::Newer {
            name: called(),
            found: format,
        });
    }
    let term = number("/spec/term").ok_or_else(|| missing("spec.term"))?;
    let revision = match record.pointer("/spec/payload") {
        None => None,
        Some(payload) => {
            let mut revision = payload.clone();
            let own = revision.get_mut("metadata").and_then(Value::as_object_mut);
            let own = own.ok_or_else(|| missing("spec.payload.metadata"))?;
            for field in ["name", "namespace", "resourceVersion"] {
                own.insert(field.to_owned(), text(field).into());
            }
            Some(revision)
        }
    };
    Ok(RevisionRecord {
        term,
        uid: text("uid").to_owned(),
        revision,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn revision() -> Value {
        json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
            "metadata": {
                "name": "blue.web.v1", "namespace": "shop", "uid": "of-the-revision", "resourceVersion": "7",
                "labels": {"team": "web"}, "generation": 3,
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}],
            },
            "spec": {"packageName": "web", "lifecycle": "Draft"},
            "status": {"offshoot": {"format": 1, "of": "a later version"}},
        })
    }

    #[test]
    fn a_revision_comes_back_as_it_was_with_the_records_version() {
        let mut kept = write_record(("shop", "blue.web.v1"), 4, Some(&revision()), Some("7"));
        assert_eq!(kept["metadata"]["resourceVersion"], "7");
        assert_eq!(
            kept["metadata"].get("labels"),
            None,
            "labels are the revision's own"
        );
        assert_eq!(kept["metadata"].get("ownerReferences"), None);
        kept["metadata"]["resourceVersion"] = "12".into();
        kept["metadata"]["uid"] = "of-the-record".into();
        let read = read_record(&kept).unwrap();
        let mut wanted = revision();
        wanted["metadata"]["resourceVersion"] = "12".into();
        assert_eq!((read.term, read.uid.as_str()), (4, "of-the-record"));
        assert_eq!(read.revision, Some(wanted));
    }

    #[test]
    fn a_record_of_a_newer_format_is_refused_and_named() {
        let mut kept = write_record(("shop", "blue.web.v1"), 4, Some(&revision()), None);
        kept["spec"]["format"] = (RECORD_FORMAT + 1).into();
        let refused = read_record(&kept).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "record shop/blue.web.v1 has format 2, this version reads formats up to 1"
        );
    }

    #[test]
    fn a_record_without_a_payload_only_marks_a_term() {
        let marker = write_record(("offshoot-system", "term"), 9, None, None);
        let read = read_record(&marker).unwrap();
        assert_eq!((read.term, read.revision), (9, None));
    }

    #[test]
    fn a_damaged_record_is_told_by_its_field() {
        let mut kept = write_record(("shop", "blue.web.v1"), 4, Some(&revision()), None);
        kept["spec"]["payload"] = json!({"metadata": 7});
        let refused = read_record(&kept).unwrap_err();
        let text = "record shop/blue.web.v1: spec.payload.metadata is missing or of the wrong type";
        assert_eq!(refused.to_string(), text);
    }
}
