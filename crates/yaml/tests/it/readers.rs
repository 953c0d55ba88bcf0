//! Which texts are read, and as what: recorded answers of yaml.v3 to texts that were made here, and another reader beside us where
//! the texts are what packages hold.

use std::fmt::Write as _;

use granit_parser::{Event, Parser, ScalarStyle};
use proptest::prelude::*;
use yaml::{Limits, Node, NodeKind, Stream, Style};

use crate::random::{known, value};

/// A scalar as the recorded answers have it: a letter for its style, and its content.
fn scalar(out: &mut String, style: Style, content: &str) {
    out.push(match style {
        Style::SingleQuoted => 's',
        Style::DoubleQuoted => 'd',
        Style::Literal => 'l',
        Style::Folded => 'f',
        _ => 'p',
    });
    out.push_str(&serde_json::to_string(content).unwrap());
}

/// A node with all below it. `names` says whether anchors and aliases are told by their names.
fn node(out: &mut String, one: Node<'_>, names: bool) {
    match one.kind() {
        NodeKind::Mapping => out.push('M'),
        NodeKind::Sequence => out.push('S'),
        NodeKind::Scalar => scalar(out, one.style(), one.scalar().unwrap()),
        NodeKind::Alias => {
            let name = one.alias_name().filter(|_| names).unwrap_or_default();
            write!(out, "*{name};").unwrap();
            return;
        }
    }
    if let Some(anchor) = one.anchor().filter(|_| names) {
        write!(out, "&{anchor}").unwrap();
    }
    out.push('(');
    for entry in one.entries() {
        node(out, entry.key, names);
        node(out, entry.value, names);
    }
    for item in one.items() {
        node(out, item, names);
    }
    out.push(')');
}

/// What a text is read as; nothing where it is refused.
fn reads(text: &str, names: bool) -> Option<String> {
    let stream = Stream::parse(text, &Limits::default()).ok()?;
    let mut out = String::new();
    for document in stream.documents() {
        out.push_str("D(");
        node(&mut out, document.root(), names);
        out.push(')');
    }
    Some(out)
}

#[test]
fn texts_are_read_or_refused_as_the_package_tools_reader_does() {
    let mut count = [0, 0];
    for line in include_str!("../../testdata/readers.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        assert_eq!(
            reads(text, true).as_deref(),
            case["reads"].as_str(),
            "{text:?}"
        );
        count[usize::from(case["reads"].is_null())] += 1;
    }
    assert!(count.iter().all(|count| *count > 400), "{count:?}");
}

/// What the other reader reads.
fn beside(text: &str) -> String {
    let mut out = String::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.unwrap();
        match event {
            Event::DocumentStart(..) => out.push_str("D("),
            Event::MappingStart(..) => out.push_str("M("),
            Event::SequenceStart(..) => out.push_str("S("),
            Event::DocumentEnd | Event::MappingEnd | Event::SequenceEnd => out.push(')'),
            Event::Alias(_) => out.push_str("*;"),
            Event::Scalar(content, style, ..) => {
                let style = match style {
                    ScalarStyle::SingleQuoted => Style::SingleQuoted,
                    ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
                    ScalarStyle::Literal => Style::Literal,
                    ScalarStyle::Folded => Style::Folded,
                    _ => Style::Plain,
                };
                // It writes a value that is not there as a tilde.
                let absent = span.start == span.end && style == Style::Plain;
                scalar(&mut out, style, if absent { "" } else { &content });
                out.push_str("()");
            }
            _ => {}
        }
    }
    out
}

#[test]
fn known_texts_are_read_as_another_reader_reads_them() {
    for text in known() {
        assert_eq!(reads(&text, false).unwrap(), beside(&text), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_we_write_is_read_as_another_reader_reads_it(value in value()) {
        let stream = Stream::from_value(&value, &Limits::default()).unwrap();
        let text = stream.text();
        assert_eq!(reads(text, false).unwrap(), beside(text), "{text:?}");
    }
}

/// Words and lines of the library that kube-apiserver reads with.
#[test]
fn a_mistake_is_told_as_go_tells_it() {
    for (text, said) in [
        (
            "a: b: c\n",
            "mapping values are not allowed in this context",
        ),
        (
            "x: 1\na: b: c\n",
            "line 2: mapping values are not allowed in this context",
        ),
        ("[", "line 1: did not find expected node content"),
        ("{a: 1\n", "line 1: did not find expected ',' or '}'"),
        ("a: [1,\n2\n", "line 2: did not find expected ',' or ']'"),
        ("a: 1\nb\n", "line 3: could not find expected ':'"),
        ("- - \n0", "line 3: could not find expected ':'"),
        ("{\"a\": \"b", "found unexpected end of stream"),
        (
            "a:\n\tb: 2\n",
            "line 2: found character that cannot start any token",
        ),
        (
            "a: 1\n...\nb: 2\n",
            "line 2: did not find expected <document start>",
        ),
        ("a: *b\n", "unknown anchor 'b' referenced"),
        ("a: \u{1}\n", "control characters are not allowed"),
        (
            "a: !x\"y\"\n",
            "did not find expected whitespace or line break",
        ),
    ] {
        let error = Stream::parse(text, &Limits::default()).unwrap_err();
        assert_eq!(error.as_go_says(), format!("yaml: {said}"), "{text:?}");
    }
}
