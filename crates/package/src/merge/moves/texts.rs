//! Texts that a side moved and edited at once (M23): what is no resource has no identity, so they are not followed, but told.

use std::collections::BTreeMap;

use model::{Conflict, Decision, File, Files, PackagePath};

use super::super::options::MergeOptions;
use super::super::record::Recorder;
use super::super::sides::{FileKind, Sides, kind};
use crate::ignore::Ignore;

/// How many files are compared with how many at most: of more nobody knows what became of what.
const MOST: usize = 64;

/// Records the texts of base that both sides took from their place where one side or both brought most of them back at
/// another: two places are a question, and so is a text that one side changed on the way and the other deleted.
pub(in super::super) fn moved_and_edited(
    sides: Sides<'_>,
    merged: &Files,
    options: &MergeOptions,
    ignored: &[Ignore; 3],
    told: &[Conflict],
) -> Vec<Conflict> {
    let gone =
        |path: &PackagePath| !sides.local.contains_key(path) && !sides.upstream.contains_key(path);
    let text = |path: &PackagePath| kind(path, options, ignored) == FileKind::Bytes;
    let old = sides
        .base
        .iter()
        .filter(|(path, _)| gone(path) && text(path));
    let old: Vec<Text<'_>> = old.filter_map(Text::of).collect();
    if old.is_empty() || old.len() > MOST {
        return Vec::new();
    }
    let [mine, theirs] = [sides.local, sides.upstream].map(|side| {
        let new = side.iter();
        let new = new.filter(|(path, _)| !sides.base.contains_key(*path) && text(path));
        partners(&old, &new.filter_map(Text::of).collect::<Vec<_>>())
    });
    let mut conflicts = Vec::new();
    for (from, places) in old.iter().zip(mine.into_iter().zip(theirs)) {
        let (local, upstream) = places;
        // What was followed, or met another question at its place, is told there.
        let known = |at: &PackagePath| told.iter().any(|c| c.file == *at);
        if [local, upstream].into_iter().flatten().any(known) {
            continue;
        }
        conflicts.extend(one(sides, merged, options, from.path, [local, upstream]));
    }
    conflicts
}

/// What is to be told of one text; `None` where nothing is in question.
fn one(
    sides: Sides<'_>,
    merged: &Files,
    options: &MergeOptions,
    from: &PackagePath,
    [local, upstream]: [Option<&PackagePath>; 2],
) -> Option<Conflict> {
    if local == upstream {
        return None;
    }
    let stands = |at: &Option<&PackagePath>| at.is_some_and(|at| merged.contains_key(at));
    let (at, decision) = match (local.filter(|_| stands(&local)), upstream) {
        (Some(local), _) => (local, Decision::Local),
        (None, Some(upstream)) if stands(&Some(upstream)) => (upstream, Decision::Upstream),
        _ => return None,
    };
    if local.is_some() && upstream.is_some() {
        let places = [Some(from), local, upstream];
        return Recorder::places(options, "", places, at, decision);
    }
    let sides = [
        sides.base.get(from),
        local.and_then(|at| sides.local.get(at)),
        upstream.and_then(|at| sides.upstream.get(at)),
    ];
    Recorder::kept_text(options, at, sides, decision)
}

/// A text by its lines, blank ones left out: each with how often it stands there.
struct Text<'f> {
    path: &'f PackagePath,
    lines: BTreeMap<&'f str, usize>,
    count: usize,
}

impl<'f> Text<'f> {
    fn of((path, file): (&'f PackagePath, &'f File)) -> Option<Self> {
        let mut lines = BTreeMap::new();
        let mut count = 0;
        for line in file
            .as_text()?
            .lines()
            .filter(|line| !line.trim().is_empty())
        {
            *lines.entry(line).or_default() += 1;
            count += 1;
        }
        Some(Self { path, lines, count })
    }

    /// How many lines both have, if that is more than half of either.
    fn like(&self, other: &Self) -> Option<usize> {
        let both = self.lines.iter();
        let both = both.map(|(line, n)| (*n).min(other.lines.get(line).copied().unwrap_or(0)));
        let both: usize = both.sum();
        (both * 2 > self.count.max(other.count)).then_some(both)
    }
}

/// For each old text the new one that holds most of it; none where two do as much, or one new text is as much of another.
fn partners<'f>(old: &[Text<'_>], new: &[Text<'f>]) -> Vec<Option<&'f PackagePath>> {
    if new.len() > MOST {
        return vec![None; old.len()];
    }
    let best = |text: &Text<'_>| -> Option<&'f PackagePath> {
        let like = new
            .iter()
            .filter_map(|other| Some((text.like(other)?, other.path)));
        let mut like: Vec<(usize, &PackagePath)> = like.collect();
        like.sort_by_key(|(both, _)| std::cmp::Reverse(*both));
        match like.as_slice() {
            [(most, _), (next, _), ..] if most == next => None,
            [(_, path), ..] => Some(path),
            [] => None,
        }
    };
    let found: Vec<Option<&PackagePath>> = old.iter().map(best).collect();
    let once =
        |path: &Option<&PackagePath>| found.iter().filter(|other| *other == path).count() == 1;
    found
        .iter()
        .map(|path| path.filter(|_| once(path)))
        .collect()
}
