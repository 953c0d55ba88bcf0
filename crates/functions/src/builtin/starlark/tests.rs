use yaml::owned::Value;

use super::run;
use crate::config::Config;
use crate::{FunctionReport, Item, wire};

const WEB: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web # its name
  namespace: old
data:
  list: [a, b]
";

fn script(source: &str) -> (FunctionReport, Vec<Item>) {
    let config = Value::map([
        ("apiVersion", Value::string("fn.kpt.dev/v1alpha1")),
        ("kind", Value::string("StarlarkRun")),
        ("metadata", Value::map([("name", Value::string("s"))])),
        ("source", Value::string(source)),
    ]);
    let mut items = vec![Item {
        id: Some(7),
        path: Some("web.yaml".to_owned()),
        ..Item::made(wire::parse_value(WEB).unwrap())
    }];
    let report = run(&mut items, Config(Some(&config)));
    (report, items)
}

fn failure(source: &str) -> String {
    let (report, items) = script(source);
    assert!(report.failed(), "{source}");
    assert_eq!(
        items[0].namespace(),
        "old",
        "a failed script changes nothing"
    );
    report.results[0].message.clone()
}

#[test]
fn a_script_changes_resources_and_no_comment_is_lost() {
    let (report, items) = script(
        "print('hello')\nfor r in ctx.resource_list['items']:\n  r['metadata']['namespace'] = 'new'\n",
    );
    assert!(!report.failed(), "{report:?}");
    assert_eq!(report.stderr, "hello\n");
    assert_eq!((items[0].id, items[0].namespace()), (Some(7), "new"));
    let name = items[0].value.lookup(&["metadata", "name"]).unwrap();
    assert_eq!(name.comment(), Some("# its name"));
}

fn outcome(items: Vec<Item>) -> crate::FunctionOutcome {
    crate::FunctionOutcome {
        items,
        results: Vec::new(),
        stderr: String::new(),
        exit_code: 0,
    }
}

/// A script may set all annotations, and so take off those that say where a resource is kept.
#[test]
fn a_resource_whose_annotations_are_set_stays_in_its_file() {
    for change in [
        "r['metadata']['annotations'] = {'team': 'a'}",
        "r['metadata'] = {'name': 'web', 'namespace': 'old', 'annotations': {'team': 'a'}}",
        "r['metadata'].pop('annotations')",
    ] {
        let source = format!("for r in ctx.resource_list['items']:\n  {change}\n");
        let (report, items) = script(&source);
        assert!(!report.failed(), "{report:?}");
        assert_eq!(
            (items[0].id, items[0].path.as_deref()),
            (Some(7), Some("web.yaml")),
            "{change}"
        );

        // The same as the text that a process of its own answers with.
        let place = "  annotations:\n    config.kubernetes.io/path: web.yaml\n    config.kubernetes.io/index: \"1\"\n";
        let resource = WEB.replace("  namespace: old\n", &format!("  namespace: old\n{place}"));
        let resource = resource.trim_end().replace('\n', "\n  ");
        let list = format!(
            "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {resource}\n"
        );
        let document = wire::ResourceListText::read(&list).unwrap();
        let mut call = document.call(model::Function::default(), None);
        let config = Value::map([
            ("apiVersion", Value::string("fn.kpt.dev/v1alpha1")),
            ("kind", Value::string("StarlarkRun")),
            ("source", Value::string(source.as_str())),
        ]);
        assert!(!run(&mut call.items, Config(Some(&config))).failed());
        let outcome = outcome(call.items);
        let text = document.answer(&outcome).unwrap();
        let again = wire::ResourceList::read(&text).unwrap().items;
        assert_eq!(
            (again[0].path.as_deref(), again[0].index),
            (Some("web.yaml"), Some(1)),
            "{text}"
        );
    }
}

