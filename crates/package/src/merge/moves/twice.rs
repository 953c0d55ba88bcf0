//! Identities that a result holds twice, and no side did (M23).

use std::collections::BTreeSet;

use model::{Conflict, Files, PackagePath};
use yaml::{Limits, Stream};

use super::super::options::MergeOptions;
use super::super::record::Recorder;
use super::super::sides::Sides;
use super::sight::{self, By, Changes, Known, Within, fields};
use crate::ignore::Ignore;
use crate::values::{is_secret, node_value};

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
    for known in both {
        let of = |all: &[(Known<'_>, PackagePath)]| -> Vec<PackagePath> {
            let own = all.iter().filter(|(other, _)| other == known);
            own.map(|(_, path)| path.clone()).collect()
        };
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
            let value = |files: &Files, places: &[PackagePath]| {
                let file = places.first().and_then(|path| files.get(path));
                let stream = Stream::parse(file?.as_text()?, &Limits::default()).ok()?;
                let own = stream.documents().find(|d| fields(d.root()) == known.1)?;
                Some(node_value(Some(own.root()), is_secret(own.root())))
            };
            let values = [value(sides.local, &mine), value(sides.upstream, &theirs)];
            let mut record = Recorder::new(options, at);
            let absent = |value: Option<_>| value.unwrap_or(model::ConflictValue::Absent);
            record.twice(known.1.record(), values.map(absent));
            conflicts.extend(record.finish());
        }
    }
    conflicts
}

/// Where the wanted resources stand, each place once for each time.
fn holding<'f>(
    files: &'f Files,
    wanted: &BTreeSet<&Known<'_>>,
    ignored: &[Ignore; 3],
) -> Vec<(Known<'f>, PackagePath)> {
    let packages = sight::packages(files);
    let mut all = Vec::new();
    for (path, file) in files
        .iter()
        .filter(|(path, _)| sight::holds_resources(path, ignored))
    {
        let package = Within::Package.package(&packages, path);
        let ids = sight::all(Some(file), By::Fields)
            .into_iter()
            .map(|id| (package, id));
        let ids = ids.filter(|known| wanted.iter().any(|wanted| *wanted == known));
        all.extend(ids.map(|known| (known, path.clone())));
    }
    all
}
