//! String formats that the real server checks; an unknown format is never an error.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine as _;
use regex::Regex;

use crate::names;

/// Whether `text` is of `format`; true for formats that nobody checks.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => date_time(text),
        "date" => date(text),
        "duration" => duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => regex(&MAC, text),
        "uuid" => regex(&UUID, text),
        "uuid3" => regex(&UUID, text) && uuid_version(text, '3'),
        "uuid4" => regex(&UUID, text) && uuid_version(text, '4'),
        "uuid5" => regex(&UUID, text) && uuid_version(text, '5'),
        "email" => regex(&EMAIL, text),
        "hostname" => text.len() <= 255 && regex(&HOSTNAME, text),
        "uri" => regex(&URI, text),
        "byte" => base64::engine::general_purpose::STANDARD
            .decode(text)
            .is_ok(),
        "hexcolor" => regex(&HEXCOLOR, text),
        "rgbcolor" => regex(&RGBCOLOR, text),
        "bsonobjectid" => text.len() == 24 && text.chars().all(|c| c.is_ascii_hexdigit()),
        "ssn" => regex(&SSN, text),
        "creditcard" => credit_card(text),
        "k8s-short-name" => names::dns1123_label(text).is_empty(),
        "k8s-long-name" => names::dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

type Pattern = LazyLock<Option<Regex>>;

static MAC: Pattern = LazyLock::new(|| Regex::new("^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$").ok());
static UUID: Pattern = LazyLock::new(|| {
    Regex::new("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$").ok()
});
static EMAIL: Pattern = LazyLock::new(|| Regex::new(r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)*$").ok());
static HOSTNAME: Pattern = LazyLock::new(|| {
    Regex::new(r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$").ok()
});
static URI: Pattern = LazyLock::new(|| Regex::new(r"^([A-Za-z][A-Za-z0-9+.-]*:\S+|/\S*)$").ok());
static HEXCOLOR: Pattern = LazyLock::new(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static RGBCOLOR: Pattern = LazyLock::new(|| {
    Regex::new(r"^rgb\(\s*(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\s*,\s*(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\s*,\s*(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\s*\)$").ok()
});
static SSN: Pattern = LazyLock::new(|| Regex::new(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$").ok());
static GO_DURATION: Pattern = LazyLock::new(|| {
    Regex::new(r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$").ok()
});
static WORD_DURATION: Pattern = LazyLock::new(|| {
    Regex::new(r"^((\d+)\s*(nanos?|nanoseconds?|micros?|microseconds?|millis?|milliseconds?|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|ns|us|ms|s|m|h|d|w)\s*)+$").ok()
});

fn regex(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_none_or(|p| p.is_match(text))
}

fn uuid_version(text: &str, version: char) -> bool {
    text.chars().filter(|c| *c != '-').nth(12) == Some(version)
}

/// RFC 3339, with the `T` and zone of an instant.
pub(crate) fn date_time(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    upper.contains('T') && upper.parse::<jiff::Timestamp>().is_ok()
}

fn date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn duration(text: &str) -> bool {
    regex(&GO_DURATION, text) || regex(&WORD_DURATION, text)
}

fn cidr(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else {
        return false;
    };
    let Ok(bits) = prefix.parse::<u8>() else {
        return false;
    };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

fn credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if !(13..=19).contains(&digits.len()) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| {
            if i % 2 == 0 {
                *d
            } else if *d > 4 {
                d * 2 - 9
            } else {
                d * 2
            }
        })
        .sum();
    sum.is_multiple_of(10)
}
