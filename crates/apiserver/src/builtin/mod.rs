//! The kinds that the server itself brings, and the metadata rules that every kind shares.

pub(crate) mod decode;
pub mod meta;
pub mod names;
