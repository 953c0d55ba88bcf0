//! Setter comments: `# kpt-set: prefix-${name}`, and what can be read off them.

use crate::regexes;

/// How a setter comment begins: exactly so, one blank included.
const SETTER: &str = "# kpt-set: ";

/// The pattern of a setter comment.
pub(crate) fn pattern(comment: Option<&str>) -> Option<&str> {
    Some(comment?.strip_prefix(SETTER)?.trim()).filter(|pattern| !pattern.is_empty())
}

/// Puts values in the place of `${name}`, each in one pass: a value that holds a placeholder is not entered.
pub(crate) fn substitute(pattern: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, whole, after)) = next(rest) {
        out.push_str(before);
        out.push_str(&value(clean(whole)).unwrap_or_else(|| whole.to_owned()));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// All `${…}` of a text, in order.
pub(crate) fn placeholders(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, whole, after)) = next(rest) {
        found.push(whole);
        rest = after;
    }
    found
}

/// The text around the first `${…}`.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("${")?;
    let (before, from) = text.split_at_checked(start)?;
    let length = from.find('}')? + 1;
    let (whole, after) = from.split_at_checked(length)?;
    Some((before, whole, after))
}

/// The name inside `${name}`.
pub(crate) fn clean(placeholder: &str) -> &str {
    let text = placeholder.trim();
    let text = text.strip_prefix("${").unwrap_or(text);
    text.strip_suffix('}').unwrap_or(text)
}

/// What the setters of a pattern have been set to, read off the field's value: all of them or none.
pub(crate) fn current_values(pattern: &str, value: &str) -> Vec<(String, String)> {
    let names = placeholders(pattern);
    let mut regex = regex::escape(pattern);
    for name in &names {
        regex = regex.replace(&regex::escape(name), "(.*)");
    }
    let Ok(regex) = regexes::compile(&regex) else {
        return Vec::new();
    };
    let Some(captures) = regex.captures(value) else {
        return Vec::new();
    };
    let values: Vec<&str> = captures
        .iter()
        .skip(1)
        .map(|group| group.map_or("", |group| group.as_str()))
        .collect();
    if values.len() != names.len() || values.iter().any(|value| value.is_empty()) {
        return Vec::new();
    }
    names
        .iter()
        .zip(values)
        .map(|(name, value)| (clean(name).to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_off_a_field() {
        let pairs = |pattern, value| {
            let pairs = current_values(pattern, value);
            pairs
                .into_iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(pairs("${image}:${tag}", "nginx:1.2"), "image=nginx tag=1.2");
        assert_eq!(pairs("a-${b}.c", "a-x.c"), "b=x");
        assert_eq!(pairs("${a}${b}", "x"), "", "no way to tell them apart");
        assert_eq!(pairs("${a}-x", "nothing"), "");
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let value = |name: &str| (name == "a").then(|| "${b}".to_owned());
        assert_eq!(substitute("x-${a}-${b}-${", value), "x-${b}-${b}-${");
        assert_eq!(placeholders("${a}${ b }$c"), ["${a}", "${ b }"]);
    }
}
