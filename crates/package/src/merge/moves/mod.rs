//! What moved (M23): resources that left one file and appear in another, files and directories under a new name.
//!
//! Before a merge, the sides that did not move something are read as if they had: base and the other side have it at
//! the new place, too. So local edits follow, and whatever is recorded names the new place. Nothing is merged here.
//! Where nothing moved, nothing is copied.

mod files;
mod resources;
mod sight;
mod texts;
mod twice;

use std::borrow::Cow;

use model::{Conflict, Decision, Files, PackagePath};

use super::MergeOptions;
use super::layout::Sides;
use super::record::Recorder;
use crate::ignore::Ignore;

pub(super) use texts::moved_and_edited;
pub(super) use twice::stands_twice;

/// The sides of a merge with everything where it goes.
pub(super) struct Moved<'f> {
    sides: [Cow<'f, Files>; 3],
    /// What both sides moved, each to another place.
    pub(super) conflicts: Vec<Conflict>,
}

impl Moved<'_> {
    pub(super) fn sides(&self) -> Sides<'_> {
        let [base, local, upstream] = &self.sides;
        Sides {
            base,
            local,
            upstream,
        }
    }
}

/// Puts everything that one side moved where it is now, on all sides.
pub(super) fn follow<'f>(
    sides: Sides<'f>,
    options: &MergeOptions,
    ignored: &[Ignore; 3],
) -> Moved<'f> {
    let mut moved = Moved {
        sides: sides.all().map(Cow::Borrowed),
        conflicts: Vec::new(),
    };
    // Files first: of a file under a new name all resources would seem to have left it.
    files::follow(&mut moved, options);
    resources::follow(&mut moved, options, ignored);
    moved
}

/// Where something goes that base, local and upstream have at these places; `None` where it is at its place.
fn goes(
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
