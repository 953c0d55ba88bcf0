//! Many broken rules in one file, each behind a switch that a run turns.
//!
//! The innermost function that holds a rule's text gets its body several times: once for each rule, broken, and once as it is.
//! A call of the crate's `switched` decides which of them runs. What no function holds cannot be switched: a constant has its
//! value before anything runs, and a `const fn` cannot ask.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Rule;

/// A rule and the number of its switch.
pub(super) type Numbered<'a> = (usize, &'a Rule);

/// Begins a line that tells which rules the lines below are about, up to the next such line.
const MARK: &str = "//: ";

/// What a crate gets in its root. It is asked often, and reads its environment once. Where `OFFSHOOT_REACHED` names a file, it
/// notes there which rules were asked about, and on which threads: those of tests are called like their tests.
pub(super) const ASKED: &str = r#"
pub(crate) fn switched(rule: &'static str) -> bool {
    use std::collections::BTreeSet;
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex};
    type Reached = Mutex<(std::fs::File, BTreeSet<(String, &'static str)>)>;
    static BROKEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("OFFSHOOT_BROKEN").ok());
    static REACHED: LazyLock<Option<Reached>> = LazyLock::new(|| {
        let path = std::env::var_os("OFFSHOOT_REACHED")?;
        let file = std::fs::File::options().append(true).create(true).open(path).ok()?;
        Some(Mutex::new((file, BTreeSet::new())))
    });
    if let Some(Ok(mut held)) = REACHED.as_ref().map(Mutex::lock) {
        let (file, told) = &mut *held;
        let name = std::thread::current().name().unwrap_or("-").to_owned();
        if told.insert((name.clone(), rule)) {
            drop(file.write_all(format!("{rule} {name}\n").as_bytes()));
        }
    }
    BROKEN.as_deref() == Some(rule)
}
"#;

/// A function's body with its braces, and the rules in it that stand in no function within.
#[derive(Debug)]
struct Body<'a> {
    span: Range<usize>,
    rules: Vec<Numbered<'a>>,
}

