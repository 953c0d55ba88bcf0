//! From a `CustomResourceDefinition` to a served resource.
//!
//! Whether the definition is *acceptable* is decided where it is written; here it is only read.

use std::sync::Arc;

use serde_json::Value;

use super::{BODY_LIMIT, Backing, Origin, Resource, Scale, Version};
use crate::schema::{Structural, aggregate};
use crate::table::{Column, custom_columns};

/// Why a definition could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CrdError {
    /// A required field is missing or has the wrong type.
    #[error("read the custom resource definition: {0} is missing")]
    Missing(&'static str),
    /// A schema does not compile.
    #[error("read the schema of version {version}: {detail}")]
    Schema {
        /// The version.
        version: String,
        /// What is wrong with it.
        detail: String,
    },
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .filter(|s| !s.is_empty())
}

fn texts(value: &Value, pointer: &str) -> Vec<String> {
    let items = value.pointer(pointer).and_then(Value::as_array);
    items.map_or_else(Vec::new, |list| {
        list.iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    })
}

impl Resource {
    /// Reads a `CustomResourceDefinition` (apiextensions v1, JSON); who converts between its versions is not looked at.
    ///
    /// # Errors
    /// A required field is missing, or a schema is not structural.
    pub fn from_crd(crd: &Value) -> Result<Self, CrdError> {
        let field = |pointer: &'static str| {
            text(crd, pointer)
                .map(str::to_owned)
                .ok_or(CrdError::Missing(pointer))
        };
        let kind = field("/spec/names/kind")?;
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let versions = versions.ok_or(CrdError::Missing("/spec/versions"))?;
        let group = field("/spec/group")?;
        let storage = versions
            .iter()
            .find(|v| v.get("storage") == Some(&Value::Bool(true)));
        let storage = storage
            .or_else(|| versions.first())
            .and_then(|v| text(v, "/name"));
        let parsed = versions
            .iter()
            .map(|v| version(v, versions, &group, &kind))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            plural: field("/spec/names/plural")?,
            singular: text(crd, "/spec/names/singular")
                .map_or_else(|| kind.to_lowercase(), str::to_owned),
            list_kind: text(crd, "/spec/names/listKind")
                .map_or_else(|| format!("{kind}List"), str::to_owned),
            short_names: texts(crd, "/spec/names/shortNames"),
            categories: texts(crd, "/spec/names/categories"),
            namespaced: text(crd, "/spec/scope") != Some("Cluster"),
            storage_version: storage
                .ok_or(CrdError::Missing("/spec/versions"))?
                .to_owned(),
            versions: parsed,
            backing: Backing::Stored,
            origin: Origin::Embedder,
            built_in: None,
            verbs: Vec::new(),
            body_limit: BODY_LIMIT,
            converter: None,
            since: 0,
            stored_as: None,
            group,
            kind,
        })
    }
}

fn version(value: &Value, all: &[Value], group: &str, kind: &str) -> Result<Version, CrdError> {
    let name = text(value, "/name")
        .ok_or(CrdError::Missing("/spec/versions/*/name"))?
        .to_owned();
    let raw_schema = value.pointer("/schema/openAPIV3Schema").cloned();
    let schema = match &raw_schema {
        Some(raw) => Some(Arc::new(Structural::trusted(raw).map_err(|e| {
            CrdError::Schema {
                version: name.clone(),
                detail: aggregate(&e),
            }
        })?)),
        None => None,
    };
    let deprecated = value.get("deprecated") == Some(&Value::Bool(true));
    let standard =
        format!("{group}/{name} {kind} is deprecated") + &better(&name, all, group, kind);
    let deprecation =
        deprecated.then(|| text(value, "/deprecationWarning").map_or(standard, str::to_owned));
    Ok(Version {
        defaults: schema
            .as_ref()
            .is_some_and(|schema: &Arc<Structural>| schema.has_defaults()),
        served: value.get("served") != Some(&Value::Bool(false)),
        schema,
        raw_schema,
        columns: columns(value),
        status: value
            .pointer("/subresources/status")
            .is_some_and(|s| !s.is_null()),
        scale: value.pointer("/subresources/scale").and_then(scale),
        subresources: Vec::new(),
        selectable: selectable(value),
        selectable_maps: Vec::new(),
        deprecation,
        name,
    })
}

impl Version {
    /// The order of versions in discovery: GA by number, then beta, then alpha, then anything else.
    #[must_use]
    pub fn preference(version: &str) -> (u8, u64, u64) {
        let Some(rest) = version.strip_prefix('v') else {
            return (0, 0, 0);
        };
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (major, tail) = rest.split_at(digits);
        let Ok(major) = major.parse::<u64>() else {
            return (0, 0, 0);
        };
        if tail.is_empty() {
            return (3, major, 0);
        }
        let parse = |prefix: &str| {
            tail.strip_prefix(prefix)
                .and_then(|n| n.parse::<u64>().ok())
        };
        match (parse("beta"), parse("alpha")) {
            (Some(n), _) => (2, major, n),
            (_, Some(n)) => (1, major, n),
            _ => (0, 0, 0),
        }
    }
}

/// What to use instead of a deprecated version: the best of the later ones that are served and not deprecated themselves.
fn better(name: &str, all: &[Value], group: &str, kind: &str) -> String {
    let is = |v: &Value, field: &str| v.get(field) == Some(&Value::Bool(true));
    let fit = all
        .iter()
        .filter(|v| is(v, "served") && !is(v, "deprecated"));
    let names = fit.filter_map(|v| text(v, "/name"));
    let best = names.max_by_key(|other| Version::preference(other));
    match best.filter(|best| Version::preference(best) > Version::preference(name)) {
        Some(best) => format!("; use {group}/{best} {kind}"),
        None => String::new(),
    }
}

fn columns(version: &Value) -> Vec<Column> {
    let list = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array);
    let own: Vec<Column> = list.into_iter().flatten().map(Column::from_crd).collect();
    custom_columns(&own)
}

/// The fields that selectors may use, without the leading dot that definitions write.
fn selectable(version: &Value) -> Vec<String> {
    let list = version.get("selectableFields").and_then(Value::as_array);
    let paths = list
        .into_iter()
        .flatten()
        .filter_map(|f| text(f, "/jsonPath"));
    paths
        .map(|path| path.trim_start_matches('.').to_owned())
        .collect()
}

fn scale(value: &Value) -> Option<Scale> {
    Some(Scale {
        spec_replicas: text(value, "/specReplicasPath")?.to_owned(),
        status_replicas: text(value, "/statusReplicasPath")?.to_owned(),
        selector: text(value, "/labelSelectorPath").map(str::to_owned),
    })
}
