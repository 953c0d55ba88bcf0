//! What Go's decoder says about a JSON text that is broken: the words that people know, and tools grep for.
//!
//! The scanner goes through a text byte by byte with a stack of what is open; it is asked only where a text did not parse.

/// Where the scanner stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must begin; in a list that was just opened, it may also end.
    Value,
    ValueOrEnd,
    /// A key must begin; in a map that was just opened, it may also end.
    Key,
    KeyOrEnd,
    /// After a key.
    Colon,
    /// After a value.
    After,
}

/// The first problem of a text; none if it is whole.
pub(super) fn problem(bytes: &[u8]) -> Option<String> {
    let mut scan = Scan { bytes, at: 0 };
    let mut open: Vec<u8> = Vec::new();
    let mut state = State::Value;
    loop {
        scan.spaces();
        let Some(byte) = scan.peek() else {
            let whole = open.is_empty() && state == State::After;
            return (!whole).then(|| "unexpected end of JSON input".to_owned());
        };
        let wrong = |place: &str| Some(format!("invalid character {} {place}", quoted(byte)));
        state = match (state, byte) {
            (State::ValueOrEnd, b']') | (State::KeyOrEnd, b'}') => {
                open.pop();
                scan.at += 1;
                State::After
            }
            (State::Value | State::ValueOrEnd, b'{' | b'[') => {
                open.push(byte);
                scan.at += 1;
                if byte == b'{' {
                    State::KeyOrEnd
                } else {
                    State::ValueOrEnd
                }
            }
            (State::Value | State::ValueOrEnd, _) => match scan.scalar() {
                Some(problem) => return Some(problem),
                None => State::After,
            },
            (State::Key | State::KeyOrEnd, b'"') => match scan.string() {
                Some(problem) => return Some(problem),
                None => State::Colon,
            },
            (State::Key | State::KeyOrEnd, _) => {
                return wrong("looking for beginning of object key string");
            }
            (State::Colon, b':') => {
                scan.at += 1;
                State::Value
            }
            (State::Colon, _) => return wrong("after object key"),
            (State::After, _) => {
                scan.at += 1;
                match (open.last(), byte) {
                    (Some(b'{'), b',') => State::Key,
                    (Some(b'['), b',') => State::Value,
                    (Some(b'{'), b'}') | (Some(b'['), b']') => {
                        open.pop();
                        State::After
                    }
                    (Some(b'{'), _) => return wrong("after object key:value pair"),
                    (Some(_), _) => return wrong("after array element"),
                    (None, _) => return wrong("after top-level value"),
                }
            }
        };
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The byte at hand does not belong here.
    fn wrong(&self, place: &str) -> Option<String> {
        Some(match self.peek() {
            Some(byte) => format!("invalid character {} {place}", quoted(byte)),
            None => "unexpected end of JSON input".to_owned(),
        })
    }

    fn scalar(&mut self) -> Option<String> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => self.wrong("looking for beginning of value"),
        }
    }

    fn literal(&mut self, word: &str) -> Option<String> {
        for wanted in word.bytes() {
            if self.peek() != Some(wanted) {
                let wanted = char::from(wanted);
                return self.wrong(&format!("in literal {word} (expecting '{wanted}')"));
            }
            self.at += 1;
        }
        None
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return None;
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => {
                            self.at += 1
                        }
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                                    return self.wrong("in \\u hexadecimal character escape");
                                }
                                self.at += 1;
                            }
                        }
                        _ => return self.wrong("in string escape code"),
                    }
                }
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return self.wrong("in string literal"),
            }
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Option<String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.wrong("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
                return self.wrong("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
                return self.wrong("in exponent of numeric literal");
            }
            self.digits();
        }
        None
    }
}

/// A byte as Go quotes it.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x20..=0x7e | 0xa1..=0xff => format!("'{}'", char::from(byte)),
        other => format!("'\\x{other:02x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn broken_texts_are_told_in_gos_words() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            (
                "{\"a\": 00}",
                "invalid character '0' after object key:value pair",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{a}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{}x", "invalid character 'x' after top-level value"),
            ("---", "invalid character '-' in numeric literal"),
            (
                "<a>",
                "invalid character '<' looking for beginning of value",
            ),
            (
                "[1.]",
                "invalid character ']' after decimal point in numeric literal",
            ),
            (
                "nul!",
                "invalid character '!' in literal null (expecting 'l')",
            ),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
        ];
        for (text, told) in cases {
            assert_eq!(problem(text.as_bytes()).as_deref(), Some(told), "{text}");
        }
        for whole in ["{}", "[]", " {\"a\":[1,-2.5e3,null,true,\"\\u00e4\"]} "] {
            assert_eq!(problem(whole.as_bytes()), None, "{whole}");
        }
    }
}
