//! The bounds that keep hostile input from costing more than it should.

/// How large, deep and expanded a text may be.
///
/// Parsing is linear in the bytes; these bounds keep memory and the stack in hand as well (issue 4, item 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text.
    pub bytes: usize,
    /// Collections inside each other, in the text and after aliases are followed. At most
    /// [`Limits::DEEPEST`] is honoured.
    pub depth: usize,
    /// Nodes that following aliases may produce for one document.
    pub alias_nodes: usize,
}

impl Limits {
    /// The depth above which no limit is honoured: the recursive walks of this crate fit a 2 MiB stack up to here.
    pub const DEEPEST: usize = 1_024;

    /// The depth that is really applied.
    pub(crate) fn effective_depth(&self) -> usize {
        self.depth.min(Self::DEEPEST)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            depth: 100,
            alias_nodes: 10_000,
        }
    }
}
