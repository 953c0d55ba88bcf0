//! The suite on every implementation, and what only git can show.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod announced;
mod git;
mod http;
mod kill;
mod local;
mod memory;
mod oracle;
mod sim;
mod tls;
