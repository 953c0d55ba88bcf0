//! Paths and operations of a kind.

use serde_json::{Map, Value, json};

use super::ServedKind;
use super::schemas::{component, reference, shared};

/// A query parameter: name, type, what it is for.
type Parameter = (&'static str, &'static str, &'static str);

const LIST: [Parameter; 10] = [
    (
        "allowWatchBookmarks",
        "boolean",
        "Whether a watch sends bookmarks.",
    ),
    ("continue", "string", "The token of the former page."),
    ("fieldSelector", "string", "Which objects, by fields."),
    ("labelSelector", "string", "Which objects, by labels."),
    ("limit", "integer", "How many objects at most."),
    ("resourceVersion", "string", "Which version of the list."),
    (
        "resourceVersionMatch",
        "string",
        "How the version is meant: Exact or NotOlderThan.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Whether a watch starts with the objects that are there.",
    ),
    ("timeoutSeconds", "integer", "When to end."),
    ("watch", "boolean", "Whether to watch instead of list."),
];
const WRITE: [Parameter; 3] = [
    ("dryRun", "string", "All: nothing is stored."),
    ("fieldManager", "string", "Who writes."),
    (
        "fieldValidation",
        "string",
        "What to do with unknown fields: Ignore, Warn or Strict.",
    ),
];
const FORCE: Parameter = (
    "force",
    "boolean",
    "Whether an apply takes fields from other managers.",
);
const DELETE: [Parameter; 5] = [
    ("dryRun", "string", "All: nothing is stored."),
    ("gracePeriodSeconds", "integer", "How long to wait."),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Not supported.",
    ),
    (
        "orphanDependents",
        "boolean",
        "Deprecated; see propagationPolicy.",
    ),
    (
        "propagationPolicy",
        "string",
        "Orphan, Background or Foreground.",
    ),
];
const PRETTY: Parameter = ("pretty", "string", "Whether to indent the answer.");
const READ: Parameter = ("resourceVersion", "string", "Which version of the object.");

/// All paths of a kind with their operations.
pub(super) fn of(kind: &ServedKind) -> Map<String, Value> {
    let mut out = Map::new();
    let base = format!("/{}", super::place(&kind.group, &kind.version));
    let spaced = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{base}{spaced}/{}", kind.plural);
    let has = |verb: &str| kind.verbs.contains(verb);
    let mut item = Map::new();
    if has("deletecollection") {
        item.insert("delete".to_owned(), operation(kind, "deletecollection", ""));
    }
    for (verb, method, action) in [("list", "get", "list"), ("create", "post", "post")] {
        if has(verb) {
            item.insert(method.to_owned(), operation(kind, action, ""));
        }
    }
    put(&mut out, collection.clone(), item, kind.namespaced, false);
    let one = format!("{collection}/{{name}}");
    put(
        &mut out,
        one.clone(),
        single(kind, ""),
        kind.namespaced,
        true,
    );
    for (name, _) in &kind.subresources {
        put(
            &mut out,
            format!("{one}/{name}"),
            single(kind, name),
            kind.namespaced,
            true,
        );
    }
    if kind.namespaced && has("list") {
        let mut item = Map::new();
        item.insert("get".to_owned(), everywhere(kind));
        put(
            &mut out,
            format!("{base}/{}", kind.plural),
            item,
            false,
            false,
        );
    }
    out
}

fn put(
    out: &mut Map<String, Value>,
    path: String,
    mut item: Map<String, Value>,
    namespaced: bool,
    named: bool,
) {
    if item.is_empty() {
        return;
    }
    let mut parameters = Vec::new();
    let in_path = |name: &str, text: &str| {
        let schema = json!({"type": "string", "uniqueItems": true});
        json!({"name": name, "in": "path", "description": text, "required": true, "schema": schema})
    };
    if named {
        parameters.push(in_path("name", "Name of the object."));
    }
    if namespaced {
        parameters.push(in_path("namespace", "Namespace of the objects."));
    }
    parameters.push(query(PRETTY));
    item.insert("parameters".to_owned(), Value::from(parameters));
    out.insert(path, Value::Object(item));
}

