//! What namespaces are, as their watch tells it.

use std::collections::BTreeSet;
use std::sync::Arc;

use apiserver::ResourceName;
use apiserver::aggregated::NamespacePhase;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::Namespace;
use serde_json::Value;

use super::follow::{FollowMessage, follow};
use super::remote::{Remote, version_of};
use super::seen::Seen;

/// The plural of namespaces.
pub(super) const PLURAL: &str = "namespaces";

/// The resource of namespaces.
pub(super) fn resource() -> ResourceName {
    ResourceName::new("", "v1", PLURAL)
}

/// Whether a namespace is on its way out.
fn leaves(namespace: &Value) -> bool {
    NamespacePhase::of(namespace) == NamespacePhase::Terminating
}

/// Keeps what is heard of namespaces; never ends as long as the cluster serves them.
pub(super) async fn run(remote: Remote, seen: Arc<Seen>) {
    let mut steps = follow(remote, resource());
    while let Some(step) = steps.next().await {
        take(&seen, step);
    }
}

/// Takes one message; those that wait for namespaces that go are told once that is known.
fn take(seen: &Seen, step: FollowMessage) {
    let name = |one: &Value| {
        let name = api::str_at(one, &["metadata", "name"]);
        name.unwrap_or_default().to_owned()
    };
    match step {
        FollowMessage::All(version, all) => {
            seen.retain(PLURAL, version, &all);
            let leaving = all.iter().filter(|one| leaves(one)).map(name).collect();
            for one in all {
                seen.put(PLURAL, one);
            }
            seen.leaving().send_replace(leaving);
        }
        FollowMessage::Put(one) => {
            let (name, leaves) = (name(&one), leaves(&one));
            seen.put(PLURAL, one);
            seen.leaving().send_if_modified(|all| match leaves {
                true => all.insert(name),
                false => all.remove(&name),
            });
        }
        FollowMessage::Gone(one) => {
            let name = name(&one);
            seen.remove(PLURAL, ("", &name), version_of(&one));
            seen.leaving().send_if_modified(|all| all.remove(&name));
        }
        FollowMessage::Version(_) => {}
    }
}

/// Each namespace once it is heard to go.
pub(super) fn leaving(seen: &Seen) -> BoxStream<'static, Namespace> {
    let start = (seen.leaving().subscribe(), BTreeSet::new());
    let all = stream::unfold(start, |(mut heard, mut told)| async move {
        loop {
            let now = heard.borrow_and_update().clone();
            told.retain(|name| now.contains(name));
            if let Some(next) = now.difference(&told).next().cloned() {
                told.insert(next.clone());
                return Some((next, (heard, told)));
            }
            heard.changed().await.ok()?;
        }
    });
    let named = |name: String| async move { Namespace::parse(&name).ok() };
    all.filter_map(named).boxed()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;

    use super::*;

    fn namespace(name: &str, version: &str, phase: &str) -> Value {
        let meta = json!({"name": name, "resourceVersion": version});
        json!({"metadata": meta, "status": {"phase": phase}})
    }

    #[tokio::test]
    async fn each_namespace_that_goes_is_told_once() {
        let seen = Seen::default();
        let mut told = leaving(&seen);
        let mut next = move || told.next().now_or_never().flatten().map(|n| n.to_string());
        assert_eq!(next(), None);
        let (stays, goes) = ("Active", "Terminating");
        let all = vec![namespace("a", "1", stays), namespace("b", "2", goes)];
        take(&seen, FollowMessage::All(2, all));
        assert_eq!(next().as_deref(), Some("b"));
        for version in ["3", "4"] {
            take(&seen, FollowMessage::Put(namespace("a", version, goes)));
        }
        assert!(leaves(&seen.get(PLURAL, "", "a").expect("it is known")));
        assert_eq!((next().as_deref(), next()), (Some("a"), None));
        // Another one of that name goes as well, in its time.
        take(&seen, FollowMessage::Gone(namespace("a", "5", goes)));
        assert_eq!(next(), None);
        take(&seen, FollowMessage::Put(namespace("a", "6", stays)));
        assert_eq!(next(), None);
        take(&seen, FollowMessage::Put(namespace("a", "7", goes)));
        assert_eq!((next().as_deref(), next()), (Some("a"), None));
    }
}
