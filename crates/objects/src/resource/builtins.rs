//! The built-in kinds as served resources.

use std::sync::Arc;

use super::events::Events;
use super::{BODY_LIMIT, Backing, Converter, Origin, Resource, Subresource, Version};
use crate::builtin::{BuiltInKind, definitions};
use crate::table::builtin_columns;

impl Resource {
    /// All built-in resources.
    #[must_use]
    pub fn built_ins() -> Vec<Self> {
        definitions().iter().map(resource).collect()
    }
}

/// The fields besides name and namespace that selectors of a built-in kind may use.
fn selectable(kind: &BuiltInKind) -> Vec<String> {
    const EVENTS: [&str; 11] = [
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ];
    const NEW_EVENTS: [&str; 10] = [
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "type",
    ];
    let fields: &[&str] = match (kind.group, kind.kind) {
        ("", "Event") => &EVENTS,
        ("events.k8s.io", "Event") => &NEW_EVENTS,
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        _ => &[],
    };
    fields.iter().map(|f| (*f).to_owned()).collect()
}

fn resource(kind: &'static BuiltInKind) -> Resource {
    let texts = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    let shared = kind.group == "events.k8s.io";
    let status = kind.subresources.iter().any(|s| s.name == "status");
    Resource {
        group: kind.group.to_owned(),
        plural: kind.plural.to_owned(),
        singular: kind.singular.to_owned(),
        kind: kind.kind.to_owned(),
        list_kind: format!("{}List", kind.kind),
        short_names: texts(kind.short_names),
        categories: texts(kind.categories),
        namespaced: kind.namespaced,
        storage_version: kind.version.to_owned(),
        versions: vec![Version {
            defaults: false,
            name: kind.version.to_owned(),
            served: true,
            schema: Some(Arc::new(kind.schema().clone())),
            raw_schema: None,
            columns: builtin_columns(kind.kind),
            status,
            scale: None,
            subresources: kind
                .subresources
                .iter()
                .filter(|s| s.name != "status")
                .map(|sub| subresource(kind, sub))
                .collect(),
            selectable: selectable(kind),
            selectable_maps: Vec::new(),
            deprecation: None,
        }],
        backing: if kind.stored() {
            Backing::Stored
        } else {
            Backing::Answered
        },
        origin: Origin::BuiltIn,
        built_in: Some(kind),
        verbs: texts(kind.verbs),
        body_limit: BODY_LIMIT,
        converter: shared.then(|| -> Arc<dyn Converter> { Arc::new(Events) }),
        since: 0,
        stored_as: shared.then_some(("events", "v1")),
    }
}

/// A subresource besides status: with the object's own kind, or with one of its own.
fn subresource(kind: &BuiltInKind, sub: &crate::builtin::Subresource) -> Subresource {
    Subresource {
        name: sub.name.to_owned(),
        kind: sub.kind.map_or(kind.kind, |(_, _, own)| own).to_owned(),
        verbs: sub.verbs.iter().map(|v| (*v).to_owned()).collect(),
    }
}
