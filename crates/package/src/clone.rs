//! A downstream package made from an upstream one: the `clone` task.
//!
//! Only what must change is changed (M19): the Kptfile's name, upstream and lock, the package context
//! of a deployment repository, and the identity marks that later merges pair by. Every other byte
//! stays, untouched files stay [`model::File::Kept`], and nothing is skipped without a word.

mod marked;

use std::collections::BTreeMap;

use model::{File, Files, GitLock, GitUpstream, PackageName, PackagePath, Problem};
use yaml::{CommentPlace, Edit, Limits, Node, NodeKind, Path, Stream};

pub use marked::Marked;

use crate::context;
use crate::documents::Parsed;
use crate::kptfile::{self, EditError, Kptfile, ReadError};
use crate::schema::split_api_version;
use crate::values::{IDENTIFIER, MERGE_COMMENT, merge_comment};

/// What to clone as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneSpec {
    /// The downstream package: its full name becomes the Kptfile's.
    pub package: PackageName,
    /// What is wanted.
    pub upstream: GitUpstream,
    /// What was taken.
    pub lock: GitLock,
    /// Whether the downstream repository is a deployment repository (V13).
    pub deployment: bool,
}

/// A cloned package.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the files are the new package"]
pub struct Cloned {
    /// Its files.
    pub files: Files,
    /// What could not be marked, and why.
    pub warnings: Vec<Problem>,
}

/// Why a package cannot be cloned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloneError {
    /// kpt's words for a package without one.
    #[error("package {package:?} is missing Kptfile")]
    MissingKptfile {
        /// The downstream package.
        package: PackageName,
    },
    /// The upstream's Kptfile cannot be read.
    #[error("cannot parse the Kptfile of the upstream of package {package:?}")]
    ReadKptfile {
        /// The downstream package.
        package: PackageName,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// The Kptfile cannot be edited.
    #[error("cannot write name and upstream of package {package:?}")]
    EditKptfile {
        /// The downstream package.
        package: PackageName,
        /// Why.
        #[source]
        source: EditError,
    },
    /// The package context cannot be edited.
    #[error("cannot write the package context of package {package:?}")]
    EditContext {
        /// The downstream package.
        package: PackageName,
        /// Why.
        #[source]
        source: context::ContextError,
    },
}

impl CloneError {
    /// What kind of failure this is.
    pub fn class(&self) -> model::Class {
        model::Class::Invalid
    }
}

/// Clones a package.
pub fn clone(upstream: &Files, spec: &CloneSpec) -> Result<Cloned, CloneError> {
    clone_with(upstream, None, spec, &mut Parsed::default())
}

/// Clones a package of which most is the same in every downstream package, if that is at hand. What was parsed is noted.
pub(crate) fn clone_with(
    upstream: &Files,
    marked: Option<&Marked>,
    spec: &CloneSpec,
    parsed: &mut Parsed,
) -> Result<Cloned, CloneError> {
    if let Some(marked) = marked {
        parsed.share(marked.parsed());
    }
    let package = || spec.package.clone();
    let root = kptfile::path();
    let kptfile = match marked.and_then(|marked| marked.kptfile(spec)) {
        Some(kptfile) => kptfile.edit_stream(&[name_edit(&spec.package)]),
        None => read(upstream, &spec.package)?.edit_stream(&[
            name_edit(&spec.package),
            kptfile::Edit::SetUpstream(normal_upstream(&spec.upstream)),
            kptfile::Edit::SetLock(normal_lock(&spec.lock)),
        ]),
    };
    let kptfile = kptfile.map_err(|source| CloneError::EditKptfile {
        package: package(),
        source,
    })?;
    let mut files = upstream.clone();
    let mut edited = BTreeMap::from([(root.clone(), kptfile)]);
    if spec.deployment {
        let named = context::name(&mut files, &spec.package);
        edited.extend(named.map_err(|source| CloneError::EditContext {
            package: package(),
            source,
        })?);
    }
    let mut warnings = Vec::new();
    let known = |path: &PackagePath, file: &File| {
        let marked = marked.filter(|_| *path != root && upstream.get(path) == Some(file))?;
        marked.files().get(path).cloned()
    };
    for (path, file) in &mut files {
        if let Some(known) = known(path, file) {
            *file = known;
        } else if let Some(stream) = edited.remove(path) {
            let stream = mark_stream(path, stream, *path == root, &mut warnings);
            *file = file.with_bytes(stream.text().as_bytes());
            parsed.note(path, file, stream);
        } else {
            *file = mark_file(path, file, &mut warnings).0;
        }
    }
    Ok(Cloned { files, warnings })
}

