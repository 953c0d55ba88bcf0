//! Tests of the worlds.
#![expect(clippy::panic, reason = "a helper of tests fails the test")]

mod conformance;
mod resolve;
mod sim;
mod spread;
