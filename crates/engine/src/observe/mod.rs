//! Gathers what `plan` decides on: from indexes in memory, contents by object id. It reads only,
//! never cooks and never decides; whether anything is to be done is a comparison of digests
//! (decisions.md V21).

mod base;
mod facts;
mod injections;
mod set;
mod variant;

pub(crate) use base::old_files;
pub(crate) use facts::Facts;
pub(crate) use set::set;
pub(crate) use variant::{repository_summary, variant};
