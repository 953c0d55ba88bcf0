//! The older shape of `v1alpha1` in terms of `v1alpha2`.

use serde_json::{Map, Value, json};

use super::ConvertError;
use crate::fields::FieldReader;

type Result<T> = std::result::Result<T, ConvertError>;

/// Fields of a spec that only the older shape has.
const OLD_FIELDS: [&str; 4] = ["adoptionPolicy", "deletionPolicy", "labels", "annotations"];
/// Fields of a target that only the older shape has, and those that only the newer one has.
const OLD_TARGET: [&str; 3] = ["package", "objects", "packageName"];
const NEW_TARGET: [&str; 3] = ["repositorySelector", "objectSelector", "template"];

/// Whether a spec is written in the older shape.
///
/// # Errors
/// It holds fields of both.
pub(super) fn is_old(spec: &Value) -> Result<bool> {
    let fields = FieldReader::new(spec, "spec");
    let mut old: Option<String> = None;
    let mut new: Option<String> = None;
    match spec.pointer("/upstream/package") {
        Some(Value::Object(_)) => old = Some("spec.upstream.package".to_owned()),
        Some(Value::String(_)) => new = Some("spec.upstream.package".to_owned()),
        _ => {}
    }
    if spec.get("upstreams").is_some() {
        new = Some("spec.upstreams".to_owned());
    }
    if let Some(key) = OLD_FIELDS.into_iter().find(|k| fields.raw(k).is_some()) {
        old = old.or_else(|| Some(fields.field(key)));
    }
    for target in fields.list("targets") {
        let has = |keys: &[&str]| {
            let found = keys.iter().find(|k| target.raw(k).is_some());
            found.map(|k| target.field(k))
        };
        let repositories = target.raw("repositories");
        let shaped = |object: bool| {
            let found = repositories.filter(|r| r.is_object() == object);
            found.map(|_| target.field("repositories"))
        };
        old = old.or_else(|| has(&OLD_TARGET)).or_else(|| shaped(true));
        new = new.or_else(|| has(&NEW_TARGET)).or_else(|| shaped(false));
    }
    match (old, new) {
        (Some(old), Some(new)) => Err(ConvertError::new(
            new,
            format!("is of another shape than {old}: a set is written in one of the two"),
        )),
        (old, _) => Ok(old.is_some()),
    }
}

/// A spec of the older shape as `v1alpha2` writes it.
pub(super) fn convert(spec: &Value) -> Result<Value> {
    let fields = FieldReader::new(spec, "spec");
    let mut out = Map::new();
    if let Some(upstream) = fields.child("upstream") {
        out.insert("upstream".to_owned(), convert_upstream(&upstream)?);
    }
    let mut common = Map::new();
    for key in OLD_FIELDS {
        if let Some(value) = fields.raw(key) {
            common.insert(key.to_owned(), value.clone());
        }
    }
    known(&fields, &[&OLD_FIELDS[..], &["upstream", "targets"]])?;
    let mut targets = Vec::new();
    for target in fields.list("targets") {
        convert_target(&target, &common, &mut targets)?;
    }
    if fields.raw("targets").is_some() {
        out.insert("targets".to_owned(), targets.into());
    }
    Ok(Value::Object(out))
}

/// Whatever is not known would be lost.
fn known(fields: &FieldReader<'_>, keys: &[&[&str]]) -> Result<()> {
    let unknown = fields
        .keys()
        .find(|k| !keys.iter().any(|list| list.contains(&k.as_str())));
    match unknown {
        None => Ok(()),
        Some(key) => Err(ConvertError::new(
            fields.field(&key),
            "has no counterpart in v1alpha2",
        )),
    }
}

fn convert_upstream(upstream: &FieldReader<'_>) -> Result<Value> {
    known(upstream, &[&["package", "revision", "ref"]])?;
    let mut out = Map::new();
    if let Some(package) = upstream.child("package") {
        known(&package, &[&["repo", "name"]])?;
        copy(&package, "repo", &mut out, "repo");
        copy(&package, "name", &mut out, "package");
    }
    copy(upstream, "revision", &mut out, "revision");
    copy(upstream, "ref", &mut out, "tag");
    Ok(Value::Object(out))
}

fn copy(from: &FieldReader<'_>, key: &str, to: &mut Map<String, Value>, name: &str) {
    if let Some(value) = from.raw(key) {
        to.insert(name.to_owned(), value.clone());
    }
}

fn convert_target(
    target: &FieldReader<'_>,
    common: &Map<String, Value>,
    out: &mut Vec<Value>,
) -> Result<()> {
    let kinds = ["package", "repositories", "objects"];
    known(target, &[&kinds, &["packageName"]])?;
    if kinds.iter().filter(|k| target.raw(k).is_some()).count() != 1 {
        return Err(ConvertError::new(
            target.path(),
            "must specify one of `package`, `repositories`, or `objects`",
        ));
    }
    let mut template = common.clone();
    let mut downstream = Map::new();
    if let Some(name) = target.child("packageName") {
        if target.raw("package").is_some() {
            return Err(ConvertError::new(
                target.path(),
                "cannot specify both fields `packageName` and `package`",
            ));
        }
        package_name(&name, &mut downstream)?;
    }
    if let Some(package) = target.child("package") {
        known(&package, &[&["repo", "name"]])?;
        let mut entry = Map::new();
        copy(&package, "repo", &mut entry, "name");
        if let Some(name) = package.raw("name") {
            entry.insert("packageNames".to_owned(), json!([name]));
        }
        out.push(finish(json!({ "repositories": [entry] }), template));
    } else if let Some(selector) = target.raw("repositories") {
        put_downstream(&mut template, downstream);
        out.push(finish(json!({ "repositorySelector": selector }), template));
    } else if let Some(objects) = target.child("objects") {
        convert_objects(&objects, &template, downstream, out)?;
    }
    Ok(())
}

