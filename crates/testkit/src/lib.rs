//! Worlds for tests: twins of what lies outside of the engine, and what is built on them.
//!
//! Never shipped, never a dependency of anything but tests.
#![expect(
    clippy::large_futures,
    reason = "a simulation holds whole worlds; it never runs where memory matters"
)]

pub mod conformance;
pub mod git_http;
pub mod merge_lab;
pub mod sim;
pub mod spread;
pub mod twin;
pub mod vectors;
