//! What a real server says about rules that it refuses, and what rules answer.

use super::*;

fn object(fields: &[(&str, Shape)]) -> Shape {
    Shape::Object(
        fields
            .iter()
            .map(|(name, shape)| ((*name).to_owned(), shape.clone()))
            .collect(),
    )
}

fn map(fields: &[(&str, Datum)]) -> Datum {
    Datum::Map(
        fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    )
}

fn shape() -> Shape {
    object(&[
        ("a", Shape::Text),
        ("n", Shape::Int),
        ("t", Shape::Timestamp),
        ("l", Shape::List(Box::new(Shape::Text))),
    ])
}

fn refused(text: &str) -> String {
    Rule::compile(text, &[("self", &shape())], Wanted::Bool)
        .unwrap_err()
        .to_string()
}

#[test]
fn refusals_are_in_the_words_of_cel_go() {
    assert_eq!(
        refused("self.nope == 'x'"),
        "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope == 'x'\n | ....^"
    );
    assert_eq!(
        refused("self.a == 5"),
        "ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(string, int)'\n | self.a == 5\n | .......^"
    );
    assert_eq!(refused("self.a"), "cel expression must evaluate to a bool");
    assert_eq!(
        refused("self.a.matches('[')"),
        "ERROR: <input>:1:16: invalid matches argument\n | self.a.matches('[')\n | ...............^"
    );
    assert!(
        refused("self.a ==")
            .starts_with("ERROR: <input>:1:10: Syntax error: mismatched input '<EOF>' expecting")
    );
    assert!(
        refused(&format!("self.a == '{}'", "x".repeat(MAX_RULE_LENGTH))).contains("exceeds limit")
    );
    assert!(refused(&format!("{}true{}", "(".repeat(400), ")".repeat(400))).contains("recursion"));
}

#[test]
fn rules_answer_for_every_kind_of_value() {
    let shape = shape();
    let value = map(&[
        ("a", Datum::Text("Abc".to_owned())),
        ("n", Datum::Int(5)),
        ("t", Datum::Timestamp("2020-01-02T03:04:05Z".to_owned())),
        (
            "l",
            Datum::List(vec![
                Datum::Text("x".to_owned()),
                Datum::Text("y".to_owned()),
            ]),
        ),
    ]);
    for (text, answer) in [
        ("self.n <= 5 && self.a.lowerAscii() == 'abc'", true),
        ("!has(self.n) || self.n > 5", false),
        ("self.t < timestamp('2021-01-01T00:00:00Z')", true),
        (
            "self.l.all(x, size(x) == 1) && self.l.join('-') == 'x-y'",
            true,
        ),
        ("self.a.split('b').size() == 2", true),
        ("self.l.isSorted() && !['b', 'a'].isSorted()", true),
        (
            "[1, 5, 3].max() == 5 && [1, 5, 3].min() == 1 && [1, 5, 3].sum() == 9",
            true,
        ),
        ("[1.5, 0.5].sum() == 2.0 && self.l.max() == 'y'", true),
    ] {
        let rule = Rule::compile(text, &[("self", &shape)], Wanted::Bool).unwrap();
        assert_eq!(rule.holds(&[("self", &value)]).unwrap(), answer, "{text}");
        assert!(!rule.mentions("oldSelf"));
    }
    let rule = Rule::compile(
        "'n is ' + string(self.n)",
        &[("self", &shape)],
        Wanted::Text,
    )
    .unwrap();
    assert_eq!(rule.text(&[("self", &value)]).unwrap(), "n is 5");
    let missing = Rule::compile("self.n == 1", &[("self", &shape)], Wanted::Bool).unwrap();
    assert_eq!(
        missing.holds(&[("self", &map(&[]))]).unwrap_err().message,
        "no such key: n"
    );
}