fn query((name, kind, text): Parameter) -> Value {
    let schema = json!({"type": kind, "uniqueItems": true});
    json!({"name": name, "in": "query", "description": text, "schema": schema})
}

fn single(kind: &ServedKind, subresource: &str) -> Map<String, Value> {
    let mut item = Map::new();
    let has = |verb: &str| kind.verbs.contains(verb);
    if subresource.is_empty() && has("delete") {
        item.insert("delete".to_owned(), operation(kind, "delete", ""));
    }
    for (verb, method) in [("get", "get"), ("patch", "patch"), ("update", "put")] {
        if has(verb) {
            item.insert(method.to_owned(), operation(kind, method, subresource));
        }
    }
    item
}

fn operation(kind: &ServedKind, action: &str, subresource: &str) -> Value {
    let scale = kind
        .subresources
        .iter()
        .any(|(name, scale)| name == subresource && *scale);
    let own = if scale {
        "io.k8s.api.autoscaling.v1.Scale".to_owned()
    } else {
        kind.component()
    };
    let own = reference(&own);
    let (id, collection) = match action {
        "deletecollection" => ("delete", "Collection"),
        "get" => ("read", ""),
        "post" => ("create", ""),
        "put" => ("replace", ""),
        other => (other, ""),
    };
    let mut out = start(
        kind,
        action,
        &operation_id(kind, id, collection, subresource),
    );
    let parameters: Vec<Parameter> = match action {
        "list" => LIST.to_vec(),
        "deletecollection" => LIST.iter().chain(&DELETE).copied().collect(),
        "delete" => DELETE.to_vec(),
        "get" if subresource.is_empty() => vec![READ],
        "get" => Vec::new(),
        "patch" => WRITE.iter().chain([&FORCE]).copied().collect(),
        _ => WRITE.to_vec(),
    };
    if !parameters.is_empty() {
        let parameters: Vec<Value> = parameters.into_iter().map(query).collect();
        out.insert("parameters".to_owned(), Value::from(parameters));
    }
    let body = match action {
        "delete" => Some(json!({"content": media(&shared("DeleteOptions"))})),
        "post" | "put" => Some(json!({"content": media(&own), "required": true})),
        "patch" => Some(json!({"content": patches(kind), "required": true})),
        _ => None,
    };
    out.extend(body.map(|body| ("requestBody".to_owned(), body)));
    let list = component(&kind.group, &kind.version, &kind.list_kind, kind.custom);
    let (codes, schema): (&[(&str, &str)], Value) = match action {
        "list" => (&[("200", "OK")], reference(&list)),
        "get" => (&[("200", "OK")], own),
        "deletecollection" => (&[("200", "OK")], shared("Status")),
        "delete" => (&[("200", "OK"), ("202", "Accepted")], shared("Status")),
        "post" => (
            &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            own,
        ),
        _ => (&[("200", "OK"), ("201", "Created")], own),
    };
    out.insert("responses".to_owned(), responses(codes, &schema));
    Value::Object(out)
}

fn everywhere(kind: &ServedKind) -> Value {
    let id = format!("list{}{}ForAllNamespaces", prefix(kind), kind.kind);
    let mut out = start(kind, "list", &id);
    let list = component(&kind.group, &kind.version, &kind.list_kind, kind.custom);
    let parameters: Vec<Value> = LIST.into_iter().map(query).collect();
    out.insert("parameters".to_owned(), Value::from(parameters));
    out.insert(
        "responses".to_owned(),
        responses(&[("200", "OK")], &reference(&list)),
    );
    Value::Object(out)
}

fn start(kind: &ServedKind, action: &str, id: &str) -> Map<String, Value> {
    let group = camel(&kind.group);
    let mut letters = group.chars();
    let lower: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(letters)
        .collect();
    let mut out = Map::new();
    out.insert(
        "tags".to_owned(),
        json!([format!("{lower}_{}", kind.version)]),
    );
    out.insert("operationId".to_owned(), json!(id));
    out.insert("x-kubernetes-action".to_owned(), json!(action));
    let gvk = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    out.insert("x-kubernetes-group-version-kind".to_owned(), gvk);
    out
}

