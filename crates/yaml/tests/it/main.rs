//! The crate's integration tests: the recorded vectors and the laws.
#![expect(
    clippy::disallowed_types,
    reason = "tests may reach the world, the crate may not"
)]
#[cfg(test)]
mod laws;
#[cfg(test)]
mod order;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod random;
#[cfg(test)]
mod readers;
#[cfg(test)]
mod vectors_edit;
#[cfg(test)]
mod vectors_scalars;