/// What a function made of an item that it gives no place is written without one.
#[test]
fn an_item_without_a_place_is_answered_without_one() {
    let list = "kind: ResourceList\nitems:\n- kind: A\n  metadata: {name: a, annotations: {config.kubernetes.io/path: a.yaml}}\n";
    let document = wire::ResourceListText::read(list).unwrap();
    let mut items = document.call(model::Function::default(), None).items;
    items[0].path = None;
    let text = document.answer(&outcome(items)).unwrap();
    assert_eq!(
        wire::ResourceList::read(&text).unwrap().items[0].path,
        None,
        "{text}"
    );
}

/// R192: resources of a kind are removed by a script of three lines.
#[test]
fn a_script_removes_resources_by_kind() {
    let (report, items) = script(
        "items = ctx.resource_list['items']\nctx.resource_list['items'] = [r for r in items if r['kind'] != 'ConfigMap']\n",
    );
    assert!(!report.failed(), "{report:?}");
    assert!(items.is_empty());
}

#[test]
fn what_a_script_left_alone_is_the_very_document_that_went_in() {
    let (report, items) = script("x = 1\n");
    assert!(!report.failed(), "{report:?}");
    assert!(items[0].value.same(&wire::parse_value(WEB).unwrap()));
    assert_eq!(items[0].path.as_deref(), Some("web.yaml"));
}

#[test]
fn either_form_of_the_path_moves_a_resource_and_both_must_agree() {
    let at = |key: &str, path: &str| {
        format!("ctx.resource_list['items'][0]['metadata']['annotations']['{key}'] = '{path}'\n")
    };
    let (old, new) = (
        "config.kubernetes.io/path",
        "internal.config.kubernetes.io/path",
    );
    for source in [
        at(old, "a.yaml"),
        at(new, "a.yaml"),
        at(old, "a.yaml") + &at(new, "a.yaml"),
    ] {
        let (report, items) = script(&source);
        assert!(!report.failed(), "{report:?}");
        assert_eq!(items[0].path.as_deref(), Some("a.yaml"), "{source}");
    }
    let why = failure(&(at(old, "a.yaml") + &at(new, "b.yaml")));
    assert!(
        why.contains("mismatched legacy and internal path annotations"),
        "{why}"
    );
}

#[test]
fn scripts_are_bounded() {
    // Whichever bound is met first: on a slow machine it is that of time.
    let cases: [(&str, &[&str]); 4] = [
        (
            "def f():\n  for i in range(1000000000):\n    pass\nf()\n",
            &["tick", "cancelled"],
        ),
        ("def f(n):\n  return f(n)\nf(1)\n", &[]),
        (
            "x = 'a' * 1000000\ndef f(x):\n  for i in range(100):\n    x = x + x\nf(x)\n",
            &["memory", "cancelled"],
        ),
        (
            "l = []\ndef f():\n  for i in range(100000000):\n    l.append('a' * 100000 + str(i))\nf()\n",
            &[],
        ),
    ];
    for (source, wanted) in cases {
        let why = failure(source).to_lowercase();
        let told = wanted.is_empty() || wanted.iter().any(|bound| why.contains(bound));
        assert!(told, "{source}: {why}");
    }
}

