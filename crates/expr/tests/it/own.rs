//! Our own cases: limits, messages with a place, results that are no strings.

use expr::{MAX_LENGTH, Stage};

use crate::{bindings, on_large_stack, run};

fn try_in_world(text: &str) -> Result<String, expr::ExprError> {
    let text = text.to_owned();
    on_large_stack(move || {
        let world = serde_json::json!({
            "repoDefault": "east",
            "packageDefault": "shop",
            "upstream": {"name": "blueprints.shop.v1", "namespace": "fleet", "labels": {}, "annotations": {}},
            "repository": {"name": "east", "namespace": "fleet", "labels": {"region": "eu", "tier": "1"}, "annotations": {}},
            "target": {"repo": "east", "package": "shop"},
        });
        run(&text, &bindings(&world))
    })
}

/// R150, R152, R156.
#[test]
fn plain_expressions_give_strings() {
    for (text, want) in [
        ("repoDefault + '-' + packageDefault", "east-shop"),
        ("repository.labels['region'] + '-endpoints'", "eu-endpoints"),
        ("target.package", "shop"),
        ("upstream.namespace", "fleet"),
        (
            "has(repository.labels.region) ? repository.labels.region : 'none'",
            "eu",
        ),
        ("'zone' in repository.labels ? 'a' : 'b'", "b"),
        ("string(int(repository.labels.tier) + 1)", "2"),
        ("repository.labels.map(k, k)[0]", "region"),
        (
            "repository.labels == {'tier': '1', 'region': 'eu'} ? 'same' : 'other'",
            "same",
        ),
    ] {
        assert_eq!(try_in_world(text).as_deref(), Ok(want), "{text}");
    }
}

#[test]
fn errors_say_what_and_where() {
    for (text, want) in [
        (
            "badvar",
            "ERROR: <input>:1:1: undeclared reference to 'badvar' (in container '')\n | badvar\n | ^",
        ),
        (
            "repo + 'x'",
            "ERROR: <input>:1:1: undeclared reference to 'repo' (in container ''): it is called repoDefault now\n | repo + 'x'\n | ^",
        ),
        (
            "'a' +\n  nope",
            "ERROR: <input>:2:3: undeclared reference to 'nope' (in container '')\n |   nope\n | ..^",
        ),
        (
            "repoDefault + 1",
            "ERROR: <input>:1:13: found no matching overload for '_+_' applied to '(string, int)'\n | repoDefault + 1\n | ............^",
        ),
        ("repository.labels['nope']", "no such key: nope"),
        ("repository.spec", "no such key: spec"),
        ("1 % 0 == 1 ? 'a' : 'b'", "modulus by zero"),
    ] {
        let error = try_in_world(text).expect_err(text);
        assert_eq!(error.to_string(), want, "{text}");
    }
}

/// R156.
#[test]
fn a_result_that_is_no_string_is_found_before_it_runs() {
    for text in [
        "1",
        "repoDefault == 'x'",
        "[repoDefault]",
        "size(repoDefault)",
    ] {
        assert_eq!(
            try_in_world(text).expect_err(text).stage,
            Stage::Result,
            "{text}"
        );
    }
    let error = try_in_world("repository.labels").expect_err("a map");
    assert_eq!(
        error.to_string(),
        "type conversion error from map to 'string'"
    );
}

/// R157.
#[test]
fn limits_hold_and_one_beyond_is_refused() {
    let literal = |n: usize| format!("'{}'", "x".repeat(n - 2));
    assert!(try_in_world(&literal(MAX_LENGTH)).is_ok());
    assert!(try_in_world(&literal(MAX_LENGTH + 1)).is_err());

    let nested = |n: usize| format!("{}'x'{}{}", "[".repeat(n), "]".repeat(n), "[0]".repeat(n));
    assert!(try_in_world(&nested(10)).is_ok());
    assert!(try_in_world(&nested(40)).is_err());

    let chain = |n: usize| vec!["'a'"; n].join("+");
    assert_eq!(try_in_world(&chain(200)).map(|s| s.len()), Ok(200));
    let error = try_in_world(&chain(400)).expect_err("too deep");
    assert!(
        error.message.starts_with("max recursion depth exceeded"),
        "{error}"
    );

    let doubled = |n: usize| format!("['ab']{}[0]", ".map(x, x + x)".repeat(n));
    assert!(try_in_world(&doubled(10)).is_ok());
    let error = try_in_world(&doubled(24)).expect_err("doubling");
    assert!(error.message.contains("exceeds the limit"), "{error}");
}