fn name_edit(package: &PackageName) -> kptfile::Edit {
    kptfile::Edit::SetName(package.to_string())
}

/// The upstream's Kptfile.
fn read(upstream: &Files, package: &PackageName) -> Result<Kptfile, CloneError> {
    Kptfile::of_files(upstream).map_err(|source| match source {
        ReadError::Missing => CloneError::MissingKptfile {
            package: package.clone(),
        },
        source => CloneError::ReadKptfile {
            package: package.clone(),
            source,
        },
    })
}

/// Writes the identity marks that are missing; what is marked keeps its marks.
///
/// An upgrade does this at its end, so that resources that it brought pair at the next one.
pub fn mark(files: &Files) -> Cloned {
    let mut warnings = Vec::new();
    let marked = files.iter().map(|(path, file)| {
        let (file, _) = mark_file(path, file, &mut warnings);
        (path.clone(), file)
    });
    let files = marked.collect();
    Cloned { files, warnings }
}

/// The upstream as kpt writes it: `.git` at the end of a URL, no slash before the directory.
pub fn normal_upstream(upstream: &GitUpstream) -> GitUpstream {
    GitUpstream {
        repo: normal_repo(&upstream.repo),
        directory: upstream.directory.trim_matches('/').to_owned(),
        git_ref: upstream.git_ref.clone(),
    }
}

/// The lock, likewise.
pub fn normal_lock(lock: &GitLock) -> GitLock {
    GitLock {
        repo: normal_repo(&lock.repo),
        directory: lock.directory.trim_matches('/').to_owned(),
        git_ref: lock.git_ref.clone(),
        commit: lock.commit,
    }
}

/// A path on this machine is left as it is: no other one leads there.
fn normal_repo(repo: &str) -> String {
    let local = repo.starts_with('/') || repo.starts_with("file:");
    if repo.is_empty() || repo.ends_with(".git") || local {
        return repo.to_owned();
    }
    format!("{repo}.git")
}

/// A file with marks, and as it was parsed, where it was.
fn mark_file(
    path: &PackagePath,
    file: &File,
    warnings: &mut Vec<Problem>,
) -> (File, Option<Stream>) {
    let name = path.file_name();
    if name != kptfile::FILE_NAME && !name.ends_with(".yaml") && !name.ends_with(".yml") {
        return (file.clone(), None);
    }
    let parsed = match file.as_text() {
        Some(text) => Stream::parse(text, &Limits::default()).map_err(|error| error.to_string()),
        None => Err("the file is not text".to_owned()),
    };
    match parsed {
        Ok(stream) => {
            let stream = mark_stream(path, stream, false, warnings);
            let file = file.with_bytes(stream.text().as_bytes());
            (file, Some(stream))
        }
        Err(why) => {
            warnings.push(unmarked(path, &why));
            (file.clone(), None)
        }
    }
}

/// A parsed file with marks; `rename` as in [`mark_document`].
fn mark_stream(
    path: &PackagePath,
    mut stream: Stream,
    rename: bool,
    warnings: &mut Vec<Problem>,
) -> Stream {
    for index in 0..stream.len() {
        match mark_document(&stream, index, rename) {
            Ok(marked) => stream = marked,
            Err(error) => warnings.push(unmarked(path, &error.to_string())),
        }
    }
    stream
}

fn unmarked(path: &PackagePath, why: &str) -> Problem {
    let what = format!("{path}: no identity marks written: {why}");
    Problem::new(path.as_str(), what)
}

