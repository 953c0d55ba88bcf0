//! Patterns in Go's syntax (RE2) as the regex crate understands them.
//!
//! Both are automata without backtracking; they differ in what `\d` covers, in nested classes and in
//! stray braces. A bounded program keeps hostile patterns small.

use regex::{Regex, RegexBuilder};

/// Largest compiled program, in bytes.
const MAX_PROGRAM: usize = 4 << 20;

/// Compiles a pattern; the error is worded as Go's `regexp/syntax` does.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(&translate(pattern))
        .size_limit(MAX_PROGRAM)
        .build();
    built.map_err(|error| problem(pattern, &error.to_string()))
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
        "expression too large".to_owned()
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
