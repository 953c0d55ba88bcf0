//! The short way gives what the long way gives, or nothing.

use proptest::prelude::*;

use super::read;
use crate::limits::Limits;
use crate::parse::{Doc, long_way};
use crate::tree::{Content, Tree};

/// Everything in a document, contents as text.
fn told(text: &str, docs: &[Doc]) -> String {
    let mut out = String::new();
    for doc in docs {
        let Tree {
            nodes,
            children,
            comments,
            root,
            head,
            tail,
            explicit,
            old_breaks,
            aliases,
            keys: _,
        } = &*doc.tree;
        let part = &text[doc.range.clone()];
        out.push_str(&format!(
            "{:?} {} {root} {head} {tail} {explicit} {old_breaks} {aliases} {children:?} {comments:?}\n",
            doc.range, doc.first_line
        ));
        for node in nodes {
            let value = match &node.value {
                Content::Span(from, to) => &part[*from as usize..*to as usize],
                Content::Owned(text) => text,
            };
            let mut node = node.clone();
            let value = format!("{value:?}");
            node.value = Content::Span(0, 0);
            out.push_str(&format!("  {node:?} {value}\n"));
        }
    }
    out
}

/// Whether the short way reads it; it then must read what the long way reads.
fn agrees(text: &str, depth: usize) -> bool {
    let limits = Limits {
        depth,
        ..Limits::default()
    };
    for first in [false, true] {
        let Some(short) = read(text, depth, first) else {
            return false;
        };
        match long_way(text, &limits, &[], first) {
            Ok(long) => assert_eq!(told(text, &short), told(text, &long), "{text:?}"),
            Err(error) => panic!("the long way refuses {text:?}: {error}"),
        }
    }
    true
}

#[test]
fn what_is_known_is_read_the_same() {
    let mut count = (0, 0);
    for line in include_str!("../../../testdata/edits.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        for key in ["before", "after"] {
            let Some(text) = case[key].as_str() else {
                continue;
            };
            count.0 += usize::from(agrees(text, 100));
            count.1 += 1;
        }
    }
    assert!(count.0 * 4 > count.1, "the short way is taken: {count:?}");
}

#[test]
fn what_it_is_for_is_read_the_short_way() {
    for text in [
        "a: 1\n",
        "# head\na: 1 # one\nb:\n- x\n- y: 1\n  z: 2\n-\n- |\n  lit\n\n   eral\n\nc:\n  d:\n    e: f\n  g:\n",
        "---\na: b\n---\n# c\nd: \"e\"\nf: 'g' # h\n",
        "a: |-\n  x\n  y\nb: [--port=8080, --log=info]\nc: {d: e, f: [g]}\nh: []\ni: {}\n",
        "\"a\\\"b\\\\\\n\" # c\n",
        "# c\n4\n\n",
        "v1",
        "a: 'it''s'\nb: \"{\\\"c\\\":1}\"\n",
        "- a: é ü # ß\n  b: http://x.y/z?q=1&r=2\n- c\n",
    ] {
        assert!(agrees(text, 100), "{text:?}");
    }
}

/// Pieces of lines: what stands before, and what stands behind.
const HEADS: &[&str] = &[
    "",
    " ",
    "  ",
    "    ",
    "- ",
    "  - ",
    "-",
    "a:",
    "b: ",
    "  c: ",
    "  d:",
    "    e: ",
    "- f: ",
    "  - g: ",
    "-  h:",
    "#",
    "  # x",
    "---",
    "--- ",
    "...",
    "kk.io/x-y: ",
    "'q': ",
    "? ",
    ": ",
    "- - ",
    "~: ",
    "<<: ",
    "%Y",
];
const TAILS: &[&str] = &[
    "",
    " ",
    "v",
    "v w",
    "v # c",
    " # c",
    "#c",
    "'s'",
    "\"d\"",
    "'it''s'",
    "\"\\n\"",
    "\"\\x41\\\"\"",
    "\"\\\\\" # c",
    "\"\\",
    "''",
    "",
    "|",
    "|-",
    "|+",
    "|2",
    ">",
    "|  # c",
    "[a, b]",
    "[ a , [b], {c: d} ]",
    "{}",
    "{a: b}",
    "{a: [x], b: \"c\" }",
    "[a: b]",
    "[-]",
    "[a,]",
    "[a b]",
    "-1",
    "- x",
    "-",
    "---",
    "a: b",
    "a:",
    "a:b",
    "x#y",
    "x #y",
    "&x v",
    "*x",
    "!t v",
    "é",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\tv",
    "v\t",
    "v\r",
    "@x",
    "`x",
    "%x",
    "=x",
    "=",
    "<",
    "null",
    "~",
    "\u{1}",
    "[a, b] # c",
    "[a] x",
    "'s' x",
    "\"d\": v",
    "'",
    "\"",
    "...",
    "{a: }",
    "{a:}",
    "[,]",
    "[a,,b]",
    "[--x=1, -y]",
    "[---]",
    "{-a: b}",
    "{a: -}",
    "[$x, a+b]",
];

fn line() -> impl Strategy<Value = String> {
    (
        prop::sample::select(HEADS),
        prop::sample::select(TAILS),
        prop::sample::select(&["\n", "\n", "\n", "\n", "\n\n", "\n \n", "\n   \n", ""][..]),
    )
        .prop_map(|(head, tail, end)| format!("{head}{tail}{end}"))
}

/// A tree of entries, written with any indentation.
fn tree(depth: u32) -> BoxedStrategy<Vec<String>> {
    let leaf = prop::sample::select(TAILS).prop_map(|tail| vec![tail.to_owned()]);
    leaf.prop_recursive(depth, 24, 4, |inner| {
        (
            any::<bool>(),
            0..4usize,
            prop::collection::vec(
                (
                    prop::sample::select(&["a", "b", "c.d", "e/f", "x-y"][..]),
                    inner,
                ),
                1..4,
            ),
        )
            .prop_map(|(list, indent, parts)| {
                let mut lines = Vec::new();
                for (key, below) in parts {
                    let mark = if list {
                        "-".to_owned()
                    } else {
                        format!("{key}:")
                    };
                    match below.split_first() {
                        Some((only, [])) => lines.push(format!("{mark} {only}")),
                        _ => {
                            lines.push(mark);
                            lines.extend(
                                below
                                    .iter()
                                    .map(|line| format!("{}{line}", " ".repeat(indent))),
                            );
                        }
                    }
                }
                lines
            })
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn soups_of_lines_are_read_the_same_or_not_at_all(lines in prop::collection::vec(line(), 1..9)) {
        let text = lines.concat();
        agrees(&text, 100);
        agrees(&text, 4);
    }

    #[test]
    fn trees_are_read_the_same_or_not_at_all(lines in tree(4)) {
        agrees(&(lines.join("\n") + "\n"), 100);
    }
}
