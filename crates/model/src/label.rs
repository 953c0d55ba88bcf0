//! What labels and annotations may be called and hold, as Kubernetes has it.

/// Whether a label may have this key and value.
///
/// # Errors
/// What is wrong with it, for people.
pub fn label(key: &str, value: &str) -> Result<(), String> {
    label_key(key)?;
    if value.is_empty() || is_word(value) {
        return Ok(());
    }
    Err(format!(
        "the value {value:?} of {key:?} is not valid: at most 63 letters, digits, '-', '_' or '.', a letter or digit \
         at both ends"
    ))
}

/// Whether a label or an annotation may have this key.
///
/// # Errors
/// What is wrong with it, for people.
pub fn label_key(key: &str) -> Result<(), String> {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let fine = is_word(name) && prefix.is_none_or(crate::names::is_subdomain);
    if fine {
        return Ok(());
    }
    if key.is_empty() {
        return Err("the key must not be empty".to_owned());
    }
    Err(format!(
        "the key {key:?} is not valid: a name of at most 63 letters, digits, '-', '_' or '.', a letter or digit at \
         both ends, after a domain and a slash if there is one"
    ))
}

fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}
