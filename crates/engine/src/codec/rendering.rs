//! What a render reported, inside of a record.

use model::{FunctionResult, FunctionResultItem, RenderStatus, ResourceRef, Severity};
use serde_json::Value;

use super::CodecError;
use super::parts::{self, object};
use super::reader::{JsonFields, wrong};

pub(super) fn to_json(status: &RenderStatus) -> Value {
    object([
        ("error", status.error.as_deref().into()),
        ("steps", status.steps.iter().map(step_json).collect()),
    ])
}

pub(super) fn from_json(value: &Value) -> Result<RenderStatus, CodecError> {
    let fields = JsonFields::of(value, "renderStatus")?;
    Ok(RenderStatus {
        error: fields.opt_text("error")?.map(str::to_owned),
        steps: fields.list("steps", step)?,
    })
}

fn step_json(step: &FunctionResult) -> Value {
    object([
        ("name", step.name.as_str().into()),
        ("image", step.image.as_deref().into()),
        ("exec", step.exec.as_deref().into()),
        ("validator", step.validator.into()),
        ("stderr", step.stderr.as_str().into()),
        ("exitCode", step.exit_code.into()),
        ("results", step.results.iter().map(item_json).collect()),
    ])
}

fn step(value: &Value) -> Result<FunctionResult, CodecError> {
    let fields = JsonFields::of(value, "steps")?;
    Ok(FunctionResult {
        name: fields.string("name")?,
        image: fields.opt_text("image")?.map(str::to_owned),
        exec: fields.opt_text("exec")?.map(str::to_owned),
        validator: fields.flag("validator"),
        stderr: fields.string("stderr")?,
        exit_code: i32::try_from(fields.int("exitCode")?).map_err(|_| wrong("exitCode"))?,
        results: fields.list("results", item)?,
    })
}

fn item_json(item: &FunctionResultItem) -> Value {
    let resource = item.resource.as_ref().map(|r| {
        object([
            ("apiVersion", r.api_version.as_str().into()),
            ("kind", r.kind.as_str().into()),
            ("namespace", r.namespace.as_str().into()),
            ("name", r.name.as_str().into()),
        ])
    });
    let file = item
        .file
        .as_ref()
        .map(|(path, index)| object([("path", path.as_str().into()), ("index", (*index).into())]));
    let tags = item.tags.iter().map(|(k, v)| parts::texts([k.as_str(), v]));
    object([
        ("message", item.message.as_str().into()),
        ("severity", item.severity.as_str().into()),
        ("resource", resource.into()),
        ("field", item.field.as_deref().into()),
        ("current", item.current.as_deref().into()),
        ("proposed", item.proposed.as_deref().into()),
        ("file", file.into()),
        ("tags", tags.collect()),
    ])
}

fn item(value: &Value) -> Result<FunctionResultItem, CodecError> {
    let fields = JsonFields::of(value, "results")?;
    let text = |field: &str| Ok(fields.opt_text(field)?.map(str::to_owned));
    Ok(FunctionResultItem {
        message: fields.string("message")?,
        severity: match fields.text("severity")? {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Info,
        },
        resource: fields.get("resource").map(resource).transpose()?,
        field: text("field")?,
        current: text("current")?,
        proposed: text("proposed")?,
        file: fields.get("file").map(file).transpose()?,
        tags: fields.list("tags", tag)?,
    })
}

fn resource(value: &Value) -> Result<ResourceRef, CodecError> {
    let fields = JsonFields::of(value, "resource")?;
    Ok(ResourceRef {
        api_version: fields.string("apiVersion")?,
        kind: fields.string("kind")?,
        namespace: fields.string("namespace")?,
        name: fields.string("name")?,
    })
}

fn file(value: &Value) -> Result<(String, Option<u32>), CodecError> {
    let fields = JsonFields::of(value, "file")?;
    let index = fields.get("index").and_then(Value::as_u64);
    Ok((
        fields.string("path")?,
        index.and_then(|i| u32::try_from(i).ok()),
    ))
}

fn tag(value: &Value) -> Result<(String, String), CodecError> {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(k), Value::String(v)]) => Ok((k.clone(), v.clone())),
        _ => Err(wrong("tags")),
    }
}
