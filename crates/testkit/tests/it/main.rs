//! Tests of the worlds.
#![expect(clippy::panic, reason = "a helper of tests fails the test")]

mod resolve;
mod sim;
