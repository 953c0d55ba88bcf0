//! What moved (M23): resources that left one file and appear in another, files and directories under a new name.
//!
//! Before a merge, the sides that did not move something are read as if they had: base and the other side have it at
//! the new place, too. So local edits follow, and whatever is recorded names the new place. Nothing is merged here.
//! Where nothing moved, nothing is copied.

mod documents;
mod files;
mod moved;
mod resources;
mod sight;
mod texts;
mod twice;

use super::options::MergeOptions;
use super::sides::Sides;
use crate::ignore::Ignore;

use moved::Moved;
pub(super) use texts::moved_and_edited;
pub(super) use twice::stands_twice;

/// Puts everything that one side moved where it is now, on all sides.
pub(super) fn follow<'f>(
    sides: Sides<'f>,
    options: &MergeOptions,
    ignored: &[Ignore; 3],
) -> Moved<'f> {
    let mut moved = Moved::new(sides);
    // Files first: of a file under a new name all resources would seem to have left it.
    files::follow(&mut moved, options);
    resources::follow(&mut moved, options, ignored);
    moved
}
