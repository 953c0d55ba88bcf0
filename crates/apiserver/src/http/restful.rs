//! What is decided about a request before its resource is asked: a deadline that can be read, and, for the groups that the
//! server brings, media types that their routes know.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use objects::{Failure, Reason};

use super::negotiate::SERVED;
use crate::gateway::Verb;

/// Refuses a `timeout` that is no duration.
pub(super) fn deadline(timeout: &str) -> Result<(), Failure> {
    let problem = match timeout {
        "" => None,
        text => duration_problem(text),
    };
    match problem {
        None => Ok(()),
        Some(why) => Err(Failure::bad_request(format!(
            "invalid timeout specified in the request URL - time: {why}"
        ))),
    }
}

/// Why a text is no duration, in Go's words.
fn duration_problem(text: &str) -> Option<String> {
    const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return None;
    }
    let invalid = || Some(format!("invalid duration {text:?}"));
    if rest.is_empty() {
        return invalid();
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        if digits == 0 || number.matches('.').count() > 1 {
            return invalid();
        }
        let end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        if unit.is_empty() {
            return Some(format!("missing unit in duration {text:?}"));
        }
        if !UNITS.contains(&unit) {
            return Some(format!("unknown unit {unit:?} in duration {text:?}"));
        }
        rest = tail;
    }
    None
}

/// Refuses media types that the routes of a built-in resource do not know. They are matched as they are written: no `application/*`.
pub(super) fn media(headers: &HeaderMap, verb: Option<Verb>) -> Result<(), Failure> {
    const STREAMS: [&str; 2] = [
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    ];
    const PATCHES: [&str; 4] = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ];
    let all = |name| headers.get_all(name).iter().filter_map(|v| v.to_str().ok());
    let media = |clause: &str| {
        clause
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    if verb == Some(Verb::Patch) {
        let given = all(CONTENT_TYPE).next().map(media).unwrap_or_default();
        if !PATCHES.contains(&given.as_str()) {
            let refused = Failure::new(
                415,
                Reason::UnsupportedMediaType,
                "415: Unsupported Media Type",
            );
            return Err(refused.with_details(serde_json::Map::new()));
        }
    }
    let mut clauses = all(ACCEPT).flat_map(|text| text.split(',')).map(media);
    let known = |clause: String| clause == "*/*" || SERVED.contains(&clause.as_str());
    let given: String = all(ACCEPT).collect();
    if given.trim().is_empty() || clauses.any(known) {
        return Ok(());
    }
    let streams: &[&str] = match verb {
        Some(Verb::List | Verb::Watch) => &STREAMS,
        _ => &[],
    };
    let offers = [&SERVED[..], streams].concat().join(", ");
    let why = format!("406: Not Acceptable\n\nAvailable representations: {offers}");
    Err(Failure::new(406, Reason::NotAcceptable, why).with_details(serde_json::Map::new()))
}

#[cfg(test)]
mod tests {
    use super::deadline;

    #[test]
    fn a_timeout_is_a_duration() {
        for good in ["", "0", "1s", "-1s", "1h30m", "1.5s", ".5s", "+3ms"] {
            assert!(deadline(good).is_ok(), "{good}");
        }
        let told = |text: &str| deadline(text).unwrap_err().message;
        let lead = "invalid timeout specified in the request URL - time: ";
        assert_eq!(told("abc"), format!("{lead}invalid duration \"abc\""));
        assert_eq!(told("5"), format!("{lead}missing unit in duration \"5\""));
        assert_eq!(
            told("5x"),
            format!("{lead}unknown unit \"x\" in duration \"5x\"")
        );
    }
}
