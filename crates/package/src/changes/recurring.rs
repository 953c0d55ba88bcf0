//! Changes of files that were found before: the targets of a fleet change in the same way, each with inputs of its own.
//!
//! A file that reads like another target's once its inputs are named, before as after, changes like that one (F1): nothing of it is
//! parsed again. That holds where a value stands for its input as any other word would; of other values nothing is kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{File, Files, PackagePath};
use sha2::{Digest, Sha256};

use super::encode;
use super::inputs::{Inputs, TextPart, TextWithInputs};
use super::{FileChange, aside, file_change, secrets};
use crate::kptfile;

/// How many changes are kept: a fleet in which each target differs in files of its own would fill the memory.
const MOST: usize = 4_096;

/// The longest value that is taken for a word like any other, in bytes.
const LONGEST: usize = 128;

/// Words that mean something where changes are told, or to a reader of YAML.
const SPECIAL: [&str; 23] = [
    "apiversion",
    "kind",
    "kptfile",
    "rendered",
    "metadata",
    "name",
    "namespace",
    "key",
    "host",
    "data",
    "stringdata",
    "secretgenerator",
    "info",
    "upstream",
    "status",
    "pipeline",
    "null",
    "true",
    "false",
    "yes",
    "off",
    "inf",
    "nan",
];

/// The changes that were found so far, by what the files say before and after.
#[derive(Debug, Default)]
pub struct Recurring {
    known: Mutex<BTreeMap<[u8; 32], Arc<FileChange>>>,
    /// Of Kptfiles as they are, upstream, lock and report among them: where nothing else changes, nothing does.
    kptfiles: Mutex<BTreeMap<[u8; 32], Option<Arc<FileChange>>>>,
}

impl Recurring {
    /// What becomes of a file; `None` where it stays as it is.
    pub(super) fn change(
        &self,
        path: &PackagePath,
        (old, new): (Option<&File>, Option<&File>),
        inputs: &Inputs,
    ) -> Option<FileChange> {
        let same = |a: &File, b: &File| a.bytes() == b.bytes() && a.mode() == b.mode();
        if let (Some(a), Some(b)) = (old, new)
            && same(a, b)
        {
            return None;
        }
        let Some(key) = key(path, (old, new), inputs) else {
            return found(path, (old, new), inputs);
        };
        if let Some(known) = locked(&self.known).get(&key) {
            return Some(FileChange::clone(known));
        }
        let change = found(path, (old, new), inputs)?;
        let mut known = locked(&self.known);
        if known.len() < MOST {
            known.insert(key, Arc::new(change.clone()));
        }
        Some(change)
    }

    /// What becomes of the root's Kptfile, but for what is aside. Taking that off reads and writes it several times, so that
    /// one which reads like another target's is not even taken apart.
    pub(super) fn kptfile(
        &self,
        (before, after): (&Files, &Files),
        inputs: &Inputs,
    ) -> Option<FileChange> {
        let path = kptfile::path();
        let found = || {
            let (before, after) = (aside(before), aside(after));
            self.change(&path, (before.get(&path), after.get(&path)), inputs)
        };
        let (old, new) = (before.get(&path), after.get(&path));
        let told = |file: &File| names_no_input_upstream(file.as_text()?, inputs);
        let told = old.into_iter().chain(new).try_for_each(told);
        let Some(key) = told.and_then(|()| key(&path, (old, new), inputs)) else {
            return found();
        };
        if let Some(known) = locked(&self.kptfiles).get(&key) {
            return known.as_deref().cloned();
        }
        let change = found();
        let mut known = locked(&self.kptfiles);
        if known.len() < MOST {
            known.insert(key, change.clone().map(Arc::new));
        }
        change
    }
}

fn locked<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether no input stands where a Kptfile says what it was taken from: what is written there is compared, and means more
/// than a word does. Nothing where that cannot be told.
fn names_no_input_upstream(text: &str, inputs: &Inputs) -> Option<()> {
    // What stands elsewhere may be meant there.
    if text.contains(": *") {
        return None;
    }
    let mut upstream = false;
    let lines = text.split_inclusive('\n');
    let mut said = lines.filter(|line| {
        if line.starts_with(|c: char| !c.is_whitespace() && c != '-') {
            // A key in quotes or braces may be any.
            let word = line.starts_with(|c: char| c.is_ascii_alphabetic());
            upstream = !word || line.starts_with("upstream");
        }
        upstream
    });
    let plain = |line: &str| TextWithInputs::of(line, inputs).named().next().is_none();
    said.all(plain).then_some(())
}

/// What becomes of a file, found by looking at it.
fn found(
    path: &PackagePath,
    (old, new): (Option<&File>, Option<&File>),
    inputs: &Inputs,
) -> Option<FileChange> {
    let (mode, content) = file_change(path, old, new, inputs)?;
    Some(FileChange {
        file: TextWithInputs::of(path.as_str(), inputs),
        mode,
        content,
        secret: old.into_iter().chain(new).any(secrets::in_file),
    })
}

