//! The cluster as the one that keeps objects. Package revisions are not among them: those this process serves itself.

use std::sync::Arc;
use std::time::Duration;

use apiserver::gateway::{AccessDecision, Attributes, User};
use apiserver::{ResourceName, ServerHandle, Setters, Writers};
use async_trait::async_trait;
use engine::ports::{Delta, Feed, Gvk, Known};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use model::{Namespace, ObjectKey};
use objects::{Failure, Reason};
use serde_json::Value;

use super::follow::{FollowMessage, follow};
use super::kinds::Kinds;
use super::remote::{Remote, version_of};
use super::seen::Seen;
use super::term::Term;
use super::{difference, namespaces};
use crate::ports::{
    Change, ObjectApi, Part, Served, Signed, cluster_key, embedded, setters, writers,
};

/// The media type of changes.
const MERGE: &str = "application/merge-patch+json";

/// How often a creation is tried whose answer was lost, and how long after.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// Which namespaces are served; all, if none is named.
pub(super) type Namespaces = Arc<Vec<Namespace>>;

/// Objects in the cluster.
#[derive(Debug)]
pub(super) struct ClusterObjects {
    remote: Remote,
    seen: Arc<Seen>,
    kinds: Kinds,
    /// What this process serves itself.
    own: Arc<dyn ObjectApi>,
    handle: ServerHandle,
    term: Arc<Term>,
    namespaces: Namespaces,
    writers: Writers,
    setters: Setters,
    /// As whom the cluster knows this process.
    account: User,
}

impl ClusterObjects {
    pub(super) fn new(
        (remote, seen, term): (Remote, Arc<Seen>, Arc<Term>),
        handle: &ServerHandle,
        namespaces: Namespaces,
        account: User,
    ) -> Arc<Self> {
        Arc::new(Self {
            kinds: Kinds::new(remote.clone()),
            remote,
            seen,
            own: embedded(handle),
            handle: handle.clone(),
            term,
            namespaces,
            writers: writers(account.name.clone()),
            setters: setters(account.name.clone()),
            account,
        })
    }

    /// Whether this process serves a resource itself.
    fn is_own(resource: &ResourceName) -> bool {
        resource.group == api::PACKAGE_GROUP
    }

    /// Takes what a request or a watch said of an object of ours.
    fn saw(&self, resource: &ResourceName, object: Value) -> Value {
        saw(&self.seen, resource, &object);
        object
    }

    /// The object at a version: as it was seen last, or read where that is another one.
    async fn at(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
    ) -> Result<Arc<Value>, Failure> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let is_at =
            |object: &Value| api::str_at(object, &["metadata", "resourceVersion"]) == Some(version);
        let seen = self.seen.get(&resource.plural, namespace, name);
        if let Some(seen) = seen.filter(|seen| is_at(seen)) {
            return Ok(seen);
        }
        let now = self.get(resource, namespace, name).await?;
        let gone = || Failure::not_found(&resource.group, &resource.plural, name);
        let now = now.ok_or_else(gone)?;
        if !is_at(&now) {
            return Err(Failure::modified(&resource.group, &resource.plural, name));
        }
        Ok(Arc::new(now))
    }

    /// Writes what a change does to an object at a version; `None` where it does nothing.
    async fn change(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<(Arc<Value>, Option<Value>), Failure> {
        let old = self.at(resource, key, version).await?;
        let mut new = (*old).clone();
        change(&mut new);
        let Some(mut patch) = difference::between(&old, &new) else {
            return Ok((old, None));
        };
        patch["metadata"]["resourceVersion"] = version.into();
        let subresource = match part {
            Part::Status => "status",
            Part::Whole | Part::Some => "",
        };
        self.term.check()?;
        let place = (key.namespace.as_str(), key.name.as_str(), subresource);
        let written = self.remote.patch(resource, place, MERGE, &patch).await?;
        Ok((old, Some(self.saw(resource, written))))
    }
}

/// Keeps an object of ours as it was seen.
fn saw(seen: &Seen, resource: &ResourceName, object: &Value) {
    if is_kept(resource) {
        seen.put(&resource.plural, object.clone());
    }
}

/// Whether the last state of these objects is kept.
fn is_kept(resource: &ResourceName) -> bool {
    resource.group == api::CONFIG_GROUP
        || (resource.group.is_empty() && resource.plural == namespaces::PLURAL)
}

