//! `status.renderStatus` as kpt and Porch write it.

use model::{FunctionResult, FunctionResultItem, RenderStatus, Severity};
use yaml::Value;

/// The value of a render status.
pub(super) fn value(status: &RenderStatus) -> Value {
    let mut map = FilledFields::default();
    for (key, validator) in [("mutationSteps", false), ("validationSteps", true)] {
        let steps = status
            .steps
            .iter()
            .filter(|step| step.validator == validator);
        map.list(key, steps.map(step).collect());
    }
    map.text("errorSummary", status.error.as_deref().unwrap_or_default());
    map.done()
}

fn step(step: &FunctionResult) -> Value {
    let mut map = FilledFields::default();
    map.text("name", &step.name);
    map.text("image", step.image.as_deref().unwrap_or_default());
    map.text("exec", step.exec.as_deref().unwrap_or_default());
    map.text("stderr", &step.stderr);
    map.put("exitCode", Value::Int(step.exit_code.into()));
    map.list("results", step.results.iter().map(result).collect());
    let errors = step
        .results
        .iter()
        .filter(|result| result.severity == Severity::Error);
    map.list("errorResults", errors.map(result).collect());
    map.done()
}

fn result(item: &FunctionResultItem) -> Value {
    let mut map = FilledFields::default();
    map.text("message", &item.message);
    map.text("severity", item.severity.as_str());
    if let Some(resource) = &item.resource {
        let mut reference = FilledFields::default();
        reference.text("apiVersion", &resource.api_version);
        reference.text("kind", &resource.kind);
        reference.text("name", &resource.name);
        reference.text("namespace", &resource.namespace);
        map.put("resourceRef", reference.done());
    }
    if let Some(path) = &item.field {
        let mut field = FilledFields::default();
        field.text("path", path);
        field.json("currentValue", item.current.as_deref());
        field.json("proposedValue", item.proposed.as_deref());
        map.put("field", field.done());
    }
    if let Some((path, index)) = &item.file {
        let mut file = FilledFields::default();
        file.text("path", path);
        if let Some(index) = index.filter(|index| *index > 0) {
            file.put("index", Value::Int(index.into()));
        }
        map.put("file", file.done());
    }
    if !item.tags.is_empty() {
        map.put("tags", item.tags.iter().cloned().collect());
    }
    map.done()
}

/// A map that leaves out what is empty.
#[derive(Default)]
struct FilledFields(Vec<(String, Value)>);

impl FilledFields {
    fn put(&mut self, key: &str, value: Value) {
        self.0.push((key.to_owned(), value));
    }

    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.put(key, Value::from(text));
        }
    }

    fn list(&mut self, key: &str, items: Vec<Value>) {
        if !items.is_empty() {
            self.put(key, Value::Seq(items));
        }
    }

    fn json(&mut self, key: &str, text: Option<&str>) {
        let json = text.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        if let Some(json) = json {
            self.put(key, Value::from(json));
        }
    }

    fn done(self) -> Value {
        Value::Map(self.0)
    }
}
