//! Which of our uids, versions and generated names is which of the real server's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

#[expect(clippy::expect_used, reason = "a constant pattern")]
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)(?P<uid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})
        |(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))
        |(?P<number>\d+)",
    )
    .expect("a pattern")
});

#[expect(clippy::expect_used, reason = "a constant pattern")]
static AGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(\d+[smhdy]){1,2}$").expect("a pattern"));

#[expect(clippy::expect_used, reason = "a constant pattern")]
static GENERATED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"gen-[bcdfghjklmnpqrstvwxz2-9]{5}").expect("a pattern"));

/// The characters that generated names end with.
const ENDINGS: &str = "bcdfghjklmnpqrstvwxz2456789";

/// What stands for the same thing at both servers.
#[derive(Debug, Default, Clone)]
pub(super) struct Binder {
    /// Ours by the real one's.
    same: BTreeMap<String, String>,
    /// Versions: the real one's by ours. In which order two objects were written says nothing: housekeeping writes in its own time.
    versions: BTreeMap<u64, u64>,
    /// Ours by the real one's.
    theirs: BTreeMap<u64, u64>,
    /// Places of the answer at hand whose version other writers move.
    moving: BTreeSet<String>,
}

impl Binder {
    /// Forgets what was true of one answer alone.
    pub(super) fn next(&mut self) {
        self.moving.clear();
    }

    /// The version at this place need only be a version.
    pub(super) fn moving(&mut self, place: String) {
        self.moving.insert(place);
    }

    /// Whether two versions may be the same moment.
    pub(super) fn version(&mut self, ours: &str, peer: &str, at: &str) -> bool {
        let (Ok(o), Ok(p)) = (ours.parse::<u64>(), peer.parse::<u64>()) else {
            return ours == peer;
        };
        if self.moving.contains(at) || (o == p && !self.versions.contains_key(&o)) {
            return (o == 0) == (p == 0);
        }
        if let Some(known) = self.versions.get(&o) {
            return *known == p;
        }
        let fits = !self.theirs.contains_key(&p);
        if fits {
            self.versions.insert(o, p);
            self.theirs.insert(p, o);
        }
        fits
    }

    /// Whether two names were generated from one prefix.
    pub(super) fn name(&mut self, ours: &str, peer: &str) -> bool {
        let generated = |text: &str| {
            let at = text.len().checked_sub(5)?;
            let (prefix, ending) = (text.get(..at)?, text.get(at..)?);
            let fits = ending.chars().all(|c| ENDINGS.contains(c));
            fits.then(|| prefix.to_owned())
        };
        let prefix = generated(ours);
        if prefix.is_none() || prefix != generated(peer) || self.same.contains_key(peer) {
            return false;
        }
        self.same.insert(peer.to_owned(), ours.to_owned());
        true
    }

    /// Moves objects of a list whose names the servers made up behind the others, in the order of our names: where they stand follows
    /// from those.
    pub(super) fn generated_last(&self, ours: &mut [Value], peer: &mut [Value]) {
        let named = |item: &Value| {
            let places = ["/metadata/name", "/object/metadata/name"];
            let name = places.iter().find_map(|place| item.pointer(place));
            name.and_then(Value::as_str).map(str::to_owned)
        };
        let made: BTreeSet<&String> = self.same.values().collect();
        ours.sort_by_cached_key(|item| named(item).filter(|name| made.contains(name)));
        peer.sort_by_cached_key(|item| named(item).and_then(|name| self.same.get(&name).cloned()));
    }

    /// Whether two texts say the same, with each server's own values in the same places.
    pub(super) fn alike(&mut self, ours: &str, peer: &str) -> bool {
        if ours == peer {
            return true;
        }
        let peer = self.names_turned(peer);
        let mut fresh = Vec::new();
        let mut ends = [0, 0];
        let (mut o, mut p) = (OWN.captures_iter(ours), OWN.captures_iter(&peer));
        while let (Some(own), Some(other)) = (o.next(), p.next()) {
            let (Some(a), Some(b)) = (own.get(0), other.get(0)) else {
                return false;
            };
            if ours[ends[0]..a.start()] != peer[ends[1]..b.start()] {
                return false;
            }
            ends = [a.end(), b.end()];
            if a.as_str() == b.as_str() {
                continue;
            }
            let both = |name: &str| own.name(name).is_some() && other.name(name).is_some();
            let bound = if both("uid") {
                fresh.push((b.as_str().to_owned(), a.as_str().to_owned()));
                self.same
                    .get(b.as_str())
                    .is_none_or(|known| known == a.as_str())
            } else if both("time") {
                a.len() == b.len()
            } else {
                both("number") && speaks_of_versions(ours)
            };
            if !bound {
                return false;
            }
        }
        let same = ours[ends[0]..] == peer[ends[1]..];
        if same {
            self.same.extend(fresh);
        }
        same
    }

    /// The real server's value in our terms, as far as they are known.
    pub(super) fn turned(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.turned_text(text).into(),
            Value::Array(items) => items.iter().map(|v| self.turned(v)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(k, v)| (self.turned_text(k), self.turned(v)))
                .collect(),
            other => other.clone(),
        }
    }

    /// As [`Self::turned`], of a text.
    pub(super) fn turned_text(&self, text: &str) -> String {
        let text = self.names_turned(text);
        let put = |found: &regex::Captures<'_>| {
            let whole = found.get(0).map_or("", |m| m.as_str());
            self.same
                .get(whole)
                .map_or(whole, String::as_str)
                .to_owned()
        };
        OWN.replace_all(&text, put).into_owned()
    }

    fn names_turned(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let names = self.same.iter().filter(|(name, _)| name.len() != 36);
        for (theirs, own) in names {
            if text.contains(theirs.as_str()) {
                text = text.replace(theirs.as_str(), own);
            }
        }
        text
    }

    /// A text without the endings of the names that sequences have generated.
    pub(super) fn ungenerated(text: &str) -> String {
        GENERATED.replace_all(text, "gen-*").into_owned()
    }

    /// A text without uids.
    pub(super) fn without_uids(text: &str) -> String {
        let kept = |found: &regex::Captures<'_>| match found.name("uid") {
            Some(_) => String::new(),
            None => found.get(0).map_or("", |m| m.as_str()).to_owned(),
        };
        OWN.replace_all(text, kept).into_owned()
    }

    /// Whether both are ages, as tables print them.
    pub(super) fn ages(ours: &str, peer: &str) -> bool {
        AGE.is_match(ours) && AGE.is_match(peer)
    }
}

/// Whether a text's numbers may be versions of the store.
fn speaks_of_versions(text: &str) -> bool {
    let text = text.to_lowercase();
    ["resource version", "resourceversion", "too old", "revision"]
        .iter()
        .any(|words| text.contains(words))
}