#[async_trait]
impl ObjectApi for ClusterObjects {
    async fn served(&self, kind: &Gvk) -> Result<Option<Served>, Failure> {
        self.kinds.served(kind).await
    }

    fn feed(&self, resource: &ResourceName, known: Known) -> Feed<Value> {
        if Self::is_own(resource) {
            return self.own.feed(resource, known);
        }
        let (seen, of) = (Arc::clone(&self.seen), resource.clone());
        let steps = follow(self.remote.clone(), resource.clone());
        let steps = steps.inspect(move |step| note(&seen, &of, step));
        deltas(
            steps.boxed(),
            Arc::clone(&self.namespaces),
            known,
            api::read_key,
        )
    }

    fn feed_of(&self, _kind: &Gvk, served: &Served) -> Feed<Value> {
        let steps = follow(self.remote.clone(), served.resource.clone());
        let (namespaces, key): (Namespaces, super::Key) = match served.namespaced {
            true => (Arc::clone(&self.namespaces), api::read_key),
            false => (Namespaces::default(), cluster_key),
        };
        deltas(steps, namespaces, Known::nothing(), key)
    }

    async fn get(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        if Self::is_own(resource) {
            return self.own.get(resource, namespace, name).await;
        }
        let found = self.remote.get(resource, namespace, name).await?;
        Ok(found.map(|object| self.saw(resource, object)))
    }

    async fn seen(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        match self.seen.get(&resource.plural, namespace, name) {
            Some(seen) => Ok(Some((*seen).clone())),
            None => self.get(resource, namespace, name).await,
        }
    }

