//! Discovery documents, from a catalog alone: the old ones (`APIGroupList`, `APIResourceList`) and the aggregated one.

use base64::Engine as _;
use objects::resource::{Origin, Version};
use objects::{Backing, Resource};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Catalog;

/// Group and kind of the bodies of `serviceaccounts/token`; no resource of its own.
pub(crate) const TOKEN_REQUEST: (&str, &str) = ("authentication.k8s.io", "TokenRequest");

struct Sub<'a> {
    name: &'a str,
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    verbs: Vec<&'a str>,
}

fn subresources<'a>(resource: &'a Resource, version: &'a Version) -> Vec<Sub<'a>> {
    let usual = || vec!["get", "patch", "update"];
    let own = |name, verbs| Sub {
        name,
        group: &resource.group,
        version: &version.name,
        kind: &resource.kind,
        verbs,
    };
    let mut out = Vec::new();
    if version.status {
        out.push(own("status", usual()));
    }
    if version.scale.is_some() {
        out.push(Sub {
            name: "scale",
            group: "autoscaling",
            version: "v1",
            kind: "Scale",
            verbs: usual(),
        });
    }
    for sub in &version.subresources {
        let verbs = sub.verbs.iter().map(String::as_str).collect();
        let usual = own(&sub.name, verbs);
        let (group, kind) = TOKEN_REQUEST;
        let is_token = !resource.custom() && sub.kind == kind;
        out.push(Sub {
            kind: &sub.kind,
            group: if is_token { group } else { usual.group },
            ..usual
        });
    }
    if !resource.custom() {
        out.sort_by_key(|sub| sub.name);
    }
    out
}

fn with_names(mut entry: Map<String, Value>, resource: &Resource) -> Map<String, Value> {
    if !resource.short_names.is_empty() {
        entry.insert("shortNames".to_owned(), resource.short_names.clone().into());
    }
    if !resource.categories.is_empty() {
        entry.insert("categories".to_owned(), resource.categories.clone().into());
    }
    entry
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The aggregated document: the core group alone, or all others.
#[must_use]
pub(crate) fn aggregated(catalog: &Catalog, core: bool) -> Value {
    let groups = catalog
        .groups()
        .into_iter()
        .filter(|(group, _)| group.is_empty() == core);
    let items: Vec<Value> = groups
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|v| aggregated_version(catalog, &group, v))
                .collect();
            let metadata = if core {
                json!({})
            } else {
                json!({"name": group})
            };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    })
}

fn aggregated_version(catalog: &Catalog, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for resource in catalog.iter().filter(|r| r.group == group) {
        let Some(served) = resource.version(version).filter(|v| v.served) else {
            continue;
        };
        // Built-in kinds answer with an empty group and version: theirs are the document's own.
        let kind_of = |group: &str, version: &str, kind: &str| match resource.origin {
            Origin::BuiltIn => json!({"group": "", "version": "", "kind": kind}),
            _ => json!({"group": group, "version": version, "kind": kind}),
        };
        let entry = object(json!({
            "resource": resource.plural,
            "responseKind": kind_of(group, version, &resource.kind),
            "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": resource.singular,
            "verbs": resource.listed_verbs(),
        }));
        let mut entry = with_names(entry, resource);
        let subs: Vec<Value> = subresources(resource, served)
            .iter()
            .map(|sub| {
                let kind = kind_of(sub.group, sub.version, sub.kind);
                json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
            })
            .collect();
        if !subs.is_empty() {
            entry.insert("subresources".to_owned(), subs.into());
        }
        resources.push(Value::Object(entry));
    }
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn api_group(group: &str, versions: &[String]) -> Map<String, Value> {
    let named = |v: &String| json!({"groupVersion": format!("{group}/{v}"), "version": v});
    let all: Vec<Value> = versions.iter().map(named).collect();
    let preferred = all.first().cloned().unwrap_or(Value::Null);
    object(json!({"name": group, "versions": all, "preferredVersion": preferred}))
}

/// `/apis` in the old form.
#[must_use]
pub(crate) fn group_list(catalog: &Catalog) -> Value {
    let groups: Vec<Value> = catalog
        .listed_groups()
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| api_group(group, versions).into())
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`, if the group is served.
#[must_use]
pub(crate) fn group(catalog: &Catalog, name: &str) -> Option<Value> {
    let (group, versions) = catalog
        .listed_groups()
        .into_iter()
        .find(|(group, _)| group == name && !name.is_empty())?;
    let mut out = object(json!({"kind": "APIGroup", "apiVersion": "v1"}));
    out.extend(api_group(&group, &versions));
    Some(out.into())
}

/// `/api` in the old form.
#[must_use]
pub(crate) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// `/apis/<group>/<version>`, if it is served.
#[must_use]
pub(crate) fn resource_list(catalog: &Catalog, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for resource in catalog.iter().filter(|r| r.group == group) {
        let Some(served) = resource.version(version).filter(|v| v.served) else {
            continue;
        };
        let entry = object(json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": resource.listed_verbs(),
        }));
        let mut entry = with_names(entry, resource);
        if matches!(resource.backing, Backing::Stored | Backing::WriteThrough) {
            entry.insert(
                "storageVersionHash".to_owned(),
                storage_hash(resource).into(),
            );
        }
        resources.push(Value::Object(entry));
        for sub in subresources(resource, served) {
            let mut entry = object(json!({
                "name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
                "namespaced": resource.namespaced,
            }));
            if sub.group != resource.group {
                entry.insert("group".to_owned(), sub.group.into());
                entry.insert("version".to_owned(), sub.version.into());
            }
            entry.insert("kind".to_owned(), sub.kind.into());
            entry.insert("verbs".to_owned(), sub.verbs.into());
            resources.push(Value::Object(entry));
        }
    }
    if resources.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut out = object(json!({"kind": "APIResourceList"}));
    if !group.is_empty() {
        out.insert("apiVersion".to_owned(), "v1".into());
    }
    out.insert("groupVersion".to_owned(), group_version.into());
    out.insert("resources".to_owned(), resources.into());
    Some(out.into())
}

/// Base64 of the first eight bytes of SHA-256 over `group/version/kind` of the storage version.
fn storage_hash(resource: &Resource) -> String {
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    let (group, version) = match (group, kind) {
        // The real server keeps these in another form than it serves: events in their old one.
        ("events.k8s.io", "Event") => ("", "v1"),
        ("apiextensions.k8s.io", _) => (group, "v1beta1"),
        _ => (group, resource.storage_version.as_str()),
    };
    let text = format!("{group}/{version}/{kind}");
    let digest = Sha256::digest(text.as_bytes());
    base64::engine::general_purpose::STANDARD.encode(digest.get(..8).unwrap_or_default())
}