#[test]
fn large_maps_count_when_they_are_bound() {
    let error = on_large_stack(|| {
        let labels: serde_json::Map<String, serde_json::Value> = (0..3000)
            .map(|i| (format!("k{i}"), serde_json::Value::from("v")))
            .collect();
        let world = serde_json::json!({"repository": {"labels": labels}});
        let text =
            "repository.labels.exists(a, repository.labels.exists(b, a + b == 'x')) ? 'y' : 'n'";
        run(text, &bindings(&world))
    });
    let error = error.expect_err("nine million steps");
    assert!(error.message.contains("exceeds the limit"), "{error}");
}

/// A repetition of a repetition is an automaton of thousands of states, and each took tens of milliseconds to build.
#[test]
fn patterns_are_weighed_before_anything_is_built() {
    let error = try_in_world("string(repository.name.matches('([a-z]{100}){100}'))");
    let error = error.expect_err("too large");
    assert_eq!(error.stage, Stage::Program);
    assert_eq!(error.position.map(|p| p.column), Some(32));
    assert!(error.message.ends_with("expression too large"), "{error}");
    // Each of them is small enough, all of them are not.
    let many = |count: usize| {
        let pattern = |n: usize| format!("repository.name.matches('[a-z]{{{}}}')", 900 + n);
        let all: Vec<String> = (0..count).map(pattern).collect();
        try_in_world(&format!("string({})", all.join("||")))
    };
    assert_eq!(many(15).as_deref(), Ok("false"));
    let error = many(30).expect_err("too many");
    assert!(
        error.message.contains("all patterns weigh more than"),
        "{error}"
    );
}

#[test]
fn a_pattern_that_is_made_while_it_runs_is_bounded() {
    let made = |pattern: &str| format!("string(repository.name.matches('a' + '{pattern}'))");
    assert_eq!(try_in_world(&made("?e[a-z]{3}")).as_deref(), Ok("true"));
    let error = try_in_world(&made("{60}{60}")).expect_err("too large");
    assert!(error.message.contains("expression too large"), "{error}");
    // And how many of them: each is small, and none is the same.
    let all = "['a{9', 'b{9', 'c{9'].map(x, ['1', '2', '3', '4', '5', '6', '7', '8'].map(y, ['1', '2', '3'].map(z,
               repository.name.matches(x + y + z.replace('1', '') + '}'))))";
    assert!(try_in_world(&format!("string(size({all}))")).is_err());
}

/// `\\w` is what RE2 takes it for, in templates as in rules.
#[test]
fn classes_are_gos() {
    assert_eq!(
        try_in_world(r"string('é'.matches('^\\w$'))").as_deref(),
        Ok("false")
    );
    // What stands in braces after an escape is the escape's.
    for (pattern, wanted) in [
        (r"^\\p{L}$", "true"),
        (r"^\\x{e9}$", "true"),
        (r"^[\\P{L}]$", "false"),
    ] {
        let text = format!("string('é'.matches('{pattern}'))");
        assert_eq!(try_in_world(&text).as_deref(), Ok(wanted), "{pattern}");
    }
}

/// A text of a quarter of a megabyte that is doubled is another matter than a name.
#[test]
fn long_texts_count_as_long_as_they_are() {
    let world = |length: usize| serde_json::json!({"repository": {"annotations": {"a": "x".repeat(length)}}});
    let doubled = |length: usize, times: usize| {
        let text = format!(
            "string(size([repository.annotations.a]{}[0]))",
            ".map(x, x + x)".repeat(times)
        );
        let bound = bindings(&world(length));
        on_large_stack(move || run(&text, &bound))
    };
    assert_eq!(doubled(5_000, 4).as_deref(), Ok("80000"));
    assert_eq!(doubled(250_000, 1).as_deref(), Ok("500000"));
    let error = doubled(250_000, 14).expect_err("gigabytes");
    assert!(error.message.contains("exceeds the limit"), "{error}");
}
