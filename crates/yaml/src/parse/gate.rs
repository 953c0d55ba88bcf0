//! Characters that the field's readers take in no YAML text.

use crate::error::{Error, ErrorKind};

/// Bytes that are looked at together.
const CHUNK: usize = 64;

/// Refuses control characters that YAML texts may not contain.
pub(super) fn characters(text: &str) -> Result<(), Error> {
    let suspicious = |byte: &u8| {
        *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r')
            || matches!(*byte, 0x7F | 0xC2 | 0xEF)
    };
    // Without a branch in the loop this is many bytes at a time.
    let any = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | suspicious(byte));
    let Some(chunk) = text.as_bytes().chunks(CHUNK).position(any) else {
        return Ok(());
    };
    let from = text.floor_char_boundary(chunk * CHUNK);
    let found = text[from..].char_indices().find(|(_, c)| {
        matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}'
            | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    });
    match found {
        None => Ok(()),
        Some((at, c)) => {
            let message = format!(
                "control characters are not allowed (U+{:04X})",
                u32::from(c)
            );
            let error = Error::at(ErrorKind::Syntax, text, from + at, message);
            Err(error.in_go("control characters are not allowed"))
        }
    }
}
