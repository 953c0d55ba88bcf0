//! Resources that left one file and appear in another with the same identity.

use std::collections::{BTreeMap, BTreeSet};

use model::{ConflictState, File, FileMode, Files, PackagePath};
use yaml::{Limits, Stream};

use super::super::join::join;
use super::super::options::MergeOptions;
use super::moved::{Moved, goes};
use super::sight::{self, By, Changes, Known, Within};
use crate::ignore::Ignore;
use crate::values::{ResourceIdentity, identity, same_but_marks};

/// Puts moved resources into their new files on all sides: first within their packages, then from one package into another.
pub(super) fn follow(moved: &mut Moved<'_>, options: &MergeOptions, ignored: &[Ignore; 3]) {
    // Packages may each have a resource of one name. Only what nothing within its package explains can have gone from one
    // into another.
    if follow_within(moved, options, ignored, Within::Package) {
        follow_within(moved, options, ignored, Within::Tree);
    }
}

/// Follows what moved within one package, or anywhere; whether something may have gone from one package into another.
fn follow_within(
    moved: &mut Moved<'_>,
    options: &MergeOptions,
    ignored: &[Ignore; 3],
    within: Within,
) -> bool {
    let sides = moved.sides.clone();
    let [base, local, upstream] = sides.each_ref().map(AsRef::as_ref);
    let [mine, theirs] =
        [local, upstream].map(|side| Changes::between(base, side, (By::Comment, within), ignored));
    let moves = |side: &Changes<'_>, known: &Known<'_>| {
        side.left.contains_key(known) && side.came.contains_key(known)
    };
    let all: BTreeSet<&Known<'_>> = mine.came.keys().chain(theirs.came.keys()).collect();
    let candidates: BTreeSet<&Known<'_>> = all
        .into_iter()
        .filter(|known| {
            let apart = match (mine.came.get(*known), theirs.came.get(*known)) {
                (Some(mine), Some(theirs)) => mine != theirs,
                _ => false,
            };
            // What both added in different packages is of two packages.
            let apart = apart && within == Within::Package;
            apart || moves(&mine, known) || moves(&theirs, known)
        })
        .collect();
    let crossing = mine.crossing() || theirs.crossing();
    if candidates.is_empty() {
        return crossing;
    }
    let homes = [base, local, upstream].map(|files| places(files, &candidates, ignored, within));
    let mut opened = [base, local, upstream].map(Opened::new);
    for known in candidates {
        let mut conflicts = Vec::new();
        let here = homes
            .each_ref()
            .map(|homes| match homes.get(known).map(Vec::as_slice) {
                None | Some([]) => Ok(None),
                Some([path]) => Ok(Some(*path)),
                Some(_) => Err(()),
            });
        let [Ok(base), Ok(local), Ok(upstream)] = here else {
            continue; // What stands twice is not the same thing elsewhere.
        };
        let (_, id) = known;
        let places = [base, local, upstream];
        if let Some(at) = goes(places, &id.record(), options, &mut conflicts)
            && put(&mut opened, id, places, &at).is_some()
        {
            if base.is_none() && added_alike(&mut opened, id, &at) {
                // M16: what both added alike is no conflict, and where it stands nobody's question.
                let noted = conflicts.iter_mut();
                noted.for_each(|conflict| conflict.state = ConflictState::Recorded);
            }
            moved.conflicts.extend(conflicts);
        }
    }
    for (files, opened) in moved.sides.iter_mut().zip(opened) {
        for (path, file) in opened.changed() {
            match file {
                Some(file) => files.to_mut().insert(path, file),
                None => files.to_mut().remove(&path),
            };
        }
    }
    crossing
}

/// Whether local and upstream hold a resource in a file with equal values.
fn added_alike(
    [_, local, upstream]: &mut [Opened<'_>; 3],
    id: &ResourceIdentity,
    at: &PackagePath,
) -> bool {
    let read = |side: &mut Opened<'_>| {
        let documents = side.open(at)?;
        let (_, text) = documents.parts.get(documents.position(id)?)?;
        Stream::parse(text.as_str(), &Limits::default()).ok()
    };
    let (Some(local), Some(upstream)) = (read(local), read(upstream)) else {
        return false;
    };
    let sides = local.document(0).zip(upstream.document(0));
    sides.is_some_and(|(local, upstream)| same_but_marks(local.root(), upstream.root()))
}

/// The files of a side in which resources stand.
fn places<'f, 'k>(
    files: &'f Files,
    wanted: &BTreeSet<&'k Known<'k>>,
    ignored: &[Ignore; 3],
    within: Within,
) -> BTreeMap<Known<'f>, Vec<&'f PackagePath>> {
    let packages = sight::packages(files);
    let mut homes: BTreeMap<Known<'f>, Vec<&'f PackagePath>> = BTreeMap::new();
    for (path, file) in files
        .iter()
        .filter(|(path, _)| sight::holds_resources(path, ignored))
    {
        for id in sight::all(Some(file), By::Comment) {
            let known = (within.package(&packages, path), id);
            if wanted.iter().any(|wanted| **wanted == known) {
                homes.entry(known).or_default().push(path);
            }
        }
    }
    homes
}

