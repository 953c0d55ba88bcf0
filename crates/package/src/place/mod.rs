//! Where something stands in a package, and how a conflict there is called: the same in every draft (V4a).
//!
//! Names alone: nothing here reads a file or a value.

mod directory;
mod id;
mod path;

pub(crate) use directory::inside;
pub use id::{conflict_id, sort};
pub(crate) use id::{hex, identify};
pub(crate) use path::Piece;
pub use path::{FieldPath, PathStep};