fn camel(group: &str) -> String {
    if group.is_empty() {
        return "Core".to_owned();
    }
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    let upper = |part: &str| {
        let mut letters = part.chars();
        letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .chain(letters)
            .collect::<String>()
    };
    short.split(['.', '-']).map(upper).collect()
}

fn prefix(kind: &ServedKind) -> String {
    let mut version = kind.version.chars();
    let version: String = version
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(version)
        .collect();
    format!("{}{version}", camel(&kind.group))
}

fn operation_id(kind: &ServedKind, action: &str, collection: &str, subresource: &str) -> String {
    let spaced = if kind.namespaced { "Namespaced" } else { "" };
    let mut letters = subresource.chars();
    let sub: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    format!(
        "{action}{}{collection}{spaced}{}{sub}",
        prefix(kind),
        kind.kind
    )
}

fn media(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}, "application/yaml": {"schema": schema}})
}

fn patches(kind: &ServedKind) -> Value {
    let schema = json!({"schema": shared("Patch")});
    let mut out = Map::new();
    for name in [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ] {
        out.insert(name.to_owned(), schema.clone());
    }
    if !kind.custom {
        out.insert("application/strategic-merge-patch+json".to_owned(), schema);
    }
    Value::Object(out)
}

fn responses(codes: &[(&str, &str)], schema: &Value) -> Value {
    let mut out = Map::new();
    for (code, text) in codes {
        out.insert(
            (*code).to_owned(),
            json!({"description": text, "content": media(schema)}),
        );
    }
    out.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    Value::Object(out)
}

/// A path item in version 2's words.
pub(super) fn old(item: &Value) -> Value {
    let mut out = Map::new();
    for (method, operation) in item.as_object().into_iter().flatten() {
        if method == "parameters" {
            out.insert(method.clone(), parameters(operation));
            continue;
        }
        let mut new = operation.as_object().cloned().unwrap_or_default();
        let mut list = new
            .get("parameters")
            .map(parameters)
            .and_then(|p| p.as_array().cloned())
            .unwrap_or_default();
        if let Some(body) = new.remove("requestBody") {
            let required = body
                .get("required")
                .and_then(Value::as_bool)
                .unwrap_or(false);
            list.push(json!({"name": "body", "in": "body", "required": required, "schema": schema_of(&body)}));
            let consumes: Vec<Value> = body
                .get("content")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(media, _)| json!(media))
                .collect();
            new.insert("consumes".to_owned(), Value::from(consumes));
        }
        new.insert(
            "produces".to_owned(),
            json!(["application/json", "application/yaml"]),
        );
        new.insert("parameters".to_owned(), Value::from(list));
        if let Some(responses) = new.get_mut("responses").and_then(Value::as_object_mut) {
            for answer in responses.values_mut() {
                let schema = schema_of(answer);
                if let Some(answer) = answer.as_object_mut()
                    && answer.remove("content").is_some()
                {
                    answer.insert("schema".to_owned(), schema);
                }
            }
        }
        out.insert(method.clone(), Value::Object(new));
    }
    Value::Object(out)
}

fn schema_of(body: &Value) -> Value {
    let content = body.get("content").and_then(Value::as_object);
    let first = content
        .and_then(|c| c.values().next())
        .and_then(|m| m.get("schema"));
    first.map(super::schemas::old).unwrap_or_default()
}

fn parameters(list: &Value) -> Value {
    let flat = |parameter: &Value| {
        let mut out = parameter.as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(schema)) = out.remove("schema") {
            out.extend(schema);
        }
        Value::Object(out)
    };
    Value::from(
        list.as_array()
            .into_iter()
            .flatten()
            .map(flat)
            .collect::<Vec<_>>(),
    )
}
