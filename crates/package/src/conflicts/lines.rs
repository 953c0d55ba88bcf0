//! Conflicts about lines of a text (M21): what stands there, what an edit changed, and taking them from elsewhere.

use model::{Conflict, ConflictValue, Decision, File, Files, PackagePath};
use yaml::{Edit, Limits, Stream, Value};

use super::node::{document, find, parsed};
use crate::lines::{Excerpt, edited, exchanged, read, standing, with_lines, write};
use crate::place::{FieldPath, PathStep};

/// A conflict about lines, read.
pub(super) struct Lines {
    /// The path to the text; empty where it is the whole file.
    steps: Vec<PathStep>,
    /// The lines as base, local and upstream have them.
    sides: [Vec<Excerpt>; 3],
}

impl Lines {
    /// `None` if a conflict is about something else.
    pub(super) fn of(conflict: &Conflict) -> Option<Self> {
        if !conflict.path.ends_with("#lines") {
            return None;
        }
        let mut steps = FieldPath::parse(&conflict.path)?.0;
        steps.pop_if(|step| *step == PathStep::Lines)?;
        let [base, local, upstream] =
            [&conflict.base, &conflict.local, &conflict.upstream].map(|value| match value {
                ConflictValue::Json(json) => read(&serde_json::from_str::<String>(json).ok()?),
                ConflictValue::Hash(_) | ConflictValue::Absent => Some(Vec::new()),
            });
        let sides = [base?, local?, upstream?];
        Some(Self { steps, sides })
    }

    /// Where the lines stand: any side tells that.
    fn places(&self) -> &[Excerpt] {
        let told = self.sides.iter().find(|side| !side.is_empty());
        told.map(Vec::as_slice).unwrap_or_default()
    }

    fn known(&self) -> [&[Excerpt]; 3] {
        self.sides.each_ref().map(Vec::as_slice)
    }

    /// The whole text that the lines are part of.
    fn text(&self, files: &Files, at: &PackagePath, conflict: &Conflict) -> Option<String> {
        let file = files.get(at)?;
        if self.steps.is_empty() {
            return file.as_text().map(str::to_owned);
        }
        let stream = parsed(file)?;
        let root = document(&stream, conflict)?.root();
        find(root, &self.steps)?.as_str().map(str::to_owned)
    }

    /// The lines as a package holds them.
    pub(super) fn value(
        &self,
        files: &Files,
        at: &PackagePath,
        conflict: &Conflict,
    ) -> ConflictValue {
        let Some(text) = self.text(files, at, conflict) else {
            return ConflictValue::Absent;
        };
        let there = standing(&text, self.places(), &self.known());
        ConflictValue::Json(serde_json::Value::from(write(there.iter())).to_string())
    }

    /// Whether somebody edited the lines between two packages, or took the text away.
    pub(super) fn edited(
        &self,
        conflict: &Conflict,
        [before, after]: [(&Files, &PackagePath); 2],
    ) -> bool {
        let text = |(files, at): (&Files, &PackagePath)| self.text(files, at, conflict);
        let [_, local, upstream] = &self.sides;
        let decided = match conflict.decision {
            Decision::Local => local,
            Decision::Upstream => upstream,
        };
        match (text(before), text(after)) {
            (Some(before), Some(after)) => edited(&before, &after, decided, &self.known()),
            (before, after) => before.is_some() != after.is_some(),
        }
    }

    /// A package with these lines as another one has them.
    pub(super) fn taken(&self, files: &Files, from: &Files, conflict: &Conflict) -> Option<Files> {
        let at = &conflict.file;
        let (ours, theirs) = (
            self.text(files, at, conflict)?,
            self.text(from, at, conflict)?,
        );
        let text = exchanged(&ours, &theirs, self.places(), &self.known())?;
        self.with_text(files, conflict, text)
    }

    /// A package with these lines as a side has them; `None` where they were too long to be told.
    pub(super) fn decided(
        &self,
        files: &Files,
        conflict: &Conflict,
        value: &ConflictValue,
    ) -> Option<Files> {
        let ConflictValue::Json(json) = value else {
            return None;
        };
        let side = read(&serde_json::from_str::<String>(json).ok()?)?;
        let text = self.text(files, &conflict.file, conflict)?;
        let text = with_lines(&text, &side, &self.known())?;
        self.with_text(files, conflict, text)
    }

    /// A package with another text at the place that the lines are part of.
    fn with_text(&self, files: &Files, conflict: &Conflict, text: String) -> Option<Files> {
        let file = files.get(&conflict.file)?;
        let file = if self.steps.is_empty() {
            file.with_bytes(text.into_bytes())
        } else {
            let stream = Stream::parse(file.as_text()?, &Limits::default()).ok()?;
            let resource = document(&stream, conflict)?;
            let path = find(resource.root(), &self.steps)?.path();
            let value = Value::Str(text);
            let edited = stream
                .apply(resource.index(), &[Edit::Set { path, value }])
                .ok()?;
            with_text(file, &edited)
        };
        let mut files = files.clone();
        files.insert(conflict.file.clone(), file);
        Some(files)
    }
}

fn with_text(file: &File, stream: &Stream) -> File {
    file.with_bytes(stream.text().as_bytes().to_vec())
}
