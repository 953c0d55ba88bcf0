//! Syntax of names, labels and keys, with the texts of `k8s.io/apimachinery/pkg/util/validation`.
//!
//! Every function returns what is wrong; nothing means fine.

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_TEXT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                              with an alphanumeric character";
const QUALIFIED_EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];

fn regex_text(text: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{text} (regex used for validation is '{pattern}')");
    }
    let listed: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!(
        "{text} (e.g. {}regex used for validation is '{pattern}')",
        listed.join(" or ")
    )
}

fn too_long(text: &str, max: usize) -> Option<String> {
    (text.len() > max).then(|| format!("must be no more than {max} characters"))
}

const fn lower_alnum(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |c: Option<&u8>| c.is_some_and(|c| lower_alnum(*c));
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|c| lower_alnum(*c) || *c == b'-')
}

/// RFC 1123 label: namespace names.
#[must_use]
pub(crate) fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !is_label(text) && text.split('.').all(is_label) {
        problems.push("must not contain dots".to_owned());
    } else if !is_label(text) {
        let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                     must start and end with an alphanumeric character";
        problems.push(regex_text(words, DNS1123_LABEL, &["my-name", "123-abc"]));
    }
    problems
}

/// RFC 1123 subdomain: names of most objects.
#[must_use]
pub(crate) fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 253).into_iter().collect();
    if !text.split('.').all(is_label) {
        let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                     '.', and must start and end with an alphanumeric character";
        problems.push(regex_text(words, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    problems
}

/// RFC 1035 label: plurals, kinds in lower case, versions.
#[must_use]
pub(crate) fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !(is_label(text) && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)) {
        let words = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                     alphabetic character, and end with an alphanumeric character";
        problems.push(regex_text(words, DNS1035_LABEL, &["my-name", "abc-123"]));
    }
    problems
}

fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}

/// Label and annotation keys, finalizers: an optional DNS prefix and a name.
#[must_use]
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (*name).to_owned(),
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(
                    dns1123_subdomain(prefix)
                        .into_iter()
                        .map(|p| format!("prefix part {p}")),
                );
            }
            (*name).to_owned()
        }
        _ => {
            let text = regex_text(QUALIFIED_TEXT, QUALIFIED, QUALIFIED_EXAMPLES);
            let more = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {text} {more}")];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if let Some(problem) = too_long(&name, 63) {
        problems.push(format!("name part {problem}"));
    }
    if !is_qualified_part(&name) {
        problems.push(format!(
            "name part {}",
            regex_text(QUALIFIED_TEXT, QUALIFIED, QUALIFIED_EXAMPLES)
        ));
    }
    problems
}

/// Values of labels.
#[must_use]
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !text.is_empty() && !is_qualified_part(text) {
        let words = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                     '.', and must start and end with an alphanumeric character";
        let pattern = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
        problems.push(regex_text(
            words,
            pattern,
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

/// Keys of ConfigMaps and Secrets.
#[must_use]
pub(crate) fn config_map_key(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 253).into_iter().collect();
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(inner) {
        let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        problems.push(regex_text(
            words,
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// A segment of a path: names of RBAC objects.
#[must_use]
pub(crate) fn path_segment(text: &str, prefix: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if !prefix && (text == "." || text == "..") {
        return vec![format!("may not be '{text}'")];
    }
    for c in ['/', '%'] {
        if text.contains(c) {
            problems.push(format!("may not contain '{c}'"));
        }
    }
    problems
}

/// How names of a kind must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// RFC 1123 subdomain.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// Anything that can stand in a path.
    PathSegment,
}

impl NameRule {
    /// What is wrong with a name; `prefix` for a `generateName`, whose trailing dash is fine.
    #[must_use]
    pub(crate) fn check(self, text: &str, prefix: bool) -> Vec<String> {
        let masked;
        let name = match text.strip_suffix('-') {
            Some(start) if prefix && !start.is_empty() => {
                masked = format!("{start}a");
                masked.as_str()
            }
            _ => text,
        };
        match self {
            Self::Subdomain => dns1123_subdomain(name),
            Self::Label => dns1123_label(name),
            Self::PathSegment => path_segment(text, prefix),
        }
    }
}
