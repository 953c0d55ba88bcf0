//! Observes the world, applies plans, discovers what others pushed, and is the one entry for
//! changing packages.
//!
//! What it does: [`observe`](self) gathers what `plan` decides on, `apply` carries out its steps with
//! their expectations, `usecase` is what the gateway and the controllers call to change packages,
//! `discover` turns refs into records, `transaction` is how all of them write, and `controllers` wake all of that up by keys.
//! What others may ask for stands in `facade`.
//!
//! It decides nothing that `plan` could decide, never sees wire types, YAML or sockets, and meets the
//! outside only through [`ports`].

mod apply;
mod blame;
mod cache;
mod caller;
mod codec;
mod collected;
pub mod controllers;
mod conversation;
mod counts;
mod cpu;
mod credentials;
mod discover;
mod engine;
mod error;
mod facade;
mod facts;
mod failures;
mod followed;
mod git;
mod given_up;
mod held;
mod index;
mod kept;
mod leaving;
mod locks;
mod observe;
mod opening;
pub mod planned;
pub mod ports;
mod prepare;
mod queue;
mod recover;
mod registrations;
mod repos;
mod stats;
mod suppose;
mod transaction;
pub mod usecase;
mod waiting;
mod waits;

pub use blame::{Blamed, Wrote};
pub use conversation::render_alone;
pub use cpu::Cpu;
pub use engine::{Engine, Options};
pub use error::{Error, Result};
pub use suppose::{SupposedContent, SupposedUpstream, Suppositions};
pub use waits::{Asked, Wait};

#[cfg(test)]
mod tests;