fn convert_objects(
    objects: &FieldReader<'_>,
    template: &Map<String, Value>,
    mut downstream: Map<String, Value>,
    out: &mut Vec<Value>,
) -> Result<()> {
    known(objects, &[&["selectors", "repoName"]])?;
    let Some(repo) = objects.child("repoName") else {
        return Err(ConvertError::new(
            objects.path(),
            "must specify `repoName` field",
        ));
    };
    match value_or_field(&repo)? {
        Said::Plain(text) => downstream.insert("repo".to_owned(), text.into()),
        Said::Computed(expr) => downstream.insert("repoExpr".to_owned(), expr.into()),
    };
    let selectors = objects.list("selectors");
    if selectors.is_empty() {
        return Err(ConvertError::new(
            objects.path(),
            "must have at least one selector",
        ));
    }
    for selector in selectors {
        known(
            &selector,
            &[&["apiVersion", "kind", "name", "labelSelector"]],
        )?;
        let mut object = Map::new();
        for key in ["apiVersion", "kind", "name"] {
            copy(&selector, key, &mut object, key);
        }
        if let Some(labels) = selector.child("labelSelector") {
            let keys = ["matchLabels", "matchExpressions"];
            known(&labels, &[&keys])?;
            for key in keys {
                copy(&labels, key, &mut object, key);
            }
        }
        let mut template = template.clone();
        put_downstream(&mut template, downstream.clone());
        out.push(finish(json!({ "objectSelector": object }), template));
    }
    Ok(())
}

fn put_downstream(template: &mut Map<String, Value>, downstream: Map<String, Value>) {
    if !downstream.is_empty() {
        template.insert("downstream".to_owned(), Value::Object(downstream));
    }
}

fn finish(mut target: Value, template: Map<String, Value>) -> Value {
    if !template.is_empty() {
        target["template"] = Value::Object(template);
    }
    target
}

/// A text, or the expression that computes it.
enum Said {
    Plain(String),
    Computed(String),
}

impl Said {
    fn expression(self) -> String {
        match self {
            Self::Plain(text) => quoted(&text),
            Self::Computed(expr) => expr,
        }
    }
}

/// Prefix, base and suffix, put together; the base is the upstream package's name if left out.
fn package_name(name: &FieldReader<'_>, downstream: &mut Map<String, Value>) -> Result<()> {
    let keys = ["namePrefix", "baseName", "nameSuffix"];
    known(name, &[&keys])?;
    let mut parts = Vec::new();
    for key in keys {
        match name.child(key) {
            Some(part) => parts.push(value_or_field(&part)?),
            None if key == "baseName" => parts.push(Said::Computed("packageDefault".to_owned())),
            None => {}
        }
    }
    let plain: Option<String> = parts
        .iter()
        .map(|p| match p {
            Said::Plain(text) => Some(text.as_str()),
            Said::Computed(_) => None,
        })
        .collect();
    match plain {
        Some(text) => downstream.insert("package".to_owned(), text.into()),
        None => {
            let parts: Vec<String> = parts.into_iter().map(Said::expression).collect();
            downstream.insert("packageExpr".to_owned(), parts.join(" + ").into())
        }
    };
    Ok(())
}

/// `{value}` or `{fromField}`; only name, namespace, labels and annotations are visible to expressions (R152).
fn value_or_field(fields: &FieldReader<'_>) -> Result<Said> {
    known(fields, &[&["value", "fromField"]])?;
    if let Some(text) = fields.text("value") {
        return Ok(Said::Plain(text.to_owned()));
    }
    let Some(path) = fields.text("fromField") else {
        return Err(ConvertError::new(
            fields.path(),
            "must have one of `value` and `fromField`",
        ));
    };
    let expr = match path {
        "metadata.name" => Some("target.name".to_owned()),
        "metadata.namespace" => Some("target.namespace".to_owned()),
        _ => ["labels", "annotations"].into_iter().find_map(|map| {
            let rest = path.strip_prefix("metadata.")?.strip_prefix(map)?;
            let key = match rest.strip_prefix('[') {
                Some(rest) => rest.strip_suffix(']')?,
                None => rest.strip_prefix('.')?,
            };
            (!key.is_empty()).then(|| format!("target.{map}[{}]", quoted(key)))
        }),
    };
    expr.map(Said::Computed).ok_or_else(|| {
        ConvertError::new(
            fields.field("fromField"),
            format!("{path:?} cannot be expressed in v1alpha2: only name, namespace, labels and annotations are visible"),
        )
    })
}

/// A text as an expression writes it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{escaped}'")
}
