//! What a look for packages finds.

use model::TreeId;

use crate::Dir;

/// What a look for packages found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packages {
    /// The packages by their directories, in path order.
    pub found: Vec<(Dir, TreeId)>,
    /// Why some were not looked for.
    pub beyond: Vec<String>,
}
