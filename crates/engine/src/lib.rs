//! Carries the dishes: observes the world, applies plans, discovers what others pushed, and is the
//! one entry for changing packages.
//!
//! What it does: [`observe`](self) gathers what `plan` decides on, `apply` carries out its steps with
//! their expectations, `usecase` is what the gateway and the controllers call to change packages,
//! `discover` turns refs into records, and `controllers` wake all of that up by keys.
//!
//! It decides nothing that `plan` could decide, never sees wire types, YAML or sockets, and meets the
//! outside only through [`ports`].

mod error;
pub mod ports;

pub use error::{Error, Result};
