//! Where the lines of an excerpt stand in a text that went on since.

use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::excerpt::Excerpt;
use super::{level, lines, touch};

/// Where each excerpt stands in a text, one after the other. `known` are the same places as other sides have them.
fn locate(text: &[&str], excerpts: &[Excerpt], known: &[&[Excerpt]]) -> Vec<Option<Range<usize>>> {
    let mut from = 0;
    let mut found = Vec::new();
    for (at, excerpt) in excerpts.iter().enumerate() {
        let sides = known.iter().filter_map(|side| side.get(at)?.whole());
        let sides: Vec<&[String]> = sides.collect();
        // Fewer lines around it are enough where some of them were edited.
        let place = [usize::MAX, 2, 1]
            .into_iter()
            .find_map(|most| one(text, from, excerpt, &sides, most));
        if let Some(place) = &place {
            from = place.end;
        }
        found.push(place);
    }
    found
}

/// The place between the lines before and those after: one that holds what a side has there, else the shortest.
fn one(
    text: &[&str],
    from: usize,
    excerpt: &Excerpt,
    sides: &[&[String]],
    most: usize,
) -> Option<Range<usize>> {
    let before = excerpt
        .before
        .get(excerpt.before.len().saturating_sub(most)..)?;
    let after = excerpt.after.get(..excerpt.after.len().min(most))?;
    let stands = |at: usize, lines: &[String]| {
        let there = text.get(at..at + lines.len());
        there.is_some_and(|there| there.iter().zip(lines).all(|(a, b)| *a == b.as_str()))
    };
    let start = |at: &usize| match before.is_empty() {
        true => excerpt.begins && *at == 0,
        false => at
            .checked_sub(before.len())
            .is_some_and(|first| stands(first, before)),
    };
    let end = |at: &usize| match after.is_empty() {
        true => excerpt.ends && *at == text.len(),
        false => stands(*at, after),
    };
    let places = (from..=text.len()).filter(start);
    let places: Vec<Range<usize>> = places
        .filter_map(|at| Some(at..(at..=text.len()).find(end)?))
        .collect();
    let holds = |place: &&Range<usize>| {
        sides
            .iter()
            .any(|side| side.len() == place.len() && stands(place.start, side))
    };
    // The same lines may stand around several places: the one that still holds what a side has there is meant.
    let best = places.iter().find(holds);
    best.or_else(|| places.iter().min_by_key(|place| place.len()))
        .cloned()
}

/// What a text holds at the places of excerpts.
pub(crate) fn standing(text: &str, excerpts: &[Excerpt], known: &[&[Excerpt]]) -> Vec<Excerpt> {
    let text = level(text);
    let all = lines(&text);
    let places = locate(&all, excerpts, known);
    let there = |(excerpt, place): (&Excerpt, &Option<Range<usize>>)| match place
        .clone()
        .and_then(|place| all.get(place))
    {
        Some(lines) => excerpt.with(lines),
        None => excerpt.elsewhere(&text),
    };
    excerpts.iter().zip(&places).map(there).collect()
}

/// A text with the lines at the places of excerpts as another text has them; `None` where one is not found.
pub(crate) fn exchanged(
    text: &str,
    from: &str,
    excerpts: &[Excerpt],
    known: &[&[Excerpt]],
) -> Option<String> {
    let from = level(from);
    let theirs = lines(&from);
    let places = locate(&theirs, excerpts, known).into_iter();
    let there: Option<Vec<String>> = places
        .map(|place| Some(theirs.get(place?)?.concat()))
        .collect();
    put(text, excerpts, known, &there?)
}

/// A text with the lines of excerpts at their places; `None` where one is not found, or its lines are not all told.
pub(crate) fn with_lines(text: &str, excerpts: &[Excerpt], known: &[&[Excerpt]]) -> Option<String> {
    let there: Option<Vec<String>> = excerpts
        .iter()
        .map(|excerpt| Some(excerpt.whole()?.concat()))
        .collect();
    put(text, excerpts, known, &there?)
}

fn put(text: &str, excerpts: &[Excerpt], known: &[&[Excerpt]], there: &[String]) -> Option<String> {
    let wide = super::breaks(text) == Some("\r\n");
    let text = level(text);
    let ours = lines(&text);
    let (mut out, mut at) = (String::new(), 0);
    for (here, there) in locate(&ours, excerpts, known).into_iter().zip(there) {
        let here = here?;
        out.extend(ours.get(at..here.start)?.iter().copied());
        out.push_str(there);
        at = here.end;
    }
    out.extend(ours.get(at..)?.iter().copied());
    Some(if wide { out.replace('\n', "\r\n") } else { out })
}

/// Whether somebody edited the lines of every excerpt: one of them between `before` and `after`, the others then or
/// earlier. `decided` are the lines that the machine left there.
pub(crate) fn edited(before: &str, after: &str, decided: &[Excerpt], known: &[&[Excerpt]]) -> bool {
    let (before, after) = (level(before), level(after));
    let (old, new) = (lines(&before), lines(&after));
    let places = locate(&old, decided, known);
    if places.iter().all(Option::is_none) {
        // Whatever made something else of that text, an edit of it is all that can be told.
        return before != after;
    }
    let changes: Vec<(Range<usize>, Range<usize>)> =
        capture_diff_slices(Algorithm::Myers, &old, &new)
            .into_iter()
            .filter(|op| op.tag() != DiffTag::Equal)
            .map(|op| (op.old_range(), op.new_range()))
            .collect();
    let now = |place: &Range<usize>| {
        changes.iter().any(|(gone, come)| {
            // Next to an empty place, a line that only became another one is not in it.
            let beside = place.is_empty() && gone.len() == come.len();
            let inside = gone.start < place.start && place.end < gone.end;
            touch(gone, place) && (!beside || inside)
        })
    };
    let earlier = |excerpt: &Excerpt, place: &Range<usize>| {
        let there = old.get(place.clone()).unwrap_or_default();
        excerpt.with(there) != *excerpt
    };
    let mut touched = false;
    let settled = decided
        .iter()
        .zip(&places)
        .all(|(excerpt, place)| match place {
            None => true,
            Some(place) => {
                let now = now(place);
                touched |= now;
                now || earlier(excerpt, place)
            }
        });
    settled && touched
}