/// Puts a resource into a file on every side that has it elsewhere; `None`, and nothing done, where one cannot.
fn put(
    sides: &mut [Opened<'_>; 3],
    id: &ResourceIdentity,
    places: [Option<&PackagePath>; 3],
    at: &PackagePath,
) -> Option<()> {
    // First every side is looked at, then all are changed: moved on one side alone a resource would be gone there and new here.
    let mut order = None;
    for (side, place) in sides.iter_mut().zip(places) {
        let Some(place) = place else { continue };
        side.open(place)?.position(id)?;
        let target = side.open(at)?;
        if place == at {
            order = order.or_else(|| Some(target.order()));
        } else if target.position(id).is_some() {
            return None;
        }
    }
    let order = order?;
    for (side, place) in sides.iter_mut().zip(places) {
        let Some(place) = place.filter(|place| *place != at) else {
            continue;
        };
        let (document, mode) = side.open(place)?.take(id)?;
        side.open(at)?.put(document, &order, mode);
    }
    Some(())
}

/// A document's identity and text.
type Part = (ResourceIdentity, String);

/// A file as its documents.
struct Documents {
    parts: Vec<Part>,
    /// Whether its first document begins with `---`.
    explicit: bool,
    /// `None` for a file that is not there yet.
    mode: Option<FileMode>,
    changed: bool,
}

impl Documents {
    /// `None` where the documents cannot be told apart (M6, M7).
    fn read(file: Option<&File>) -> Option<Self> {
        let Some(file) = file else {
            return Some(Self {
                parts: Vec::new(),
                explicit: false,
                mode: None,
                changed: false,
            });
        };
        let stream = Stream::parse(file.as_text()?, &Limits::default()).ok()?;
        let parts: Vec<Part> = stream
            .documents()
            .map(|d| (identity(d.root()), d.text().to_owned()))
            .collect();
        let mut ids: Vec<&ResourceIdentity> = parts.iter().map(|(id, _)| id).collect();
        ids.sort();
        let twice = ids.windows(2).any(|pair| pair.first() == pair.last());
        (!twice && !parts.is_empty()).then(|| Self {
            explicit: parts
                .first()
                .is_some_and(|(_, text)| text.starts_with("---")),
            parts,
            mode: Some(file.mode()),
            changed: false,
        })
    }

    fn position(&self, id: &ResourceIdentity) -> Option<usize> {
        self.parts.iter().position(|(other, _)| other == id)
    }

    fn order(&self) -> Vec<ResourceIdentity> {
        self.parts.iter().map(|(id, _)| id.clone()).collect()
    }

    fn take(&mut self, id: &ResourceIdentity) -> Option<(Part, FileMode)> {
        let at = self.position(id)?;
        self.changed = true;
        Some((self.parts.remove(at), self.mode.unwrap_or_default()))
    }

    /// Behind what it follows where it came from, else before what follows it.
    fn put(&mut self, part: Part, order: &[ResourceIdentity], mode: FileMode) {
        let own = order
            .iter()
            .position(|id| *id == part.0)
            .unwrap_or(order.len());
        let (before, after) = order.split_at(own);
        let preceding = before.iter().rev().find_map(|id| self.position(id));
        let following = after.iter().skip(1).find_map(|id| self.position(id));
        let at = preceding
            .map(|at| at + 1)
            .or(following)
            .unwrap_or(self.parts.len());
        self.parts.insert(at, part);
        // A file that only the move makes has the mode of the one that the resource left.
        self.mode.get_or_insert(mode);
        self.changed = true;
    }
}

/// The files of a side that were looked into.
struct Opened<'f> {
    files: &'f Files,
    opened: BTreeMap<PackagePath, Option<Documents>>,
}

impl<'f> Opened<'f> {
    fn new(files: &'f Files) -> Self {
        Self {
            files,
            opened: BTreeMap::new(),
        }
    }

    fn open(&mut self, path: &PackagePath) -> Option<&mut Documents> {
        let read = || Documents::read(self.files.get(path));
        self.opened
            .entry(path.clone())
            .or_insert_with(read)
            .as_mut()
    }

    /// The files that changed; `None` for one of which nothing is left.
    fn changed(self) -> impl Iterator<Item = (PackagePath, Option<File>)> {
        let changed = self.opened.into_iter().filter_map(|(path, documents)| {
            let documents = documents.filter(|documents| documents.changed)?;
            Some((path, documents))
        });
        changed.map(|(path, documents)| {
            let Documents {
                parts,
                explicit,
                mode,
                ..
            } = documents;
            // A file from which everything went is no file any more, as on the side that moved it.
            let text = join(parts.iter().map(|(_, text)| text.as_str()), explicit);
            let file = File::New {
                mode: mode.unwrap_or_default(),
                bytes: text.into_bytes().into(),
            };
            (path, (!parts.is_empty()).then_some(file))
        })
    }
}