    fn leaving(&self) -> BoxStream<'static, Namespace> {
        namespaces::leaving(&self.seen)
    }

    async fn is_at(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
    ) -> Result<bool, Failure> {
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        let now = self.get(resource, namespace, name).await?;
        Ok(now.is_some_and(|now| {
            api::str_at(&now, &["metadata", "resourceVersion"]) == Some(version)
        }))
    }

    async fn list(&self, resource: &ResourceName, namespace: &str) -> Result<Vec<Value>, Failure> {
        if Self::is_own(resource) {
            return self.own.list(resource, namespace).await;
        }
        Ok(self.remote.list(resource, namespace).await?.items)
    }

    async fn write(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<String, Failure> {
        if Self::is_own(resource) {
            return self.own.write(resource, key, version, part, change).await;
        }
        let (_, written) = self.change(resource, key, version, part, change).await?;
        Ok(match written {
            None => version.to_owned(),
            Some(now) if went(&now) => String::new(),
            Some(now) => version_of(&now).to_string(),
        })
    }

    async fn write_and_read(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<Value, Failure> {
        let (old, written) = self.change(resource, key, version, part, change).await?;
        Ok(written.unwrap_or_else(|| (*old).clone()))
    }

    async fn create(
        &self,
        resource: &ResourceName,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Failure> {
        let mut last = None;
        for _ in 0..TRIES {
            self.term.check()?;
            match self.remote.create(resource, namespace, &object).await {
                Ok(made) => return Ok(self.saw(resource, made)),
                Err(failure) if failure.reason == Reason::AlreadyExists => {
                    let name = api::str_at(&object, &["metadata", "name"]).unwrap_or_default();
                    let now = self.get(resource, namespace, name).await?;
                    // Was it this creation, whose answer was lost?
                    return now.filter(|now| is_made_of(now, &object)).ok_or(failure);
                }
                Err(failure) if failure.code >= 500 || failure.code == 429 => {
                    last = Some(failure);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last.unwrap_or_else(|| Failure::internal("no try was made")))
    }

    async fn delete(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), Failure> {
        self.term.check()?;
        let place = (key.namespace.as_str(), key.name.as_str());
        match self.remote.delete(resource, place, (uid, None)).await {
            // Gone already, or another one of that name.
            Err(failure) if failure.code == 404 => Ok(()),
            other => other,
        }
    }

    async fn signed(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Signed>, Failure> {
        if Self::is_own(resource) {
            return self.own.signed(resource, namespace, name).await;
        }
        let object = self.seen(resource, namespace, name).await?;
        Ok(object.map(|object| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            let set = owners
                .into_iter()
                .flatten()
                .find(|owner| owner["kind"] == "PackageVariantSet" && owner["controller"] == true);
            let text =
                |owner: &Value, field: &str| owner[field].as_str().unwrap_or_default().to_owned();
            Signed {
                uid: text(&object["metadata"], "uid"),
                writer: self.writers.writer(&object),
                set: set.map(|set| (text(set, "name"), text(set, "uid"))),
            }
        }))
    }

    fn setter_of(&self, object: &Value) -> Option<User> {
        self.setters.setter(object)
    }

    async fn may(&self, request: &Attributes<'_>) -> AccessDecision {
        self.handle.may(request).await
    }

    async fn unreadable(
        &self,
        resource: &ResourceName,
        verb: &str,
        (namespace, name): (&str, &str),
    ) -> Option<String> {
        let asked = Attributes {
            user: &self.account,
            verb,
            group: &resource.group,
            resource: &resource.plural,
            subresource: "",
            namespace,
            name,
            path: "",
        };
        if self.may(&asked).await.allowed {
            return None;
        }
        Some(match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "secrets") => format!(
                "Offshoot itself may not get secret {namespace}/{name}: name it in the chart's value `secrets`, or give its \
                 account a Role for it"
            ),
            (group, plural) => format!(
                "Offshoot itself may not {verb} resource {plural:?} in API group {group:?}: give a ClusterRole with the verbs \
                 get, list and watch on it the label offshoot.dev/aggregate-to-read: \"true\""
            ),
        })
    }
}

/// Whether an object is what was asked to be made: its owners are the same, by their uids, and it says the same.
fn is_made_of(now: &Value, asked: &Value) -> bool {
    let owners = |object: &Value| object["metadata"]["ownerReferences"].clone();
    !owners(asked).is_null() && owners(now) == owners(asked) && covers(&now["spec"], &asked["spec"])
}

/// Whether one value says all that another says; a server adds defaults.
fn covers(more: &Value, less: &Value) -> bool {
    match (more, less) {
        (Value::Object(more), Value::Object(less)) => less.iter().all(|(key, value)| {
            let there = more.get(key).unwrap_or(&Value::Null);
            covers(there, value)
        }),
        (more, less) => more == less,
    }
}

/// Whether an object went with a write that took its last finalizer.
fn went(object: &Value) -> bool {
    let meta = &object["metadata"];
    let held = meta["finalizers"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    !meta["deletionTimestamp"].is_null() && !held
}

/// Keeps what a watch tells before the engine hears of it.
fn note(seen: &Seen, resource: &ResourceName, step: &FollowMessage) {
    if !is_kept(resource) {
        return;
    }
    match step {
        FollowMessage::All(version, all) => {
            seen.retain(&resource.plural, *version, all);
            for object in all {
                seen.put(&resource.plural, object.clone());
            }
        }
        FollowMessage::Put(object) => drop(seen.put(&resource.plural, object.clone())),
        FollowMessage::Gone(object) => {
            let text = |field| api::str_at(object, &["metadata", field]).unwrap_or_default();
            let place = (text("namespace"), text("name"));
            seen.remove(&resource.plural, place, version_of(object));
        }
        FollowMessage::Version(_) => {}
    }
}

/// What the engine hears of what is followed.
fn deltas(
    steps: BoxStream<'static, FollowMessage>,
    namespaces: Namespaces,
    known: Known,
    key: super::Key,
) -> Feed<Value> {
    let heard = steps.map(move |step| {
        let within = |object: &Value| {
            namespaces.is_empty()
                || key(object).is_some_and(|key| namespaces.contains(&key.namespace))
        };
        match step {
            FollowMessage::All(_, mut all) => {
                all.retain(within);
                Some(Delta::Snapshot(all))
            }
            FollowMessage::Put(object) => {
                let version = version_of(&object).to_string();
                let news = |key: ObjectKey| !known.knows(&key, &version);
                (within(&object) && key(&object).is_some_and(news)).then(|| Delta::Put(object))
            }
            FollowMessage::Gone(object) => {
                let key = within(&object).then(|| key(&object)).flatten();
                key.map(|key| Delta::Deleted {
                    key,
                    version: version_of(&object).to_string(),
                })
            }
            FollowMessage::Version(_) => None,
        }
    });
    heard.filter_map(|delta| async move { delta }).boxed()
}
