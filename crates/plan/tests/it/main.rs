//! Decisions as case folders, and laws over random worlds.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests may reach the world, the crate may not"
)]
#![expect(
    clippy::panic,
    reason = "a test ends where its world is not as written"
)]

mod cases;
mod check;
mod digest;
mod following;
mod many;
mod matrix;
mod repository;
mod revision;
mod rollouts;
mod selects;
mod set;
mod set_bounds;
mod set_guard;
mod set_laws;
mod simulate;
mod told;
mod variant;
mod waits;
mod wire;
mod written;
