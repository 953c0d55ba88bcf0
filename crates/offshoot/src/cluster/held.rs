//! What the Lease says, and what follows from it for the next term. Asks nobody.

use std::sync::atomic::{AtomicU64, Ordering};

use objects::Failure;
use serde_json::Value;

use super::remote::{number, version_of};

/// The term in which the Lease is held.
pub(super) const TERM: &str = "offshoot.dev/term";

/// Where its holder is reached.
pub(super) const ADDRESS: &str = "offshoot.dev/address";

/// The highest format of records that was written (X7).
pub(super) const FORMAT: &str = "offshoot.dev/format";

/// Starts the name of each replica's own entry: the fingerprint of the certificate by which it forwards.
pub(super) const REPLICA: &str = "offshoot.dev/replica.";

/// What the Lease says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Its holder; empty if nobody holds it.
    pub(super) holder: String,
    /// Where the holder is reached.
    pub(super) address: String,
    /// The holder's term.
    pub(super) term: i64,
    /// The fingerprints of the replicas' certificates, by replica.
    pub(super) replicas: Vec<(String, String)>,
    /// The highest format of records.
    pub(super) format: i64,
}

/// Reads it.
pub(super) fn held(lease: &Value) -> Held {
    let notes = api::object_at(lease, &["metadata", "annotations"]);
    let note = |key: &str| {
        let note = notes.and_then(|notes| notes.get(key));
        note.and_then(Value::as_str).unwrap_or_default()
    };
    let replicas = notes.into_iter().flatten().filter_map(|(key, value)| {
        let replica = key.strip_prefix(REPLICA)?;
        Some((replica.to_owned(), value.as_str()?.to_owned()))
    });
    let signed = |key| i64::try_from(number(note(key))).unwrap_or(i64::MAX);
    Held {
        holder: api::str_at(lease, &["spec", "holderIdentity"])
            .unwrap_or_default()
            .to_owned(),
        address: note(ADDRESS).to_owned(),
        term: signed(TERM),
        replicas: replicas.collect(),
        format: signed(FORMAT),
    }
}

/// How far the Lease may be ahead of every record: as many takeovers as can have failed in between.
const AHEAD: i64 = 1_000_000;

/// The term after those that the Lease and records say. A Lease that is further ahead than any number of takeovers can
/// explain was written by somebody else: it counts for nothing.
pub(super) fn after(lease: i64, records: i64) -> Result<i64, Failure> {
    let lease = match lease.saturating_sub(records) > AHEAD {
        true => {
            tracing::error!(
                lease,
                records,
                "the Lease names a term that nobody can have had"
            );
            0
        }
        false => lease,
    };
    let last = lease.max(records).max(0);
    last.checked_add(1).ok_or_else(|| {
        Failure::internal(
            "a record names the highest term there is: remove the record offshoot-term",
        )
    })
}

/// The newest version of the Lease that this process has seen: the cluster's versions only grow, unless it was put back to a
/// state of before. Watches that began in the other state hear nothing then, and what is known of the cluster is not so.
#[derive(Debug, Default)]
pub(super) struct Newest(AtomicU64);

impl Newest {
    /// Notes a Lease that was read or written.
    ///
    /// # Errors
    /// It is older than one that was seen.
    pub(super) fn note(&self, lease: &Value) -> Result<(), String> {
        let version = version_of(lease);
        let newest = self.0.fetch_max(version, Ordering::AcqRel);
        match version < newest {
            true => Err(format!(
                "its version is {version}, and was {newest}: the cluster was put back to a state of before, of which this process knows nothing"
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_of_before_is_told_from_one_that_did_not_change() {
        let lease = |version: &str| json!({"metadata": {"resourceVersion": version}});
        let newest = Newest::default();
        for version in ["7", "9", "9", "1000"] {
            assert_eq!(newest.note(&lease(version)), Ok(()), "{version}");
        }
        let why = newest.note(&lease("999")).unwrap_err();
        assert!(why.contains("is 999, and was 1000"), "{why}");
    }
}
