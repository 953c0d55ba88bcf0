//! The inputs that were given to the existing implementation, given to ours: the same git
//! layout, names, Kptfiles and texts where the decisions agree, the right behaviour where not.
//!
//! The inputs stand in `../shared/observed/porch` beside the repository, or where
//! `OFFSHOOT_OBSERVED` says; without them each test says that it was skipped. The tests that run
//! at the same time share one server; each works in a namespace of its own, as every case of the
//! record did, with a repository `blueprints` and a repository `deploy` in it.

mod case;
mod client;
mod failures;
mod first;
mod hand;
mod layout;
mod life;
mod objects;
mod record;
mod sets;
mod tables;
mod world;
