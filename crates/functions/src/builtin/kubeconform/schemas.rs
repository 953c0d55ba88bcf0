//! Where schemas come from: Kubernetes' OpenAPI documents, definitions of custom resources, single JSON schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use yaml::owned::Value;
use yaml::{Limits, Stream};

/// A schema file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Not JSON or YAML.
    #[error("{name}: {why}")]
    Parse {
        /// The file.
        name: String,
        /// Where, and why.
        why: String,
    },
}

/// A schema, and the document that its references lead into.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) root: Arc<Json>,
    /// Where it stands in the document, as a JSON pointer.
    pub(super) at: String,
}

/// Schemas by group, version and kind.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    known: BTreeMap<(String, String, String), Schema>,
    /// Single schemas by their file's name, such as `deployment-apps-v1`.
    named: BTreeMap<String, Schema>,
}

impl Schemas {
    /// Takes the schemas of one file: an OpenAPI document (2 or 3), definitions of custom resources, or a JSON schema
    /// that is named as the kubeconform project names them (`kind-group-version.json`).
    ///
    /// # Errors
    /// A text that is neither JSON nor YAML.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), SchemaError> {
        let failed = |why: String| SchemaError::Parse {
            name: name.to_owned(),
            why,
        };
        if name.ends_with(".json") {
            let json = serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
            self.take(name, json);
            return Ok(());
        }
        let stream =
            Stream::parse(text, &Limits::default()).map_err(|error| failed(error.to_string()))?;
        for document in stream.documents().filter(|document| !document.is_empty()) {
            let value = Value::read(&document).map_err(|error| failed(error.to_string()))?;
            self.take(name, value.to_json());
        }
        Ok(())
    }

    /// How many kinds are known.
    pub fn len(&self) -> usize {
        self.known.len() + self.named.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn find(&self, group: &str, version: &str, kind: &str) -> Option<&Schema> {
        let key = (group.to_owned(), version.to_owned(), kind.to_owned());
        let short = group.split('.').next().unwrap_or_default();
        let kind = kind.to_lowercase();
        let name = if group.is_empty() {
            format!("{kind}-{version}")
        } else {
            format!("{kind}-{short}-{version}")
        };
        self.known.get(&key).or_else(|| self.named.get(&name))
    }

    fn take(&mut self, name: &str, json: Json) {
        let root = Arc::new(json);
        for (section, pointer) in [
            ("definitions", "/definitions"),
            ("schemas", "/components/schemas"),
        ] {
            let definitions = root.pointer(pointer).and_then(Json::as_object);
            for (key, definition) in definitions.into_iter().flatten() {
                let kinds = definition
                    .get("x-kubernetes-group-version-kind")
                    .and_then(Json::as_array);
                for kind in kinds.into_iter().flatten() {
                    let at = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                    self.know(
                        kind,
                        Schema {
                            root: root.clone(),
                            at,
                        },
                    );
                }
            }
            if definitions.is_some() && section == "schemas" {
                return;
            }
        }
        if text(&root, "/kind") == "CustomResourceDefinition" {
            return self.take_definition(&root);
        }
        if root.get("type").is_some() || root.get("properties").is_some() {
            let file = name.rsplit('/').next().unwrap_or(name);
            let stem = file
                .rsplit_once('.')
                .map_or(file, |(stem, _)| stem)
                .to_lowercase();
            self.named.insert(
                stem,
                Schema {
                    root,
                    at: String::new(),
                },
            );
        }
    }

    fn take_definition(&mut self, root: &Arc<Json>) {
        let versions = root.pointer("/spec/versions").and_then(Json::as_array);
        for (index, version) in versions.into_iter().flatten().enumerate() {
            if version.pointer("/schema/openAPIV3Schema").is_none() {
                continue;
            }
            let key = (
                text(root, "/spec/group").to_owned(),
                text(version, "/name").to_owned(),
                text(root, "/spec/names/kind").to_owned(),
            );
            let at = format!("/spec/versions/{index}/schema/openAPIV3Schema");
            self.known.insert(
                key,
                Schema {
                    root: root.clone(),
                    at,
                },
            );
        }
    }

    fn know(&mut self, kind: &Json, schema: Schema) {
        let part = |key: &str| text(kind, key).to_owned();
        self.known
            .insert((part("/group"), part("/version"), part("/kind")), schema);
    }
}

fn text<'j>(json: &'j Json, pointer: &str) -> &'j str {
    json.pointer(pointer)
        .and_then(Json::as_str)
        .unwrap_or_default()
}
