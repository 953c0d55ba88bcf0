//! A resource on its way through a pipeline.

use std::sync::Arc;

use model::ResourceRef;
use yaml::owned::{Map, Value};

use crate::LOCAL_CONFIG;

/// One resource: its document, and where it is kept.
#[derive(Debug, Clone)]
pub struct Item {
    /// What the caller knows it by; functions keep it, and resources that they make have none.
    pub id: Option<u32>,
    /// The document, shared until somebody changes it.
    pub value: Arc<Value>,
    /// The file, relative to the package; none for a resource that a function made.
    pub path: Option<String>,
    /// The document's position in the file.
    pub index: Option<u32>,
}

impl Item {
    /// A resource that a function made.
    pub fn made(value: Value) -> Self {
        Self {
            id: None,
            value: Arc::new(value),
            path: None,
            index: None,
        }
    }

    /// The document, to be changed: copied first if somebody else still looks at it.
    pub fn value_mut(&mut self) -> &mut Value {
        Arc::make_mut(&mut self.value)
    }

    /// Whether it says anything of what it is: the functions that look for comments take nothing else.
    ///
    /// # Errors
    /// The catalog's words where it does not.
    pub(crate) fn meta_stands(&self) -> Result<(), String> {
        let says = !self.kind().is_empty()
            || !self.api_version().is_empty()
            || self.value.get("metadata").is_some();
        says.then_some(())
            .ok_or_else(|| "missing Resource metadata".to_owned())
    }

    /// Whether it has a kind, and a name unless it is a list: the functions that follow names take
    /// nothing else.
    ///
    /// # Errors
    /// The catalog's words where it has not, without the object that it prints behind them (M11).
    pub(crate) fn is_named(&self) -> Result<(), &'static str> {
        match (self.kind(), self.name()) {
            ("", _) => Err("missing kind in object"),
            (kind, "") if !kind.ends_with("List") => Err("missing metadata.name in object"),
            _ => Ok(()),
        }
    }

    /// `apiVersion`; empty if there is none.
    pub fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"])
    }

    /// `kind`; empty if there is none.
    pub fn kind(&self) -> &str {
        self.text_at(&["kind"])
    }

    /// `metadata.name`; empty if there is none.
    pub fn name(&self) -> &str {
        self.text_at(&["metadata", "name"])
    }

    /// `metadata.namespace`; empty if there is none.
    pub fn namespace(&self) -> &str {
        self.text_at(&["metadata", "namespace"])
    }

    /// The group of `apiVersion`; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version()
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// The version of `apiVersion`.
    pub fn version(&self) -> &str {
        let text = self.api_version();
        text.split_once('/').map_or(text, |(_, version)| version)
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.value.lookup(&["metadata", "annotations", key])?.text()
    }

    /// Whether it is marked as never to be applied to a cluster (every value but `false` counts).
    pub fn is_local_config(&self) -> bool {
        self.annotation(LOCAL_CONFIG)
            .is_some_and(|value| value != "false")
    }

    /// Whether group, version and kind are these; an empty one matches anything, on either side.
    pub fn is_gvk(&self, group: &str, version: &str, kind: &str) -> bool {
        let fits = |want: &str, have: &str| want.is_empty() || have.is_empty() || want == have;
        fits(group, self.group()) && fits(version, self.version()) && fits(kind, self.kind())
    }

    /// How a result names it.
    pub fn reference(&self) -> ResourceRef {
        ResourceRef {
            api_version: self.api_version().to_owned(),
            kind: self.kind().to_owned(),
            namespace: self.namespace().to_owned(),
            name: self.name().to_owned(),
        }
    }

    /// A scalar's text at a path of keys; empty if there is none.
    pub(crate) fn text_at(&self, path: &[&str]) -> &str {
        self.value
            .lookup(path)
            .and_then(Value::text)
            .unwrap_or_default()
    }

    /// Sets a string at a path of keys, making what is missing; whether that changed anything.
    pub(crate) fn set_text(&mut self, path: &[&str], text: &str) -> bool {
        if self.value.str_at(path) == Some(text) {
            return false;
        }
        let Some((last, parents)) = path.split_last() else {
            return false;
        };
        self.value_mut()
            .ensure_map(parents)
            .is_some_and(|map| map.set_str(last, text))
    }
}

/// Sets strings in a mapping below a value where they differ; whether anything changed.
///
/// Nothing is made unless `create` says so.
pub(crate) fn set_strings(map: &mut Map, wanted: &[(String, String)], create: bool) -> bool {
    let mut changed = false;
    for (key, text) in wanted {
        if create || map.get(key).is_some() {
            changed |= map.set_str(key, text);
        }
    }
    changed
}
