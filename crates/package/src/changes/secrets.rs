//! What holds a Secret, and hashes that tell equal ones from others without telling what they hold.

use model::File;
use sha2::{Digest, Sha256};
use yaml::{Limits, Reader, Stream};

use crate::place::hex;
use crate::values::holds_secret;

/// What hashes of Secrets are made with: whoever sees such a hash and not the key cannot try values until one fits.
///
/// It is the same for all targets of an upstream and stays the same, or ids of classes would not; and it is in no output.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HashKey(String);

impl HashKey {
    /// A key of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What stands for something that nobody is shown.
    pub fn hash(&self, hidden: &str) -> String {
        let mut hash = Sha256::new();
        for part in ["offshoot hidden 1", &self.0, hidden] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hex(&hash.finalize(), 32)
    }
}

/// It is never told.
impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey")
    }
}

/// Whether a text may hold a Secret: what cannot be read as YAML is judged by its words.
pub fn text_holds_secret(text: &str) -> bool {
    // A quoted text may write the word in escapes.
    let words = ["Secret", "secretGenerator", "\\x", "\\u", "\\U"];
    if !words.iter().any(|word| text.contains(word)) {
        return false;
    }
    let read = || {
        let stream = Stream::parse(text, &Limits::default()).ok()?;
        let values = stream.documents().map(|d| d.to_value(Reader::V3).ok());
        values.collect::<Option<Vec<_>>>()
    };
    match read() {
        Some(values) => values.iter().any(holds_secret),
        None => true,
    }
}

/// Whether a file may: of one that is no text, its bytes are looked at for the word.
pub(super) fn in_file(file: &File) -> bool {
    match file.as_text() {
        Some(text) => text_holds_secret(text),
        None => file.bytes().windows(6).any(|word| word == b"Secret"),
    }
}
