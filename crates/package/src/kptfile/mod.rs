//! A Kptfile as a lossless view over its text, and edits that keep every other byte.
//!
//! Reading is typed and lenient (M18); writing changes the one field that an edit names (V5, M19):
//! comments, order, quoting and unknown fields stay. A Kptfile is never re-emitted from its fields.
//! Bytes come from a package's files and go back into them; nothing here sees another file, except
//! [`Kptfile::validate`], which looks up the files that a pipeline names.

mod edit;
mod fields;
mod image;
mod lists;
mod read;
mod render_status;
mod validate;
mod write;

use model::{File, Files, PackagePath, Problem};

use crate::documents::Parsed;

pub use edit::EditError;
pub use fields::{Info, Inventory, KptfileFields, KptfileUpstream, UpstreamLock};
pub(crate) use validate::clean as clean_config_path;
pub(crate) use write::TOP;
pub use write::{Edit, FunctionList};

/// The file's name.
pub const FILE_NAME: &str = "Kptfile";

/// Why a text is not a Kptfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is none where one is needed (M5).
    #[error("package has no Kptfile")]
    Missing,
    /// Binary, or not UTF-8.
    #[error("the Kptfile is not text")]
    NotText,
    /// Not YAML.
    #[error("the Kptfile cannot be parsed")]
    Parse(#[source] yaml::Error),
    /// YAML of another kind or version.
    #[error("unknown resource type {found:?} found in Kptfile{hint}")]
    OtherKind {
        /// What it says it is, as `group/version, Kind=kind`.
        found: String,
        /// The way out, if there is one.
        hint: &'static str,
    },
    /// The right kind, but its fields cannot be read.
    #[error("the Kptfile is not valid: {}", model::join_problems(.0))]
    Invalid(Vec<Problem>),
}

/// A Kptfile: its text and what it says.
#[derive(Debug, Clone)]
pub struct Kptfile {
    stream: yaml::Stream,
    fields: KptfileFields,
    warnings: Vec<Problem>,
    traces: Vec<Problem>,
}

impl Kptfile {
    /// Reads a Kptfile; of several documents the first one counts, the others are carried (M6).
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::of(stream_of(text)?)
    }

    /// Reads a Kptfile that is parsed.
    pub(crate) fn of(stream: yaml::Stream) -> Result<Self, ReadError> {
        Self::read(stream, read::Reader::default())
    }

    fn read(stream: yaml::Stream, mut reader: read::Reader) -> Result<Self, ReadError> {
        let Some(document) = stream
            .document(0)
            .filter(|d| d.root().kind() == yaml::NodeKind::Mapping)
        else {
            return Err(ReadError::OtherKind {
                found: "missing Resource metadata".into(),
                hint: "",
            });
        };
        let root = document.root();
        check_kind(root)?;
        let fields = reader.fields(root);
        if !reader.problems.is_empty() {
            return Err(ReadError::Invalid(reader.problems));
        }
        Ok(Self {
            fields,
            warnings: reader.warnings,
            traces: reader.traces,
            stream,
        })
    }

    /// Reads the Kptfile of a file.
    pub fn of_file(file: &File) -> Result<Self, ReadError> {
        Self::parse(file.as_text().ok_or(ReadError::NotText)?)
    }

    /// Reads the Kptfile of a package's root but for the report of its render, for whoever has that already or takes it off:
    /// it is the largest part.
    pub fn without_report(files: &Files) -> Result<Self, ReadError> {
        Self::bare(files, &Parsed::default())
    }

    /// The same of a package of which something was parsed already.
    pub(crate) fn bare(files: &Files, parsed: &Parsed) -> Result<Self, ReadError> {
        let path = path();
        let file = files.get(&path).ok_or(ReadError::Missing)?;
        let stream = match parsed.stream(&path, file) {
            Some(stream) => stream.clone(),
            None => stream_of(file.as_text().ok_or(ReadError::NotText)?)?,
        };
        let reader = read::Reader {
            without_render: true,
            ..read::Reader::default()
        };
        Self::read(stream, reader)
    }

    /// Reads the Kptfile of a package's root.
    pub fn of_files(files: &Files) -> Result<Self, ReadError> {
        Self::of_file(files.get(&path()).ok_or(ReadError::Missing)?)
    }

    /// What it says.
    pub fn fields(&self) -> &KptfileFields {
        &self.fields
    }

    /// Its text, byte for byte.
    pub fn text(&self) -> &str {
        self.stream.text()
    }

    /// The text as it was parsed.
    pub(crate) fn stream(&self) -> &yaml::Stream {
        &self.stream
    }

    /// What was kept but not understood (M18).
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// All problems of its pipeline in kpt's words.
    ///
    /// `package` gives the files that a `configPath` may name and the directory of this Kptfile in
    /// them (empty for the root).
    pub fn validate(&self, package: Option<(&Files, &str)>) -> Vec<Problem> {
        validate::pipeline(&self.fields.pipeline, package, false)
    }

    /// What kpt would refuse to read: fields that it does not know, traces of tooling among them.
    ///
    /// M18 keeps them; this is for packages that must work with kpt, too.
    pub fn strangers(&self) -> Vec<Problem> {
        let mut all: Vec<Problem> = self.warnings.iter().chain(&self.traces).cloned().collect();
        for problem in &mut all {
            problem.what = problem.what.replace("; it is kept", "");
        }
        all
    }

    /// As [`Kptfile::validate`], and where M18 is more lenient than kpt, as kpt.
    pub fn validate_strictly(&self, package: Option<(&Files, &str)>) -> Vec<Problem> {
        validate::pipeline(&self.fields.pipeline, package, true)
    }

    /// Puts the text back into a package; an unchanged text leaves the file as it is (`Kept`).
    pub fn put(&self, files: &mut Files) {
        put(self.text(), files);
    }
}

/// Puts the text of a package's own Kptfile into it.
fn put(text: &str, files: &mut Files) {
    let text = text.as_bytes();
    let file = match files.get(&path()) {
        Some(old) => old.with_bytes(text),
        None => File::new(text),
    };
    files.insert(path(), file);
}

/// The path of a package's own Kptfile.
#[expect(
    clippy::expect_used,
    reason = "the literal obeys the law of file paths"
)]
pub fn path() -> PackagePath {
    PackagePath::parse(FILE_NAME).expect("a plain file name is a path")
}

fn stream_of(text: &str) -> Result<yaml::Stream, ReadError> {
    yaml::Stream::parse(text, &yaml::Limits::default()).map_err(ReadError::Parse)
}

fn check_kind(root: yaml::Node<'_>) -> Result<(), ReadError> {
    let text = |key: &str| {
        root.effective(key)
            .and_then(|node| node.as_str())
            .unwrap_or_default()
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == "kpt.dev/v1" && kind == "Kptfile" {
        return Ok(());
    }
    let old = matches!(api_version, "kpt.dev/v1alpha1" | "kpt.dev/v1alpha2");
    let hint = if old && kind == "Kptfile" {
        ": old format, update the package to kpt.dev/v1"
    } else {
        ""
    };
    Err(ReadError::OtherKind {
        found: format!("{api_version}, Kind={kind}"),
        hint,
    })
}

#[cfg(test)]
mod tests;
