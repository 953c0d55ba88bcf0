//! What is read of single values, documents and files, for merges and for what becomes of their conflicts: whether two mean the
//! same, who a resource is, which comments stand where, and how a record shows a value.
//!
//! Two values are compared here at most; three sides are the merge's.

mod comments;
mod compare;
mod elements;
mod marks;
mod recorded;
mod secrets;
mod tally;

pub(crate) use comments::texts as comment_texts;
pub(crate) use compare::{
    canonical, kept, same, same_form, same_in_cluster, same_opt, undecidable, value,
};
pub(crate) use elements::{function_text, keyed, runs as function_runs};
pub(crate) use marks::{
    IDENTIFIER, MERGE_COMMENT, is_secret, merge_comment, same_but_marks, unmarked,
};
pub use marks::{ResourceIdentity, identity};
pub(crate) use recorded::{
    cluster_value, file_value, hash, hidden, looks_secret, node_value, tree_value,
};
pub use secrets::holds_secret;
pub(crate) use secrets::{secret_within, text_within_holds_secret};
pub(crate) use tally::{Counts, counts, standing};
