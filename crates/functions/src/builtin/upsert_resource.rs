//! `upsert-resource`: replaces a resource, or adds it.

use yaml::owned::Value;

use crate::config::Config;
use crate::{Item, Report};

const TARGET: &str = "config.kubernetes.io/target-path";

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> Report {
    let Some(wanted) = config.0.filter(|_| !config.is_absent()) else {
        return Report::failure("the resource to upsert must be given as functionConfig");
    };
    let listed = wanted
        .get("items")
        .and_then(Value::as_seq)
        .filter(|_| config.kind().ends_with("List"));
    match listed {
        Some(list) => list.items().iter().for_each(|wanted| upsert(items, wanted)),
        None => upsert(items, wanted),
    }
    Report::default()
}

/// What is replaced keeps its file and its place, and the comments of the fields that survive.
fn upsert(items: &mut Vec<Item>, wanted: &Value) {
    let mut new = Item::made(wanted.clone());
    new.path = new.annotation(TARGET).map(str::to_owned);
    if new.path.is_some() {
        take_off(new.value_mut());
    }
    let same = |item: &Item| {
        item.group() == new.group()
            && item.kind() == new.kind()
            && item.namespace() == new.namespace()
            && item.name() == new.name()
    };
    let mut found = false;
    for item in items.iter_mut().filter(|item| same(item)) {
        found = true;
        let value = new.value.clone();
        item.value_mut().overwrite(&value);
        if let Some(path) = &new.path {
            item.path = Some(path.clone());
        }
    }
    if !found {
        items.push(new);
    }
}

fn take_off(value: &mut Value) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_map_mut) else {
        return;
    };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_map_mut) else {
        return;
    };
    annotations.remove(TARGET);
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}