/// Texts that nest by every means there is, `deep` times.
fn nested(deep: usize) -> Vec<String> {
    let blocks = |at| format!("{}if True:\n", " ".repeat(at));
    vec![
        "(".repeat(deep),
        format!("x = {}1{}", "(".repeat(deep), ")".repeat(deep)),
        format!("x = {}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("x = {}1{}", "{1:".repeat(deep), "}".repeat(deep)),
        format!("x = 1{}", " + 1".repeat(deep)),
        format!("x = {}1", "-".repeat(deep)),
        format!("x = {}True", "not ".repeat(deep)),
        format!("x = str{}", ".a".repeat(deep)),
        format!("def f():\n  return f\nx = f{}", "()".repeat(deep)),
        format!("x = [1]{}", "[0]".repeat(deep)),
        format!("x = {}1", "lambda: ".repeat(deep)),
        format!("x = {}1", "1 if True else ".repeat(deep)),
        format!("x = {}1{}", "(1 + ".repeat(deep), ")".repeat(deep)),
        format!(
            "if False:\n  pass\n{}",
            "elif False:\n  pass\n".repeat(deep)
        ),
        (0..deep).map(blocks).collect::<String>() + &" ".repeat(deep) + "pass\n",
        (0..deep)
            .map(|at| blocks(at).replace(' ', "\t"))
            .collect::<String>()
            + &"\t".repeat(deep)
            + "pass\n",
        format!("x = [{}1]", "1 for a in [1] if ".repeat(deep)),
    ]
}

#[test]
fn nothing_that_is_nested_breaks_the_process() {
    // Just below the bounds, just above, and far above.
    for deep in [60, 240, 900, 8_000] {
        for source in nested(deep) {
            let (report, items) = script(&source);
            assert!(report.failed() || items.len() == 1, "{source:.40}");
            assert!(report.failed() || deep < 8_000, "{source:.40}");
        }
    }
    for source in [
        "x = []\nx.append(x)\nctx.resource_list['items'].append(x)\n",
        "x = {}\nx['a'] = x\nctx.resource_list['items'].append(x)\n",
        "\u{0}",
        "x = \"",
        "x = '''",
    ] {
        assert!(script(source).0.failed(), "{source:?}");
    }
}

#[test]
fn long_is_not_deep() {
    let list = format!("x = [{}]\n", "\"a, (b) [c] {d}\", ".repeat(2_000));
    let text = format!("x = \"\"\"{}\"\"\"\n", "a + b ( c\n".repeat(2_000));
    for source in [list, text, "x = 1 # (((((\n".repeat(2_000)] {
        let (report, _) = script(&source);
        assert!(!report.failed(), "{report:?}");
    }
}

#[test]
fn modules_are_pure_and_named() {
    for (source, wanted) in [
        ("load('re.star', 're')\nx = re.sub('o+', '0', 'foo')", "f0"),
        (
            "load('re.star', 're')\nx = ','.join(re.findall('[a-z]', 'a1b'))",
            "a,b",
        ),
        (
            "load('encoding/json.star', 'json')\nx = json.encode(json.decode('{\"a\": [1]}'))",
            "{\"a\":[1]}",
        ),
        (
            "load('encoding/yaml.star', 'yaml')\nx = yaml.loads('a: 1')['a']",
            "1",
        ),
        (
            "load('encoding/base64.star', 'base64')\nx = base64.decode(base64.encode('x'))",
            "x",
        ),
        (
            "load('krmfn.star', 'krmfn')\nx = krmfn.match_gvk(ctx.resource_list['items'][0], 'v1', 'ConfigMap')",
            "True",
        ),
    ] {
        let (report, items) = script(&format!(
            "{source}\nctx.resource_list['items'][0]['metadata']['namespace'] = str(x)\n"
        ));
        assert!(!report.failed(), "{source}: {report:?}");
        assert_eq!(items[0].namespace(), wanted, "{source}");
    }
    for (module, name) in [("http.star", "http"), ("re.star", "http")] {
        let (report, _) = script(&format!("x = 1\nload('{module}', '{name}')\n"));
        let why = format!("load: name {name} not found in module {module}");
        assert_eq!(report.results[0].message, why);
        assert!(
            report.stderr.starts_with("s:2:6: ") && report.stderr.contains("krmfn.star"),
            "{}",
            report.stderr
        );
    }
    let why = failure("x = 1\ny = undefined_name\n");
    assert!(why.starts_with("s:2:5: "), "the place is named: {why}");
}

#[test]
fn m11_numbers_beyond_signed_64_bits_fail_as_in_the_catalog() {
    let why = failure("ctx.resource_list['items'][0]['data']['n'] = 9223372036854775808\n");
    let limit = "9223372036854775808 out of range (want value in signed 64-bit range)";
    assert!(why.ends_with(limit), "{why}");
    assert_eq!(
        why.matches("unmarshaling starlark value: ").count(),
        3,
        "{why}"
    );
}

#[test]
fn m11_undefined_names_and_syntax_are_told_in_the_catalogs_words() {
    assert_eq!(failure("nobody"), "s:1:1: undefined: nobody");
    assert_eq!(
        failure("x = \n"),
        "s:1:5: got newline, want primary expression"
    );
}

/// What two interpreters count differently: a tab leads to the next stop from how many letters stand before it.
#[test]
fn m11_tabs_indent_as_in_the_catalog() {
    for source in [
        "def f(r):\n\tr['metadata']['namespace'] = 'new'\n\nfor r in ctx.resource_list['items']:\n\tf(r)\n",
        // Eight spaces, one tab, and a space before a tab are the same column; so are fifteen and two tabs.
        "if True:\n        a = 1\n\tb = 2\n \tif b:\n\t\tc = 3\n               ctx.resource_list['items'][0]['metadata']['namespace'] = 'new'\n",
        // Beside tokens, in brackets, after a comment, on lines without anything.
        "x\t=\t[\t1,\n\t2]\t# two\n\t\n\t# nothing\nfor r in ctx.resource_list['items']:\n\t# a remark\n\t\n\tr['metadata']['namespace']\t=\t'new'\n",
        "if True:\n\tx = ['a',\n'b']\n\tctx.resource_list['items'][0]['metadata']['namespace'] = 'new'\n",
    ] {
        let (report, items) = script(source);
        assert!(!report.failed(), "{source}: {report:?}");
        assert_eq!(items[0].namespace(), "new", "{source}");
    }
    // A string keeps its tabs.
    let text = "ctx.resource_list['items'][0]['data'] = {'a': 'x\ty', 'b': \"\"\"\n\tz\"\"\", 'c': r'\t'}\n";
    let (report, items) = script(text);
    assert!(!report.failed(), "{report:?}");
    let data = items[0].value.get("data").map(Value::to_json);
    let wanted = serde_json::json!({"a": "x\ty", "b": "\n\tz", "c": "\t"});
    assert_eq!(data, Some(wanted));
}

#[test]
fn m11_places_are_told_by_the_columns_that_were_written() {
    let unindented = "unindent does not match any outer indentation level";
    for (source, wanted) in [
        ("if True:\n\tx = nobody\n", "s:2:6: undefined: nobody"),
        (
            "if True:\n\tif True:\n\t\tx = [nobody]\n",
            "s:3:8: undefined: nobody",
        ),
        ("x =\tnobody\n", "s:1:5: undefined: nobody"),
        (
            "if True:\n\tx = 1\n  y = 2\n",
            &format!("s:3:3: {unindented}"),
        ),
        // Two tabs are fifteen columns.
        (
            "if True:\n\tif True:\n\t\tx = 1\n               y = 2\n          z = 3\n",
            &format!("s:5:11: {unindented}"),
        ),
    ] {
        assert_eq!(failure(source), wanted, "{source}");
    }
}

#[test]
fn m11_what_fails_on_its_way_is_told_in_the_catalogs_words_and_its_place_beside_it() {
    for (source, why, place) in [
        (
            "x = ctx.resource_list['items'][0]['nope']\n",
            "key \"nope\" not in dict",
            "s:1:5: key",
        ),
        (
            "load('encoding/json.star', 'json')\njson.dumps({})\n",
            "module has no .dumps field or method",
            "s:2:1: module",
        ),
        (
            "x = 1\n'a'.nope()\n",
            "string has no .nope field or method",
            "s:2:1: string",
        ),
    ] {
        let (report, _) = script(source);
        assert_eq!(report.results[0].message, why, "{source}");
        assert!(
            report.stderr.starts_with(place),
            "{source}: {}",
            report.stderr
        );
    }
}

#[test]
fn m11_a_whole_float_of_the_script_is_written_as_a_whole_number() {
    let data = |source: &str| {
        let (report, items) = script(source);
        assert!(!report.failed(), "{report:?}");
        items[0].value.get("data").map(Value::to_json)
    };
    let half = "d = {'a': 4 / 2, 'b': 0.5, 'c': [-3.0], 'd': 1e20}\nctx.resource_list['items'][0]['data'] = d\n";
    let wanted = serde_json::json!({"a": 2, "b": 0.5, "c": [-3], "d": 1e20});
    assert_eq!(data(half), Some(wanted));
}

/// What starlark-go v0.5.5 of the catalog says of these scripts.
#[test]
fn m11_mistakes_are_told_in_the_words_of_the_catalogs_interpreter() {
    for (source, said) in [
        ("def x(:\n  pass\n", "s:1:8: got ':', want ')'"),
        ("x = (1,\n", "s:2:1: got end of file, want ')'"),
        ("def f(a, a):\n  pass\n", "s:1:10: duplicate parameter: a"),
        ("if True\n  x = 1\n", "s:2:1: got newline, want ':'"),
        ("x = )\n", "s:1:5: unexpected ')'"),
        ("x = {'a' 1}\n", "s:1:11: got int literal, want ':'"),
        (
            "return 1\n",
            "s:1:1: return statement not within a function",
        ),
        ("def f():\nreturn 1\n", "s:2:7: got return, want indent"),
        (
            "x = 1\n  y = 2\n",
            "s:2:3: got indent, want primary expression",
        ),
        ("x = 'abc\n", "s:1:5: unexpected newline in string"),
        ("x = \"\"\"abc\n", "s:1:5: unexpected EOF in string"),
        ("break\n", "s:1:1: break not in a loop"),
        ("x = $\n", "s:1:5: unexpected input character '$'"),
        ("print 'x'\n", "s:1:10: got string literal, want newline"),
        ("def\n", "s:2:1: not an identifier"),
        (
            "else:\n  pass\n",
            "s:1:1: got else, want primary expression",
        ),
        (
            "x = dict(a=1, a=2)\n",
            "s:1:15: keyword argument \"a\" is repeated",
        ),
        ("a, b = 1\n", "got int in sequence assignment"),
        ("a, b = [1]\n", "too few values to unpack (got 1, want 2)"),
        ("a = 1 / 0\n", "floating-point division by zero"),
        ("a = 1 // 0\n", "floored division by zero"),
        ("a = 'x' + 1\n", "unknown binary op: string + int"),
        ("a = 'x' < 1\n", "string < int not implemented"),
        ("a = -None\n", "unknown unary op: - NoneType"),
        (
            "a = None['x']\n",
            "unhandled index operation NoneType[string]",
        ),
        ("for i in 5:\n  pass\n", "int value is not iterable"),
        (
            "a = list(5)\n",
            "list: for parameter 1: got int, want iterable",
        ),
        ("a = len(1)\n", "len: value of type int has no len"),
        ("a = len()\n", "len: got 0 arguments, want 1"),
        ("a = {}.get()\n", "get: got 0 arguments, want at least 1"),
        ("a = bool(1, 2)\n", "bool: got 2 arguments, want at most 1"),
        ("a = str()\n", "str: got 0 arguments, want exactly 1"),
        ("a = max([])\n", "max: argument is an empty sequence"),
        ("a = int('x')\n", "int: invalid literal with base 10: x"),
        ("a = {[]: 1}\n", "unhashable type: list"),
        (
            "a = '%d %d' % 1\n",
            "not enough arguments for format string",
        ),
        ("a = {'a': 1}\na.pop('b')\n", "pop: missing key"),
        ("x = 1\nx()\n", "invalid call of non-function (int)"),
        (
            "ctx.resource_list = 1\n",
            "can't assign to .resource_list field of struct",
        ),
        ("a = ctx.nope\n", "struct has no .nope attribute"),
        ("fail()\n", "fail: "),
    ] {
        assert_eq!(failure(source), said, "{source}");
    }
}
