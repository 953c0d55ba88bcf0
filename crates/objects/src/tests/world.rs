//! An API server of one page: objects by path, and the order of steps that every write goes through.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::apply::{self, ApplyError, Writer};
use crate::builtin::crd;
use crate::builtin::{self, BuiltInKind};
use crate::names::NameRule;
use crate::patch;
use crate::resource::{Resource, Version};
use crate::schema::{FieldError, Structural, invalid_message, metadata as meta, skipped_rules};

type Answer = (u16, Value, Vec<String>);

pub(super) struct World {
    objects: BTreeMap<String, Value>,
    crds: Vec<Resource>,
}

/// The kind that a path names.
enum Kind<'a> {
    Custom(&'a Resource, &'a Version),
    Builtin(&'static BuiltInKind),
}

struct Target<'a> {
    kind: Kind<'a>,
    version: String,
    namespace: Option<String>,
    name: Option<String>,
    subresource: String,
    key: String,
}

const BLANK: Value = Value::Null;

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            objects: BTreeMap::new(),
            crds: Vec::new(),
        };
        for name in ["widgets", "regions"] {
            let mut value = super::definition(name);
            crd::default(&mut value);
            crd::start_status(&mut value);
            assert_eq!(crd::validate(&value, None, super::stack), []);
            crd::Taken::default().accept(&mut value, "2026-01-01T00:00:00Z");
            world.crds.push(Resource::from_crd(&value).unwrap());
            let name = value["metadata"]["name"].as_str().unwrap().to_owned();
            world
                .objects
                .insert(format!("customresourcedefinitions//{name}"), value);
        }
        world
    }

    /// Answers a request; none for what is not looked at here.
    pub(super) fn answer(&mut self, request: &Value) -> Option<Answer> {
        let path = request["path"].as_str()?;
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let option = |name: &str| {
            let found = query
                .split('&')
                .filter_map(|p| p.split_once('='))
                .find(|(k, _)| *k == name);
            found.map(|(_, v)| v.to_owned()).unwrap_or_default()
        };
        let crds = self.crds.clone();
        let target = target(&crds, path)?;
        let body = body(request);
        let agent = request["headers"]["user-agent"]
            .as_str()
            .unwrap_or("shop-test/v1");
        let mut manager = option("fieldManager");
        if manager.is_empty() {
            manager = agent.split('/').next()?.to_owned();
        }
        let strict = option("fieldValidation");
        match request["method"].as_str()? {
            "GET" => {
                let found = self.objects.get(&target.key)?;
                Some((200, target.shown(found), Vec::new()))
            }
            "POST" if target.subresource.is_empty() => {
                self.write(&target, body?, None, &manager, &strict)
            }
            "PUT" => {
                let live = self.objects.get(&target.key).cloned()?;
                self.write(&target, body?, Some(live), &manager, &strict)
            }
            "PATCH" => self.patch(&target, request, body?, &manager, option("force") == "true"),
            _ => None,
        }
    }

    fn patch(
        &mut self,
        t: &Target<'_>,
        request: &Value,
        body: Value,
        manager: &str,
        force: bool,
    ) -> Option<Answer> {
        let live = self.objects.get(&t.key).cloned();
        let media = request["headers"]["content-type"].as_str()?;
        let patched = match media {
            "application/apply-patch+yaml" => return self.apply(t, live, body, manager, force),
            "application/merge-patch+json" => patch::merge_patch(&live.clone()?, &body),
            "application/json-patch+json" => patch::json_patch(&live.clone()?, &body),
            "application/strategic-merge-patch+json" => match t.kind {
                Kind::Builtin(definition) => {
                    patch::strategic(&live.clone()?, &body, definition.schema_json())
                }
                Kind::Custom(..) => return None,
            },
            _ => return None,
        };
        self.write(t, patched.unwrap(), live, manager, "Warn")
    }

    fn apply(
        &mut self,
        t: &Target<'_>,
        live: Option<Value>,
        body: Value,
        manager: &str,
        force: bool,
    ) -> Option<Answer> {
        let schema = t.schema();
        let reset = t.reset();
        let writer = t.writer(&schema, manager, &reset);
        match apply::apply(live.as_ref(), &body, writer, force) {
            Ok(object) => self.finish(t, object, live, Vec::new()),
            Err(error @ ApplyError::Misfit { .. }) => {
                let message = error.to_string();
                let status = json!({"kind": "Status", "message": message, "reason": null});
                Some((500, status, Vec::new()))
            }
            Err(ApplyError::Conflicts(conflicts)) => {
                let causes: Vec<Value> = conflicts
                    .iter()
                    .map(|c| {
                        let message = format!("conflict with {}", c.manager);
                        json!({"reason": "FieldManagerConflict", "message": message, "field": c.path})
                    })
                    .collect();
                let message = apply::conflict_message(&conflicts);
                let status = json!({
                    "kind": "Status", "message": message, "reason": "Conflict", "details": {"causes": causes},
                });
                Some((409, status, Vec::new()))
            }
        }
    }

    fn write(
        &mut self,
        t: &Target<'_>,
        mut new: Value,
        live: Option<Value>,
        manager: &str,
        strict: &str,
    ) -> Option<Answer> {
        let schema = t.schema();
        let (kind, _) = t.kind_and_group();
        let wrong = match t.kind {
            Kind::Custom(..) => builtin::metadata_type_error(&new["metadata"]),
            Kind::Builtin(definition) => definition.type_error(&new),
        };
        if let Some(wrong) = wrong {
            return Some(bad(format!(
                "{kind} in version \"{}\" cannot be handled as a {kind}: {wrong}",
                t.version
            )));
        }
        let unknown = schema.prune(&mut new);
        let mut warnings: Vec<String> = unknown
            .iter()
            .map(|f| format!("unknown field \"{f}\""))
            .collect();
        if strict == "Strict" && !warnings.is_empty() {
            let list = warnings.join(", ");
            let text = format!("strict decoding error: {list}");
            return Some(bad(format!(
                "{kind} in version \"{}\" cannot be handled as a {kind}: {text}",
                t.version
            )));
        }
        if strict == "Ignore" {
            warnings.clear();
        }
        if let Some(live) = &live {
            for name in ["uid", "creationTimestamp", "generation"] {
                if let Some(value) = live["metadata"].get(name) {
                    new["metadata"][name] = value.clone();
                }
            }
        }
        prepare(t, &schema, &mut new, live.is_none());
        let reset = t.reset();
        apply::track(live.as_ref(), &mut new, t.writer(&schema, manager, &reset));
        self.finish(t, new, live, warnings)
    }

    fn finish(
        &mut self,
        t: &Target<'_>,
        mut new: Value,
        live: Option<Value>,
        mut warnings: Vec<String>,
    ) -> Option<Answer> {
        let schema = t.schema();
        let created = live.is_none();
        prepare(t, &schema, &mut new, created);
        keep(t, &mut new, live.as_ref());
        if let (Some(namespace), None) = (&t.namespace, new["metadata"].get("namespace")) {
            new["metadata"]["namespace"] = json!(namespace);
        }
        let errors = t.errors(&new, live.as_ref(), &schema);
        if !errors.is_empty() {
            let (kind, group) = t.kind_and_group();
            let name = new["metadata"]["name"].as_str().unwrap_or_default();
            let causes: Vec<Value> = errors
                .iter()
                .map(
                    |e| json!({"reason": e.kind.reason(), "message": e.body(), "field": e.field()}),
                )
                .collect();
            let message = invalid_message(&kind, &group, name, &errors);
            let status = json!({
                "kind": "Status", "message": message, "reason": "Invalid", "details": {"causes": causes},
            });
            return Some((422, status, warnings));
        }
        warnings.extend(meta::finalizer_warnings(
            &new["metadata"],
            live.as_ref().map(|l| &l["metadata"]),
        ));
        new["metadata"]["uid"] = json!("0000");
        let key = match &t.name {
            Some(_) => t.key.clone(),
            None => format!("{}{}", t.key, new["metadata"]["name"].as_str()?),
        };
        self.objects.insert(key, new.clone());
        Some((if created { 201 } else { 200 }, t.shown(&new), warnings))
    }
}

