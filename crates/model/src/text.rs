//! Shared text.

use std::sync::Arc;

/// A cheap, shared, immutable text.
pub type Text = Arc<str>;
