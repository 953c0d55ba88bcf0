//! Decisions as case folders, and laws over random worlds.
#![expect(
    clippy::panic,
    reason = "a test ends where its world is not as written"
)]

mod cases;
mod check;
mod digest;
mod following;
mod matrix;
mod revision;
mod set;
mod set_laws;
mod simulate;
mod told;
mod variant;
mod wire;
mod written;
