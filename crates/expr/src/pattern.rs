//! Patterns in Go's syntax (RE2) as the regex crate understands them, weighed before anything is built.
//!
//! Both are automata without backtracking; they differ in what `\d` covers, in nested classes and in
//! stray braces. A repetition of a repetition makes an automaton of millions of states out of twenty characters, and to
//! build one takes seconds: what a pattern weighs is counted from its parts, and one beyond [`MAX_PATTERN`] is refused.

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Class, Hir, HirKind};

/// What one pattern may weigh: about the states of its automaton.
pub const MAX_PATTERN: u64 = 10_000;
/// Largest compiled program, in bytes.
const MAX_PROGRAM: usize = 4 << 20;

/// A pattern that was read and weighed, and not built yet.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    weight: u64,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is none, or weighs more than [`MAX_PATTERN`]; worded as Go's `regexp/syntax` does.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let text = translate(pattern);
        let read = regex_syntax::parse(&text);
        let hir = read.map_err(|error| problem(pattern, &error.to_string()))?;
        let weight = weigh(&hir);
        if weight > MAX_PATTERN {
            return Err(TOO_LARGE.to_owned());
        }
        Ok(Self { text, weight })
    }

    /// About the states of its automaton.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Builds its automaton.
    ///
    /// # Errors
    /// It is larger than its weight told.
    pub fn build(&self) -> Result<Regex, String> {
        let built = RegexBuilder::new(&self.text)
            .size_limit(MAX_PROGRAM)
            .build();
        built.map_err(|error| problem(&self.text, &error.to_string()))
    }
}

const TOO_LARGE: &str = "expression too large";

