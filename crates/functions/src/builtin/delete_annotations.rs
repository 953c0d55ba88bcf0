//! `delete-annotations`: takes named annotations off every resource.

use yaml::owned::Value;

use crate::config::Config;
use crate::goquote::list;
use crate::report::{at_file, info};
use crate::{FunctionReport, Item};

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let keys = config.data("annotationKeys").unwrap_or_default();
    if keys.is_empty() {
        // The words, typing error included, are the catalog's.
        return FunctionReport::failure(
            "annotationKeys was not provided as part of the config or paramters to the function",
        );
    }
    let mut removed = Vec::new();
    let mut count = 0;
    for item in items.iter_mut() {
        let here: Vec<&str> = keys
            .split(',')
            .filter(|key| item.annotation(key).is_some())
            .collect();
        if here.is_empty() {
            continue;
        }
        count += 1;
        let name = list([item.name()]);
        let message = |key: &&str| {
            at_file(
                item,
                format!("Annonation: [{key}] removed from resource: {name}"),
            )
        };
        removed.extend(here.iter().map(message));
        take_off(item.value_mut(), &here);
    }
    if count == 0 {
        return FunctionReport::of([info(
            "None of the resources had the provided annotations to delete",
        )]);
    }
    let first = info(format!(
        "The provided annotations were deleted from {count} resource(s)"
    ));
    FunctionReport::of(std::iter::once(first).chain(removed))
}

fn take_off(value: &mut Value, keys: &[&str]) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_map_mut) else {
        return;
    };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_map_mut) else {
        return;
    };
    annotations.retain(|key, _| !keys.contains(&key));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}
