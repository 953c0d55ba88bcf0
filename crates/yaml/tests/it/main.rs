//! The crate's integration tests: the recorded vectors and the laws.
mod laws;
mod vectors_edit;
mod vectors_scalars;
