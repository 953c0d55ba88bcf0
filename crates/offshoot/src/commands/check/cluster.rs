//! The records of a cluster, read as whoever asks; nothing is written there.

use std::path::Path;

use serde_json::Value;

use crate::cluster::{Remote, records};
use crate::exit::ExitFailure;

/// What a cluster holds of ours.
pub(super) struct Objects {
    /// Repositories and package revisions, by resource.
    pub(super) all: Vec<(&'static str, Value)>,
    /// Records that cannot be read.
    pub(super) problems: Vec<String>,
}

/// Reads repositories and records.
///
/// # Errors
/// The cluster cannot be asked, or refuses.
pub(super) async fn objects(kubeconfig: &Path) -> Result<Objects, ExitFailure> {
    let remote = Remote::connect(Some(kubeconfig)).await?;
    let failed = |what: &str, e: objects::Failure| ExitFailure::of(&format!("list the {what}"), &e);
    let repositories = apiserver::ResourceName::new(api::CONFIG_GROUP, "v1alpha1", "repositories");
    let listed = remote.list(&repositories, "").await;
    let repositories = listed.map_err(|e| failed("repositories", e))?.items;
    let records = remote.list(&records(), "").await;
    let records = records.map_err(|e| failed("records", e))?.items;
    let mut out = Objects {
        all: repositories
            .into_iter()
            .map(|object| ("repositories.config.porch.kpt.dev", object))
            .collect(),
        problems: Vec::new(),
    };
    for record in &records {
        match api::read_record(record) {
            Ok(read) => {
                let revision = read.revision.into_iter();
                out.all
                    .extend(revision.map(|object| ("packagerevisions.porch.kpt.dev", object)));
            }
            Err(why) => out.problems.push(why.to_string()),
        }
    }
    Ok(out)
}
