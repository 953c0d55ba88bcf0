//! What is known about one resource: its names, scope, versions, and where its writes go.

mod builtins;
mod crd;
mod events;

pub use crd::CrdError;

use std::sync::Arc;

use serde_json::Value;

use crate::builtin::BuiltInKind;
use crate::schema::Structural;
use crate::status::qualified;
use crate::table::Column;

/// Where the writes of a resource go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backing {
    /// Into the store.
    #[default]
    Stored,
    /// To the gateway, which commits records through the store; reads come from the store.
    WriteThrough,
    /// Reads and writes go to the gateway; there is no watch.
    Virtual,
    /// The server answers; nothing is kept.
    Answered,
}

/// Who defined a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// Kubernetes itself.
    BuiltIn,
    /// The embedding program.
    #[default]
    Embedder,
    /// A `CustomResourceDefinition` object.
    Crd,
}

/// The paths of the scale subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// JSON path of the wanted count.
    pub spec_replicas: String,
    /// JSON path of the actual count.
    pub status_replicas: String,
    /// JSON path of the selector in text form.
    pub selector: Option<String>,
}

/// A subresource that only the gateway understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    /// Its name in paths.
    pub name: String,
    /// The kind that it speaks.
    pub kind: String,
    /// What may be done with it: `get`, `update`, `patch`.
    pub verbs: Vec<String>,
}

/// One version of a resource.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1`, `v1alpha2` …
    pub name: String,
    /// Whether clients can use it.
    pub served: bool,
    /// The compiled schema, if there is one.
    pub schema: Option<Arc<Structural>>,
    /// Whether that has defaults.
    pub defaults: bool,
    /// The schema as written: what OpenAPI documents publish.
    pub raw_schema: Option<Value>,
    /// The columns of tables, name first.
    pub columns: Vec<Column>,
    /// Whether status is written apart.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<Scale>,
    /// Subresources of the gateway.
    pub subresources: Vec<Subresource>,
    /// JSON paths that field selectors may use.
    pub selectable: Vec<String>,
    /// JSON paths of maps whose keys field selectors may use, in brackets.
    pub selectable_maps: Vec<String>,
    /// The warning that every request gets, if the version is deprecated.
    pub deprecation: Option<String>,
}

/// One served resource.
#[derive(Clone)]
pub struct Resource {
    /// The API group, empty for the core group.
    pub group: String,
    /// The name in paths.
    pub plural: String,
    /// The name of one.
    pub singular: String,
    /// The kind of an object.
    pub kind: String,
    /// The kind of a list.
    pub list_kind: String,
    /// Short names for command lines.
    pub short_names: Vec<String>,
    /// Groups of resources for command lines.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// All versions, in the order of the definition.
    pub versions: Vec<Version>,
    /// The version in which objects are kept.
    pub storage_version: String,
    /// Where writes go.
    pub backing: Backing,
    /// Who defined it.
    pub origin: Origin,
    /// The rules of a built-in kind.
    pub(crate) built_in: Option<&'static BuiltInKind>,
    /// The verbs of the gateway where it serves fewer than all; empty for all.
    pub verbs: Vec<String>,
    /// The request body limit in bytes (A11).
    pub body_limit: usize,
    /// The resource of the store and the `apiVersion` of objects there, where they are another resource's.
    pub stored_as: Option<(&'static str, &'static str)>,
    /// Objects of this version of the store and older ones were written before the definition was as it is.
    pub since: u64,
    /// Converts between versions where changing `apiVersion` is not enough.
    pub converter: Option<Arc<dyn Converter>>,
}

/// Converts objects between the versions of one resource, in process.
pub trait Converter: Send + Sync {
    /// Turns `object` into `api_version` (`group/version`).
    ///
    /// # Errors
    /// Why it cannot be converted.
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, String>;

    /// Turns many into `api_version`, in their order.
    ///
    /// # Errors
    /// Why one of them cannot be converted.
    fn convert_all(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, String> {
        let one = |object| self.convert(object, api_version);
        objects.into_iter().map(one).collect()
    }

    /// What is wrong with an object that is accepted all the same: whoever writes it is warned.
    fn review(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }
}

/// The limit of request bodies unless a resource says otherwise (A11).
const BODY_LIMIT: usize = 3 << 20;

impl Resource {
    /// Whether it takes larger bodies than others do.
    #[must_use]
    pub fn takes_larger_bodies(&self) -> bool {
        self.body_limit > BODY_LIMIT
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resource")
            .field("key", &self.key())
            .field("backing", &self.backing)
            .finish_non_exhaustive()
    }
}

impl Resource {
    /// The kind, if Kubernetes itself defines it.
    #[must_use]
    pub fn built_in_kind(&self) -> Option<&'static str> {
        self.built_in.map(|definition| definition.kind)
    }

    /// Names the resource in the store.
    #[must_use]
    pub fn key(&self) -> Arc<str> {
        if let Some((key, _)) = self.stored_as {
            return key.into();
        }
        qualified(&self.plural, &self.group).into()
    }

    /// Finds a version.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// `group/version`, or the version alone in the core group.
    #[must_use]
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", self.group)
        }
    }

    /// Whether it is a custom resource in the sense of the real server: PUT needs a version, generation is kept.
    #[must_use]
    pub fn custom(&self) -> bool {
        self.origin != Origin::BuiltIn
    }

    /// Sends writes to the gateway.
    #[must_use]
    pub fn write_through(mut self) -> Self {
        self.backing = Backing::WriteThrough;
        self.aggregated()
    }

    /// Sends reads and writes to the gateway; `verbs` are what it serves.
    #[must_use]
    pub fn virtual_with(mut self, verbs: &[&str]) -> Self {
        self.backing = Backing::Virtual;
        self.verbs = verbs.iter().map(|v| (*v).to_owned()).collect();
        self.aggregated()
    }

    /// Prints cells as the aggregated server does that users know the resource from.
    fn aggregated(mut self) -> Self {
        for version in &mut self.versions {
            let columns = std::mem::take(&mut version.columns);
            version.columns = columns.into_iter().map(Column::with_zero).collect();
        }
        self
    }

    /// Adds a subresource of the gateway to every version.
    #[must_use]
    pub fn with_subresource(mut self, name: &str, kind: &str, verbs: &[&str]) -> Self {
        for version in &mut self.versions {
            version.subresources.push(Subresource {
                name: name.to_owned(),
                kind: kind.to_owned(),
                verbs: verbs.iter().map(|v| (*v).to_owned()).collect(),
            });
        }
        self
    }

    /// Offers the keys of a map to field selectors of every version: `spec.labels` makes `spec.labels[KEY]=VALUE` understood.
    #[must_use]
    pub fn with_selectable_map(mut self, path: &str) -> Self {
        for version in &mut self.versions {
            version.selectable_maps.push(path.to_owned());
        }
        self
    }

    /// Sets the request body limit.
    #[must_use]
    pub fn with_body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Whether a verb is served on objects or the collection.
    #[must_use]
    pub fn serves(&self, verb: &str) -> bool {
        self.verbs.is_empty() || self.verbs.iter().any(|v| v == verb)
    }

    /// Its verbs, in the order that the real server lists them.
    #[must_use]
    pub fn listed_verbs(&self) -> Vec<&str> {
        const CUSTOM: [&str; 8] = [
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ];
        const BUILT_IN: [&str; 8] = [
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ];
        let all = if self.custom() { CUSTOM } else { BUILT_IN };
        let watchable = self.backing != Backing::Virtual;
        all.into_iter()
            .filter(|v| self.serves(v) && (watchable || *v != "watch"))
            .collect()
    }
}