/// Defaults, and the written form of metadata.
fn prepare(t: &Target<'_>, schema: &Structural, new: &mut Value, created: bool) {
    match t.kind {
        Kind::Custom(..) => schema.default(new),
        Kind::Builtin(definition) => {
            definition.prepare(new);
            if definition.kind == "CustomResourceDefinition" && created {
                crd::start_status(new);
            }
        }
    }
    if let Some(metadata) = new.get_mut("metadata") {
        meta::normalize(metadata);
    }
}

/// What the endpoint does not write is taken from the live object.
fn keep(t: &Target<'_>, new: &mut Value, live: Option<&Value>) {
    let entries = new["metadata"]["managedFields"].clone();
    if t.subresource == "status" {
        let status = new.get("status").cloned();
        *new = live.unwrap().clone();
        put(new, "status", status);
        new["metadata"]["managedFields"] = entries;
        return;
    }
    for name in t.reset() {
        let own = t.own_status(new, live);
        put(new, name, own);
    }
}

fn put(object: &mut Value, name: &str, value: Option<Value>) {
    let map = object.as_object_mut().unwrap();
    match value {
        Some(value) => map.insert(name.to_owned(), value),
        None => map.remove(name),
    };
}

fn bad(message: String) -> Answer {
    (
        400,
        json!({"kind": "Status", "message": message, "reason": "BadRequest"}),
        Vec::new(),
    )
}

