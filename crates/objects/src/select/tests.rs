//! What the real server's parsers say, and what they accept.

use serde_json::json;

use super::*;

fn refused(text: &str) -> String {
    LabelSelection::parse(text).unwrap_err().message
}

fn fits(selector: &str, labels: &serde_json::Value) -> bool {
    let object = json!({"metadata": {"labels": labels}});
    LabelSelection::parse(selector)
        .unwrap()
        .matches_value(&object)
}

#[test]
fn label_selectors_that_do_not_parse_are_refused_in_the_words_of_the_real_server() {
    let bad_key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                   alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                   '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let bad_value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                     regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    for (text, why) in [
        (",a", "found ',', expected: !, identifier, or 'end of string'".to_owned()),
        ("a,", "found '', expected: identifier after ','".to_owned()),
        ("a,,b", "found ',', expected: identifier after ','".to_owned()),
        ("a,=b", "found '=', expected: identifier after ','".to_owned()),
        ("=b", "found '=', expected: !, identifier, or 'end of string'".to_owned()),
        ("!a=b", "found '=', expected: ',' or 'end of string'".to_owned()),
        ("a=b c", "found 'c', expected: ',' or 'end of string'".to_owned()),
        ("!", "unable to parse requirement: found '', expected: identifier".to_owned()),
        ("!!a", "unable to parse requirement: found '!', expected: identifier".to_owned()),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt".to_owned()),
        ("a (b)", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt".to_owned()),
        ("a===b", "unable to parse requirement: found '=', expected: identifier".to_owned()),
        ("a in b", "unable to parse requirement: found 'b' expected: '('".to_owned()),
        ("a in", "unable to parse requirement: found '' expected: '('".to_owned()),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier".to_owned()),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'".to_owned()),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'".to_owned()),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier".to_owned()),
        ("a>b", "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer".to_owned()),
        ("-a", format!("unable to parse requirement: <nil>: Invalid value: \"-a\": {bad_key}")),
        ("a=-b", format!("unable to parse requirement: values[0][a]: Invalid value: \"-b\": {bad_value}")),
        ("a in (b,-c)", format!("unable to parse requirement: values[0][a]: Invalid value: \"-c\": {bad_value}")),
    ] {
        assert_eq!(refused(text), why, "{text}");
    }
}

#[test]
fn label_selectors_select() {
    let labels = json!({"app": "shop", "tier": "web", "n": "7", "empty": ""});
    for yes in [
        "",
        " ",
        "app",
        "app = shop",
        "app==shop,tier!=db",
        "app in (x, shop)",
        "app notin (x)",
        "!old",
        "! old",
        "n>6,n<8",
        "empty=",
        "empty in ()",
        "empty in (a,)",
        "empty in (,a)",
        "in notin (in)",
        "none!=",
        "app in (a,,shop)",
    ] {
        assert!(fits(yes, &labels), "{yes}");
    }
    for no in [
        "old",
        "app=x",
        "app!=shop",
        "app notin (shop)",
        "!app",
        "n>7",
        "app>1",
        "app in (a,,b)",
        "none=",
    ] {
        assert!(!fits(no, &labels), "{no}");
    }
}

#[test]
fn field_selectors_are_taken_apart_at_their_first_sign() {
    let parse = |text: &str| {
        let terms = FieldTerm::all(text).map_err(|failure| failure.message)?;
        let shown = terms.into_iter().map(|t| {
            let sign = if t.negated { "!=" } else { "=" };
            format!("{} {sign} {}", t.field, t.value)
        });
        Ok::<_, String>(shown.collect::<Vec<_>>().join("; "))
    };
    for (text, parsed) in [
        ("", ""),
        (",,", ""),
        ("b=1,a==2,c!=3", "a = 2; b = 1; c != 3"),
        (r"a=x\,y\=z\\", r"a = x,y=z\"),
        ("m[a.b/c]=v", "m[a.b/c] = v"),
        ("a=", "a = "),
        ("=a", " = a"),
        ("a= b", "a =  b"),
    ] {
        assert_eq!(parse(text).unwrap(), parsed, "{text}");
    }
    for (text, why) in [
        (
            "bogus",
            "invalid selector: 'bogus'; can't understand 'bogus'",
        ),
        ("a=1,b", "invalid selector: 'a=1,b'; can't understand 'b'"),
        (
            r"a=\x",
            r"invalid field selector: invalid escape sequence: \x",
        ),
        (
            r"a=x\",
            r"invalid field selector: invalid escape sequence: \",
        ),
        (
            "a=b=c",
            "invalid field selector: unescaped character in value: 61",
        ),
        (
            "a=b!=c",
            "invalid field selector: unescaped character in value: 61",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err(), why, "{text}");
    }
}

#[test]
fn keys_of_maps_stand_in_brackets() {
    let object = json!({"spec": {"labels": {"a.b/c": "v", "n": 3}, "flag": true}});
    for (path, text) in [
        ("spec.labels[a.b/c]", "v"),
        ("spec.labels[n]", "3"),
        ("spec.labels[none]", ""),
        (".spec.flag", "true"),
        ("spec.labels", ""),
    ] {
        assert_eq!(fields::text_at(&object, path), text, "{path}");
    }
}
