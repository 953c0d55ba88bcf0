//! Digests of inputs (V21).

use std::fmt;

/// A digest with its format version, as text: `1:` and 64 lower-case hex digits.
///
/// Two digests of different format versions say nothing about each other: a stored digest is
/// compared in its own format.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    /// A digest of the given format from hash bytes.
    pub fn new(format: u32, hash: &[u8]) -> Self {
        use fmt::Write;
        let mut text = format!("{format}:");
        for byte in hash {
            // Writing to a String cannot fail.
            _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// Reads a stored digest; anything that is not `FORMAT:hex` is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (format, hex) = text.split_once(':')?;
        let known = format.parse::<u32>().is_ok()
            && !hex.is_empty()
            && hex
                .bytes()
                .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
        known.then(|| Self(text.to_owned()))
    }

    /// The format version that it was computed in.
    pub fn format(&self) -> u32 {
        self.0
            .split(':')
            .next()
            .and_then(|f| f.parse().ok())
            .unwrap_or(0)
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
