//! `gen-pkg-context`: writes the package's name into its package context.

use model::FunctionResultItem;
use yaml::owned::Value;

use crate::config::Config;
use crate::report::info;
use crate::{Item, LOCAL_CONFIG, Report};

const NAME: &str = "kptfile.kpt.dev";
const FILE: &str = "package-context.yaml";

/// Acts on the package whose Kptfile stands at the root of the list. What is in the context already stays (V13).
pub(crate) fn run(items: &mut Vec<Item>, _config: Config<'_>) -> Report {
    let root = |item: &&Item| item.kind() == "Kptfile" && item.path.as_deref() == Some("Kptfile");
    let Some(name) = items.iter().find(root).map(|item| item.name().to_owned()) else {
        return Report::default();
    };
    let context = items.iter_mut().find(|item| {
        item.kind() == "ConfigMap" && item.api_version() == "v1" && item.name() == NAME
    });
    match context {
        Some(context) => _ = context.set_text(&["data", "name"], &name),
        None => items.push(made(&name)),
    }
    Report::of([FunctionResultItem {
        file: Some((FILE.to_owned(), None)),
        ..info("generated package context")
    }])
}

fn made(name: &str) -> Item {
    let annotations = Value::map([(LOCAL_CONFIG, Value::string("true"))]);
    let metadata = [("name", Value::string(NAME)), ("annotations", annotations)];
    Item {
        path: Some(FILE.to_owned()),
        ..Item::made(Value::map([
            ("apiVersion", Value::string("v1")),
            ("kind", Value::string("ConfigMap")),
            ("metadata", Value::map(metadata)),
            ("data", Value::map([("name", Value::string(name))])),
        ]))
    }
}
