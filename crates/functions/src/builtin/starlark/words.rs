//! The words of the catalog's interpreter (starlark-go) for what ours (starlark-rust) says otherwise (M11).
//!
//! Only what both say of the same mistake is put into other words; the rest keeps ours. The catalog's tells what fails on
//! its way without a place, and of syntax the place behind the token that it did not expect.

use starlark::codemap::{FileSpan, ResolvedPos};

/// What is said of a line that is indented like no line around it.
const UNINDENTED: &str = "unindent does not match any outer indentation level";

/// What is said of a script that fails on its way; `of` is the part of it that failed.
pub(super) fn at_run_time(text: &str, of: &str) -> Option<String> {
    if let Some((key, _)) = between(text, "Key `", "` was not found") {
        return Some(format!("key {key} not in dict"));
    }
    if text.starts_with("Key `") && text.contains("` not found in dictionary `") {
        return Some("pop: missing key".to_owned());
    }
    attribute(text)
        .or_else(|| operation(text, of))
        .or_else(|| arguments(text, of))
        .or_else(|| number(text))
        .or_else(|| other(text))
}

/// The text between two others, and what follows.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<(&'t str, &'t str)> {
    text.strip_prefix(before)?.split_once(after)
}

fn attribute(text: &str) -> Option<String> {
    let (kind, rest) = between(text, "Object of type `", "` has no attribute `")?;
    let (field, _) = rest.split_once('`')?;
    Some(match kind {
        "struct" => format!("struct has no .{field} attribute"),
        "namespace" => format!("module has no .{field} field or method"),
        kind => format!("{kind} has no .{field} field or method"),
    })
}

/// An operation that a value does not have.
fn operation(text: &str, of: &str) -> Option<String> {
    if let Some((op, rest)) = between(text, "Operation `", "` not supported for types `") {
        let (left, right) = rest.strip_suffix('`')?.split_once("` and `")?;
        return match op {
            "cmp()" => comparison(of).map(|op| format!("{left} {op} {right} not implemented")),
            "[]" => Some(format!("unhandled index operation {left}[{right}]")),
            op => Some(format!("unknown binary op: {left} {op} {right}")),
        };
    }
    let (op, rest) = between(text, "Operation `", "` not supported on type `")?;
    let kind = rest.strip_suffix('`')?;
    match op {
        "call()" => Some(format!("invalid call of non-function ({kind})")),
        "-" | "+" | "~" => Some(format!("unknown unary op: {op} {kind}")),
        "len()" if of.starts_with("len(") => Some(format!("len: value of type {kind} has no len")),
        "len()" => Some(format!("got {kind} in sequence assignment")),
        "(iter)" => match called(of) {
            // These say which of their arguments it is.
            Some(name @ ("list" | "tuple" | "enumerate" | "reversed")) => Some(format!(
                "{name}: for parameter 1: got {kind}, want iterable"
            )),
            Some("sorted") => Some(format!(
                "sorted: for parameter iterable: got {kind}, want iterable"
            )),
            Some(_) => None,
            None => Some(format!("{kind} value is not iterable")),
        },
        op => {
            let field = op.strip_prefix('.')?.strip_suffix('=')?;
            Some(format!("can't assign to .{field} field of {kind}"))
        }
    }
}

/// The name of the function or method that a text calls.
fn called(of: &str) -> Option<&str> {
    let (before, _) = of.strip_suffix(')')?.split_once('(')?;
    let name = before.rsplit('.').next()?;
    let letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    (!name.is_empty() && name.chars().all(letter)).then_some(name)
}

/// A built-in function that is given too many arguments, or too few.
fn arguments(text: &str, of: &str) -> Option<String> {
    let name = called(of).filter(|_| of.matches('(').count() == 1)?;
    if let Some(rest) = text.strip_prefix("Argument is an empty iterable, ") {
        let given = rest.starts_with(name) && !of.ends_with("()");
        return given.then(|| format!("{name}: argument is an empty sequence"));
    }
    let rest = text.strip_prefix("Wrong number of positional arguments, expected ")?;
    let (want, got) = rest.split_once(", got ")?;
    let want = match want
        .strip_prefix("between ")
        .and_then(|w| w.split_once(" and "))
    {
        Some((least, _)) if got.parse::<u64>().ok()? < least.parse().ok()? => {
            format!("at least {least}")
        }
        Some((_, most)) => format!("at most {most}"),
        None if matches!(name, "str" | "type") => format!("exactly {want}"),
        None => want.to_owned(),
    };
    Some(format!("{name}: got {got} arguments, want {want}"))
}

/// The operator of a comparison; none unless its text holds exactly one.
fn comparison(of: &str) -> Option<&str> {
    let mut all = of.match_indices(['<', '>']);
    let ((at, _), None) = (all.next()?, all.next()) else {
        return None;
    };
    let two = of.get(at..at + 2).filter(|op| op.ends_with('='));
    two.or_else(|| of.get(at..=at))
}

fn number(text: &str) -> Option<String> {
    if text.starts_with("Floor division by zero") {
        return Some("floored division by zero".to_owned());
    }
    if text.starts_with("Modulo by zero") {
        return Some("integer modulo by zero".to_owned());
    }
    if text.starts_with("float division by zero") {
        return Some("floating-point division by zero".to_owned());
    }
    if let Some((digits, rest)) = between(text, "Cannot parse `", "` as an integer in base ") {
        return Some(format!("int: invalid literal with base {rest}: {digits}"));
    }
    let (digits, rest) = between(text, "\"", "\" is not a valid number: ")?;
    (rest == "invalid float literal").then(|| format!("{rest}: {digits}"))
}

