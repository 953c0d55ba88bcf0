use yaml::owned::Value;

use super::run;
use crate::config::Config;
use crate::{Item, wire};

/// R192: the namespace itself is made where that is asked for, once.
#[test]
fn a_namespace_is_made_on_request() {
    let config = Value::map([
        ("apiVersion", Value::string("v1")),
        ("kind", Value::string("ConfigMap")),
        ("metadata", Value::map([("name", Value::string("c"))])),
        (
            "data",
            Value::map([
                ("namespace", Value::string("team")),
                ("create", Value::string("true")),
            ]),
        ),
    ]);
    let text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: old\n";
    let mut items = vec![Item::made(wire::parse_value(text).unwrap())];
    for _ in 0..2 {
        let report = run(&mut items, Config(Some(&config)));
        assert!(!report.failed(), "{report:?}");
        assert_eq!(items[0].namespace(), "team");
        let kind = |item: &Item| {
            item.value
                .get("kind")
                .and_then(Value::text)
                .map(str::to_owned)
        };
        let kinds: Vec<_> = items.iter().filter_map(kind).collect();
        assert_eq!(kinds, ["Service", "Namespace"]);
    }
}
