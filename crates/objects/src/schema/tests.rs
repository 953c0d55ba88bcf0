//! Laws of defaulting and pruning; texts are held to recordings in `replay`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::tests::{stack, widgets};

fn compiled(schema: &Value) -> Result<Structural, Vec<FieldError>> {
    Structural::from_json_at(schema, "", stack)
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn check(schema: Value, value: Value) -> Vec<String> {
    texts(
        &Structural::trusted(&json!({"type": "object", "properties": {"v": schema}}))
            .unwrap()
            .validate(&json!({ "v": value }), None),
    )
}

#[test]
fn combinations_are_told_at_the_root() {
    let one_of = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(
        check(one_of.clone(), json!({}))[0],
        r#"<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid"#
    );
    assert_eq!(
        check(one_of.clone(), json!({"a": 1, "b": 1})),
        [
            r#"<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
        ]
    );
    assert!(check(one_of, json!({"a": 1})).is_empty());
    let not = json!({"type": "integer", "not": {"enum": [5]}});
    assert_eq!(
        check(not, json!(5)),
        [r#"<nil>: Invalid value: "": "v" must not validate the schema (not)"#]
    );
    let any_of = json!({"type": "string", "anyOf": [{"maxLength": 1}, {"pattern": "^x"}]});
    assert_eq!(
        check(any_of, json!("yy"))[0],
        r#"<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)"#
    );
}

#[test]
fn formats_are_checked_where_they_are_known() {
    for (format, good, bad) in [
        ("date-time", "2020-01-02T03:04:05Z", "2020-01-02"),
        ("date", "2020-01-02", "2020-1-2"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "x"),
        ("duration", "1h30m", "soon"),
        ("byte", "AAEC", "*"),
        ("email", "a@example.dev", "a"),
        ("mac", "01:23:45:67:89:ab", "01"),
        ("uri", "https://example.dev/x", "no uri"),
    ] {
        let schema = json!({"type": "string", "format": format});
        assert!(
            check(schema.clone(), json!(good)).is_empty(),
            "{format} {good}"
        );
        assert_eq!(
            check(schema, json!(bad)),
            [format!(
                "v: Invalid value: {bad:?}: v in body must be of type {format}: {bad:?}"
            )]
        );
    }
    assert!(check(json!({"type": "string", "format": "whatever"}), json!("x")).is_empty());
}

#[test]
fn whole_floats_are_integers() {
    let schema = json!({"type": "integer"});
    assert!(check(schema.clone(), json!(2.0)).is_empty());
    assert_eq!(check(schema, json!(2.5)).len(), 1);
    assert!(check(json!({"type": "number"}), json!(2)).is_empty());
}

#[test]
fn unchanged_parts_are_not_complained_about() {
    let schema = widgets();
    let old =
        json!({"spec": {"size": "huge", "ports": [{"port": 0, "protocol": "TCP", "name": "x"}]}});
    let mut new = old.clone();
    new["spec"]["count"] = json!(500);
    new["spec"]["ports"][0]["name"] = json!("y");
    assert_eq!(
        texts(&schema.validate(&new, Some(&old))),
        ["spec.count: Invalid value: 500: spec.count in body should be less than or equal to 100"]
    );
}

#[test]
fn hostile_schemas_are_refused() {
    let mut deep = json!({"type": "object"});
    for _ in 0..200 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(compiled(&deep).is_err());
    assert!(compiled(&json!([])).is_err());
    assert!(compiled(&json!({"type": "object", "properties": {"a": 5}})).is_err());
    let big = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}}});
    assert!(compiled(&big).is_err());
}

#[test]
fn messages_join_as_the_server_joins_them() {
    let one = FieldError::required("a", "");
    let two = FieldError::invalid("b", 5, "no");
    assert_eq!(
        invalid_message("K", "g.dev", "n", std::slice::from_ref(&one)),
        r#"K.g.dev "n" is invalid: a: Required value"#
    );
    assert_eq!(
        invalid_message("K", "", "n", &[one.clone(), two, one]),
        r#"K "n" is invalid: [a: Required value, b: Invalid value: 5: no]"#
    );
    for (number, text) in [
        (1e21, "1e+21"),
        (0.00001, "1e-05"),
        (0.25, "0.25"),
        (100.0, "100"),
        (1e20, "100000000000000000000"),
    ] {
        assert_eq!(render::go_float(number), text);
    }
}

