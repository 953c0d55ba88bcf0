//! Worlds for tests: twins of what lies outside of the engine, and what is built on them.
//!
//! Never shipped, never a dependency of anything but tests.

pub mod sim;
pub mod twin;