/// What two targets' files have in common that change in the same way; `None` where that cannot be told from their texts.
fn key(
    path: &PackagePath,
    (old, new): (Option<&File>, Option<&File>),
    inputs: &Inputs,
) -> Option<[u8; 32]> {
    let mut out = Vec::new();
    let mut shapes = BTreeMap::new();
    let mut add = |out: &mut Vec<u8>, text: &str| {
        // What is written in escapes is not what it says.
        if text.contains('\\') {
            return None;
        }
        let template = TextWithInputs::of(text, inputs);
        note(&template, inputs, &mut shapes)?;
        encode::template(out, &template);
        Some(())
    };
    add(&mut out, path.as_str())?;
    for file in [old, new] {
        match file {
            None => out.push(0),
            Some(file) => {
                out.push(1);
                encode::mode(&mut out, file.mode());
                add(&mut out, file.as_text()?)?;
            }
        }
    }
    for (name, shape) in shapes {
        encode::bytes(&mut out, name.as_bytes());
        out.push(shape);
    }
    Some(Sha256::digest(&out).into())
}

/// Notes what the values of a text's inputs look like; `None` where one of them is no word like any other.
fn note(
    template: &TextWithInputs,
    inputs: &Inputs,
    shapes: &mut BTreeMap<String, u8>,
) -> Option<()> {
    let mut line = Line::first(false);
    for part in &template.0 {
        match part {
            TextPart::Literal(text) => line.read(text)?,
            TextPart::Input(name) => {
                line.input()?;
                if !shapes.contains_key(name) {
                    shapes.insert(name.clone(), shape(inputs.value(name)?)?);
                }
            }
        }
    }
    line.end()
}

/// Where a text is read. Keys are told as they stand, so that no input may be one: a text in which that could be is given up.
struct Line {
    /// Whether an input stands in this line.
    input: bool,
    comment: bool,
    quoted: bool,
    /// Whether nothing but what begins an item stands before.
    begins: bool,
    /// Whether a value is begun, so that what follows is no key in braces.
    value: bool,
    /// Whether the text has braces.
    braces: bool,
    last: Option<char>,
}

impl Line {
    fn first(braces: bool) -> Self {
        Self {
            input: false,
            comment: false,
            quoted: false,
            begins: true,
            value: false,
            braces,
            last: Some('\n'),
        }
    }

    /// An input stands here.
    fn input(&mut self) -> Option<()> {
        // Behind the sign of an escape in a tag, or where a key of a mapping in braces could stand.
        let told = self.last == Some('%') || (self.braces && !self.value && !self.comment);
        (self.input, self.begins, self.last) = (true, false, Some('x'));
        (!told).then_some(())
    }

    /// What stands as it is.
    fn read(&mut self, text: &str) -> Option<()> {
        for next in text.chars() {
            self.see(next)?;
        }
        Some(())
    }

    fn see(&mut self, next: char) -> Option<()> {
        let before = self.last.replace(next);
        if before == Some(':') && !self.comment && (next.is_whitespace() || ",[]{}".contains(next))
        {
            if self.input {
                return None;
            }
            self.value = true;
        }
        match next {
            '\n' | '\r' => *self = Self::first(self.braces),
            _ if self.comment => {}
            '#' if !self.quoted && before.is_some_and(char::is_whitespace) => self.comment = true,
            // A key in quotes, one whose colon stands on a line of its own, or one with a sign before it.
            ':' if self.begins || (self.quoted && self.input) => return None,
            '?' if self.begins => return None,
            '\'' | '"' => self.quoted = true,
            '{' | ',' => (self.braces, self.value) = (self.braces || next == '{', false),
            _ => {}
        }
        self.begins &= next.is_whitespace() || next == '-';
        Some(())
    }

    fn end(&self) -> Option<()> {
        let key = self.last == Some(':') && self.input && !self.comment;
        (!key).then_some(())
    }
}

/// What a value is made of, so that two values of one shape are written and quoted alike; `None` where it is no word like any
/// other.
fn shape(value: &str) -> Option<u8> {
    let special = || SPECIAL.iter().any(|word| word.eq_ignore_ascii_case(value));
    // What holds a Secret is looked for by these words.
    let told = || value.contains("Secret") || value.contains("kind");
    let begins = value.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || value.len() > LONGEST || special() || told() {
        return None;
    }
    value.bytes().try_fold(0, |shape, byte| {
        Some(
            shape
                | match byte {
                    b'a'..=b'z' => 1,
                    b'A'..=b'Z' => 2,
                    b'0'..=b'9' => 4,
                    b'-' => 8,
                    b'_' => 16,
                    _ => return None,
                },
        )
    })
}

#[cfg(test)]
mod tests;
