//! Where things are in git and how commits speak: names of refs, messages, trailers, signatures.
//!
//! It follows Porch to the letter (A5; docs/merge.md has the formats), so that a
//! repository can move between Porch and Offshoot; our own trailers are additions. Pure text.

mod layout;
mod message;
mod sign;

pub(crate) use layout::{Layout, RefKind};
#[cfg(test)]
use message::Kpt;
pub(crate) use message::{Message, Notes, Subject, encode_kept};
pub(crate) use sign::{author_of, committer};

#[cfg(test)]
mod tests;
