//! The binary from outside: what users promise each other about it.
#![expect(
    clippy::unwrap_used,
    reason = "a test may end where its world is not as written"
)]

mod kill;
mod porch;
mod process;
mod story;