impl Target<'_> {
    fn schema(&self) -> Structural {
        match self.kind {
            Kind::Custom(_, version) => Structural::clone(version.schema.as_ref().unwrap()),
            Kind::Builtin(definition) => definition.schema().clone(),
        }
    }

    fn kind_and_group(&self) -> (String, String) {
        match self.kind {
            Kind::Custom(crd, _) => (crd.kind.clone(), crd.group.clone()),
            Kind::Builtin(definition) => (definition.kind.to_owned(), definition.group.to_owned()),
        }
    }

    fn reset(&self) -> Vec<&'static str> {
        match self.kind {
            Kind::Custom(_, version) if version.status => {
                if self.subresource == "status" {
                    vec!["spec"]
                } else {
                    vec!["status"]
                }
            }
            Kind::Custom(..) => Vec::new(),
            Kind::Builtin(definition) => definition.reset(&self.subresource).to_vec(),
        }
    }

    fn own_status(&self, new: &Value, live: Option<&Value>) -> Option<Value> {
        match (self.kind_and_group().0.as_str(), live) {
            (_, Some(live)) => live.get("status").cloned(),
            ("CustomResourceDefinition" | "Namespace", None) => new.get("status").cloned(),
            _ => None,
        }
    }

    fn writer<'a>(
        &'a self,
        schema: &'a Structural,
        manager: &'a str,
        reset: &'a [&'a str],
    ) -> Writer<'a> {
        let (_, group) = self.kind_and_group();
        let version = if group.is_empty() {
            self.version.clone()
        } else {
            format!("{group}/{}", self.version)
        };
        Writer {
            manager,
            api_version: version.leak(),
            subresource: &self.subresource,
            now: "2026-01-01T00:00:00Z",
            schema,
            reset,
            blank: match self.kind {
                Kind::Custom(..) => &BLANK,
                Kind::Builtin(definition) => definition.blank(),
            },
            claimed: true,
        }
    }

    fn errors(&self, new: &Value, old: Option<&Value>, schema: &Structural) -> Vec<FieldError> {
        let (namespaced, rule) = match self.kind {
            Kind::Custom(crd, _) => (crd.namespaced, NameRule::Subdomain),
            Kind::Builtin(definition) => (definition.namespaced, definition.name_rule),
        };
        let mut errors = match old {
            None => meta::validate(&new["metadata"], namespaced, rule),
            Some(old) => meta::validate_update(&new["metadata"], &old["metadata"]),
        };
        match self.kind {
            Kind::Builtin(definition) => errors.extend(definition.validate(new, old, super::stack)),
            Kind::Custom(..) => {
                errors.extend(schema.validate(new, old));
                let skips = errors.iter().any(|e| e.kind.skips_rules());
                if skips && schema.has_rules() {
                    errors.push(skipped_rules());
                } else if !skips {
                    errors.extend(schema.validate_rules(new, old, super::stack));
                }
            }
        }
        errors
    }

    fn shown(&self, object: &Value) -> Value {
        object.clone()
    }
}

fn target<'a>(crds: &'a [Resource], path: &str) -> Option<Target<'a>> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
            (Some((*namespace).to_owned()), rest)
        }
        rest => (None, rest),
    };
    let plural = *rest.first()?;
    let kind = crds
        .iter()
        .find(|c| c.group == group && c.plural == plural)
        .and_then(|c| c.version(version).map(|v| Kind::Custom(c, v)))
        .or_else(|| builtin::definition(group, version, plural).map(Kind::Builtin))?;
    let name = rest.get(1).map(|n| (*n).to_owned());
    let key = format!(
        "{plural}/{}/{}",
        namespace.as_deref().unwrap_or(""),
        name.as_deref().unwrap_or("")
    );
    let subresource = rest.get(2).copied().unwrap_or_default().to_owned();
    Some(Target {
        kind,
        version: version.to_owned(),
        namespace,
        name,
        subresource,
        key,
    })
}

fn body(request: &Value) -> Option<Value> {
    if let Some(body) = request.get("body").filter(|b| !b.is_null()) {
        return Some(body.clone());
    }
    let text = request["bodyText"].as_str()?;
    serde_json::from_str(text)
        .ok()
        .or_else(|| super::yaml_value(text))
}
