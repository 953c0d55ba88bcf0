//! The engine over the memory store and the twin: whole walks, without a cluster, a disk or a clock.

mod people;
mod sets;
mod variants;
mod world;
