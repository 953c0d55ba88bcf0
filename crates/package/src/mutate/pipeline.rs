//! A variant's functions at the head of a package's pipeline.

use std::sync::Arc;

use model::{Function, ObjectName, Pipeline, Selector};
use yaml::owned::{Map, Value};

use super::MutateError;
use super::open::OpenFiles;

/// Whether a function's name marks it as this variant's: `PackageVariant.{variant}.{function}.{index}` (R71), or
/// the older `PackageVariant.{variant}.{index}`.
///
/// The variant's name may hold dots, a function's may not: so another variant whose name merely begins
/// alike is never taken for this one (R72, R73).
pub fn is_own_function(variant: &ObjectName, name: &str) -> bool {
    behind_variant(variant.as_str(), name).is_some()
}

/// How the name of a variant's function begins, before the variant's name.
pub(crate) const OWN_FUNCTION_PREFIX: &str = "PackageVariant.";

/// What follows the variant's name in the name of one of its functions; `None` for any other name.
pub(crate) fn behind_variant<'n>(variant: &str, name: &'n str) -> Option<&'n str> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let behind = name
        .strip_prefix(OWN_FUNCTION_PREFIX)?
        .strip_prefix(variant)?;
    let rest = behind.strip_prefix('.')?;
    let own = match rest.split_once('.') {
        None => number(rest),
        Some((_, index)) => number(index),
    };
    own.then_some(behind)
}

pub(super) fn apply(
    opened: &mut OpenFiles<'_>,
    variant: &ObjectName,
    wanted: &Pipeline,
) -> Result<(), MutateError> {
    let lists = [
        ("mutators", &wanted.mutators),
        ("validators", &wanted.validators),
    ];
    let lists = lists.map(|(key, functions)| (key, named(variant, functions)));
    let kptfile = opened.kptfile()?;
    let done = lists
        .iter()
        .all(|(key, functions)| is_done(kptfile, key, variant, functions));
    if done {
        return Ok(());
    }
    let shape = |field| MutateError::Shape {
        file: "Kptfile".to_owned(),
        field,
        wanted: "list",
    };
    let kptfile = Arc::make_mut(kptfile);
    let pipeline = super::kptfile::section(kptfile, "pipeline", &["inventory", "status"])
        .ok_or_else(|| shape("pipeline"))?;
    for (key, functions) in lists {
        list(pipeline, key, variant, functions)
            .ok_or_else(|| shape("pipeline.mutators or validators"))?;
    }
    if pipeline.is_empty()
        && let Some(kptfile) = kptfile.as_map_mut()
    {
        kptfile.remove("pipeline");
    }
    Ok(())
}

fn named(variant: &ObjectName, functions: &[Function]) -> Vec<(String, Value)> {
    let name = |index: usize, function: &Function| {
        format!("{OWN_FUNCTION_PREFIX}{variant}.{}.{index}", function.name)
    };
    let functions = functions.iter().enumerate();
    functions
        .map(|(index, f)| (name(index, f), value(f, &name(index, f))))
        .collect()
}

fn is_own(variant: &ObjectName, function: &Value) -> bool {
    function
        .get("name")
        .and_then(Value::text)
        .is_some_and(|name| is_own_function(variant, name))
}

/// Whether a list begins with exactly these functions and holds no other of ours.
fn is_done(kptfile: &Value, key: &str, variant: &ObjectName, wanted: &[(String, Value)]) -> bool {
    let list = kptfile.lookup(&["pipeline", key]).and_then(Value::as_seq);
    let items = list.map(|seq| seq.items()).unwrap_or_default();
    items.len() >= wanted.len()
        && items
            .iter()
            .zip(wanted)
            .all(|(item, (_, wanted))| item.same(wanted))
        && items
            .iter()
            .skip(wanted.len())
            .all(|item| !is_own(variant, item))
}

fn list(
    pipeline: &mut Map,
    key: &str,
    variant: &ObjectName,
    wanted: Vec<(String, Value)>,
) -> Option<()> {
    let missing = pipeline.get(key).is_none_or(Value::is_null);
    if missing && wanted.is_empty() {
        return Some(());
    }
    if missing {
        // Mutators stand before validators.
        let at = if key == "mutators" { 0 } else { pipeline.len() };
        pipeline.remove(key);
        pipeline.insert(at, key, Value::seq([]));
    }
    let items = pipeline.get_mut(key)?.as_seq_mut()?.items_mut();
    let mut own: Vec<Value> = Vec::new();
    let (mine, others) = std::mem::take(items)
        .into_iter()
        .partition(|item| is_own(variant, item));
    own.extend::<Vec<Value>>(mine);
    for (name, wanted) in wanted {
        let same_name = |item: &Value| item.get("name").and_then(Value::text) == Some(&name);
        match own.iter().position(same_name) {
            Some(at) => {
                let mut item = own.remove(at);
                item.overwrite(&wanted);
                items.push(item);
            }
            None => items.push(wanted),
        }
    }
    items.extend::<Vec<Value>>(others);
    if items.is_empty() {
        pipeline.remove(key);
    }
    Some(())
}

/// A function as a Kptfile has it; keys in kpt's order.
fn value(function: &Function, name: &str) -> Value {
    let mut fields: Vec<(&str, Value)> = Vec::new();
    let mut text = |key: &'static str, text: &Option<String>| {
        if let Some(text) = text {
            fields.push((key, Value::string(text.as_str())));
        }
    };
    text("image", &function.image);
    text("exec", &function.exec);
    text("configPath", &function.config_path);
    if !function.config_map.is_empty() {
        let pairs = function.config_map.iter();
        fields.push((
            "configMap",
            Value::map(pairs.map(|(k, v)| (k.as_str(), Value::string(v.as_str())))),
        ));
    }
    fields.push(("name", Value::string(name)));
    if let Some(tag) = &function.tag {
        fields.push(("tag", Value::string(tag.as_str())));
    }
    for (key, selectors) in [
        ("selectors", &function.selectors),
        ("exclude", &function.exclude),
    ] {
        if !selectors.is_empty() {
            fields.push((key, Value::seq(selectors.iter().map(selector))));
        }
    }
    Value::map(fields)
}

fn selector(selector: &Selector) -> Value {
    let texts = [
        ("apiVersion", &selector.api_version),
        ("kind", &selector.kind),
        ("name", &selector.name),
        ("namespace", &selector.namespace),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(key, text)| Some((key, Value::string(text.as_deref()?))));
    let maps = [
        ("labels", &selector.labels),
        ("annotations", &selector.annotations),
    ];
    let maps = maps
        .into_iter()
        .filter(|(_, map)| !map.is_empty())
        .map(|(key, map)| {
            (
                key,
                Value::map(
                    map.iter()
                        .map(|(k, v)| (k.as_str(), Value::string(v.as_str()))),
                ),
            )
        });
    Value::map(texts.chain(maps))
}
