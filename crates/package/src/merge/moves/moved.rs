//! Where things go that moved on one side or both.

use std::borrow::Cow;

use model::{Conflict, Decision, Files, PackagePath};

use super::super::options::MergeOptions;
use super::super::record::Recorder;
use super::super::sides::Sides;

/// The sides of a merge with everything where it goes.
pub(in super::super) struct Moved<'f> {
    pub(super) sides: [Cow<'f, Files>; 3],
    /// What both sides moved, each to another place.
    pub(in super::super) conflicts: Vec<Conflict>,
}

impl<'f> Moved<'f> {
    /// Nothing moved yet.
    pub(super) fn new(sides: Sides<'f>) -> Self {
        Self {
            sides: sides.all().map(Cow::Borrowed),
            conflicts: Vec::new(),
        }
    }

    pub(in super::super) fn sides(&self) -> Sides<'_> {
        let [base, local, upstream] = &self.sides;
        Sides {
            base,
            local,
            upstream,
        }
    }
}

/// Where something goes that base, local and upstream have at these places; `None` where it is at its place.
pub(super) fn goes(
    [base, local, upstream]: [Option<&PackagePath>; 3],
    resource: &str,
    options: &MergeOptions,
    conflicts: &mut Vec<Conflict>,
) -> Option<PackagePath> {
    let at = match (local, upstream) {
        (Some(local), Some(upstream)) if local == upstream || base == Some(upstream) => local,
        (Some(local), Some(upstream)) if base != Some(local) => {
            let places = [base, Some(local), Some(upstream)];
            let (decision, record) = Recorder::apart(options, resource, places);
            conflicts.extend(record);
            match decision {
                Decision::Local => local,
                Decision::Upstream => upstream,
            }
        }
        // A side that lacks it, or left it where it was, has no say about where it goes.
        (_, Some(upstream)) => upstream,
        (Some(local), None) => local,
        (None, None) => return None,
    };
    let elsewhere = |place: Option<&PackagePath>| place.is_some_and(|place| place != at);
    let any = [base, local, upstream].into_iter().any(elsewhere);
    any.then(|| at.clone())
}