fn other(text: &str) -> Option<String> {
    if let Some((kind, "")) = between(text, "Value of type `", "` is not hashable") {
        return Some(format!("unhashable type: {kind}"));
    }
    if let Some((name, "")) = between(text, "Local variable `", "` referenced before assignment") {
        return Some(format!(
            "local variable {name} referenced before assignment"
        ));
    }
    if let Some((got, want)) = between(text, "Unpacked ", " values but expected ") {
        let (many, few) = (got.parse::<u64>().ok()?, want.parse::<u64>().ok()?);
        let how = if many > few { "many" } else { "few" };
        return Some(format!(
            "too {how} values to unpack (got {got}, want {want})"
        ));
    }
    if let Some((letter, "")) = between(text, "Unsupported format character: '", "'") {
        return Some(format!("unknown conversion %{letter}"));
    }
    if let Some((_, rest)) = between(text, "Element '", "' not found in ") {
        let removed = rest.starts_with("list ");
        let said = if removed {
            "remove: element not found"
        } else {
            "index: value not in list"
        };
        return Some(said.to_owned());
    }
    let rest = text.strip_suffix(" arguments for format string")?;
    let how = matches!(rest, "Too many" | "Not enough").then(|| rest.to_lowercase())?;
    Some(format!("{how} arguments for format string"))
}

/// What is said of a script that cannot be read, and where.
pub(super) fn of_syntax(text: &str, span: &FileSpan) -> (String, ResolvedPos) {
    let places = span.resolve_span();
    let (begin, end) = (places.begin, places.end);
    if let Some(rest) = text.strip_prefix("Variable `")
        && let Some((name, _)) = rest.split_once("` not found")
    {
        return (format!("undefined: {name}"), begin);
    }
    if text == "Parse error: incorrect indentation" {
        // The indentation is spanned from the end of the line before.
        return (UNINDENTED.to_owned(), end);
    }
    let parts = text
        .strip_prefix("Parse error: unexpected ")
        .and_then(|rest| rest.split_once(", expected "));
    if let Some((got, want)) = parts {
        return unexpected(got, want, span);
    }
    match refused(text, span.source_span()) {
        Some(said) => (said, begin),
        None => (text.to_owned(), begin),
    }
}

/// A token where another one should be.
fn unexpected(got: &str, want: &str, span: &FileSpan) -> (String, ResolvedPos) {
    let places = span.resolve_span();
    let lines = span.file.source().lines().count();
    let ends = got == "new line" && places.begin.line >= lines;
    let got = if ends { "end of file" } else { token(got) };
    let want = match token(want) {
        "identifier" if got == "':'" && opens_parameters(span) => "')'",
        want => want,
    };
    let behind = match got {
        "newline" => ResolvedPos {
            line: places.begin.line + 1,
            column: 0,
        },
        "end of file" => places.begin,
        _ => places.end,
    };
    match want {
        "identifier" => ("not an identifier".to_owned(), behind),
        "primary expression" if got == "')'" => (format!("unexpected {got}"), places.begin),
        "primary expression" if got != "indent" => (said(got, want), places.begin),
        want => (said(got, want), behind),
    }
}

fn said(got: &str, want: &str) -> String {
    format!("got {got}, want {want}")
}

/// Whether a span stands where the first or the next parameter of a function should.
fn opens_parameters(span: &FileSpan) -> bool {
    let begin = span.resolve_span().begin;
    let line = span.file.source_line(begin.line);
    let before: String = line.chars().take(begin.column).collect();
    let before = before.trim();
    before.starts_with("def ") && before.ends_with(['(', ','])
}

/// A token's name.
fn token(name: &str) -> &str {
    let kinds = [
        ("integer literal ", "int literal"),
        ("float literal ", "float literal"),
        ("string literal ", "string literal"),
        ("identifier ", "identifier"),
    ];
    if let Some((_, kind)) = kinds.iter().find(|(begin, _)| name.starts_with(begin)) {
        return kind;
    }
    match name {
        "new line" => "newline",
        "expression" => "primary expression",
        "new indentation block" => "indent",
        name => {
            let keyword = name.strip_prefix("keyword '");
            let keyword = keyword.and_then(|rest| rest.strip_suffix('\''));
            keyword.unwrap_or_else(|| name.strip_prefix("symbol ").unwrap_or(name))
        }
    }
}

/// What is read, and refused.
fn refused(text: &str, of: &str) -> Option<String> {
    let plain = match text {
        "`return` cannot be used outside of a `def` function" => {
            "return statement not within a function"
        }
        "`break` cannot be used outside of a `for` loop" => "break not in a loop",
        "`continue` cannot be used outside of a `for` loop" => "continue not in a loop",
        "positional parameter after non positional" => "required parameter may not follow optional",
        "Parse error: unfinished string literal" => {
            let quotes = of.trim_start_matches(['r', 'b']);
            match quotes.starts_with("\"\"\"") || quotes.starts_with("'''") {
                true => "unexpected EOF in string",
                false => "unexpected newline in string",
            }
        }
        "duplicated parameter name" => return Some(format!("duplicate parameter: {of}")),
        "repeated named argument" => {
            let name = of.split('=').next()?;
            return Some(format!("keyword argument \"{}\" is repeated", name.trim()));
        }
        text => {
            let (letter, _) = between(text, "Parse error: invalid input `", "`")?;
            let said = format!("unexpected input character '{letter}'");
            return (!letter.is_empty() && letter != "\\").then_some(said);
        }
    };
    Some(plain.to_owned())
}
