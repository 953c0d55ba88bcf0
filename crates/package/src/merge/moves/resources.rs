//! Resources that left one file and appear in another with the same identity.

use std::collections::{BTreeMap, BTreeSet};

use model::{Conflict, ConflictState, Files, PackagePath};
use yaml::{Limits, Stream};

use super::super::options::MergeOptions;
use super::super::work;
use super::documents::{Beside, Opened};
use super::moved::{Moved, goes};
use super::sight::{self, By, Changes, Known, Within};
use crate::ignore::Ignore;
use crate::values::{ResourceIdentity, same_but_marks};

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
    let mut told: Vec<(usize, Vec<Conflict>)> = Vec::new();
    for going in goings(&candidates, &homes, &mut opened, options) {
        let Going { nth, id, .. } = going;
        let mut conflicts = going.conflicts;
        if put(&mut opened, id, going.places, &going.at).is_none() {
            continue;
        }
        let [base, ..] = going.places;
        if base.is_none() && added_alike(&mut opened, id, &going.at) {
            // M16: what both added alike is no conflict, and where it stands nobody's question.
            let noted = conflicts.iter_mut();
            noted.for_each(|conflict| conflict.state = ConflictState::Recorded);
        }
        told.push((nth, conflicts));
    }
    told.sort_by_key(|(nth, _)| *nth);
    let told = told.into_iter().flat_map(|(_, conflicts)| conflicts);
    moved.conflicts.extend(told);
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

/// A resource that goes to another file on one side or more.
struct Going<'k> {
    /// Which of the candidates it is: conflicts are told in their order.
    nth: usize,
    id: &'k ResourceIdentity,
    places: [Option<&'k PackagePath>; 3],
    at: PackagePath,
    conflicts: Vec<Conflict>,
}

/// What goes where, in the order in which it stands where it goes to: each finds its neighbour there at once.
fn goings<'k>(
    candidates: &BTreeSet<&'k Known<'k>>,
    homes: &[Homes<'k>; 3],
    opened: &mut [Opened<'_>; 3],
    options: &MergeOptions,
) -> Vec<Going<'k>> {
    let mut all: Vec<((Option<usize>, usize), Going<'k>)> = Vec::new();
    for (nth, known) in candidates.iter().enumerate() {
        let mut conflicts = Vec::new();
        let here = homes
            .each_ref()
            .map(|homes| match homes.get(*known).map(Vec::as_slice) {
                None | Some([]) => Ok(None),
                Some([path]) => Ok(Some(*path)),
                Some(_) => Err(()),
            });
        let [Ok(base), Ok(local), Ok(upstream)] = here else {
            continue; // What stands twice is not the same thing elsewhere.
        };
        let id = &known.1;
        let places = [base, local, upstream];
        let Some(at) = goes(places, &id.record(), options, &mut conflicts) else {
            continue;
        };
        let side = places.iter().position(|place| *place == Some(&at));
        let place = side.and_then(|side| opened.get_mut(side)?.open(&at)?.position(id));
        let going = Going {
            nth,
            id,
            places,
            at,
            conflicts,
        };
        all.push(((place, nth), going));
    }
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, going)| going).collect()
}

/// Whether local and upstream hold a resource in a file with equal values.
fn added_alike(
    [_, local, upstream]: &mut [Opened<'_>; 3],
    id: &ResourceIdentity,
    at: &PackagePath,
) -> bool {
    let read = |side: &mut Opened<'_>| {
        let text = side.open(at)?.text(id)?;
        Stream::parse(text, &Limits::default()).ok()
    };
    let (Some(local), Some(upstream)) = (read(local), read(upstream)) else {
        return false;
    };
    let sides = local.document(0).zip(upstream.document(0));
    sides.is_some_and(|(local, upstream)| same_but_marks(local.root(), upstream.root()))
}

/// The files of a side in which resources stand.
type Homes<'f> = BTreeMap<Known<'f>, Vec<&'f PackagePath>>;

/// The files of a side in which the wanted resources stand.
fn places<'f, 'k>(
    files: &'f Files,
    wanted: &BTreeSet<&'k Known<'k>>,
    ignored: &[Ignore; 3],
    within: Within,
) -> Homes<'f> {
    let packages = sight::packages(files);
    let mut homes = Homes::new();
    for (path, file) in files
        .iter()
        .filter(|(path, _)| sight::holds_resources(path, ignored))
    {
        let package = within.package(&packages, path);
        for id in sight::all(Some(file), By::Comment) {
            let known = (package, id);
            if wanted.contains(&known) {
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
    let mut like = None;
    for (number, (side, place)) in sides.iter_mut().zip(places).enumerate() {
        let Some(place) = place else { continue };
        side.open(place)?.position(id)?;
        let target = side.open(at)?;
        if place == at {
            like = like.or(Some(number));
        } else if target.position(id).is_some() {
            return None;
        }
    }
    let like = like?;
    for number in (0..sides.len()).filter(|number| *number != like) {
        let place = places.get(number).copied().flatten();
        let Some(place) = place.filter(|place| *place != at) else {
            continue;
        };
        let part = sides.get_mut(number)?.open(place)?.take(id)?;
        let beside = beside(sides, [like, number], id, at);
        sides.get_mut(number)?.open(at)?.put(part, beside);
    }
    Some(())
}

/// Where a resource goes in a file of one side: behind what it follows on the other, else before what follows it there.
fn beside(
    sides: &mut [Opened<'_>; 3],
    [like, number]: [usize; 2],
    id: &ResourceIdentity,
    at: &PackagePath,
) -> Option<Beside> {
    for forwards in [false, true] {
        let mut next = Some(id.clone());
        while let Some(id) = next {
            work::done(1);
            next = sides.get_mut(like)?.open(at)?.neighbour(&id, forwards);
            let there = sides.get_mut(number)?.open(at)?;
            if let Some(place) = next.as_ref().and_then(|id| there.position(id)) {
                return Some(match forwards {
                    false => Beside::Behind(place),
                    true => Beside::Before(place),
                });
            }
        }
    }
    None
}
