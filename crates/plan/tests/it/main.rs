//! Decisions as case folders, and laws over random worlds.

mod cases;
mod digest;
mod revision;
mod set;
mod set_laws;
mod simulate;
mod variant;
mod wire;
