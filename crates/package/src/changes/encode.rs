//! The id of a class: SHA-256 over one encoding of its changes.
//!
//! Every text is a list of parts, each with its kind and length, so that a literal `{package}` is never an input and no two
//! lists of changes read alike. The format of the encoding is part of it.

use std::fmt;

use model::FileMode;
use sha2::{Digest, Sha256};

use super::fields::{FieldChange, Held};
use super::inputs::{TextPart, TextWithInputs};
use super::{Body, Changes, ContentChange, FileChange, WantedUpstream};
use crate::place::hex;

/// The first words of every encoding.
const FORMAT: &[u8] = b"offshoot class 2";

/// The id of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId([u8; 32]);

/// 64 hexadecimal digits.
impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0, 32))
    }
}

impl Changes {
    /// The id of the class of these changes.
    pub fn id(&self, from: &WantedUpstream) -> ClassId {
        let mut out = Vec::new();
        bytes(&mut out, FORMAT);
        bytes(&mut out, from.repository.as_str().as_bytes());
        bytes(&mut out, from.package.as_str().as_bytes());
        bytes(&mut out, from.tree.to_string().as_bytes());
        self.id_behind(out)
    }

    /// What these changes and all equal ones have in common, wherever they come from.
    pub fn alike(&self) -> ClassId {
        self.id_behind(Vec::new())
    }

    fn id_behind(&self, mut out: Vec<u8>) -> ClassId {
        let mut entries: Vec<Vec<u8>> = self.files.iter().flat_map(entries).collect();
        entries.sort();
        for entry in entries {
            bytes(&mut out, &entry);
        }
        // A value that is easily guessed would be found by trying which one gives this id.
        if self.files.iter().any(|file| file.secret) {
            bytes(&mut out, self.key.hash("class").as_bytes());
        }
        ClassId(Sha256::digest(&out).into())
    }
}

impl TextWithInputs {
    /// What stands for this text where only its hash is shown.
    pub fn hash(&self) -> String {
        let mut out = Vec::new();
        template(&mut out, self);
        hex(&Sha256::digest(&out), 32)
    }
}

impl Held {
    /// What stands for this value where only its hash is shown.
    pub fn hash(&self) -> String {
        let mut out = Vec::new();
        held(&mut out, Some(self));
        hex(&Sha256::digest(&out), 32)
    }
}

pub(super) fn bytes(out: &mut Vec<u8>, what: &[u8]) {
    out.extend((what.len() as u64).to_be_bytes());
    out.extend(what);
}

pub(super) fn template(out: &mut Vec<u8>, template: &TextWithInputs) {
    out.extend((template.0.len() as u64).to_be_bytes());
    for part in &template.0 {
        let (kind, text) = match part {
            TextPart::Literal(text) => (0, text),
            TextPart::Input(name) => (1, name),
        };
        out.push(kind);
        bytes(out, text.as_bytes());
    }
}

fn held(out: &mut Vec<u8>, value: Option<&Held>) {
    match value {
        None => out.push(0),
        Some(value) => {
            out.push(if value.text { 1 } else { 2 });
            template(out, &value.template);
        }
    }
}

fn body(out: &mut Vec<u8>, body: &Body) {
    match body {
        Body::Text(text) => {
            out.push(0);
            template(out, text);
        }
        Body::Binary(data) => {
            out.push(1);
            out.extend(Sha256::digest(data));
        }
    }
}

pub(super) fn mode(out: &mut Vec<u8>, mode: FileMode) {
    out.push(match mode {
        FileMode::Regular => 0,
        FileMode::Executable => 1,
    });
}

/// One entry for each thing that changes: kind, file, and what it was and is.
fn entries(change: &FileChange) -> Vec<Vec<u8>> {
    let entry = |kind: &[u8]| {
        let mut out = Vec::new();
        bytes(&mut out, kind);
        template(&mut out, &change.file);
        out
    };
    let mut all = Vec::new();
    if let Some((from, to)) = change.mode {
        let mut out = entry(b"mode");
        mode(&mut out, from);
        mode(&mut out, to);
        all.push(out);
    }
    match &change.content {
        ContentChange::Same => {}
        ContentChange::Added {
            body: held,
            mode: new,
            ..
        } => {
            let mut out = entry(b"added");
            mode(&mut out, *new);
            body(&mut out, held);
            all.push(out);
        }
        ContentChange::Removed { body: held, .. } => {
            let mut out = entry(b"removed");
            body(&mut out, held);
            all.push(out);
        }
        ContentChange::Fields(fields) => {
            all.extend(fields.iter().map(|f| field(entry(b"changed"), f)))
        }
        ContentChange::Text { fields, hunks, .. } => {
            all.extend(fields.iter().map(|f| field(entry(b"changed"), f)));
            let mut out = entry(b"text");
            for hunk in hunks {
                template(&mut out, &hunk.find);
                template(&mut out, &hunk.replace);
            }
            all.push(out);
        }
        ContentChange::Binary { before, after } => {
            let mut out = entry(b"binary");
            out.extend(Sha256::digest(before));
            out.extend(Sha256::digest(after));
            all.push(out);
        }
    }
    all
}

fn field(mut out: Vec<u8>, change: &FieldChange) -> Vec<u8> {
    template(&mut out, &change.resource);
    template(&mut out, &change.path);
    held(&mut out, change.before.as_ref());
    held(&mut out, change.after.as_ref());
    out
}
