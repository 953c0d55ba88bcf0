//! Carries out plans, step by step, each with its expectation. It writes only, and makes no choice
//! about intent: what was found to be otherwise is a conflict, and everything is looked at again.

mod current;
mod draft;
mod revision;
mod set;
mod variant;

pub(crate) use set::set;
pub(crate) use variant::variant;
