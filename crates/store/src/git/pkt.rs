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
}

/// Why an advertisement cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is none of the smart protocol.
    Foreign,
    /// It ends before its end. Whoever took it for whole would take the refs that are missing for deleted.
    Cut,
}

/// Reads `info/refs` of the smart protocol while it comes, and keeps no more of it than the refs.
pub(crate) struct Advertised {
    service: &'static str,
    /// How many refs may yet come, and how many bytes.
    left: (usize, u64),
    /// The beginning of a line.
    rest: Vec<u8>,
    at: ReaderState,
    all: Advertisement,
}

/// Where the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    Service,
    /// A flush stands between the service and the refs.
    Gap,
    First,
    Refs,
    End,
    /// What comes is none of our lines.
    Lost(Unread),
}

impl Advertised {
    pub(crate) fn new(service: &'static str, (refs, bytes): (usize, u64)) -> Self {
        Self {
            service,
            left: (refs, bytes),
            rest: Vec::new(),
            at: ReaderState::Service,
            all: Advertisement::default(),
        }
    }

    /// Takes what came; whether it is still within the limits.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        let (_, left) = &mut self.left;
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            return false;
        };
        *left = rest;
        if matches!(self.at, ReaderState::End | ReaderState::Lost(_)) {
            return true;
        }
        self.rest.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.rest);
        let mut rest = &*all;
        loop {
            match split_line(rest) {
                Split::Line(line, after) => {
                    rest = after;
                    if !self.line(line) {
                        return false;
                    }
                }
                Split::More => break,
                Split::None => {
                    let foreign = self.at == ReaderState::Service;
                    let why = if foreign {
                        Unread::Foreign
                    } else {
                        Unread::Cut
                    };
                    self.at = ReaderState::Lost(why);
                }
            }
            if matches!(self.at, ReaderState::End | ReaderState::Lost(_)) {
                return true;
            }
        }
        self.rest = rest.to_vec();
        true
    }

    /// Takes a line or a flush; whether there may be more.
    fn line(&mut self, line: Option<&[u8]>) -> bool {
        match (self.at, line) {
            (ReaderState::Service, Some(line)) => {
                let ours = trim(line) == format!("# service={}", self.service).as_bytes();
                self.at = if ours {
                    ReaderState::Gap
                } else {
                    ReaderState::Lost(Unread::Foreign)
                };
            }
            (ReaderState::Service, None) => self.at = ReaderState::Lost(Unread::Foreign),
            (ReaderState::Gap, None) => self.at = ReaderState::First,
            // An empty repository may say nothing at all.
            (ReaderState::First | ReaderState::Refs, None) => self.at = ReaderState::End,
            (ReaderState::Gap | ReaderState::First, Some(line)) => {
                let (reference, can) = halves(trim(line));
                let can = String::from_utf8_lossy(can.unwrap_or_default());
                let can = can.split(' ').filter(|c| !c.is_empty());
                self.all.can = can.map(str::to_owned).collect();
                self.at = ReaderState::Refs;
                return self.reference(reference);
            }
            (ReaderState::Refs, Some(line)) => return self.reference(halves(trim(line)).0),
            (ReaderState::End | ReaderState::Lost(_), _) => {}
        }
        true
    }

    fn reference(&mut self, line: &[u8]) -> bool {
        let (left, _) = &mut self.left;
        let Some(rest) = left.checked_sub(1) else {
            return false;
        };
        *left = rest;
        let text = std::str::from_utf8(line).ok();
        if let Some((hex, name)) = text.and_then(|t| t.split_once(' '))
            && let Ok(name) = RefName::parse(name)
            && let Ok(id) = ObjectId::from_hex(hex.as_bytes())
        {
            self.all.refs.insert(name, id);
        }
        true
    }

    /// What came, if it came to its end.
    pub(crate) fn end(self) -> Result<Advertisement, Unread> {
        match self.at {
            ReaderState::End => Ok(self.all),
            ReaderState::Lost(why) => Err(why),
            ReaderState::Service => Err(Unread::Foreign),
            ReaderState::Gap | ReaderState::First | ReaderState::Refs => Err(Unread::Cut),
        }
    }
}

/// A ref and, on the first line, what the server can do.
fn halves(line: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut halves = line.splitn(2, |b| *b == 0);
    (halves.next().unwrap_or_default(), halves.next())
}

/// What some bytes begin with.
enum Split<'a> {
    /// A line, or a flush, and what follows.
    Line(Option<&'a [u8]>, &'a [u8]),
    /// A part of one.
    More,
    /// Something else.
    None,
}

fn split_line(bytes: &[u8]) -> Split<'_> {
    let Some(hex) = bytes.get(..4) else {
        return Split::More;
    };
    let length = std::str::from_utf8(hex).ok();
    let Some(length) = length.and_then(|hex| usize::from_str_radix(hex, 16).ok()) else {
        return Split::None;
    };
    // A flush; what else is shorter than itself ends no less.
    let (start, end) = if length < 4 { (4, 4) } else { (4, length) };
    match (bytes.get(start..end), bytes.get(end..)) {
        (Some(line), Some(after)) => Split::Line((length >= 4).then_some(line), after),
        _ => Split::More,
    }
}

/// The lines of some bytes; `Some(None)` is a flush.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let Split::Line(line, rest) = split_line(self.0) else {
            return None;
        };
        self.0 = rest;
        Some(line)
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
pub(crate) struct PushReport {
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

impl PushReport {
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
