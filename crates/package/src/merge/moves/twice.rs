//! Identities that a result holds twice, and no side did (M23).

use std::collections::{BTreeMap, BTreeSet};

use model::{Conflict, ConflictValue, Files, PackagePath};
use yaml::{Limits, Stream};

use super::super::options::MergeOptions;
use super::super::record::Recorder;
use super::super::sides::Sides;
use super::sight::{self, By, Changes, Known, Within, fields};
use crate::ignore::Ignore;
use crate::values::{ResourceIdentity, is_secret, node_value};

/// Records what stands in a merged package twice although each side holds it once: local came by one, upstream by the
/// other. Both stay, and somebody has to say which.
pub(in super::super) fn stands_twice(
    sides: Sides<'_>,
    merged: &Files,
    options: &MergeOptions,
    ignored: &[Ignore; 3],
) -> Vec<Conflict> {
    // Not by the comments of clones: what applies the package knows resources by their fields alone.
    let came =
        |side| Changes::between(sides.base, side, (By::Fields, Within::Package), ignored).came;
    let mine = came(sides.local);
    if mine.is_empty() {
        return Vec::new();
    }
    let theirs = came(sides.upstream);
    let both: BTreeSet<&Known<'_>> = mine
        .keys()
        .filter(|known| theirs.contains_key(*known))
        .collect();
    if both.is_empty() {
        return Vec::new();
    }
    let [base, local, upstream] = sides.all().map(|files| holding(files, &both, ignored));
    let result = holding(merged, &both, ignored);
    let mut conflicts = Vec::new();
    let mut written = [sides.local, sides.upstream].map(Written::of);
    for known in both {
        let of = |all: &Holding<'_>| all.get(known).cloned().unwrap_or_default();
        let places = of(&result);
        // What a side held twice itself is its own doing, and nothing that the merge made.
        let once = [&base, &local, &upstream]
            .into_iter()
            .all(|side| of(side).len() < 2);
        if places.len() < 2 || !once {
            continue;
        }
        let (mine, theirs) = (of(&local), of(&upstream));
        let at = theirs
            .iter()
            .rev()
            .find(|path| places.contains(path))
            .or_else(|| places.last());
        if let Some(at) = at {
            let [here, there] = &mut written;
            let values = [here.value(&mine, &known.1), there.value(&theirs, &known.1)];
            let mut record = Recorder::new(options, at);
            let absent = |value: Option<_>| value.unwrap_or(ConflictValue::Absent);
            record.twice(known.1.record(), values.map(absent));
            conflicts.extend(record.finish());
        }
    }
    conflicts
}

/// The documents of a side's files, each file read once.
struct Written<'f> {
    files: &'f Files,
    read: BTreeMap<PackagePath, Option<Documents>>,
}

/// A file with the first document of each resource.
type Documents = (Stream, BTreeMap<ResourceIdentity, usize>);

impl<'f> Written<'f> {
    fn of(files: &'f Files) -> Self {
        let read = BTreeMap::new();
        Self { files, read }
    }

    /// What a resource holds in the first of some files.
    fn value(&mut self, places: &[PackagePath], id: &ResourceIdentity) -> Option<ConflictValue> {
        let path = places.first()?;
        let files = self.files;
        let read = || {
            let stream = files.get(path)?.as_text()?;
            let stream = Stream::parse(stream, &Limits::default()).ok()?;
            let all = stream.documents().map(|d| (fields(d.root()), d.index()));
            let all: Vec<(ResourceIdentity, usize)> = all.collect();
            Some((stream, all.into_iter().rev().collect()))
        };
        let read = self.read.entry(path.clone()).or_insert_with(read);
        let (stream, documents) = read.as_ref()?;
        let own = stream.document(*documents.get(id)?)?.root();
        Some(node_value(Some(own), is_secret(own)))
    }
}

/// Where resources stand, each place once for each time.
type Holding<'f> = BTreeMap<Known<'f>, Vec<PackagePath>>;

/// Where the wanted resources stand.
fn holding<'f>(
    files: &'f Files,
    wanted: &BTreeSet<&Known<'_>>,
    ignored: &[Ignore; 3],
) -> Holding<'f> {
    let packages = sight::packages(files);
    let mut all = Holding::new();
    for (path, file) in files
        .iter()
        .filter(|(path, _)| sight::holds_resources(path, ignored))
    {
        let package = Within::Package.package(&packages, path);
        for id in sight::all(Some(file), By::Fields) {
            let known = (package, id);
            if wanted.contains(&known) {
                all.entry(known).or_default().push(path.clone());
            }
        }
    }
    all
}
