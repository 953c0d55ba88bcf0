//! Query strings: percent-decoded pairs, in order.

use objects::Failure;

use crate::escapes::decode;

/// The parameters of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Takes a query string apart; pairs that are no valid encoding, or hold a semicolon, are left out.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text
            .split('&')
            .filter(|p| !p.is_empty() && valid(p))
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (
                    decode(&name.replace('+', " ")),
                    decode(&value.replace('+', " ")),
                )
            });
        Self {
            pairs: pairs.collect(),
        }
    }

    /// A parameter; empty if it is not given.
    pub(super) fn get(&self, name: &str) -> &str {
        self.pairs
            .iter()
            .find(|(n, _)| n == name)
            .map_or("", |(_, v)| v.as_str())
    }

    /// All values of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// Whether a parameter is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(n, _)| n == name)
    }

    /// A truth value as the real server reads it: `0`, `false` and absent are false, anything else is true.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.has(name)
            && !matches!(
                self.get(name),
                "0" | "false" | "F" | "FALSE" | "False" | "f"
            )
    }

    /// A whole number; `None` if it is not given.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, Failure> {
        if !self.has(name) {
            return Ok(None);
        }
        let text = self.get(name);
        text.parse().map(Some).map_err(|_| {
            let why = number_problem(text);
            Failure::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {why}"))
        })
    }
}

/// Why a text is no number of 64 bits, in Go's words.
pub(super) fn number_problem(text: &str) -> &'static str {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        "value out of range"
    } else {
        "invalid syntax"
    }
}

/// Whether Go's reader takes a pair: escapes are whole, and no semicolon parts it.
fn valid(pair: &str) -> bool {
    let escapes = pair.split('%').skip(1);
    let whole = |rest: &str| {
        let hex = rest.as_bytes().get(..2);
        hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    };
    !pair.contains(';') && escapes.into_iter().all(whole)
}
