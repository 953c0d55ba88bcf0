//! OpenAPI documents of the served kinds, so that `explain`, validation and `diff` work.
//!
//! Version 3 has one document for each group and version; version 2 is one for all. The caller
//! serialises, hashes and caches; nothing here knows which kinds are served at the moment.

mod paths;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::builtin::BuiltInKind;
use crate::resource::{self, Resource};

/// A served kind as the documents describe it.
#[derive(Debug, Clone)]
pub struct ServedKind {
    group: String,
    version: String,
    kind: String,
    list_kind: String,
    plural: String,
    namespaced: bool,
    custom: bool,
    verbs: BTreeSet<String>,
    /// Subresources: name and whether bodies are `Scale`.
    subresources: Vec<(String, bool)>,
    schema: Value,
    selectable: Vec<String>,
}

impl ServedKind {
    /// A resource in one of its versions.
    #[must_use]
    pub fn of(resource: &Resource, version: &resource::Version) -> Self {
        if let Some(definition) = resource.built_in {
            return Self::builtin(definition);
        }
        let mut subresources = Vec::new();
        if version.status {
            subresources.push(("status".to_owned(), false));
        }
        if version.scale.is_some() {
            subresources.push(("scale".to_owned(), true));
        }
        subresources.extend(version.subresources.iter().map(|s| (s.name.clone(), false)));
        Self {
            group: resource.group.clone(),
            version: version.name.clone(),
            kind: resource.kind.clone(),
            list_kind: resource.list_kind.clone(),
            plural: resource.plural.clone(),
            namespaced: resource.namespaced,
            custom: true,
            verbs: resource
                .listed_verbs()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            subresources,
            schema: version
                .raw_schema
                .clone()
                .unwrap_or_else(|| json!({"type": "object"})),
            selectable: version.selectable.clone(),
        }
    }

    /// A built-in kind.
    fn builtin(definition: &BuiltInKind) -> Self {
        let same_kind = definition.subresources.iter().filter(|s| s.kind.is_none());
        Self {
            group: definition.group.to_owned(),
            version: definition.version.to_owned(),
            kind: definition.kind.to_owned(),
            list_kind: format!("{}List", definition.kind),
            plural: definition.plural.to_owned(),
            namespaced: definition.namespaced,
            custom: false,
            verbs: definition.verbs.iter().map(|v| (*v).to_owned()).collect(),
            subresources: same_kind.map(|s| (s.name.to_owned(), false)).collect(),
            schema: definition.schema_json().clone(),
            selectable: Vec::new(),
        }
    }

    /// The name of the component: the group reversed, version and kind.
    #[must_use]
    pub fn component(&self) -> String {
        schemas::component(&self.group, &self.version, &self.kind, self.custom)
    }
}

/// The place of a document below `/openapi/v3/`: `api/v1`, `apis/group/version`.
#[must_use]
pub fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// The index at `/openapi/v3`; `hashes` by [`place`].
#[must_use]
pub fn index(hashes: &BTreeMap<String, String>) -> Value {
    let entry = |(place, hash): (&String, &String)| {
        (
            place.clone(),
            json!({"serverRelativeURL": format!("/openapi/v3/{place}?hash={hash}")}),
        )
    };
    json!({ "paths": hashes.iter().map(entry).collect::<Map<String, Value>>() })
}

impl ServedKind {
    /// The version 3 document of one group and version; kinds of others are left out.
    #[must_use]
    pub fn document(group: &str, version: &str, kinds: &[Self]) -> Value {
        let kinds: Vec<&Self> = kinds
            .iter()
            .filter(|k| k.group == group && k.version == version)
            .collect();
        let custom = kinds.iter().any(|k| k.custom);
        let mut all = Map::new();
        let mut components = BTreeMap::new();
        for kind in &kinds {
            all.extend(paths::of(kind));
            components.extend(schemas::of(kind));
        }
        let schemas = schemas::reachable(&all, components);
        let title = if custom {
            "Kubernetes CRD Swagger"
        } else {
            "Kubernetes"
        };
        json!({
            "openapi": "3.0.0",
            "info": {"title": title, "version": if custom { "v0.1.0" } else { "unversioned" }},
            "paths": all,
            "components": {"schemas": schemas},
        })
    }

    /// The version 2 document of all kinds.
    #[must_use]
    pub fn swagger(kinds: &[Self]) -> Value {
        let mut all = Map::new();
        let mut components = BTreeMap::new();
        for kind in kinds {
            all.extend(paths::of(kind));
            components.extend(schemas::of(kind));
        }
        let schemas = schemas::reachable(&all, components);
        let paths: Map<String, Value> = all
            .iter()
            .map(|(p, item)| (p.clone(), paths::old(item)))
            .collect();
        let mut definitions: Map<String, Value> = schemas
            .iter()
            .map(|(name, schema)| (name.clone(), schemas::old(schema)))
            .collect();
        let bare = kinds
            .iter()
            .filter_map(|kind| Some((kind.component(), schemas::bare(kind)?)));
        definitions.extend(bare);
        json!({
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": "unversioned"},
            "paths": paths,
            "definitions": definitions,
        })
    }
}

#[cfg(test)]
mod tests;
