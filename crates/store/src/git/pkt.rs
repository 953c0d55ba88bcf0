//! Git's lines on the wire: advertisements of refs, commands of a push, and its report.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use crate::RefName;
use crate::disk::RawEdit;

/// What a server says before anything else.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Advertisement {
    /// All refs, tags not followed.
    pub(crate) refs: BTreeMap<RefName, ObjectId>,
    /// What it can do.
    pub(crate) can: Vec<String>,
}

impl Advertisement {
    pub(crate) fn can(&self, what: &str) -> bool {
        self.can.iter().any(|c| c == what)
    }

    /// Reads `info/refs` of the smart protocol; `None` for anything else.
    pub(crate) fn parse(bytes: &[u8], service: &str) -> Option<Self> {
        let mut lines = Lines(bytes);
        let first = lines.next()??;
        if trim(first) != format!("# service={service}").as_bytes() {
            return None;
        }
        let mut all = Self::default();
        let mut seen = false;
        for line in lines.flatten() {
            let line = trim(line);
            let mut halves = line.splitn(2, |b| *b == 0);
            let reference = halves.next()?;
            if let Some(can) = halves.next().filter(|_| !seen) {
                let can = String::from_utf8_lossy(can);
                all.can = can
                    .split(' ')
                    .filter(|c| !c.is_empty())
                    .map(str::to_owned)
                    .collect();
            }
            seen = true;
            let text = std::str::from_utf8(reference).ok();
            let Some((hex, name)) = text.and_then(|t| t.split_once(' ')) else {
                continue;
            };
            let id = ObjectId::from_hex(hex.as_bytes());
            if let (Ok(name), Ok(id)) = (RefName::parse(name), id) {
                all.refs.insert(name, id);
            }
        }
        seen.then_some(all)
    }
}

/// The lines of some bytes; `Some(None)` is a flush.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let hex = std::str::from_utf8(self.0.get(..4)?).ok()?;
        let length = usize::from_str_radix(hex, 16).ok()?;
        if length < 4 {
            self.0 = self.0.get(4..)?;
            return Some(None);
        }
        let line = self.0.get(4..length)?;
        self.0 = self.0.get(length..)?;
        Some(Some(line))
    }
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

fn push_line(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(format!("{:04x}", line.len() + 4).as_bytes());
    out.extend_from_slice(line);
}

/// The body of a push: what is to move from where to where, then the pack.
pub(crate) fn encode_push(edits: &[RawEdit], can: &[&str], pack: Option<&[u8]>) -> Vec<u8> {
    let size = edits.len() * 160 + pack.map_or(0, <[u8]>::len) + 64;
    let mut out = Vec::with_capacity(size);
    let zero = ObjectId::null(gix::hash::Kind::Sha1);
    let mut can = Some(can.join(" "));
    for edit in edits {
        let (old, new) = (edit.old.unwrap_or(zero), edit.new.unwrap_or(zero));
        let mut line = format!("{old} {new} {}", edit.name);
        if let Some(can) = can.take() {
            line.push_str(&format!("\0 {can}"));
        }
        push_line(&mut out, line.as_bytes());
    }
    out.extend_from_slice(b"0000");
    out.extend_from_slice(pack.unwrap_or_default());
    out
}

/// What a server says after a push.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// Whether objects were taken, and if not, why.
    pub(crate) unpacked: Option<Result<(), String>>,
    /// Refs that did not move, and why.
    pub(crate) refused: Vec<(String, String)>,
    /// Refs that moved.
    pub(crate) moved: BTreeSet<String>,
    /// Whether it was said to the end.
    pub(crate) complete: bool,
    /// What hooks printed.
    pub(crate) words: String,
}

impl Report {
    /// Reads a report in side bands.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut inner = Vec::new();
        let mut report = Self::default();
        for line in Lines(bytes).flatten() {
            match line.split_first() {
                Some((1, data)) => inner.extend_from_slice(data),
                Some((2 | 3, text)) => report.words.push_str(&String::from_utf8_lossy(text)),
                _ => {}
            }
        }
        for line in Lines(&inner) {
            let Some(line) = line else {
                report.complete = true;
                break;
            };
            let line = String::from_utf8_lossy(trim(line)).into_owned();
            if let Some(said) = line.strip_prefix("unpack ") {
                let fine = said == "ok";
                report.unpacked = Some(if fine { Ok(()) } else { Err(said.to_owned()) });
            } else if let Some(rest) = line.strip_prefix("ng ") {
                let (name, why) = rest.split_once(' ').unwrap_or((rest, ""));
                report.refused.push((name.to_owned(), why.to_owned()));
            } else if let Some(name) = line.strip_prefix("ok ") {
                report.moved.insert(name.to_owned());
            }
        }
        report
    }
}

#[cfg(test)]
mod tests;
