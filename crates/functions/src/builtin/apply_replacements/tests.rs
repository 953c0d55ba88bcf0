//! What the recorded cases do not reach: lists, patterns, fields that are made, selectors.

use super::{run, split};
use crate::Item;
use crate::config::Config;
use crate::wire::parse_value;

#[test]
fn paths_are_split_at_dots_outside_brackets() {
    assert_eq!(split("a.b"), ["a", "b"]);
    assert_eq!(split("data.c\\.json.a"), ["data", "c.json", "a"]);
    assert_eq!(split("c.[image=a.b/c:1].x"), ["c", "[image=a.b/c:1]", "x"]);
}

/// Kustomize writes a key that holds dots in brackets, and Nephio's packages do.
#[test]
fn a_key_may_stand_in_brackets() {
    assert_eq!(split("a.[b.c/d].e"), ["a", "b.c/d", "e"]);
    assert_eq!(split("a.[b]"), ["a", "b"]);
    assert_eq!(split("a.[]"), ["a", "[]"]);
    let made = at("metadata.labels.[new.y/z]", "create: true").unwrap();
    assert!(made.contains(r#""new.y/z":"new""#), "{made}");
    let there = at("metadata.labels.[tier]", "").unwrap();
    assert!(there.contains(r#""tier":"new""#), "{there}");
    let text = applied(
        "  - select: {kind: Deployment}\n    fieldPaths: [metadata.name]\n  \
         source: {kind: Deployment, fieldPath: 'metadata.labels.[app]'}\n",
    );
    assert!(text.unwrap().contains(r#""name":"web""#));
}

/// A configuration of replacements, over `spec` of one `Foo`.
fn over(spec: &str, replacements: &str) -> (Result<(), String>, Vec<Item>) {
    let foo = format!("apiVersion: x.io/v1\nkind: Foo\nmetadata: {{name: a}}\nspec:\n  {spec}\n");
    let mut items = vec![Item::made(parse_value(&foo).unwrap())];
    let text = format!("kind: ApplyReplacements\nreplacements:\n{replacements}");
    let report = run(&mut items, Config(Some(&parse_value(&text).unwrap())));
    let why = report.results.first().map(|result| result.message.clone());
    (why.map_or(Ok(()), Err), items)
}

/// Each replacement may double what the one before it made: a few of them would fill every memory.
#[test]
fn x9_what_replacements_put_is_bounded() {
    let into = |field: &str, options: &str| {
        format!(
            "- source: {{kind: Foo, fieldPath: {}}}\n  targets:\n  - select: {{kind: Foo}}\n    \
             fieldPaths: [spec.{field}]\n    options: {{{options}}}\n",
            if options.contains("delimiter") {
                "spec.a"
            } else {
                "spec"
            },
        )
    };
    let long = format!("a: {}", "x".repeat(64 << 10));
    let maps: String = (0..12)
        .map(|n| into(&format!("x{n}"), "create: true"))
        .collect();
    let joined = into("a", "delimiter: ',', index: 1000000").repeat(10);
    let small: String = (0..18)
        .map(|n| into(&format!("x{n}"), "create: true"))
        .collect();
    for (spec, replacements) in [(long.as_str(), maps), (&long, joined), ("a: 1", small)] {
        let (done, items) = over(spec, &replacements);
        let why = done.unwrap_err();
        assert!(why.contains("longer than 33554432 bytes"), "{why}");
        // All or nothing.
        assert_eq!(items[0].value.weight().1, 7);
    }
    let few: String = (0..4)
        .map(|n| into(&format!("x{n}"), "create: true"))
        .collect();
    assert_eq!(over(&long, &few).0, Ok(()));
}

/// A pattern takes milliseconds to build, whatever the number of resources.
#[test]
fn x9_patterns_of_paths_are_built_once() {
    let paths: Vec<String> = (0..40).map(|n| format!("'spec.l.[=(a|b{n})].x'")).collect();
    let foo = "apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: a}\nspec: {l: [a]}\n";
    let mut items = vec![Item::made(parse_value(foo).unwrap()); 50];
    let text = format!(
        "kind: ApplyReplacements\nreplacements:\n- sourceValue: v\n  targets:\n  - select: {{kind: Foo}}\n    \
         fieldPaths: [{}]\n",
        paths.join(", ")
    );
    let before = crate::regexes::built();
    let report = run(&mut items, Config(Some(&parse_value(&text).unwrap())));
    assert!(!report.failed(), "{report:?}");
    assert!(crate::regexes::built() - before <= 41);
}

/// Applies replacements of `value` to one deployment; its text afterwards, or the error.
fn applied(target: &str) -> Result<String, String> {
    let texts = [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {value: new, none: null, empty: {}}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {tier: front, app: web}\nspec:\n  \
         containers:\n  - name: web\n    image: old\n    env:\n    - {name: A, value: old}\n  - name: web-proxy\n    \
         image: old\n  args: [a, b]\n",
    ];
    let mut items: Vec<Item> = texts
        .iter()
        .map(|text| Item::made(parse_value(text).unwrap()))
        .collect();
    let source = if target.contains("source") {
        ""
    } else {
        "  source: {kind: ConfigMap, fieldPath: data.value}\n"
    };
    let text = format!("kind: ApplyReplacements\nreplacements:\n- targets:\n{target}{source}");
    let config = parse_value(&text).unwrap();
    let report = run(&mut items, Config(Some(&config)));
    match report.results.first() {
        Some(result) => Err(result.message.clone()),
        None => Ok(items[1].value.to_json().to_string()),
    }
}

fn at(path: &str, options: &str) -> Result<String, String> {
    applied(&format!(
        "  - select: {{kind: Deployment}}\n    fieldPaths: [{path:?}]\n    options: {{{options}}}\n"
    ))
}

#[test]
fn elements_that_lack_the_field_are_passed_over() {
    let text = at("spec.containers.*.env.[name=A].value", "").unwrap();
    assert!(text.contains(r#"{"name":"A","value":"new"}"#), "{text}");
    // A value in brackets is a pattern.
    let text = at("spec.containers.[name=^web$].image", "").unwrap();
    assert_eq!(text.matches(r#""image":"new""#).count(), 1, "{text}");
    let text = at("spec.containers.[name=web].image", "").unwrap();
    assert_eq!(text.matches(r#""image":"new""#).count(), 2, "{text}");
    let text = at("spec.args.[=b]", "").unwrap();
    assert!(text.contains(r#"["a","new"]"#), "{text}");
}

#[test]
fn a_place_that_is_not_there_is_an_error_unless_it_is_made() {
    for (path, options, why) in [
        ("spec.nothing", "", "unable to find field \"spec.nothing\""),
        (
            "spec.containers.[name=zz].image",
            "",
            "unable to find field",
        ),
        (
            "spec.args.7",
            "create: true",
            "index 7 specified but only 2 elements found",
        ),
        ("spec.containers.*.nothing", "", "unable to find field"),
        ("spec.containers.[name=(].image", "", "error parsing regexp"),
        (
            "spec.containers",
            "delimiter: x",
            "can only be used with scalar nodes",
        ),
    ] {
        let error = at(path, options).unwrap_err();
        assert!(error.contains(why), "{path}: {error}");
    }
    for (path, made) in [
        ("spec.a.b", r#""a":{"b":"new"}"#),
        ("spec.args.2", r#"["a","b","new"]"#),
        (
            "spec.containers.[name=zz].image",
            r#"{"name":"zz","image":"new"}"#,
        ),
        (
            "spec.volumes.[name=v].path",
            r#""volumes":[{"name":"v","path":"new"}]"#,
        ),
        ("spec.containers.*.pull", r#""pull":"new""#),
    ] {
        let text = at(path, "create: true").unwrap();
        let text: serde_json::Value = serde_json::from_str(&text).unwrap();
        let made: serde_json::Value = serde_json::from_str(&format!("{{\"x\":{made}}}"))
            .or_else(|_| serde_json::from_str(&format!("{{{made}}}")))
            .unwrap();
        let part = made.get("x").unwrap_or(&made);
        assert!(holds(&text, part), "{path}: {text}");
    }
}

/// Whether a value holds another one anywhere: equal, or as some of a map's fields.
fn holds(value: &serde_json::Value, part: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Object};
    let fields = match (value, part) {
        (Object(map), Object(part)) => part.iter().all(|(key, part)| map.get(key) == Some(part)),
        _ => value == part,
    };
    fields
        || match value {
            Object(map) => map.values().any(|value| holds(value, part)),
            Array(items) => items.iter().any(|value| holds(value, part)),
            _ => false,
        }
}

#[test]
fn targets_are_selected_and_rejected_by_labels() {
    let select = |select: &str, reject: &str| {
        applied(&format!(
            "  - select: {{{select}}}\n    reject: [{reject}]\n    fieldPaths: [spec.x]\n    options: {{create: true}}\n"
        ))
        .unwrap()
        .contains("\"x\"")
    };
    assert!(select("labelSelector: 'tier in (front, back),!zone'", ""));
    assert!(!select(
        "kind: Deployment, labelSelector: tier notin (front)",
        ""
    ));
    assert!(!select("kind: Deployment", "{labelSelector: tier}"));
    assert!(select("kind: Deployment", "{kind: Service}"));
    // Rejected by its name, whatever its labels are.
    assert!(!select(
        "kind: Deployment",
        "{name: web, labelSelector: tier=none}"
    ));
    let wrong = applied("  - select: {labelSelector: 'a in b'}\n").unwrap_err();
    assert!(wrong.contains("unable to parse requirement"), "{wrong}");
}

#[test]
fn a_source_may_be_a_value_and_must_say_something() {
    let target = "  - select: {kind: Deployment}\n    fieldPaths: [spec.containers.0.image]\n";
    let text = applied(&format!("{target}  sourceValue: stated\n")).unwrap();
    assert!(text.contains(r#""image":"stated""#), "{text}");
    let both = applied(&format!(
        "{target}  sourceValue: a\n  source: {{kind: ConfigMap}}\n"
    ));
    assert!(both.unwrap_err().contains("mutually exclusive"));
    for field in ["none", "empty", "missing"] {
        let source = format!("{target}  source: {{kind: ConfigMap, fieldPath: data.{field}}}\n");
        let why = applied(&source).unwrap_err();
        assert!(why.contains("is missing for replacement source"), "{why}");
    }
}
