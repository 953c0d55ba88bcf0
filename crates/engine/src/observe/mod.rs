//! Gathers what `plan` decides on: from indexes in memory, contents by object id. It reads only,
//! never derives and never decides; whether anything is to be done is a comparison of digests
//! (V21).

mod base;
mod branch;
pub(crate) mod facts;
mod injections;
mod lost;
mod pinned;
mod rivals;
mod set;
mod sink;
mod unread;
mod upstreams;
mod variant;

pub(crate) use base::{is_traced, old_files};
pub(crate) use branch::{agree, not_merged};
pub(crate) use lost::lost_tag;
pub(crate) use set::{set, stands, targets_now};
pub(crate) use sink::Sink;
pub(crate) use unread::{set_is_unread, variant_is_unread};
pub(crate) use variant::{repository_summary, variant};