fn weigh(hir: &Hir) -> u64 {
    let all = |parts: &[Hir]| {
        let sum = |sum: u64, part: &Hir| sum.saturating_add(weigh(part)).saturating_add(1);
        parts.iter().fold(1, sum)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64,
        HirKind::Class(Class::Unicode(class)) => {
            let bytes = |last: char| last.len_utf8() as u64;
            class.ranges().iter().map(|range| bytes(range.end())).sum()
        }
        HirKind::Capture(capture) => weigh(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => all(parts),
        HirKind::Repetition(repeated) => {
            let copies = repeated
                .max
                .unwrap_or_else(|| repeated.min.saturating_add(1));
            let copies = u64::from(copies.max(1));
            weigh(&repeated.sub)
                .saturating_mul(copies)
                .saturating_add(1)
        }
    }
}

fn problem(pattern: &str, text: &str) -> String {
    let part = |at: Option<usize>| pattern.get(at.unwrap_or(0)..).unwrap_or(pattern);
    if text.contains("unclosed character class") {
        format!("missing closing ]: `{}`", part(pattern.rfind('[')))
    } else if text.contains("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if text.contains("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if text.contains("repetition operator missing expression") {
        let found = pattern.chars().find(|c| ['*', '+', '?'].contains(c));
        format!(
            "missing argument to repetition operator: `{}`",
            found.unwrap_or('*')
        )
    } else if text.contains("look-around") {
        let at = ["(?=", "(?!", "(?<"]
            .iter()
            .filter_map(|sign| pattern.find(sign))
            .min();
        let sign: String = part(at).chars().take(3).collect();
        format!("invalid or unsupported Perl syntax: `{sign}`")
    } else if text.contains("incomplete escape sequence") {
        "trailing backslash at end of expression: ``".to_owned()
    } else if text.contains("exceeds size limit") {
        TOO_LARGE.to_owned()
    } else {
        let line = text.lines().last().unwrap_or_default();
        format!("{}: `{pattern}`", line.trim_start_matches("error: "))
    }
}

/// Rewrites what the two syntaxes read differently; everything else stays.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let chars: Vec<char> = pattern.chars().collect();
    let at = |i: usize| chars.get(i).copied();
    let (mut i, mut class) = (0, false);
    while let Some(c) = at(i) {
        match (c, class) {
            ('\\', _) if at(i + 1) == Some('Q') && !class => {
                i = literal(&chars, i + 2, &mut out);
                continue;
            }
            ('\\', _) => {
                if let Some(next) = at(i + 1) {
                    escape(next, class, &mut out);
                    i += 1;
                    i += braced(next, chars.get(i + 1..), &mut out);
                } else {
                    out.push('\\');
                }
            }
            ('[', false) => {
                class = true;
                out.push('[');
                if at(i + 1) == Some('^') {
                    out.push('^');
                    i += 1;
                }
                if at(i + 1) == Some(']') {
                    out.push_str("\\]");
                    i += 1;
                }
            }
            ('[', true) if at(i + 1) == Some(':') => {
                while let Some(c) = at(i) {
                    out.push(c);
                    i += 1;
                    if c == ']' {
                        break;
                    }
                }
                continue;
            }
            ('[' | '&' | '~', true) => {
                out.push('\\');
                out.push(c);
            }
            (']', true) => {
                class = false;
                out.push(c);
            }
            ('{', false) if !repeats(&chars, i) => out.push_str("\\{"),
            ('}', false) if !closes(&chars, i) => out.push_str("\\}"),
            _ => out.push(c),
        }
        i += 1;
    }
    out
}

/// `\Q…\E`: everything between stands for itself. Returns the position after it.
fn literal(chars: &[char], from: usize, out: &mut String) -> usize {
    let mut i = from;
    while let Some(c) = chars.get(i) {
        if *c == '\\' && chars.get(i + 1) == Some(&'E') {
            return i + 2;
        }
        out.push_str(&regex::escape(&c.to_string()));
        i += 1;
    }
    i
}

/// What stands in braces after `\p`, `\P` and `\x` is theirs: no repetition, and no text of its own. Returns how many
/// characters it is.
fn braced(escape: char, rest: Option<&[char]>, out: &mut String) -> usize {
    let rest = rest.filter(|rest| matches!(escape, 'p' | 'P' | 'x') && rest.first() == Some(&'{'));
    let end = rest.and_then(|rest| rest.iter().position(|c| *c == '}'));
    let own = rest.zip(end).and_then(|(rest, end)| rest.get(..=end));
    out.extend(own.unwrap_or_default());
    own.map_or(0, <[char]>::len)
}

/// Go's classes are ASCII only.
fn escape(next: char, class: bool, out: &mut String) {
    let ranges = match next {
        'd' | 'D' => "0-9",
        'w' | 'W' => "0-9A-Za-z_",
        's' | 'S' => r"\t\n\f\r ",
        '/' | '_' | '"' | '\'' | ':' | ',' | '=' | '@' | '%' | '!' | ';' | '`' => {
            out.push(next);
            return;
        }
        _ => {
            out.push('\\');
            out.push(next);
            return;
        }
    };
    match (class, next.is_lowercase()) {
        (true, true) => out.push_str(ranges),
        (_, false) => out.push_str(&format!("[^{ranges}]")),
        (false, true) => out.push_str(&format!("[{ranges}]")),
    }
}

/// Whether the brace at `i` starts `{n}`, `{n,}` or `{n,m}`.
fn repeats(chars: &[char], i: usize) -> bool {
    let inner: String = chars
        .iter()
        .skip(i + 1)
        .take_while(|c| **c != '}')
        .collect();
    let closed = chars.get(i + 1 + inner.chars().count()) == Some(&'}');
    let digits = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_digit());
    let well = match inner.split_once(',') {
        None => digits(&inner),
        Some((from, to)) => digits(from) && (to.is_empty() || digits(to)),
    };
    closed && well
}

/// Whether the brace at `i` ends a repetition.
fn closes(chars: &[char], i: usize) -> bool {
    let start = chars
        .get(..i)
        .and_then(|before| before.iter().rposition(|c| *c == '{'));
    start.is_some_and(|start| {
        repeats(chars, start) && !chars.get(start..i).is_some_and(|s| s.contains(&'}'))
    })
}

#[cfg(test)]
mod tests;
