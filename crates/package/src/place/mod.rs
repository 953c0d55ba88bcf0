//! Where something stands in a package, and how a conflict there is called: the same in every draft (V4a).
//!
//! Names alone: nothing here reads a file or a value.

mod abridged;
mod directory;
mod id;
mod path;

pub(crate) use abridged::{as_in, identify, is_collection};
pub(crate) use directory::inside;
pub(crate) use id::hex;
pub use id::{conflict_id, sort};
pub(crate) use path::Piece;
pub use path::{FieldPath, PathStep};
