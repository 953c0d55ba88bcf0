//! One of the revisions that a command is about.

use serde_json::Value;

use super::{items, text};
use crate::client::{Client, PACKAGES, collection};
use crate::exit::ExitFailure;

/// A revision, and the tree that was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) tree: Option<String>,
    /// The set and the variant that make it, where a plan says so: neither the variant nor the revision need be there yet.
    pub(crate) member: Option<(String, String)>,
    /// The class that was seen, and what this one states for its inputs; an approval keeps it.
    pub(crate) class: Option<Value>,
}

/// Those that a selection lists, each with the tree that it has now.
pub(in crate::commands) async fn selected(
    client: &Client,
    labels: &str,
    fields: &str,
) -> Result<Vec<Entry>, ExitFailure> {
    let query = [("labelSelector", labels), ("fieldSelector", fields)];
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &query))
        .await?;
    let entry = |object: &Value| {
        Some(Entry {
            namespace: client.namespace.clone(),
            name: text(object, &["metadata", "name"])?,
            tree: text(object, &["status", "offshoot", "tree"]),
            ..Entry::default()
        })
    };
    let entries: Vec<Entry> = items(&list).iter().filter_map(entry).collect();
    if entries.is_empty() {
        crate::commands::say(&format!(
            "No package revision of namespace {} matches.",
            client.namespace
        ));
    }
    Ok(entries)
}
