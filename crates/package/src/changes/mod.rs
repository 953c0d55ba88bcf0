//! What changes in one package, in words that hold for others too: its stated inputs replaced by their names (F1).
//!
//! A target's change is computed from its own files and inputs alone. Two targets whose changes have the same id change in
//! the same way: the changes of one, with the other's inputs put in, turn the other's package into its new one byte for
//! byte. Upstream, lock and render report are aside: [`aside`] takes them off. Nothing here groups, counts or displays.

mod apply;
mod aside;
mod encode;
mod fields;
mod hunks;
mod inputs;
mod recurring;
mod secrets;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{File, FileMode, Files, PackageName, PackagePath, RepositoryName, TreeId};

use crate::kptfile;

pub use crate::values::holds_secret;
pub use apply::apply;
pub use aside::aside;
pub use encode::ClassId;
pub use fields::{FieldChange, Held, leaves};
pub use hunks::Hunk;
pub use inputs::{Inputs, TargetNames, TextPart, TextWithInputs, inputs_of};
pub use recurring::Recurring;
pub use secrets::{HashKey, text_holds_secret};

/// Where a change comes from: it belongs to a class, so that no switch of the upstream hides in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedUpstream {
    /// The upstream's repository.
    pub repository: RepositoryName,
    /// The upstream package.
    pub package: PackageName,
    /// The wanted tree of it.
    pub tree: TreeId,
}

/// All that changes in a package.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// What changes in each file, in the order of their paths.
    pub files: Vec<FileChange>,
    /// What hashes of Secrets in it are made with.
    pub key: HashKey,
}

impl Changes {
    /// The same, with the hashes of its Secrets made with a key.
    pub fn keyed(self, key: HashKey) -> Self {
        Self { key, ..self }
    }

    /// The inputs that stand in it.
    pub fn inputs(&self) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        let mut note =
            |template: &TextWithInputs| named.extend(template.named().map(str::to_owned));
        for change in &self.files {
            note(&change.file);
            match &change.content {
                ContentChange::Added { body, .. } | ContentChange::Removed { body, .. } => {
                    if let Body::Text(text) = body {
                        note(text);
                    }
                }
                ContentChange::Fields(fields) => fields.iter().for_each(|f| f.each(&mut note)),
                ContentChange::Text { fields, hunks, .. } => {
                    fields.iter().for_each(|f| f.each(&mut note));
                    for hunk in hunks {
                        note(&hunk.find);
                        note(&hunk.replace);
                    }
                }
                ContentChange::Same | ContentChange::Binary { .. } => {}
            }
        }
        named
    }
}

/// What changes in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path.
    pub file: TextWithInputs,
    /// Its mode before and after, where that differs.
    pub mode: Option<(FileMode, FileMode)>,
    /// What becomes of its content.
    pub content: ContentChange,
    /// Whether it holds a Secret, before or after, so that nothing of its text may be shown.
    pub secret: bool,
}

/// What becomes of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentChange {
    /// It stays: only the mode differs.
    Same,
    /// The file is new.
    Added {
        /// The resources in it.
        resources: Vec<TextWithInputs>,
        /// What it holds.
        body: Body,
        /// Its mode.
        mode: FileMode,
    },
    /// The file goes.
    Removed {
        /// The resources in it.
        resources: Vec<TextWithInputs>,
        /// What it held.
        body: Body,
    },
    /// Fields change, and nothing besides.
    Fields(Vec<FieldChange>),
    /// More than fields can say: comments, order, documents, or a text of another kind.
    Text {
        /// The fields that change, as far as they can be told.
        fields: Vec<FieldChange>,
        /// The lines that change.
        hunks: Vec<Hunk>,
        /// Whether the fields tell all but where new ones stand among the old: a reader has nothing else to look for.
        told: bool,
    },
    /// The bytes of a file that is no text.
    Binary {
        /// Before.
        before: Arc<[u8]>,
        /// After.
        after: Arc<[u8]>,
    },
}

