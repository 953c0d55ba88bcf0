//! Templates against what Go's `text/template` (1.26) was seen to make of the same object.

use serde_json::{Value, json};

use super::Template;

fn object() -> Value {
    serde_json::from_str(include_str!("../../../testdata/gotemplate.json")).unwrap()
}

fn printed(template: &str) -> String {
    let parsed = Template::parse(template).unwrap_or_else(|e| panic!("{template}: {e}"));
    let text = parsed.render(&object(), false);
    text.unwrap_or_else(|e| panic!("{template}: {e}"))
}

/// Template and text.
const SEEN: &[(&str, &str)] = &[
    (r##"{{.name}}{{"\n"}}"##, "web\n"),
    (
        r##"{{range .items}}{{.metadata.name}} {{.spec.revision}};{{end}}"##,
        "one 1;two 2;",
    ),
    (
        r##"{{range $i, $e := .items}}{{if $i}},{{end}}{{$i}}={{$e.metadata.name}}{{end}}"##,
        "0=one,1=two",
    ),
    (
        r##"{{range $k, $v := .map}}{{$k}}={{$v}} {{end}}"##,
        "a=1 b=2 x.y/z=dotted ",
    ),
    (
        r##"{{.nothing}} {{.nothing.deeper}}"##,
        "<no value> <no value>",
    ),
    (
        r##"{{index .map "x.y/z"}} {{index .items 1 "metadata" "name"}} {{(index .items 0).metadata.name}}"##,
        "dotted two one",
    ),
    (r##"{{if and .on (not .off)}}yes{{else}}no{{end}}"##, "yes"),
    (
        r##"{{if .empty}}a{{else if .nolist}}b{{else if eq .name "web" "db"}}c{{else}}d{{end}}"##,
        "c",
    ),
    (
        r##"{{with .map}}{{.a}}{{end}}{{with .none}}x{{else}}none{{end}}"##,
        "1none",
    ),
    (
        r##"{{len .list}} {{len .name}} {{.list | len | printf "%v!"}}"##,
        "3 3 3!",
    ),
    (
        r##"{{printf "%-6s|%6s|%q|%t" .name .kind .name .on}}"##,
        "web   |  List|\"web\"|true",
    ),
    (r##"{{printf "%.2f %5.1f" .half .n}}"##, "0.50   3.0"),
    (
        r##"{{print "a" .n .half "b"}} {{println .name .on}}"##,
        "a3 0.5b web true\n",
    ),
    (
        r##"{{.list}} {{.map}} {{.on}} {{.half}} {{.n}}"##,
        "[a b c] map[a:1 b:2 x.y/z:dotted] true 0.5 3",
    ),
    (r##"x {{- " y " -}} z"##, "x y z"),
    (r##"{{/* a comment */}}a{{- /* another */ -}} b"##, "ab"),
    (r##"{{$x := "1"}}{{if .on}}{{$x = "2"}}{{end}}{{$x}}"##, "2"),
    (
        r##"{{range .items}}{{if eq .metadata.name "two"}}{{break}}{{end}}{{.metadata.name}}{{end}}"##,
        "one",
    ),
    (
        r##"{{range .items}}{{if eq .metadata.name "one"}}{{continue}}{{end}}{{.metadata.name}}{{end}}"##,
        "two",
    ),
    (
        r##"{{range .nolist}}x{{else}}empty{{end}}{{range .nothing}}x{{else}}missing{{end}}"##,
        "emptymissing",
    ),
    (
        r##"{{range .items}}{{$.kind}}/{{.metadata.name}} {{end}}"##,
        "List/one List/two ",
    ),
    (r##"{{.secret | base64decode}}"##, "hello"),
    (r##"{{or .empty .name}} {{and .name .empty .x}}"##, "web "),
    (r##"{{slice .name 1 2}} {{slice .list 1}}"##, "e [b c]"),
    (
        r##"{{ne .name "x"}} {{lt .half 1.0}} {{ge .name "a"}} {{eq .n 3.0}}"##,
        "true true true true",
    ),
    (r##"{{urlquery "a b&c"}}"##, "a+b%26c"),
    (
        r##"{{range .items}}{{.metadata.name}}{{if .metadata.labels}} ({{.metadata.labels.tier}}){{end}}{{"\n"}}{{end}}"##,
        "one (edge)\ntwo\n",
    ),
    (
        r##"{{`raw "text"`}} {{"\u00e9\x41\t"}}"##,
        "raw \"text\" éA\t",
    ),
    (r##"{{print .nothing}} {{print .none}}"##, "<nil> <nil>"),
    (
        r##"{{with $y := .name}}{{$y}}{{end}}{{range 3}}{{.}}{{end}}"##,
        "web012",
    ),
];

/// What Go refuses while it reads.
const UNREADABLE: &[&str] = &[
    r##"{{nothing .x}}"##,
    r##"{{if .x}}"##,
    r##"{{.x"##,
    r##"{{end}}"##,
    r##"{{$y}}"##,
    r##"{{break}}"##,
    r##"{{"a" | "b"}}"##,
    // What is Go's, but not known here.
    r##"{{template "x"}}"##,
    r##"{{define "x"}}{{end}}"##,
    "{{.x 'c'}}",
    "{{.list \"x\"}}",
    "{{html .x}}",
];

/// What Go refuses when it meets the object.
const UNFIT: &[&str] = &[
    r##"{{.name.x}}"##,
    r##"{{index .list 7}}"##,
    r##"{{range .name}}x{{end}}"##,
    r##"{{len .none}}"##,
    r##"{{eq .name .n}}"##,
    r##"{{lt .name .n}}"##,
    r##"{{printf "%d" .name}}"##,
    r##"{{printf "%s"}}"##,
    r##"{{printf "x" .name}}"##,
    r##"{{"%" | base64decode}}"##,
];

#[test]
fn templates_make_what_go_makes() {
    for (template, text) in SEEN {
        assert_eq!(printed(template), *text, "{template}");
    }
}

#[test]
fn what_go_refuses_is_refused_and_what_is_not_known_too() {
    for template in UNREADABLE {
        assert!(Template::parse(template).is_err(), "{template}");
    }
    for template in UNFIT {
        let parsed = Template::parse(template).unwrap();
        assert!(parsed.render(&object(), false).is_err(), "{template}");
    }
}

#[test]
fn whole_numbers_stay_whole() {
    let parsed = Template::parse(r#"{{.n}} {{eq .n 1000000}} {{printf "%05d" .n}}"#).unwrap();
    let text = parsed.render(&json!({ "n": 1_000_000 }), false).unwrap();
    assert_eq!(text, "1000000 true 1000000");
}

#[test]
fn the_error_names_the_line_and_the_thing() {
    let told = |template: &str| {
        let parsed = Template::parse(template);
        let error = parsed.and_then(|t| t.render(&object(), false));
        error.unwrap_err().to_string()
    };
    assert_eq!(
        told("a\n{{.name.x}}"),
        "go-template, line 2: can't evaluate field x in type string"
    );
    assert!(told("{{block \"x\" .}}{{end}}").contains("block is not known here"));
    assert!(told("{{upper .name}}").contains("printf"));
}

#[test]
fn missing_keys_may_be_errors() {
    let parsed = Template::parse("{{.nothing}}").unwrap();
    assert_eq!(parsed.render(&object(), false).unwrap(), "<no value>");
    assert!(parsed.render(&object(), true).is_err());
    let there = Template::parse(r#"{{exists .map "a"}} {{exists .map "z"}}"#).unwrap();
    assert_eq!(there.render(&object(), true).unwrap(), "true false");
}

#[test]
fn items_ask_for_the_list() {
    for (template, wants) in [
        ("{{range .items}}{{.metadata.name}}{{end}}", true),
        ("{{len .items}}", true),
        ("{{(index $.items 0).kind}}", true),
        ("{{if true}}{{with .items}}{{end}}{{end}}", true),
        ("{{.spec.items}}", false),
        ("{{.metadata.name}}", false),
    ] {
        assert_eq!(
            Template::parse(template).unwrap().wants_list(),
            wants,
            "{template}"
        );
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    let deep = format!("{{{{{}1{}}}}}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(Template::parse(&deep).is_err());
    let deep = format!("{}{}", "{{if 1}}".repeat(10_000), "{{end}}".repeat(10_000));
    assert!(Template::parse(&deep).is_err());
    let text = "0123456789".repeat(1_000);
    let long = format!("{{{{range 9999}}}}{{{{range 9999}}}}{text}{{{{end}}}}{{{{end}}}}");
    let long = Template::parse(&long);
    assert!(long.unwrap().render(&object(), false).is_err());
}
