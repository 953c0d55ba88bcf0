//! JSONPath templates: `{.metadata.name}{"\n"}` and `{range .items[*]}…{end}`, as kubectl prints them.

use objects::table::JsonPath;
use serde_json::Value;

use crate::exit::ExitFailure;

/// How deep ranges may lie in each other.
const DEPTH: usize = 32;

/// A template that was understood.
#[derive(Debug)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Values(Path),
    Range(Path, Vec<Self>),
}

/// A path from where a range stands, or (`$`) from the top.
#[derive(Debug)]
struct Path {
    from_top: bool,
    path: JsonPath,
}

impl Template {
    /// Reads a template.
    pub(super) fn parse(text: &str) -> Result<Self, ExitFailure> {
        let mut rest = text;
        let pieces = pieces(&mut rest, 0)
            .map_err(|what| ExitFailure::usage(format!("jsonpath {text:?}: {what}")))?;
        Ok(Self { pieces })
    }

    /// Reads one path, with braces around it or without.
    pub(super) fn parse_path(text: &str) -> Result<Self, ExitFailure> {
        let inner = text.trim().trim_matches(['{', '}']);
        let path = Path::parse(inner)
            .map_err(|what| ExitFailure::usage(format!("jsonpath {text:?}: {what}")))?;
        Ok(Self {
            pieces: vec![Piece::Values(path)],
        })
    }

    /// Its text for one object.
    pub(super) fn render(&self, object: &Value) -> String {
        let mut out = String::new();
        render(&self.pieces, object, object, &mut out);
        out
    }

    /// All values that its paths find in one object.
    pub(super) fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let paths = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Values(path) => Some(path),
            Piece::Text(_) | Piece::Range(..) => None,
        });
        paths.flat_map(|path| path.path.find(object)).collect()
    }
}

/// Does a template ask for `.items`, so that it wants a list and not each object?
pub(super) fn wants_list(text: &str) -> bool {
    [
        "{.items",
        "{$.items",
        "range .items",
        "range $.items",
        "{..items",
    ]
    .iter()
    .any(|start| text.contains(start))
}

impl Path {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let from_top = text.starts_with('$');
        let text = text.strip_prefix(['$', '@']).unwrap_or(text);
        // kubectl takes a path without its first dot, too.
        let dotted = if text.is_empty() || text.starts_with(['.', '[']) {
            text.to_owned()
        } else {
            format!(".{text}")
        };
        JsonPath::parse(&dotted).map(|path| Self { from_top, path })
    }

    fn find<'a>(&self, top: &'a Value, here: &'a Value) -> Vec<&'a Value> {
        self.path.find(if self.from_top { top } else { here })
    }
}

/// Pieces up to the end, or within a range up to its `{end}`.
fn pieces(rest: &mut &str, depth: usize) -> Result<Vec<Piece>, String> {
    if depth > DEPTH {
        return Err(format!("more than {DEPTH} ranges in each other"));
    }
    let mut out = Vec::new();
    while let Some(open) = rest.find('{') {
        out.push(Piece::Text(unescaped(&rest[..open])));
        let inside = &rest[open + 1..];
        let close = closing(inside).ok_or("a brace is not closed")?;
        let action = inside[..close].trim();
        *rest = &inside[close + 1..];
        if action == "end" {
            return match depth {
                0 => Err("{end} without {range}".to_owned()),
                _ => Ok(out),
            };
        }
        let quoted = |quote: char| action.strip_prefix(quote)?.strip_suffix(quote);
        if let Some(text) = quoted('"').or_else(|| quoted('\'')) {
            out.push(Piece::Text(unescaped(text)));
        } else if let Some(over) = action.strip_prefix("range ") {
            let over = Path::parse(over)?;
            out.push(Piece::Range(over, pieces(rest, depth + 1)?));
        } else {
            out.push(Piece::Values(Path::parse(action)?));
        }
    }
    if depth > 0 {
        return Err("{range} without {end}".to_owned());
    }
    out.push(Piece::Text(unescaped(rest)));
    *rest = "";
    Ok(out)
}

/// The position of the brace that closes, skipping quoted texts.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(at),
            (None, _) => {}
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

fn render(pieces: &[Piece], top: &Value, here: &Value, out: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Values(path) => {
                let texts: Vec<_> = path.find(top, here).into_iter().map(shown).collect();
                out.push_str(&texts.join(" "));
            }
            Piece::Range(path, inner) => {
                for item in path.find(top, here) {
                    render(inner, top, item, out);
                }
            }
        }
    }
}

/// A value as kubectl prints it: texts bare, everything else as JSON.
fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(template: &str, object: &Value) -> String {
        Template::parse(template).unwrap().render(object)
    }

    #[test]
    fn templates_print_what_kubectl_prints() {
        let list = json!({ "kind": "List", "items": [
            { "metadata": { "name": "a", "labels": { "x": "1" } }, "spec": { "n": 3, "on": true } },
            { "metadata": { "name": "b" }, "spec": { "n": 4, "all": ["p", "q"] } },
        ] });
        for (template, expected) in [
            (
                r#"{range .items[*]}{.metadata.name}{"\t"}{.spec.n}{"\n"}{end}"#,
                "a\t3\nb\t4\n",
            ),
            ("{.items[*].metadata.name}", "a b"),
            ("{.items[?(@.spec.n==4)].metadata.name}", "b"),
            (
                "{range .items[*]}{@.metadata.name}/{$.kind} {end}",
                "a/List b/List ",
            ),
            (
                "{range .items[*]}[{range .spec.all[*]}{@};{end}]{end}",
                "[][p;q;]",
            ),
            ("x\\n{.items[0].spec.on} {'}'}", "x\ntrue }"),
            ("{.items[0].metadata.labels}", r#"{"x":"1"}"#),
            ("{.nothing}", ""),
            ("{kind}", "List"),
        ] {
            assert_eq!(printed(template, &list), expected, "{template}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_read_is_refused() {
        for template in ["{.a", "{end}", "{range .items[*]}x", "{.a[}"] {
            assert!(Template::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn items_ask_for_the_list() {
        assert!(wants_list("{range .items[*]}{.x}{end}"));
        assert!(wants_list("{.items[0]}"));
        assert!(!wants_list("{.spec.items}"));
    }
}
