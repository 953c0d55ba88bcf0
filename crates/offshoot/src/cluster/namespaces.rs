//! What namespaces are, as their watch tells it.

use std::sync::Arc;

use apiserver::ResourceName;
use futures::StreamExt as _;

use super::follow::{FollowMessage, follow};
use super::remote::{Remote, version_of};
use super::seen::Seen;

/// The plural of namespaces.
pub(super) const PLURAL: &str = "namespaces";

/// The resource of namespaces.
pub(super) fn resource() -> ResourceName {
    ResourceName::new("", "v1", PLURAL)
}

/// Keeps what is heard of namespaces; never ends as long as the cluster serves them.
pub(super) async fn run(remote: Remote, seen: Arc<Seen>) {
    let mut steps = follow(remote, resource());
    while let Some(step) = steps.next().await {
        match step {
            FollowMessage::All(version, all) => {
                seen.retain(PLURAL, version, &all);
                for one in all {
                    seen.put(PLURAL, one);
                }
            }
            FollowMessage::Put(one) => drop(seen.put(PLURAL, one)),
            FollowMessage::Gone(one) => {
                let name = api::str_at(&one, &["metadata", "name"]).unwrap_or_default();
                seen.remove(PLURAL, ("", name), version_of(&one));
            }
            FollowMessage::Version(_) => {}
        }
    }
}
