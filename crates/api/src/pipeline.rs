//! Functions and pipelines as a Kptfile and a variant write them.

use model::{Function, Pipeline, Problem, Selector};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, put, put_list, put_strings};

/// Reads a pipeline, checking what the documents demand of a variant's functions (R14).
pub fn read_pipeline(value: Option<&Value>, path: &str, problems: &mut Vec<Problem>) -> Pipeline {
    let Some(value) = value else {
        return Pipeline::default();
    };
    let fields = FieldReader::new(value, path);
    let mut read = |key: &str| -> Vec<Function> {
        fields
            .list(key)
            .iter()
            .map(|f| checked(f, problems))
            .collect()
    };
    Pipeline {
        validators: read("validators"),
        mutators: read("mutators"),
    }
}

fn checked(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Function {
    let function = read_function(fields);
    let path = fields.path();
    if function.image.is_none() && function.exec.is_none() {
        let field = format!("{path}.image");
        problems.push(Problem::new(&field, format!("{field} must not be empty")));
    }
    if function.name.contains('.') {
        let field = format!("{path}.name");
        problems.push(Problem::new(
            &field,
            format!("{field} must not contain '.'"),
        ));
    }
    function
}

pub(crate) fn read_function(fields: &FieldReader<'_>) -> Function {
    let selectors = |key: &str| fields.list(key).iter().map(read_selector).collect();
    Function {
        image: fields.owned("image"),
        tag: fields.owned("tag"),
        exec: fields.owned("exec"),
        config_path: fields.owned("configPath"),
        config_map: fields.pairs("configMap"),
        name: fields.owned("name").unwrap_or_default(),
        selectors: selectors("selectors"),
        exclude: selectors("exclude"),
    }
}

fn read_selector(fields: &FieldReader<'_>) -> Selector {
    Selector {
        api_version: fields.owned("apiVersion"),
        kind: fields.owned("kind"),
        name: fields.owned("name"),
        namespace: fields.owned("namespace"),
        labels: fields.strings("labels").into_iter().collect(),
        annotations: fields.strings("annotations").into_iter().collect(),
    }
}

/// The wire form; `None` if there is nothing to run.
pub fn write_pipeline(pipeline: &Pipeline) -> Option<Value> {
    if pipeline.is_empty() {
        return None;
    }
    let mut out = Map::new();
    let write = |functions: &[Function]| functions.iter().map(write_function).collect();
    put_list(&mut out, "mutators", write(&pipeline.mutators));
    put_list(&mut out, "validators", write(&pipeline.validators));
    Some(Value::Object(out))
}

fn write_function(function: &Function) -> Value {
    let mut out = Map::new();
    let text = |t: &Option<String>| t.clone().unwrap_or_default();
    put(&mut out, "image", &text(&function.image));
    put(&mut out, "tag", &text(&function.tag));
    put(&mut out, "exec", &text(&function.exec));
    put(&mut out, "configPath", &text(&function.config_path));
    if !function.config_map.is_empty() {
        let map = function
            .config_map
            .iter()
            .map(|(k, v)| (k.clone(), v.clone().into()));
        out.insert("configMap".to_owned(), Value::Object(map.collect()));
    }
    put(&mut out, "name", &function.name);
    let selectors = |list: &[Selector]| list.iter().map(write_selector).collect();
    put_list(&mut out, "selectors", selectors(&function.selectors));
    put_list(&mut out, "exclude", selectors(&function.exclude));
    Value::Object(out)
}

fn write_selector(selector: &Selector) -> Value {
    let mut out = Map::new();
    let fields = [
        ("apiVersion", &selector.api_version),
        ("kind", &selector.kind),
        ("name", &selector.name),
        ("namespace", &selector.namespace),
    ];
    for (key, value) in fields {
        put(&mut out, key, value.as_deref().unwrap_or_default());
    }
    put_strings(&mut out, "labels", &selector.labels);
    put_strings(&mut out, "annotations", &selector.annotations);
    Value::Object(out)
}
