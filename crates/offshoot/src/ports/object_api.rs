//! What the ports ask of whoever keeps objects: the embedded server, or a cluster around the program. Objects are JSON here
//! as they are served; nothing is decided.

use std::fmt;

use apiserver::ResourceName;
use apiserver::gateway::{AccessDecision, Attributes, User};
use async_trait::async_trait;
use engine::ports::{Feed, Gvk, Known};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use model::{Namespace, ObjectKey};
use objects::Failure;
use serde_json::Value;

/// Where a kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    /// The resource.
    pub(crate) resource: ResourceName,
    /// Whether its objects lie in namespaces.
    pub(crate) namespaced: bool,
    /// Whether its definition is on its way out: its objects go one by one, and what is left of them says nothing about
    /// what somebody selected (S3).
    pub(crate) leaving: bool,
}

/// By whom an object was written, as the server recorded it (X6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Signed {
    /// Its uid.
    pub(crate) uid: String,
    /// Who last wrote it, if that is known.
    pub(crate) writer: Option<User>,
    /// Name and uid of the set that makes it.
    pub(crate) set: Option<(String, String)>,
}

/// Which part of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All but its status, as a whole: what is not said goes.
    Whole,
    /// Some fields of it; the rest stays.
    Some,
    /// Its status.
    Status,
}

/// Changes an object in place.
pub(crate) type Change<'a> = dyn Fn(&mut Value) + Send + Sync + 'a;

/// Whoever keeps objects.
#[async_trait]
pub(crate) trait ObjectApi: Send + Sync + fmt::Debug {
    /// Where a kind is served in its version; `None` if it is not.
    ///
    /// # Errors
    /// It cannot be known now.
    async fn served(&self, kind: &Gvk) -> Result<Option<Served>, Failure>;

    /// Everything of a resource and what becomes of it; what is `known` may be left out. Ends when the resource is no
    /// longer served.
    fn feed(&self, resource: &ResourceName, known: Known) -> Feed<Value>;

    /// The same of a kind that may cease to be served. Objects at cluster scope are known by namespace `default`.
    fn feed_of(&self, kind: &Gvk, served: &Served) -> Feed<Value>;

    /// An object as it is now; `None` if there is none.
    ///
    /// # Errors
    /// What a client would be told.
    async fn get(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure>;

    /// An object that is at least as new as whatever the feeds told of it.
    ///
    /// # Errors
    /// What a client would be told.
    async fn seen(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        self.get(resource, namespace, name).await
    }

    /// Each namespace once it begins to go, where whoever empties it can be spared to wait for us.
    fn leaving(&self) -> BoxStream<'static, Namespace> {
        stream::pending().boxed()
    }

    /// Whether an object is at a version now.
    ///
    /// # Errors
    /// What a client would be told.
    async fn is_at(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
    ) -> Result<bool, Failure>;

    /// The objects of a namespace (empty: all) as they are now.
    ///
    /// # Errors
    /// What a client would be told.
    async fn list(&self, resource: &ResourceName, namespace: &str) -> Result<Vec<Value>, Failure>;

    /// Changes an object that must be at a version; answers the new version, empty if it went. A change to what it is is
    /// no write.
    ///
    /// # Errors
    /// 409 at another version, 404 without the object.
    async fn write(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<String, Failure>;

    /// The same; answers the object as it stands then, who wrote which of its fields apart.
    ///
    /// # Errors
    /// The same.
    async fn write_and_read(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        version: &str,
        part: Part,
        change: &Change<'_>,
    ) -> Result<Value, Failure>;

    /// Creates an object; answers it as it is kept.
    ///
    /// # Errors
    /// What a client would be told.
    async fn create(
        &self,
        resource: &ResourceName,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Failure>;

    /// Deletes an object, if it has this uid; one that is gone is no error.
    ///
    /// # Errors
    /// What a client would be told.
    async fn delete(
        &self,
        resource: &ResourceName,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), Failure>;

    /// By whom an object was written; `None` if there is none.
    ///
    /// # Errors
    /// What a client would be told.
    async fn signed(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Signed>, Failure>;

    /// The uid of an object; `None` if there is none.
    ///
    /// # Errors
    /// What a client would be told.
    async fn uid(
        &self,
        resource: &ResourceName,
        namespace: &str,
        name: &str,
    ) -> Result<Option<String>, Failure> {
        let signed = self.signed(resource, namespace, name).await?;
        Ok(signed.map(|object| object.uid))
    }

    /// Who set the Secret of a repository, or its address (X8).
    fn setter_of(&self, object: &Value) -> Option<User>;

    /// Whether somebody may do something.
    async fn may(&self, request: &Attributes<'_>) -> AccessDecision;

    /// Why this program itself may not read objects of a resource, and the way out; `None` if it may.
    async fn unreadable(
        &self,
        _resource: &ResourceName,
        _verb: &str,
        (_namespace, _name): (&str, &str),
    ) -> Option<String> {
        None
    }
}
