//! The grammar of image references: `[domain/]path[:tag][@digest]`
//! (the OCI distribution specification's reference grammar).

use std::sync::LazyLock;

use regex::Regex;

/// The longest name, without tag and digest.
const NAME_LIMIT: usize = 255;

static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let domain = format!(r"(?:{label}(?:\.{label})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?");
    let part = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
    let tag = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
    let digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
    let name = format!("(?:{domain}/)?{part}(?:/{part})*");
    Regex::new(&format!("^({name})(?::({tag}))?(?:@({digest}))?$")).ok()
});

/// Why a reference is none, in the words that people know; `None` if it is one.
pub(super) fn reject(reference: &str) -> Option<&'static str> {
    let pattern = REFERENCE.as_ref()?;
    let Some(parts) = pattern.captures(reference) else {
        return Some(if reference.is_empty() {
            "repository name must have at least one component"
        } else if pattern.is_match(&reference.to_lowercase()) {
            "repository name must be lowercase"
        } else {
            "invalid reference format"
        });
    };
    if parts.get(1).is_some_and(|name| name.len() > NAME_LIMIT) {
        return Some("repository name must not be more than 255 characters");
    }
    parts
        .get(3)
        .and_then(|digest| reject_digest(digest.as_str()))
}

fn reject_digest(digest: &str) -> Option<&'static str> {
    let (algorithm, hex) = digest.split_once(':')?;
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Some("unsupported digest algorithm"),
    };
    if hex.len() != length {
        return Some("invalid checksum digest length");
    }
    hex.bytes()
        .any(|b| b.is_ascii_uppercase())
        .then_some("invalid checksum digest format")
}
