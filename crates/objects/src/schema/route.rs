//! Where a path like `.spec.size` or `.spec['a.b']` leads in a schema, in the real server's words.

use serde_json::Value;

/// Where a path leads: the names on the way, and the schema there.
pub(crate) type Route<'a> = (Vec<String>, Option<&'a Value>);

/// Follows a path; `brackets` allows names in brackets.
///
/// # Errors
/// Why it leads nowhere.
pub(crate) fn find<'a>(path: &str, schema: &'a Value, brackets: bool) -> Result<Route<'a>, String> {
    let all = tokens(path);
    let mut rest = all.iter().map(String::as_str);
    let (mut names, mut here) = (Vec::new(), Some(schema));
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = rest.next() {
        let name = match token {
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => unquoted(rest.next().ok_or_else(end)?)?,
            "." => rest.next().ok_or_else(end)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let nowhere = || "does not refer to a valid field".to_owned();
        let schema = here.ok_or_else(nowhere)?;
        here = match schema.get("properties").filter(|p| p.is_object()) {
            Some(properties) => Some(properties.get(&name).ok_or_else(nowhere)?),
            None => match schema.get("additionalProperties") {
                None | Some(Value::Null) => return Err(nowhere()),
                Some(below) => Some(below).filter(|below| below.is_object()),
            },
        };
        names.push(name);
        if token == "[" {
            match rest.next() {
                Some("]") => {}
                Some(other) => return Err(format!("expected ] but got {other}")),
                None => return Err(end()),
            }
        }
    }
    Ok((names, here))
}

fn unquoted(token: &str) -> Result<String, String> {
    let inside = token.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    match inside.filter(|_| token.len() > 1) {
        Some(inside) => Ok(inside.replace("\\'", "'")),
        None => Err(format!("expected single quoted string but got {token}")),
    }
}

/// The delimiters, each by itself, and the texts between them; what is quoted is one.
fn tokens(path: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let quote = rest.match_indices('\'').skip(1);
                let mut ends = quote.filter(|(at, _)| !rest[..*at].ends_with('\\'));
                ends.next().map_or(rest.len(), |(at, _)| at + 1)
            }
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        out.push(token.to_owned());
        rest = after;
    }
    out
}
