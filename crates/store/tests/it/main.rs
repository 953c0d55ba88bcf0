//! The suite on every implementation, and what only git can show.

mod git;
mod memory;
mod oracle;
