//! `renderStatus`.

use model::{FunctionResult, FunctionResultItem, RenderStatus, ResourceRef, Severity};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, object_of, put, put_list};

/// The wire form: `error` is always there, as Porch's schema wants it.
pub fn write_render_status(status: &RenderStatus) -> Value {
    object_of([
        ("error", status.error.clone().unwrap_or_default().into()),
        ("result", write_result_list(status)),
    ])
}

/// The `result` part alone.
pub fn write_result_list(status: &RenderStatus) -> Value {
    let failed = status.steps.iter().map(|s| s.exit_code).find(|c| *c != 0);
    let exit = failed.unwrap_or_else(|| i32::from(status.error.is_some()));
    let mut out = Map::new();
    out.insert("exitCode".to_owned(), exit.into());
    out.insert("metadata".to_owned(), json!({}));
    put_list(
        &mut out,
        "items",
        status.steps.iter().map(write_step).collect(),
    );
    Value::Object(out)
}

fn write_step(step: &FunctionResult) -> Value {
    let mut out = Map::new();
    put(&mut out, "name", &step.name);
    put(&mut out, "image", step.image.as_deref().unwrap_or_default());
    put(&mut out, "exec", step.exec.as_deref().unwrap_or_default());
    put(&mut out, "stderr", &step.stderr);
    out.insert("exitCode".to_owned(), step.exit_code.into());
    if step.validator {
        out.insert("validator".to_owned(), true.into());
    }
    put_list(
        &mut out,
        "results",
        step.results.iter().map(write_item).collect(),
    );
    Value::Object(out)
}

fn write_item(item: &FunctionResultItem) -> Value {
    let mut out = Map::new();
    put(&mut out, "message", &item.message);
    put(&mut out, "severity", item.severity.as_str());
    if let Some(r) = &item.resource {
        let mut resource = Map::new();
        put(&mut resource, "apiVersion", &r.api_version);
        put(&mut resource, "kind", &r.kind);
        put(&mut resource, "namespace", &r.namespace);
        put(&mut resource, "name", &r.name);
        out.insert("resourceRef".to_owned(), Value::Object(resource));
    }
    if let Some(path) = &item.field {
        let mut field = Map::new();
        put(&mut field, "path", path);
        for (key, text) in [
            ("currentValue", &item.current),
            ("proposedValue", &item.proposed),
        ] {
            if let Some(value) = text.as_deref().and_then(|t| serde_json::from_str(t).ok()) {
                field.insert(key.to_owned(), value);
            }
        }
        out.insert("field".to_owned(), Value::Object(field));
    }
    if let Some((path, index)) = &item.file {
        let mut file = Map::new();
        put(&mut file, "path", path);
        if let Some(index) = index {
            file.insert("index".to_owned(), (*index).into());
        }
        out.insert("file".to_owned(), Value::Object(file));
    }
    if !item.tags.is_empty() {
        let tags = item
            .tags
            .iter()
            .map(|(k, v)| (k.clone(), v.clone().into()))
            .collect();
        out.insert("tags".to_owned(), Value::Object(tags));
    }
    Value::Object(out)
}

/// Reads what [`write_render_status`] wrote, from a record.
pub fn read_render_status(value: &Value) -> RenderStatus {
    let fields = FieldReader::new(value, "renderStatus");
    let steps = fields
        .child("result")
        .map(|r| r.list("items"))
        .unwrap_or_default();
    RenderStatus {
        steps: steps.iter().map(read_step).collect(),
        error: fields.owned("error"),
    }
}

fn read_step(fields: &FieldReader<'_>) -> FunctionResult {
    FunctionResult {
        name: fields.owned("name").unwrap_or_default(),
        image: fields.owned("image"),
        exec: fields.owned("exec"),
        validator: fields.flag("validator"),
        stderr: fields.owned("stderr").unwrap_or_default(),
        exit_code: fields
            .int("exitCode")
            .and_then(|c| i32::try_from(c).ok())
            .unwrap_or_default(),
        results: fields.list("results").iter().map(read_item).collect(),
    }
}

fn read_item(fields: &FieldReader<'_>) -> FunctionResultItem {
    let field = fields.child("field");
    let shown = |key: &str| {
        field
            .as_ref()
            .and_then(|f| f.raw(key))
            .map(Value::to_string)
    };
    FunctionResultItem {
        message: fields.owned("message").unwrap_or_default(),
        severity: match fields.text("severity") {
            Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            _ => Severity::Info,
        },
        resource: fields.child("resourceRef").map(|r| ResourceRef {
            api_version: r.owned("apiVersion").unwrap_or_default(),
            kind: r.owned("kind").unwrap_or_default(),
            namespace: r.owned("namespace").unwrap_or_default(),
            name: r.owned("name").unwrap_or_default(),
        }),
        field: field.as_ref().and_then(|f| f.owned("path")),
        current: shown("currentValue"),
        proposed: shown("proposedValue"),
        file: fields.child("file").map(|f| {
            let index = f.int("index").and_then(|i| u32::try_from(i).ok());
            (f.owned("path").unwrap_or_default(), index)
        }),
        tags: fields.pairs("tags"),
    }
}
