//! Packages in git: snapshot, write, publish; refs and commits; push and fetch; and a memory twin.
//!
//! What a caller does: open a [`Repo`] through a [`Store`], read by id, [`Repo::write`] commits in
//! memory (in parallel, nothing is visible), then [`Repo::submit`] them with the refs that are to
//! move and what is expected to stand there. One writer per URL makes a batch of everything that
//! waits: one pack, one journal write, one ref transaction, one push; content is durable before a
//! ref shows it, and refs are durable before anybody is answered.
//!
//! Only this crate knows git. It never reads YAML and never interprets a commit's message or the
//! payload of an intent: both are bytes. It decides nothing: an expectation that does not hold is
//! data ([`Answer::Refused`]).
//!
//! Two implementations stand behind the traits: [`GitStore`] and [`MemoryStore`]. They share all of
//! the logic (building, batching, journal, recovery) over one narrow internal trait, `disk::Disk`,
//! and pass one suite (`conformance`).

mod batch;
mod branch;
mod check;
mod dir;
mod disk;
mod error;
mod fault;
mod forward;
mod git;
mod half;
mod history;
mod hosts;
mod journal;
mod lacking;
mod lru;
mod memory;
mod object;
mod packages;
mod push;
mod queue;
mod recover;
mod refname;
mod remote;
mod repository;
mod reuse;
mod snapshot;
mod staged;
mod stats;
mod submission;
mod traits;
mod tree;
mod whole;
mod write;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use dir::{Dir, DirError};
pub use error::{Error, Result};
pub use fault::{Faults, NoFaults, Point, Verdict};
pub use git::{GitOptions, GitStore, Local, Sync};
pub use hosts::Hosts;
pub use memory::{Copied, Delivery, MemoryOptions, MemoryStore, Wire};
pub use object::{Commit, Signature, Time};
pub use packages::Packages;
pub use refname::{RefName, RefNameError};
pub use remote::{Credential, CredentialError, Credentials, Kind, NoCredentials, RemoteSpec};
pub use snapshot::{Beyond, Opaque, Snapshot};
pub use stats::Stats;
pub use submission::{
    Announced, Answer, BranchEdit, Expect, Handle, Intent, IntentId, IntentRef, Published, RefEdit,
    Refusal, Scope, Submission,
};
pub use traits::{Limits, Refs, Repo, Store};
pub use write::{CommitSpec, Content, Written};
