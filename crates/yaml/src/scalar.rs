//! What a scalar means: the two tables of Y1.
//!
//! The package tools read with go-yaml v3 and the cluster's tools with sigs.k8s.io/yaml (go-yaml v2 rules). They
//! differ in the words of YAML 1.1 (`yes`, `on`, `y` …) and in the lone tag `!`. The recorded answers are
//! `vectors/yaml-scalars`.

use std::borrow::Cow;

use crate::tree::Style;

/// Whose rules decide what a plain scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// go.yaml.in/yaml/v3: packages, Kptfiles.
    V3,
    /// sigs.k8s.io/yaml: what kubectl sends and the cluster sees.
    Sigs,
}

/// A scalar's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    /// `null`, `~` or nothing at all.
    Null,
    /// `true` or `false`; for [`Reader::Sigs`] also `yes`, `no`, `on`, `off`, `y`, `n`.
    Bool(bool),
    /// An integer in any base.
    Int(i64),
    /// An integer beyond `i64`.
    UInt(u64),
    /// A floating-point number, `.inf` and `.nan` included.
    Float(f64),
    /// Text.
    Str(Cow<'a, str>),
    /// A point in time, as written.
    Timestamp(&'a str),
    /// `!!binary`, decoded.
    Binary(Vec<u8>),
}

impl Scalar<'_> {
    /// The short tag of the value's type.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) | Self::UInt(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Str(_) => "!!str",
            Self::Timestamp(_) => "!!timestamp",
            Self::Binary(_) => "!!binary",
        }
    }
}

/// Resolves a scalar; the error is the sentence of the readers without its place.
pub(crate) fn resolve<'a>(
    reader: Reader,
    style: Style,
    tag: Option<&str>,
    text: &'a str,
) -> Result<Scalar<'a>, String> {
    let quoted = style != Style::Plain;
    let tag = match (tag, reader) {
        (Some("!"), Reader::V3) => None,
        (Some("!"), Reader::Sigs) => Some("!!str"),
        (tag, _) => tag,
    };
    match tag {
        None if quoted => Ok(Scalar::Str(text.into())),
        None => Ok(plain(reader, text, true)),
        Some("!!binary") => base64(text)
            .map(Scalar::Binary)
            .ok_or_else(|| "!!binary value contains invalid base64 data".to_owned()),
        Some(tag @ ("!!bool" | "!!int" | "!!float" | "!!null" | "!!timestamp")) => {
            fitted(plain(reader, text, tag == "!!timestamp"), tag, text)
        }
        Some(_) => Ok(Scalar::Str(text.into())),
    }
}

/// Holds a value against the tag that was written.
fn fitted<'a>(value: Scalar<'a>, tag: &str, text: &str) -> Result<Scalar<'a>, String> {
    match value {
        Scalar::Int(int) if tag == "!!float" => Ok(Scalar::Float(int as f64)),
        value if value.tag() == tag => Ok(value),
        other => Err(format!("cannot decode {} `{text}` as a {tag}", other.tag())),
    }
}

/// Resolves unquoted, untagged text.
pub(crate) fn plain(reader: Reader, text: &str, timestamps: bool) -> Scalar<'_> {
    let Some(first) = text.bytes().next() else {
        return Scalar::Null;
    };
    if let Some(word) = word(reader, text) {
        return word;
    }
    match first {
        b'.' => float(text).map_or_else(|| Scalar::Str(text.into()), Scalar::Float),
        b'0'..=b'9' | b'+' | b'-' => {
            if timestamps && is_timestamp(text) {
                return Scalar::Timestamp(text);
            }
            let digits: Cow<'_, str> = if text.contains('_') {
                text.replace('_', "").into()
            } else {
                text.into()
            };
            integer(&digits)
                .or_else(|| float(&digits).map(Scalar::Float))
                .unwrap_or_else(|| Scalar::Str(text.into()))
        }
        _ => Scalar::Str(text.into()),
    }
}