#[test]
fn rules_of_a_schema_are_evaluated_in_the_real_servers_words() {
    let schema = widgets();
    let spec = |spec: Value| json!({ "spec": spec });
    let told =
        |new: Value, old: Option<Value>| texts(&schema.validate_rules(&new, old.as_ref(), stack));
    assert_eq!(
        told(spec(json!({"size": "small", "min": 5, "max": 1})), None),
        [r#"spec.min: Invalid value: "object": min must not exceed max"#]
    );
    assert_eq!(
        told(spec(json!({"size": "small", "count": 5, "limit": 1})), None),
        [r#"spec: Invalid value: "object": count exceeds the limit of this small widget"#]
    );
    let old = spec(json!({"size": "small", "serial": "a"}));
    assert_eq!(
        told(
            spec(json!({"size": "small", "serial": "b"})),
            Some(old.clone())
        ),
        ["spec: Forbidden: serial cannot be changed once set"]
    );
    assert!(told(spec(json!({"size": "large", "serial": "a"})), Some(old)).is_empty());
    assert!(told(spec(json!({"size": "small", "serial": "b"})), None).is_empty());
    let basic = spec(json!({"size": "small", "profile": {"level": "basic"}}));
    assert_eq!(
        told(
            spec(json!({"size": "small", "profile": {"level": "odd"}})),
            Some(basic)
        ),
        [
            r#"spec.profile.level: Invalid value: "string": level can only be kept or become basic or gold"#
        ]
    );
    assert_eq!(
        told(
            spec(json!({"size": "small", "min": 5, "max": 1, "count": 5, "limit": 1})),
            None
        )
        .len(),
        2,
        "in the order of the rules"
    );
}

#[test]
fn rules_see_values_as_their_schema_says() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "properties": {
            "at": {"type": "string", "format": "date-time"}, "ratio": {"type": "number"},
            "my-name": {"type": "string"}, "any": {"x-kubernetes-int-or-string": true},
            "m": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.at) || self.at > timestamp('2020-01-01T00:00:00Z')"},
            {"rule": "!has(self.ratio) || self.ratio < 2.5"},
            {"rule": "!has(self.my__dash__name) || self.my__dash__name.startsWith('x')"},
            {"rule": "!has(self.any) || self.any == 5"},
            {"rule": "!has(self.m) || self.m.all(k, self.m[k] > 0)"},
        ],
    }}});
    let schema = compiled(&schema).unwrap();
    let count = |spec: Value| {
        schema
            .validate_rules(&json!({ "spec": spec }), None, stack)
            .len()
    };
    let good =
        json!({"at": "2021-01-01T00:00:00Z", "ratio": 2, "my-name": "x", "any": 5, "m": {"a": 1}});
    assert_eq!(count(good), 0);
    let bad = json!({"at": "2019-01-01T00:00:00Z", "ratio": 3, "my-name": "y", "any": "5", "m": {"a": 0}});
    let found = schema.validate_rules(&json!({ "spec": bad }), None, stack);
    assert_eq!(found.len(), 5, "{found:?}");
    assert_eq!(
        found[1].to_string(),
        r#"spec: Invalid value: "object": failed rule: !has(self.ratio) || self.ratio < 2.5"#
    );
}

#[test]
fn a_rule_whose_former_value_is_optional_holds_of_what_is_new() {
    let rule = "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1";
    let schema = |optional: bool| {
        let rule = json!({"rule": rule, "optionalOldSelf": optional});
        let level = json!({"type": "integer", "x-kubernetes-validations": [rule]});
        compiled(&json!({"type": "object", "properties": {"level": level}}))
    };
    let ruled = schema(true).unwrap();
    let told = |new: i64, old: Option<i64>| {
        let level = |level: i64| json!({ "level": level });
        let old = old.map(level);
        texts(&ruled.validate_rules(&level(new), old.as_ref(), stack)).len()
    };
    assert_eq!([told(1, None), told(2, None)], [0, 1]);
    assert_eq!([told(3, Some(2)), told(1, Some(2))], [0, 1]);
    // Without that word the former value is of the same type as the new one.
    assert_eq!(schema(false).unwrap_err().len(), 1);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..200_i64).prop_map(Value::from),
        prop::sample::select(vec!["small", "x", "AA-1", "2020-01-02T03:04:05Z"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let names = prop::sample::select(vec![
            "spec", "size", "count", "ports", "port", "protocol", "profile", "level", "extra",
            "known", "tags", "labels", "template", "metadata", "name", "box", "width", "status",
            "note", "bogus",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names, inner, 0..6).prop_map(|m| Value::Object(
                m.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
            )),
        ]
    })
}

proptest! {
    #[test]
    fn pruning_and_defaulting_settle(value in any_value()) {
        let schema = widgets();
        let mut object = json!({"spec": &value, "metadata": &value});
        schema.prune(&mut object);
        let pruned = object.clone();
        prop_assert!(schema.prune(&mut object).is_empty());
        prop_assert_eq!(&object, &pruned);
        schema.default(&mut object);
        let filled = object.clone();
        schema.default(&mut object);
        prop_assert_eq!(&object, &filled);
        prop_assert!(schema.prune(&mut object).is_empty(), "defaults are known fields");
        prop_assert!(schema.validate(&object, None).len() < 1_100, "bounded");
    }
}

/// Kilobytes of patterns and rules that repeat what they repeat are hours of building.
#[test]
fn what_all_patterns_and_rules_of_a_schema_may_cost_is_bounded() {
    let told = |properties: Vec<Value>| {
        let named = (0..)
            .zip(properties)
            .map(|(n, schema)| (format!("p{n}"), schema));
        let named: serde_json::Map<String, Value> = named.collect();
        let schema = json!({"type": "object", "properties": named});
        compiled(&schema).map_or_else(|errors| texts(&errors), |_| Vec::new())
    };
    let text = |pattern: String| json!({"type": "string", "pattern": pattern, "maxLength": 10});
    let one = told(vec![text("^([a-z]{100}){100}$".to_owned())]);
    assert!(
        one.len() == 1 && one[0].contains("expression too large"),
        "{one:?}"
    );
    let weighty = |n: usize| text(format!("^[a-z]{{{}}}$", 900 + n % 50));
    assert_eq!(told((0..100).map(weighty).collect()), Vec::<String>::new());
    let many = told((0..2_000).map(weighty).collect());
    assert!(
        many.len() == 1 && many[0].contains("all patterns together weigh"),
        "{many:?}"
    );
    let ruled = |rule: String| json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": [{"rule": rule}]});
    let matching = |n: usize| ruled(format!("self.matches('^[a-z]{{{}}}$')", 900 + n));
    let many = told((0..200).map(matching).collect());
    assert!(
        many.len() == 1 && many[0].contains("the patterns of all rules"),
        "{many:?}"
    );
    let long = |n: usize| ruled(format!("self != '{}{n}'", "x".repeat(7_000)));
    let many = told((0..200).map(long).collect());
    assert!(
        many.len() == 1 && many[0].contains("all rules of a schema"),
        "{many:?}"
    );
}
