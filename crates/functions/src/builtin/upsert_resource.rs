//! `upsert-resource`: replaces a resource, or adds it.

use yaml::owned::Value;

use crate::config::Config;
use crate::{FunctionReport, Item};

const TARGET: &str = "config.kubernetes.io/target-path";

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    let Some(wanted) = config.0.filter(|_| !config.is_absent()) else {
        return FunctionReport::failure("the resource to upsert must be given as functionConfig");
    };
    let listed = wanted
        .get("items")
        .and_then(Value::as_seq)
        .filter(|_| config.kind().ends_with("List"));
    let wanted = listed.map_or_else(|| std::slice::from_ref(wanted), |list| list.items());
    if let Some(why) = wanted.iter().find_map(no_target) {
        return FunctionReport::failure(why);
    }
    wanted.iter().for_each(|wanted| upsert(items, wanted));
    FunctionReport::default()
}

/// Why nothing can be added at the path that a resource names: where no resource is read from, each run would add another.
fn no_target(wanted: &Value) -> Option<String> {
    let new = Item::made(wanted.clone());
    let path = new.annotation(TARGET)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let ends = [".yaml", ".yml", ".json"];
    let holds = ends
        .iter()
        .any(|end| name.len() > end.len() && name.ends_with(end));
    (!holds).then(|| {
        format!(
            "{TARGET} of {} {:?} is {path:?}: name a file that holds resources (.yaml, .yml or .json), and not a Kptfile",
            new.kind(),
            new.name()
        )
    })
}

/// What is replaced keeps its file and its place, and the comments of the fields that survive. Where a file is named, only
/// what stands there is replaced: elsewhere the same resource stays, and this one is added (M26).
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
            && new.path.as_deref().is_none_or(|path| stands_at(item, path))
    };
    let mut found = false;
    for item in items.iter_mut().filter(|item| same(item)) {
        found = true;
        let value = new.value.clone();
        item.value_mut().overwrite(&value);
    }
    if !found {
        items.push(new);
    }
}

/// Whether an item is kept in a file, however its path is written.
fn stands_at(item: &Item, path: &str) -> bool {
    fn segments(path: &str) -> impl Iterator<Item = &str> {
        path.split('/').filter(|part| !["", "."].contains(part))
    }
    let there = item.path.as_deref().map(segments);
    there.is_some_and(|there| there.eq(segments(path)))
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

#[cfg(test)]
mod tests {
    use super::run;
    use crate::config::Config;
    use crate::{Item, wire};

    /// Which files hold the Service `web`, and its type in each, after one of type `New` was upserted.
    fn upserted(target: &str) -> Vec<String> {
        let service =
            |kind: &str| format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n{kind}");
        let mut items = vec![Item {
            path: Some("net/web.yaml".to_owned()),
            ..Item::made(wire::parse_value(&service("spec: {type: Old}\n")).unwrap())
        }];
        let annotation =
            format!("  annotations: {{config.kubernetes.io/target-path: {target:?}}}\n");
        let annotation = if target.is_empty() {
            String::new()
        } else {
            annotation
        };
        let config = wire::parse_value(&service(&(annotation + "spec: {type: New}\n"))).unwrap();
        let report = run(&mut items, Config(Some(&config)));
        assert!(!report.failed(), "{report:?}");
        assert!(
            items
                .iter()
                .all(|item| item.annotation(super::TARGET).is_none())
        );
        let shown = |item: &Item| {
            let path = item.path.as_deref().unwrap_or("nowhere");
            format!("{path} {}", item.text_at(&["spec", "type"]))
        };
        items.iter().map(shown).collect()
    }

    #[test]
    fn m26_a_resource_is_added_at_the_target_path_where_it_does_not_stand_there() {
        assert_eq!(upserted(""), ["net/web.yaml New"]);
        assert_eq!(upserted("net/web.yaml"), ["net/web.yaml New"]);
        assert_eq!(upserted("./net//web.yaml"), ["net/web.yaml New"]);
        assert_eq!(upserted("web.yaml"), ["net/web.yaml Old", "web.yaml New"]);
    }

    #[test]
    fn m26_a_target_path_from_which_nothing_is_read_is_an_error() {
        for path in [
            "",
            "Kptfile",
            "net/Kptfile",
            "web",
            "web.txt",
            "net/",
            ".yaml",
        ] {
            let annotations = format!("{{config.kubernetes.io/target-path: {path:?}}}");
            let text = format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: web, annotations: {annotations}}}\n"
            );
            let list = format!(
                "apiVersion: v1\nkind: List\nitems: [{}]\n",
                wire::parse_value(&text).unwrap().to_json()
            );
            for config in [&text, &list] {
                let config = wire::parse_value(config).unwrap();
                let mut items = Vec::new();
                let report = run(&mut items, Config(Some(&config)));
                assert!(report.failed() && items.is_empty(), "{path:?}: {report:?}");
            }
        }
    }
}
