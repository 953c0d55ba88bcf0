//! Which files belong to which package, and in which way each merges.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use model::{Conflict, File, Files, PackagePath};
use yaml::Node;

use super::file::{self, Files3, Kind, Own};
use super::record::Recorder;
use super::subpackages::{self, Fate};
use super::{MergeError, MergeOptions, Merged, Side, moves};
use crate::ignore::Ignore;
use crate::kptfile::{self, Kptfile, ReadError};
use crate::schema::{Crds, Schema};

/// The three sides of a merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides<'f> {
    pub(super) base: &'f Files,
    pub(super) local: &'f Files,
    pub(super) upstream: &'f Files,
}

impl<'f> Sides<'f> {
    pub(super) fn all(self) -> [&'f Files; 3] {
        [self.base, self.local, self.upstream]
    }

    pub(super) fn of(self, path: &PackagePath) -> Files3<'f> {
        self.all().map(|files| files.get(path))
    }

    /// Every path of any side, in order.
    pub(super) fn paths(self) -> BTreeSet<&'f PackagePath> {
        self.all()
            .into_iter()
            .flat_map(|files| files.keys())
            .collect()
    }

    /// M5: each side has a Kptfile that can be read; one that several sides share is read once.
    pub(super) fn check(self, options: &MergeOptions) -> Result<(), MergeError> {
        let sides = [Side::Base, Side::Local, Side::Upstream];
        let mut read: Vec<&File> = Vec::new();
        for (side, files) in sides.into_iter().zip(self.all()) {
            let Some(file) = files.get(&kptfile::path()) else {
                if options.need_kptfile {
                    let source = ReadError::Missing;
                    return Err(MergeError::ReadKptfile { side, source });
                }
                continue;
            };
            if !read.contains(&file) {
                Kptfile::of_file(file)
                    .map_err(|source| MergeError::ReadKptfile { side, source })?;
                read.push(file);
            }
        }
        Ok(())
    }
}

/// What is known of resources' lists: built in, and from CRDs once somebody asks.
#[derive(Debug)]
pub(super) struct Schemas<'f> {
    sides: Sides<'f>,
    crds: OnceCell<Crds>,
}

impl<'f> Schemas<'f> {
    pub(super) fn new(sides: Sides<'f>) -> Self {
        Self {
            sides,
            crds: OnceCell::new(),
        }
    }

    /// The schema of a resource; CRDs are looked for only where a kind is not built in.
    pub(super) fn of(&self, root: Node<'_>) -> Schema<'_> {
        let text = |key: &str| {
            let node = root.get(key).and_then(|node| node.as_str());
            node.unwrap_or_default()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        Schema::built_in(api_version, kind).unwrap_or_else(|| {
            let read = || Crds::of([self.sides.local, self.sides.upstream]);
            Schema::of(api_version, kind, self.crds.get_or_init(read))
        })
    }
}

/// The resource merge.
pub(super) fn merge(sides: Sides<'_>, options: &MergeOptions) -> Result<Merged, MergeError> {
    sides.check(options)?;
    let ignored = sides.all().map(Ignore::of);
    // What stands twice is asked of the sides as they were written: with everything moved, none tells where it had it.
    let original = sides;
    let mut moved = moves::follow(sides, options, &ignored);
    let mut conflicts = std::mem::take(&mut moved.conflicts);
    let sides = moved.sides();
    let schemas = Schemas::new(sides);
    // Behind the moves: a subpackage under a new name would look deleted at the one place and new at the other.
    let whole = subpackages::fates(sides, options, &mut conflicts);
    let mut files = Files::new();
    for path in sides.paths() {
        if let Some((_, fate)) = whole.iter().rev().find(|(dir, _)| inside(path, dir)) {
            let file = match fate {
                Fate::Keep => sides.local.get(path),
                Fate::Take => sides.upstream.get(path),
                Fate::Remove => None,
            };
            files.extend(file.map(|file| (path.clone(), file.clone())));
            continue;
        }
        let kind = kind(path, options, &ignored);
        let mut record = Recorder::new(options, path);
        let merged = file::merge(path, kind, sides.of(path), &schemas, &mut record)?;
        conflicts.extend(record.finish());
        if let Some(file) = merged {
            files.insert(path.clone(), file);
        }
    }
    // Only the result can tell: every side for itself holds either the file or the directory.
    clashes(sides, options, &mut files, &mut conflicts);
    conflicts.extend(moves::stands_twice(original, &files, options, &ignored));
    let parted = moves::moved_and_edited(original, &files, options, &ignored, &conflicts);
    conflicts.extend(parted);
    Ok(Merged { files, conflicts })
}

/// What a path is.
pub(super) fn kind(path: &PackagePath, options: &MergeOptions, ignored: &[Ignore; 3]) -> Kind {
    let name = path.file_name();
    if name == kptfile::FILE_NAME {
        let own = options.own_identity && path.dir().is_empty();
        return Kind::Kptfile(if own { Own::Identity } else { Own::Nothing });
    }
    let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    // An ignored file is no resource: it merges as bytes (M7, M16).
    if yaml && !ignored.iter().any(|ignore| ignore.matches(path)) {
        Kind::Yaml
    } else {
        Kind::Bytes
    }
}

/// The directories of a package's subpackages, with whether they follow an upstream of their own.
pub(super) fn subpackages(files: &Files) -> BTreeMap<&str, &File> {
    files
        .iter()
        .filter(|(path, _)| path.file_name() == kptfile::FILE_NAME && !path.dir().is_empty())
        .map(|(path, file)| (path.dir(), file))
        .collect()
}

/// Whether a path lies in a directory.
pub(super) fn inside(path: &PackagePath, dir: &str) -> bool {
    path.as_str()
        .strip_prefix(dir)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// A file cannot stand where a directory does: what is local stays, upstream's is recorded.
pub(super) fn clashes(
    sides: Sides<'_>,
    options: &MergeOptions,
    files: &mut Files,
    conflicts: &mut Vec<Conflict>,
) {
    let paths: Vec<PackagePath> = files.keys().cloned().collect();
    for path in &paths {
        // Paths below a directory follow it, behind those that continue its name otherwise.
        let from = format!("{path}/");
        let at = paths.partition_point(|other| other.as_str() < from.as_str());
        let below = paths
            .iter()
            .skip(at)
            .take_while(|other| other.as_str().starts_with(&from));
        let below: Vec<&PackagePath> = below.collect();
        if below.is_empty() {
            continue;
        }
        // Whichever of the two is local stays: people may have edited it, and upstream's is told.
        let losers: Vec<&PackagePath> = if sides.local.contains_key(path) {
            below
        } else {
            vec![path]
        };
        for loser in losers {
            let mut record = Recorder::new(options, loser);
            record.clash(sides.of(loser));
            conflicts.extend(record.finish());
            files.remove(loser);
        }
    }
}