/// A whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(TextWithInputs),
    /// Anything else.
    Binary(Arc<[u8]>),
}

impl Body {
    fn of(file: &File, inputs: &Inputs) -> Self {
        match file.as_text() {
            Some(text) => Self::Text(TextWithInputs::of(text, inputs)),
            None => Self::Binary(Arc::clone(file.bytes())),
        }
    }
}

/// The files that the other package has otherwise, or not at all.
pub fn differing(files: &Files, other: &Files) -> Files {
    let differs = |path: &PackagePath, file: &File| {
        other
            .get(path)
            .is_none_or(|o| o.bytes() != file.bytes() || o.mode() != file.mode())
    };
    let all = files.iter().filter(|(path, file)| differs(path, file));
    all.map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

/// What changes from one package to another. Both come without what is [`aside`].
pub fn changes(before: &Files, after: &Files, inputs: &Inputs) -> Changes {
    let recurring = Recurring::default();
    each(before, after, |path| {
        recurring.change(path, (before.get(path), after.get(path)), inputs)
    })
}

/// The same of packages as they are, where other targets' changes are at hand: what is [`aside`] is taken off, and files that
/// change like theirs are not looked at again.
pub fn changes_like(
    before: &Files,
    after: &Files,
    inputs: &Inputs,
    recurring: &Recurring,
) -> Changes {
    let kptfile = kptfile::path();
    each(before, after, |path| match *path == kptfile {
        true => recurring.kptfile((before, after), inputs),
        false => recurring.change(path, (before.get(path), after.get(path)), inputs),
    })
}

fn each(
    before: &Files,
    after: &Files,
    change: impl Fn(&PackagePath) -> Option<FileChange>,
) -> Changes {
    let paths: BTreeSet<&PackagePath> = before.keys().chain(after.keys()).collect();
    Changes {
        files: paths.into_iter().filter_map(change).collect(),
        key: HashKey::default(),
    }
}

type Modes = Option<(FileMode, FileMode)>;

fn file_change(
    path: &PackagePath,
    old: Option<&File>,
    new: Option<&File>,
    inputs: &Inputs,
) -> Option<(Modes, ContentChange)> {
    match (old, new) {
        (None, None) => None,
        (None, Some(new)) => Some((
            None,
            ContentChange::Added {
                resources: fields::resources(path, new, inputs),
                body: Body::of(new, inputs),
                mode: new.mode(),
            },
        )),
        (Some(old), None) => Some((
            None,
            ContentChange::Removed {
                resources: fields::resources(path, old, inputs),
                body: Body::of(old, inputs),
            },
        )),
        (Some(old), Some(new)) => {
            let mode = (old.mode() != new.mode()).then(|| (old.mode(), new.mode()));
            if old.bytes() == new.bytes() {
                return mode.map(|mode| (Some(mode), ContentChange::Same));
            }
            Some((mode, content_change(path, old, new, inputs)))
        }
    }
}

fn content_change(path: &PackagePath, old: &File, new: &File, inputs: &Inputs) -> ContentChange {
    let (Some(a), Some(b)) = (old.as_text(), new.as_text()) else {
        return ContentChange::Binary {
            before: Arc::clone(old.bytes()),
            after: Arc::clone(new.bytes()),
        };
    };
    let parsed = fields::both(path, a, b);
    let fields = parsed.as_ref().and_then(|(a, b)| fields::of(a, b, inputs));
    let fields = fields.unwrap_or_default();
    let told = parsed.and_then(|(a, _)| apply::fields_of(a, &fields, inputs));
    if told.as_ref().is_some_and(|told| told.text() == b) {
        return ContentChange::Fields(fields);
    }
    let hunks = hunks::of(a, b, inputs);
    let told = told.is_some_and(|told| hunks::are_placed_otherwise(a, [told.text(), b]));
    ContentChange::Text {
        fields,
        hunks,
        told,
    }
}
