//! What `serve` promises, against a cluster in memory whose answers can be lost.

mod host;
mod lease;
mod objects;
mod ports;
mod world;