/// Marks one document: a comment at `metadata:` and an annotation with the same content.
///
/// `rename` overwrites a comment that is there: a clone's Kptfile is no longer upstream's.
fn mark_document(stream: &Stream, index: usize, rename: bool) -> Result<Stream, yaml::Error> {
    let Some(root) = stream.document(index).map(|document| document.root()) else {
        return Ok(stream.clone());
    };
    let metadata = root
        .get("metadata")
        .filter(|node| node.kind() == NodeKind::Mapping);
    let marked = ["name", "namespace", "labels"];
    let Some(metadata) = metadata.filter(|node| marked.iter().any(|key| node.get(key).is_some()))
    else {
        return Ok(stream.clone());
    };
    let text = |node: Option<Node<'_>>| {
        let node = node.and_then(|node| node.target().ok());
        node.and_then(|node| node.scalar())
            .unwrap_or_default()
            .to_owned()
    };
    let known = merge_comment(root).filter(|_| !rename);
    let (namespace, name) = known
        .clone()
        .unwrap_or_else(|| (text(metadata.get("namespace")), text(metadata.get("name"))));
    let mut edits = Vec::new();
    if known.is_none() {
        edits.extend(comment_edits(
            metadata,
            &format!("# {MERGE_COMMENT} {namespace}/{name}"),
        ));
    }
    let api_version = text(root.get("apiVersion"));
    let group = split_api_version(&api_version).0;
    let kind = text(root.get("kind"));
    let namespace = if namespace.is_empty() {
        "default"
    } else {
        &namespace
    };
    let identifier = format!("{group}|{kind}|{namespace}|{name}");
    edits.push(identifier_edit(metadata, &identifier)?);
    stream.apply(index, &edits)
}

/// The comment goes behind `metadata:`; another comment that stands there moves above it.
fn comment_edits(metadata: Node<'_>, text: &str) -> Vec<Edit> {
    let path = Path::keys(["metadata"]);
    let comments = metadata.comments();
    let mut edits = Vec::new();
    if let Some(line) = comments
        .line
        .filter(|line| !line.text.contains(MERGE_COMMENT))
    {
        let mut head: Vec<&str> = comments.head.iter().map(|comment| comment.text).collect();
        head.push(line.text);
        let text = head.join("\n");
        edits.push(Edit::SetComment {
            path: path.clone(),
            place: CommentPlace::Head,
            text,
        });
    }
    edits.push(Edit::SetComment {
        path,
        place: CommentPlace::Line,
        text: text.to_owned(),
    });
    edits
}

fn identifier_edit(metadata: Node<'_>, identifier: &str) -> Result<Edit, yaml::Error> {
    let annotations = metadata
        .get("annotations")
        .filter(|node| node.kind() == NodeKind::Mapping);
    let path = Path::keys(["metadata", "annotations"]);
    let flow = |node: Node<'_>| node.style() == yaml::Style::Flow;
    let known = annotations.is_some_and(|node| node.get(IDENTIFIER).is_some());
    if known || annotations.is_some_and(flow) || flow(metadata) {
        return Ok(Edit::set(path.join(IDENTIFIER), identifier));
    }
    // Single quotes, as kpt writes it.
    let quoted = format!("'{}'", identifier.replace('\'', "''"));
    let (path, key, text) = if annotations.is_some() {
        (path, IDENTIFIER, quoted)
    } else if metadata.get("annotations").is_some() {
        return Ok(Edit::set(path.join(IDENTIFIER), identifier));
    } else {
        (
            Path::keys(["metadata"]),
            "annotations",
            format!("{IDENTIFIER}: {quoted}\n"),
        )
    };
    let stream = Stream::parse(text, &Limits::default())?;
    let fragment = stream.document(0).map(|document| document.root().lift());
    Ok(match fragment {
        Some(fragment) => {
            let key = key.to_owned();
            Edit::InsertKeyFragment {
                path,
                index: usize::MAX,
                key,
                fragment,
            }
        }
        None => Edit::set(
            Path::keys(["metadata", "annotations", IDENTIFIER]),
            identifier,
        ),
    })
}

#[cfg(test)]
mod tests;
