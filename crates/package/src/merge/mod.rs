//! Three-way merge of packages: what upstream changed since the base, put into what is local.
//!
//! The local text is edited, never re-emitted (V5): an edit takes a piece of upstream's text with its
//! comments (M14). Files are compared by id or bytes first, so what nobody changed is never parsed and
//! stays [`model::File::Kept`]. Every conflict is data (V4); an error is only what could not be
//! attempted. docs/merge.md tells the rules in one piece.
//!
//! Three sides come in as files, one comes out. Refs, revisions and people are unknown here.

mod apply;
mod attach;
mod diff;
mod documents;
mod file;
mod functions;
mod header;
mod identify;
mod insertions;
mod join;
mod known;
mod kptfile;
mod layout;
mod leaves;
mod lines;
mod list;
mod moves;
mod occupied;
mod options;
mod order;
mod pairs;
mod partners;
mod pipelines;
mod record;
mod remarks;
mod renamed;
mod rules;
mod runtime;
mod schemas;
mod sequence;
mod sides;
mod strategies;
mod subpackages;
mod three;
mod value;
mod walk;
mod whole;
mod work;

use model::{Files, Strategy};

use crate::place::sort;

pub(crate) use diff::diff_where;
pub use diff::{Difference, diff};
pub use leaves::{Earlier, Leaf, Versions, within};
pub use occupied::Occupied;
pub use options::{MergeError, MergeOptions, Merged, Side};
pub(crate) use runtime::without_runtime;

/// Merges what changed between `base` and `upstream` into `local`.
pub fn merge(
    base: &Files,
    local: &Files,
    upstream: &Files,
    options: &MergeOptions,
) -> Result<Merged, MergeError> {
    let sides = sides::Sides {
        base,
        local,
        upstream,
    };
    let mut merged = match options.strategy {
        Strategy::ResourceMerge => layout::merge(sides, options),
        Strategy::FastForward => strategies::fast_forward(sides, options),
        Strategy::ForceDeleteReplace => strategies::force_delete_replace(sides, options),
        Strategy::CopyMerge => strategies::copy_merge(sides, options),
    }?;
    sort(&mut merged.conflicts);
    Ok(merged)
}

#[cfg(test)]
mod tests;