/// The text with a switch for each of these rules, and those that have no place for one.
pub(super) fn switch(
    text: &str,
    rules: &[Numbered<'_>],
) -> Result<(String, Vec<(usize, String)>), String> {
    let stream: TokenStream = text.parse().map_err(|e| format!("read it: {e}"))?;
    let mut spans = Vec::new();
    find_bodies(stream, &mut spans);
    spans.sort_by_key(|span| span.start);
    let all = spans.into_iter();
    let mut bodies: Vec<Body<'_>> = all
        .map(|span| Body {
            span,
            rules: Vec::new(),
        })
        .collect();
    let mut left = Vec::new();
    for (number, rule) in rules {
        let place = text.match_indices(&rule.find).collect::<Vec<_>>();
        let &[(start, _)] = place.as_slice() else {
            left.push((*number, "its text does not stand there once".to_owned()));
            continue;
        };
        let end = start + rule.find.len();
        let around = bodies
            .iter_mut()
            .filter(|b| b.span.start <= start && end <= b.span.end);
        match around.min_by_key(|b| b.span.len()) {
            Some(body) => body.rules.push((*number, rule)),
            None => left.push((*number, "no function holds it".to_owned())),
        }
    }
    bodies.retain(|body| !body.rules.is_empty());
    let mut out = String::new();
    write(text, &(0..text.len()), &bodies, "", &mut out);
    Ok((out, left))
}

/// Which rules a line of such a text is about.
pub(super) fn rules_at(text: &str, line: usize) -> Vec<usize> {
    let above = text.lines().take(line);
    let mark = above.filter_map(|l| l.strip_prefix(MARK)).last();
    let words = mark.unwrap_or_default().split(' ');
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Bodies of functions, wherever they are.
fn find_bodies(stream: TokenStream, found: &mut Vec<Range<usize>>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut announced = false;
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Ident(word) if *word == "fn" => {
                let (before, after) = trees.split_at(at);
                announced = matches!(after.get(1), Some(TokenTree::Ident(_))) && !is_const(before);
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => announced = false,
            TokenTree::Group(group) => {
                if announced && group.delimiter() == Delimiter::Brace {
                    found.push(group.span().byte_range());
                    announced = false;
                }
                find_bodies(group.stream(), found);
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Whether what stands before a `fn` makes it one that runs while it is compiled.
fn is_const(before: &[TokenTree]) -> bool {
    let words = before.iter().rev().map_while(|tree| match tree {
        TokenTree::Ident(word) => Some(word.to_string()),
        // The ABI of an `extern`.
        TokenTree::Literal(_) => Some(String::new()),
        TokenTree::Group(_) | TokenTree::Punct(_) => None,
    });
    words.into_iter().any(|word| word == "const")
}

/// Writes what stands `within`, with switches in its functions, other than in the one that it is itself.
fn write(text: &str, within: &Range<usize>, bodies: &[Body<'_>], outer: &str, out: &mut String) {
    let mut at = within.start;
    for body in bodies {
        let inside = within.start <= body.span.start && body.span.end <= within.end;
        // Those that begin before `at` stand in one that is written.
        if !inside || body.span == *within || body.span.start < at {
            continue;
        }
        out.push_str(part(text, &(at..body.span.start)));
        write_body(text, body, bodies, outer, out);
        at = body.span.end;
    }
    out.push_str(part(text, &(at..within.end)));
}

/// Writes a body once for each of its rules, and once as it is.
fn write_body(text: &str, body: &Body<'_>, bodies: &[Body<'_>], outer: &str, out: &mut String) {
    let numbers: Vec<String> = body.rules.iter().map(|(n, _)| n.to_string()).collect();
    let all = numbers.join(" ");
    out.push_str(&format!("{{\n{MARK}{all}\n"));
    for (number, rule) in &body.rules {
        let broken = part(text, &body.span).replace(&rule.find, &rule.with);
        out.push_str(&format!(
            "if crate::switched(\"{number}\")\n{MARK}{number}\n{broken}\nelse\n"
        ));
    }
    out.push_str(&format!("{MARK}{all}\n"));
    write(text, &body.span, bodies, &all, out);
    out.push_str(&format!("\n{MARK}{outer}\n}}"));
}

fn part<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    text.get(range.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"const MOST: u8 = 3;
/// Zwölf { Boxkämpfer.
fn outer(a: u8) -> bool {
    fn inner(a: u8) -> bool { a > 1 /* } */ }
    let text = "fn { a < 9";
    inner(a) && a < MOST
}
const fn fixed() -> u8 { 7 }
impl dyn Any { fn declared(); async fn later(&self) where Self: 'static { self.go() } }
"#;

    fn rule(find: &str, with: &str) -> Rule {
        Rule {
            name: find.to_owned(),
            file: "crates/x/src/y.rs".into(),
            find: find.to_owned(),
            with: with.to_owned(),
        }
    }

    /// The text without switches, on one line.
    fn switched(rules: &[Rule]) -> (String, Vec<usize>) {
        let numbered: Vec<Numbered<'_>> = (1..).zip(rules).collect();
        let (text, left) = switch(TEXT, &numbered).unwrap();
        let lines = text.lines().filter(|l| !l.starts_with(MARK));
        let text: Vec<&str> = lines.map(str::trim).collect();
        (text.join(" "), left.into_iter().map(|(n, _)| n).collect())
    }

    #[test]
    fn a_body_stands_there_once_for_each_rule_and_once_as_it_is() {
        let (text, left) = switched(&[rule("a < MOST", "a > MOST"), rule("&& a < M", "|| a < M")]);
        assert!(left.is_empty());
        let inner = "fn inner(a: u8) -> bool { a > 1 /* } */ } let text = \"fn { a < 9\";";
        let wanted = format!(
            "fn outer(a: u8) -> bool {{ if crate::switched(\"1\") {{ {inner} inner(a) && a > MOST }} \
             else if crate::switched(\"2\") {{ {inner} inner(a) || a < MOST }} \
             else {{ {inner} inner(a) && a < MOST }} }} const fn"
        );
        assert!(text.contains(&wanted), "{text}\n{wanted}");
    }

    #[test]
    fn the_innermost_function_is_switched_and_one_around_it_keeps_its_switch() {
        let (text, left) = switched(&[rule("a > 1", "a > 2"), rule("inner(a) &&", "inner(a) ||")]);
        assert!(left.is_empty());
        let inner = "fn inner(a: u8) -> bool { if crate::switched(\"1\") { a > 2 /* } */ } else { a > 1 /* } */ } }";
        let wanted = format!("else {{ {inner} let text");
        assert!(text.contains(&wanted), "{text}\n{wanted}");
        // What another rule breaks is whole besides.
        assert!(
            text.contains("if crate::switched(\"2\") { fn inner(a: u8) -> bool { a > 1 /* } */ }"),
            "{text}"
        );
    }

    #[test]
    fn a_method_that_waits_is_switched_and_what_is_computed_before_is_left() {
        let rules = [
            rule("MOST: u8 = 3", "MOST: u8 = 4"),
            rule("7 }", "8 }"),
            rule("self.go()", "()"),
            rule("fn declared", "fn told"),
            rule("nowhere", ""),
        ];
        let (text, left) = switched(&rules);
        assert_eq!(left, [1, 2, 4, 5]);
        assert!(
            text.contains("'static { if crate::switched(\"3\") { () } else { self.go() } } }"),
            "{text}"
        );
    }

    #[test]
    fn a_line_is_about_the_rules_that_are_broken_in_it() {
        let rules = [rule("a > 1", "a > 2"), rule("inner(a) &&", "inner(a) ||")];
        let numbered: Vec<Numbered<'_>> = (1..).zip(&rules).collect();
        let (text, _) = switch(TEXT, &numbered).unwrap();
        let about = |part: &str| {
            let line = text.lines().position(|l| l.contains(part)).unwrap();
            rules_at(&text, line + 1)
        };
        assert_eq!(about("a > 2"), [1]);
        assert_eq!(about("inner(a) ||"), [2]);
        assert_eq!(about("inner(a) &&"), [2], "as it is");
        assert_eq!(about("fn fixed"), Vec::<usize>::new());
        let (text, _) = switch(TEXT, &[]).unwrap();
        assert_eq!(text, TEXT, "no rule, no switch");
    }
}
