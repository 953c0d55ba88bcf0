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

mod branch;
mod build;
mod dir;
mod disk;
mod error;
mod fault;
mod git;
mod hosts;
mod journal;
mod limits;
mod lru;
mod memory;
mod object;
mod packages;
mod publisher;
mod reader;
mod refname;
mod remote;
mod repository;
mod snapshot;
mod staged;
mod stats;
mod submission;
mod traits;
mod tree;
mod write;
mod writer;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use dir::{Dir, DirError};
pub use error::{Error, Result};
pub use fault::{FaultVerdict, Faults, NoFaults, Point};
pub use git::{GitOptions, GitStore, Local, Sync};
pub use hosts::Hosts;
pub use limits::Limits;
pub use memory::{Copied, Delivery, MemoryOptions, MemoryStore, Wire};
pub use object::{Commit, Signature, Time};
pub use packages::Packages;
pub use refname::{RefName, RefNameError};
pub use remote::{Credential, CredentialError, Credentials, NoCredentials, RemoteSpec, UrlKind};
pub use snapshot::{Beyond, Opaque, Snapshot};
pub use stats::Stats;
pub use submission::{
    Announced, Answer, BranchEdit, Expect, Handle, Intent, IntentId, IntentRef, Published, RefEdit,
    Scope, Submission, SubmissionRefusal,
};
pub use traits::{Refs, Repo, Store};
pub use write::{CommitSpec, Content, Written};
