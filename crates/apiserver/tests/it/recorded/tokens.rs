//! The placeholders of recordings: what differs from server to server, bound where it is seen first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let names = "RV|UID|NAME|CONTINUE|TIME|MICROTIME|AGE|ADDR|ETAG|HASH|HTTPDATE|ANY|SERVER|HOME|DIR|RANDOM|TMP|LONGTIME";
    Regex::new(&format!(r"\$REPEAT\((.),(\d+)\)|\$({names})(\d*)")).expect("pattern")
});

/// What a placeholder may stand for.
fn form(name: &str) -> &'static str {
    match name {
        "RV" => r"\d+",
        "UID" => r"[0-9a-f-]{36}",
        "NAME" => r"[A-Za-z0-9+/=._-]+",
        "CONTINUE" => r"[A-Za-z0-9_=+/-]+",
        "TIME" => r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
        "MICROTIME" => r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z",
        "AGE" => r"[0-9a-z]+|<invalid>|<unknown>",
        "ADDR" => r"[0-9a-zA-Z.:\[\]]+",
        "HASH" => r"[0-9a-zA-Z]+",
        "SERVER" => r"https?://[0-9.:a-z]+",
        "RANDOM" => r"[\w.]+",
        "HOME" | "DIR" | "TMP" => r"\S*?",
        "LONGTIME" => r"[^\n]+",
        _ => ".*",
    }
}

/// What the placeholders of one file stand for.
#[derive(Default)]
pub(crate) struct Tokens {
    bound: BTreeMap<String, String>,
    /// Versions that were seen on lists and bookmarks only: other writers move those.
    moved: BTreeSet<String>,
}

/// The number of a version's placeholder.
fn version(token: &str) -> Option<u32> {
    token.strip_prefix("$RV")?.parse().ok()
}

impl Tokens {
    /// Puts what is bound into a text that is to be sent.
    pub(crate) fn fill(&self, text: &str) -> String {
        let put = |found: &regex::Captures<'_>| {
            if let (Some(c), Some(n)) = (found.get(1), found.get(2)) {
                return c.as_str().repeat(n.as_str().parse().expect("count"));
            }
            let whole = found.get(0).expect("match").as_str();
            let default = match whole {
                "$TIME" => "2020-01-01T00:00:00Z",
                "$MICROTIME" => "2020-01-01T00:00:00.000000Z",
                other => other,
            };
            self.bound
                .get(whole)
                .cloned()
                .unwrap_or_else(|| default.to_owned())
        };
        TOKEN.replace_all(text, put).into_owned()
    }

    /// As [`Self::fill`], in every text and key of a value.
    pub(crate) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|v| self.fill_value(v)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(k, v)| (self.fill(k), self.fill_value(v)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Whether a text is the recorded one; binds what is seen first.
    pub(crate) fn matches(&mut self, recorded: &str, actual: &str) -> bool {
        if !recorded.contains('$') {
            return recorded == actual;
        }
        let mut pattern = String::from("(?s)^");
        let mut fresh = Vec::new();
        let mut at = 0;
        for found in TOKEN.captures_iter(recorded) {
            let whole = found.get(0).expect("match");
            pattern += &regex::escape(&recorded[at..whole.start()]);
            at = whole.end();
            let numbered = found.get(4).is_some_and(|n| !n.as_str().is_empty());
            if let (Some(c), Some(n)) = (found.get(1), found.get(2)) {
                pattern += &regex::escape(&c.as_str().repeat(n.as_str().parse().expect("count")));
            } else if let Some(bound) = self.bound.get(whole.as_str()).filter(|_| numbered)
                && !self.moved.contains(whole.as_str())
            {
                pattern += &regex::escape(bound);
            } else {
                fresh.push((whole.as_str().to_owned(), numbered));
                pattern += &format!("({})", form(&found[3]));
            }
        }
        pattern += &regex::escape(&recorded[at..]);
        pattern += "$";
        let Ok(pattern) = regex::RegexBuilder::new(&pattern)
            .size_limit(64 << 20)
            .build()
        else {
            return false;
        };
        let Some(found) = pattern.captures(actual) else {
            return false;
        };
        for ((name, numbered), value) in fresh.into_iter().zip(found.iter().skip(1).flatten()) {
            if numbered {
                if !self.in_order(&name, value.as_str()) {
                    return false;
                }
                if self.moved.remove(&name) {
                    self.bound.remove(&name);
                }
                self.bound
                    .entry(name)
                    .or_insert_with(|| value.as_str().to_owned());
            } else if name.ends_with("TIME") {
                self.bound.insert(name, value.as_str().to_owned());
            }
        }
        true
    }

    /// The versions of objects that were seen, by number.
    fn seen(&self) -> impl Iterator<Item = (u32, u64)> {
        let bound = self
            .bound
            .iter()
            .filter(|(name, _)| !self.moved.contains(*name));
        bound.filter_map(|(name, value)| Some((version(name)?, value.parse().ok()?)))
    }

    /// Versions of objects grow with the numbers of their placeholders.
    fn in_order(&self, name: &str, actual: &str) -> bool {
        let (Some(number), Ok(actual)) = (version(name), actual.parse::<u64>()) else {
            return true;
        };
        self.seen()
            .all(|(other, value)| other.cmp(&number) == value.cmp(&actual))
    }

    /// Whether the version of a list or bookmark is not before any object's with a smaller number.
    pub(crate) fn not_before(&mut self, recorded: &str, actual: &str) -> bool {
        let Some(number) = version(recorded) else {
            return self.matches(recorded, actual);
        };
        let Ok(found) = actual.parse::<u64>() else {
            return false;
        };
        let smaller = |(other, _): &(u32, u64)| *other < number;
        if self.seen().filter(smaller).any(|(_, value)| value > found) {
            return false;
        }
        if !self.bound.contains_key(recorded) {
            self.bound.insert(recorded.to_owned(), actual.to_owned());
            self.moved.insert(recorded.to_owned());
        }
        true
    }
}
