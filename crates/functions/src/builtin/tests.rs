use model::Severity;
use yaml::owned::Value;

use super::{apply_setters, ensure_name_substring, set_annotations};
use crate::config::Config;
use crate::{FunctionReport, Item, builtins, wire};

/// One of the functions.
type Run = fn(&mut Vec<Item>, Config<'_>) -> FunctionReport;

/// What a function says of an item that is no resource.
fn said(run: Run, data: &str, item: &str) -> String {
    let pairs = Value::map([(data, Value::string("shop-"))]);
    let config = Value::map([
        ("apiVersion", Value::string("v1")),
        ("kind", Value::string("ConfigMap")),
        ("metadata", Value::map([("name", Value::string("c"))])),
        ("data", pairs),
    ]);
    let mut items: Vec<Item> = wire::parse_value(item)
        .map(Item::made)
        .into_iter()
        .collect();
    let report = run(&mut items, Config(Some(&config)));
    let results = report.results.iter().map(|r| r.message.clone());
    let mut lines: Vec<String> = results.collect();
    if lines.is_empty() {
        lines.push(report.stderr.clone());
    }
    format!("{} {}", report.failed(), lines.join("|"))
}

#[test]
fn an_item_that_is_no_resource_fails_those_that_look_for_its_name_or_its_comments() {
    let (nothing, nameless) = ("a: 1\n", "apiVersion: v1\nkind: Service\n");
    let list = "apiVersion: v1\nkind: ServiceList\n";
    let setters: Run = apply_setters::run;
    assert_eq!(
        said(setters, "name", nothing),
        "true failed to apply setters: missing Resource metadata"
    );
    assert!(said(setters, "name", nameless).starts_with("false "));
    let names: Run = ensure_name_substring::run;
    let convert = "true failed to convert items to resource map:";
    assert_eq!(
        said(names, "prepend", nothing),
        format!("{convert} missing kind in object")
    );
    assert_eq!(
        said(names, "prepend", nameless),
        format!("{convert} missing metadata.name in object")
    );
    assert_eq!(said(names, "prepend", list), "false ");
    assert_eq!(
        said(set_annotations::run, "team", nameless),
        "true failed to run function: missing metadata.name in object"
    );
}

#[test]
fn m26_no_result_says_less_than_the_exit_code() {
    let other = "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: c}\n";
    let empty = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: function-input}\n";
    let list = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: [a]\n";
    let configs = [
        None,
        wire::parse_value(other),
        wire::parse_value(empty),
        wire::parse_value(list),
    ];
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    let mut failed = 0;
    for function in builtins() {
        for config in &configs {
            let mut items = vec![Item::made(wire::parse_value(service).unwrap())];
            let report = function.run(&mut items, config.as_ref());
            let is_error = |severity| severity == Severity::Error;
            let told = report
                .results
                .iter()
                .any(|result| is_error(result.severity));
            assert!(
                !report.failed() || told || report.results.is_empty(),
                "{}: {report:?}",
                function.name
            );
            failed += usize::from(report.failed());
        }
    }
    assert!(failed > 20, "{failed} calls failed");
}
