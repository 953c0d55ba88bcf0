//! Old line separators (NEL, LS, PS) as yaml.v3 takes them: line breaks everywhere, inside quotes, too.

use super::*;

#[test]
fn a_document_marker_behind_an_old_separator_ends_the_document_inside_quotes() {
    for separator in ["\u{85}", "\u{2028}", "\u{2029}"] {
        for marker in ["...\n", "--- ", "...\t", "---\u{85}", "...\u{2029}"] {
            for quote in ['"', '\''] {
                let text = format!("a: {quote}x{separator}{marker}y{quote}\n");
                let error = Stream::parse(text.as_str(), &Limits::default()).unwrap_err();
                assert_eq!(error.message(), "found unexpected document indicator");
                assert_eq!(error.offset(), 5 + separator.len(), "{text:?}");
                let beside = text.replace(marker, &format!("{}y{marker}", &marker[..3]));
                parse(&beside);
            }
        }
    }
}

#[test]
fn a_marker_that_touches_the_closing_quote_is_content() {
    for text in [
        "a: 'x\n---'\n",
        "a: 'x\u{85}---'\n",
        "b: [-]\na: \"x\u{2028}...\"\n",
    ] {
        let stream = parse(text);
        let value = root(&stream).get("a").unwrap();
        let value = value.scalar().unwrap().to_owned();
        assert!(
            value.ends_with("---") || value.ends_with("..."),
            "{value:?}"
        );
    }
}

/// Contents as yaml.v3 reads them, on their own and beside what other readers stumble over.
#[test]
fn lines_are_folded_at_old_separators() {
    for (source, content) in [
        ("'x\u{85}y'", "x y"),
        ("'x \u{85} \t y'", "x y"),
        ("'x\u{85}\u{85}y'", "x\ny"),
        ("'x\u{85}\n\r\n  y'", "x\n\ny"),
        ("'x\u{2028}y'", "x\u{2028}y"),
        ("'x \u{2028}\u{85} y'", "x\u{2028}\ny"),
        ("'x\u{85}\u{2029}y'", "x\u{2029}y"),
        ("'\u{85}it''s '", " it's "),
        ("\"\\N\u{85}\"", "\u{85} "),
        ("\"x \\\u{85} \u{85}y\"", "x \ny"),
        ("\"x\\\u{2028}  y\"", "xy"),
        ("\"\\t\\ \u{85}\\\" y\"", "\t  \" y"),
        ("p\u{85}  q", "p q"),
        ("p\u{2028}  q", "p\u{2028}q"),
        ("p \u{2029}\u{85}  q", "p\u{2029}\nq"),
    ] {
        for rest in [
            "",
            "b: [-]\n",
            "b: \"x\"# touches\n",
            "b: 1 # c\u{85}c: 2\n",
        ] {
            let stream = parse(&format!("a: {source}\n{rest}"));
            let value = root(&stream).get("a").unwrap();
            assert_eq!(value.scalar(), Some(content), "{source:?} {rest:?}");
        }
    }
}

#[test]
fn a_key_before_a_colon_stands_on_one_line() {
    for text in [
        "'x\u{85}y': 1\n",
        "{\"x\u{2028}y\": 1}\n",
        "{x\n y: 1}\n",
        "{x\r y\r: 1}\n",
    ] {
        assert!(Stream::parse(text, &Limits::default()).is_err(), "{text:?}");
    }
    for text in ["{x\n y}\n", "{x\u{85}y, 'a\n\n b' }\n", "{x\r y}\n"] {
        let stream = parse(text);
        let first = root(&stream).entries().next().unwrap();
        assert_eq!(first.key.scalar(), Some("x y"));
        assert!(first.value.is_null());
    }
}

#[test]
fn a_document_may_begin_at_an_old_separator() {
    let stream = parse("a: 'x\u{85}y'\n---\u{85}a: 1 # c\u{85}...\u{2028}---\u{2029}a: 'z'\n");
    let values: Vec<_> = stream
        .documents()
        .map(|doc| doc.root().get("a").unwrap().scalar().unwrap().to_owned())
        .collect();
    assert_eq!(values, ["x y", "1", "z"]);
}
