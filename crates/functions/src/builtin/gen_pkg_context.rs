//! `gen-pkg-context`: writes the package's name into its package context.
//!
//! It never looks into a subpackage: the context there says the name of another package (M26).

use model::FunctionResultItem;
use yaml::owned::Value;

use crate::config::Config;
use crate::report::info;
use crate::{FunctionReport, Item, LOCAL_CONFIG};

const NAME: &str = "kptfile.kpt.dev";
const FILE: &str = "package-context.yaml";

/// Acts on the package whose Kptfile stands at the root of the list, and on it alone. What is in the context already stays
/// (V13).
pub(crate) fn run(items: &mut Vec<Item>, _config: Config<'_>) -> FunctionReport {
    let root = |item: &&Item| item.kind() == "Kptfile" && item.path.as_deref() == Some("Kptfile");
    let Some(name) = items.iter().find(root).map(|item| item.name().to_owned()) else {
        return FunctionReport::default();
    };
    let subpackages = subpackages(items);
    let context = items.iter_mut().find(|item| {
        let path = item.path.as_deref().unwrap_or_default();
        item.kind() == "ConfigMap"
            && item.api_version() == "v1"
            && item.name() == NAME
            && !subpackages.iter().any(|dir| path.starts_with(dir))
    });
    match context {
        Some(context) => {
            context.set_text(&["metadata", "annotations", LOCAL_CONFIG], "true");
            context.set_text(&["data", "name"], &name);
        }
        None => items.push(made(&name)),
    }
    FunctionReport::of([FunctionResultItem {
        file: Some((FILE.to_owned(), None)),
        ..info("generated package context")
    }])
}

/// The directories of the packages below, each with the slash behind it.
fn subpackages(items: &[Item]) -> Vec<String> {
    let kptfiles = items.iter().filter(|item| item.kind() == "Kptfile");
    let dirs = kptfiles.filter_map(|item| item.path.as_deref()?.strip_suffix("Kptfile"));
    dirs.filter(|dir| dir.ends_with('/'))
        .map(str::to_owned)
        .collect()
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

#[cfg(test)]
mod tests {
    use super::run;
    use crate::config::Config;
    use crate::{Item, LOCAL_CONFIG, wire};

    const CONTEXT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata: {name: old, a: b}\n";

    /// The names that the contexts say, by file, after the function ran over these files.
    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let item = |(path, text): &(&str, &str)| Item {
            path: Some((*path).to_owned()),
            ..Item::made(wire::parse_value(text).unwrap())
        };
        let mut items: Vec<Item> = files.iter().map(item).collect();
        run(&mut items, Config(None));
        let contexts = items.iter().filter(|item| item.kind() == "ConfigMap");
        let shown = |item: &Item| {
            let path = item.path.as_deref().unwrap_or_default();
            let mark = item.annotation(LOCAL_CONFIG).unwrap_or("unmarked");
            let data = item.value.get("data").unwrap().to_json();
            format!("{path} {mark} {data}")
        };
        contexts.map(shown).collect()
    }

    #[test]
    fn m26_the_context_of_the_package_itself_is_written_and_marked() {
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: shop}\n";
        let db = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: db}\n";
        assert_eq!(
            names(&[("Kptfile", kptfile), ("c/context.yaml", CONTEXT)]),
            ["c/context.yaml true {\"name\":\"shop\",\"a\":\"b\"}"],
        );
        assert_eq!(
            names(&[
                ("Kptfile", kptfile),
                ("db/package-context.yaml", CONTEXT),
                ("db/Kptfile", db)
            ]),
            [
                "db/package-context.yaml unmarked {\"name\":\"old\",\"a\":\"b\"}",
                "package-context.yaml true {\"name\":\"shop\"}",
            ],
        );
        let below = [("db/package-context.yaml", CONTEXT), ("db/Kptfile", db)];
        assert_eq!(
            names(&below).len(),
            1,
            "without a Kptfile at the root nothing is done"
        );
    }
}