#[test]
fn values_that_may_not_be_there_have_a_type_of_their_own() {
    let (shape, value) = (shape(), map(&[("a", Datum::Text("x".to_owned()))]));
    let former = Shape::Optional(Box::new(shape.clone()));
    let variables = [("self", &shape), ("oldSelf", &former)];
    for (text, with, without) in [
        ("oldSelf.hasValue()", true, false),
        (
            "!oldSelf.hasValue() || oldSelf.value().a == self.a",
            true,
            true,
        ),
        ("oldSelf.?a.orValue('y') == 'x'", true, false),
        (
            "oldSelf.a.optMap(a, a + 'z').orValue('none') == 'xz'",
            true,
            false,
        ),
        (
            "self.?n.hasValue() || self.?a.or(optional.of('y')).value() == 'x'",
            true,
            true,
        ),
        ("self.?l[?0].orValue('none') == 'none'", true, true),
        (
            "[?self.?a, ?self.?n.optMap(n, string(n))].size() == 1",
            true,
            true,
        ),
        ("optional.none().orValue(true)", true, true),
        ("optional.ofNonZeroValue('') == optional.none()", true, true),
    ] {
        let rule = Rule::compile(text, &variables, Wanted::Bool).unwrap();
        for (there, answer) in [(Some(value.clone()), with), (None, without)] {
            let former = Datum::Optional(there.map(Box::new));
            let values = [("self", &value), ("oldSelf", &former)];
            assert_eq!(rule.holds(&values).unwrap(), answer, "{text}");
        }
    }
    let refused = |text: &str| {
        let refused = Rule::compile(text, &variables, Wanted::Bool).unwrap_err();
        refused.message
    };
    assert_eq!(
        refused("oldSelf.?nope.hasValue()"),
        "undefined field 'nope'"
    );
    assert_eq!(
        refused("oldSelf.a == self.a"),
        "found no matching overload for '_==_' applied to '(optional_type(string), string)'"
    );
    let long = "self.?a.orValue('').replace('a', 'aaaa').replace('a', 'aaaa') != ''";
    let rule = Rule::compile(long, &variables, Wanted::Bool).unwrap();
    assert!(rule.price(1_000_000) > 1_000_000, "what is in it counts");
}

#[test]
fn cost_grows_with_what_is_looked_at() {
    let quadratic = "self.l.all(x, self.l.all(y, x == y))";
    let rule = Rule::compile(quadratic, &[("self", &shape())], Wanted::Bool).unwrap();
    assert!(rule.cost(1_000_000) > 1_000_000_000);
    assert!(rule.cost(4) < 10_000);
}

/// Ten replacements of one letter by ten are ten gigabytes.
#[test]
fn texts_that_functions_make_are_priced() {
    let grown = |times: usize| {
        let text = format!(
            "size('a'{}) > 0",
            ".replace('a', 'aaaaaaaaaa')".repeat(times)
        );
        let rule = Rule::compile(&text, &[("self", &shape())], Wanted::Bool).unwrap();
        rule.price(1)
    };
    assert!(grown(3) < 10_000 && grown(10) > 1_000_000_000);
    let joined = "self.l.map(x, self.l.join(x)).join('') != ''";
    let rule = Rule::compile(joined, &[("self", &shape())], Wanted::Bool).unwrap();
    assert!(rule.price(1_000) > 10_000_000 && rule.price(10) < 10_000);
    // A pattern counts by its states, not by its letters.
    let rule = |pattern: &str| {
        let text = format!("self.a.matches('{pattern}')");
        Rule::compile(&text, &[("self", &shape())], Wanted::Bool).unwrap()
    };
    assert!(rule("([a-z]{90}){90}").price(1_000_000) > 100_000_000);
    assert!(rule("^[a-z]+$").price(1_000_000) < 1_000_000);
    assert_eq!(
        refused("self.a.matches('([a-z]{100}){100}')"),
        "ERROR: <input>:1:16: invalid matches argument\n | self.a.matches('([a-z]{100}){100}')\n | ...............^"
    );
}
