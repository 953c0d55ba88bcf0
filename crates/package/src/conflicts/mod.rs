//! Conflicts of a three-way merge: their ids, their life through further merges, their text form.
//!
//! A merge makes conflicts (`merge`); this module names them the same in every draft (V4a), carries
//! them and what people said about them (V18), tells which ones an edit has settled, puts the side that a person chose
//! where the conflict stands, and writes and reads the trailer line that keeps them in a commit (V4a). It never merges, and never
//! chooses a side by itself.

mod carry;
mod codec;
mod decide;
mod gate;
mod lines;
mod node;
mod place;
mod resolve;
mod take;
mod ways;

pub(crate) use carry::is_unanswered;
pub use carry::{MergedDraft, acknowledge, carry};
pub use codec::{CodecError, TRAILER_LIMIT, decode, encode};
pub use decide::{as_recorded, holds_side, put_recorded, put_side, put_value, takes_values};
pub use gate::{GATE, condition, open, put_gate};
pub(crate) use node::document;
pub use place::{node_at, value_at};
pub(crate) use resolve::derived_by_render;
pub use resolve::resolved_by_edit;
pub(crate) use take::take;
pub use ways::{Ways, both_ways};

#[cfg(test)]
mod tests;