fn word(reader: Reader, text: &str) -> Option<Scalar<'static>> {
    Some(match text {
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "true" | "True" | "TRUE" => Scalar::Bool(true),
        "false" | "False" | "FALSE" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if reader == Reader::Sigs => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if reader == Reader::Sigs => {
            Scalar::Bool(false)
        }
        _ => return None,
    })
}

/// An integer with its sign and its base: `0x`, `0o`, `0b`, and `0` for octal.
fn integer(text: &str) -> Option<Scalar<'static>> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    match (negative, i64::try_from(size)) {
        (false, Ok(int)) => Some(Scalar::Int(int)),
        (false, Err(_)) if text.starts_with('+') => None,
        (false, Err(_)) => Some(Scalar::UInt(size)),
        (true, Ok(int)) => Some(Scalar::Int(-int)),
        (true, Err(_)) => (size == 1 << 63).then_some(Scalar::Int(i64::MIN)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, within the range of a double.
fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let shaped = match mantissa.split_once('.') {
        Some((whole, part)) => {
            digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty())
        }
        None => digits(mantissa) && !mantissa.is_empty(),
    };
    if !shaped {
        return None;
    }
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if exponent.is_empty() || !digits(exponent) {
            return None;
        }
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The forms of a timestamp: a date, a date and a time, and these with `T` and a zone.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return false;
    }
    let mut rest = &bytes[5..];
    let Some((month, day)) = number(&mut rest)
        .filter(|month| (1..=12).contains(month))
        .filter(|_| skip(&mut rest, b"-"))
        .and_then(|month| Some((month, number(&mut rest)?)))
    else {
        return false;
    };
    let year = bytes[..4]
        .iter()
        .fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    if day == 0 || day > days(year, month) {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    let zoned = match rest[0] {
        b'T' | b't' => true,
        b' ' => false,
        _ => return false,
    };
    rest = &rest[1..];
    let clock = number(&mut rest).is_some_and(|hour| hour < 24)
        && skip(&mut rest, b":")
        && number(&mut rest).is_some_and(|minute| minute < 60)
        && skip(&mut rest, b":")
        && number(&mut rest).is_some_and(|second| second < 60);
    if !clock {
        return false;
    }
    if rest.len() > 1 && matches!(rest[0], b'.' | b',') && rest[1].is_ascii_digit() {
        let length = rest[1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        rest = &rest[1 + length..];
    }
    if zoned { zone(rest) } else { rest.is_empty() }
}

fn zone(rest: &[u8]) -> bool {
    match rest {
        b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            [h1, h2, m1, m2].iter().all(|digit| digit.is_ascii_digit())
                && (h1 - b'0') * 10 + (h2 - b'0') <= 24
                && (m1 - b'0') * 10 + (m2 - b'0') < 60
        }
        _ => false,
    }
}

/// One or two digits.
fn number(rest: &mut &[u8]) -> Option<u32> {
    let length = rest
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (digits, after) = rest.split_at(length);
    *rest = after;
    (length > 0).then(|| {
        digits
            .iter()
            .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'))
    })
}

fn skip(rest: &mut &[u8], what: &[u8]) -> bool {
    match rest.strip_prefix(what) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Standard base64 with padding; line breaks are passed over.
fn base64(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    if !symbols.len().is_multiple_of(4) {
        return None;
    }
    let padding = symbols
        .iter()
        .rev()
        .take(2)
        .take_while(|byte| **byte == b'=')
        .count();
    let mut out = Vec::with_capacity(symbols.len() / 4 * 3);
    for (index, group) in symbols.chunks_exact(4).enumerate() {
        let last = (index + 1) * 4 == symbols.len();
        let mut bits = 0u32;
        for (at, symbol) in group.iter().enumerate() {
            let six = match symbol {
                b'A'..=b'Z' => symbol - b'A',
                b'a'..=b'z' => symbol - b'a' + 26,
                b'0'..=b'9' => symbol - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' if last && at >= 4 - padding => 0,
                _ => return None,
            };
            bits = bits << 6 | u32::from(six);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    out.truncate(out.len() - padding);
    Some(out)
}
