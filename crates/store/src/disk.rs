//! The narrow trait behind the traits: what differs between git and memory.
//!
//! Everything here is blocking and is called by one writer at a time, except the reads. A method
//! that writes says whether what it wrote survives a crash; what does not is made durable by its
//! `*_durable` sibling, so that the order of effects stands in one place (`batch`).

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use gix::ObjectId;
use gix::objs::Kind;

use crate::error::Result;
use crate::staged::Packed;
use crate::{Credentials, RefName};

/// One ref as the disk sees it: the value itself, tags not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawEdit {
    pub(crate) name: RefName,
    pub(crate) old: Option<ObjectId>,
    pub(crate) new: Option<ObjectId>,
}

impl RawEdit {
    /// Its turn in a transaction that does not move all refs at once: what moves, what is made,
    /// what goes. Each turn is durable before the next, whatever order a disk likes: so a crash
    /// never leaves a tag whose commit no branch has, and never takes a ref before the one that
    /// replaces it is there, even where the journal is lost with it.
    pub(crate) fn turn(&self) -> u8 {
        match (self.old, self.new) {
            (Some(_), Some(_)) => 0,
            (None, Some(_)) => 1,
            (_, None) => 2,
        }
    }
}

/// What came of a ref transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moved {
    /// All refs moved.
    All,
    /// None moved: somebody else moved these first.
    Stale(Vec<RefName>),
}

/// What a remote said to one step of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// Everything was taken.
    Taken,
    /// Nothing was taken: these are not where we thought.
    Stale(Vec<RefName>),
    /// Nothing was taken: the remote does not want these.
    Declined(Vec<(RefName, String)>),
    /// Nobody knows, or a part was taken.
    Unheard,
}

/// Refs by their values, tags not followed.
pub(crate) type RawRefs = BTreeMap<RefName, ObjectId>;

/// Objects that another side lacks; `None` if they are too many to be packed here.
pub(crate) type Lacking = Option<Vec<Arc<Packed>>>;

/// One step of a push: refs that move together, or not at all. Refs that are made and refs that go
/// never share one: a server that lacks objects refuses the refs that lead to them and takes the
/// deletions, whether or not it was asked to take all or nothing.
pub(crate) struct PushStep<'a> {
    /// What is to move, each with a lease.
    pub(crate) edits: &'a [RawEdit],
    /// Where other refs have to be at the other side, seen just before.
    pub(crate) beside: &'a [(RefName, Option<ObjectId>)],
    /// What the other side lacks, by the refs that it tells of.
    pub(crate) lacking: &'a dyn Fn(&RawRefs) -> Result<Lacking>,
}

impl PushStep<'_> {
    /// The refs that are not where this step needs them.
    pub(crate) fn stale(&self, theirs: &RawRefs) -> Vec<RefName> {
        let edits = self.edits.iter().map(|e| (&e.name, e.old));
        let beside = self.beside.iter().map(|(name, id)| (name, *id));
        let moved = |(name, id): &(&RefName, Option<ObjectId>)| theirs.get(*name).copied() != *id;
        let stale = edits.chain(beside).filter(moved);
        stale.map(|(name, _)| name.clone()).collect()
    }

    /// Whether any ref is made or moves, so that objects have to be there.
    pub(crate) fn makes(&self) -> bool {
        self.edits.iter().any(|e| e.new.is_some())
    }
}

/// Whose credentials a request carries: those of the handle that asked for it.
pub(crate) type Who = Arc<dyn Credentials>;

/// The wait for a fetch.
pub(crate) type Turn = Pin<Box<dyn Future<Output = Result<Box<dyn Send>>> + Send>>;

/// Point lookups of refs during one batch.
pub(crate) trait View {
    /// The value of a ref, tags not followed.
    fn get(&self, name: &RefName) -> Result<Option<ObjectId>>;
    /// A ref that cannot exist beside `name`.
    fn shadow(&self, name: &RefName) -> Result<Option<String>>;
    /// The refs below a name, tags not followed.
    fn below(&self, dir: &RefName) -> Result<BTreeMap<RefName, ObjectId>>;
}

/// The other side, where there is one.
pub(crate) trait Upstream {
    /// One atomic push with a lease for each ref. An error means: surely nothing was taken.
    fn push(&self, step: &PushStep<'_>, who: &Who) -> Result<Pushed>;
    /// Brings branches, tags and objects here; refs that are gone there go here. [`crate::Error::Busy`] if others do so, as many as may.
    fn fetch(&self, who: &Who) -> Result<()>;
    /// Waits until a fetch may begin; it may as long as what is answered is held.
    fn turn(&self, who: &Who) -> Turn;
}

pub(crate) trait Disk: Send + Sync + 'static {
    /// Whether the writer runs inside the caller's poll instead of on a thread of its own.
    const INLINE: bool;

    /// Reads an object.
    fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Arc<[u8]>)>>;
    /// Looks at where objects are kept: what went is not found any more. Whether it is another repository than at the
    /// last look, which stands at the same place.
    fn look(&self) -> Result<bool>;
    /// How often a look found that objects may have gone.
    fn tidied(&self) -> u64;
    /// Whether an object is surely here; may miss what just came from outside.
    fn has(&self, id: &ObjectId) -> Result<bool>;
    /// What an object is and how many bytes it has, without reading all of it.
    fn header(&self, id: &ObjectId) -> Result<Option<(Kind, u64)>>;
    /// What an object is.
    fn kind(&self, id: &ObjectId) -> Result<Option<Kind>> {
        Ok(self.header(id)?.map(|(kind, _)| kind))
    }

    /// All refs, tags not followed.
    fn list(&self) -> Result<BTreeMap<RefName, ObjectId>>;
    /// Refs that the last list left out, as they cannot be read, and why.
    fn broken_refs(&self) -> BTreeMap<RefName, String>;
    /// The branches that are checked out beside the repository, with where; nobody but whoever works there moves one.
    fn checked_out(&self) -> Result<BTreeMap<RefName, String>>;
    /// A consistent look at single refs.
    fn view(&self) -> Result<Box<dyn View + '_>>;

    /// Writes one pack and its index; not durable, not visible.
    fn put(&self, objects: &[Arc<Packed>]) -> Result<()>;
    /// Makes what was put durable, then visible.
    fn put_durable(&self) -> Result<()>;

    /// Refs keep what was put, or nobody needs it: whoever tidies may have it from now on.
    fn release(&self);

    /// Moves all refs or none, in [turns](RawEdit::turn), calling `each` after each that moves on
    /// its own. Only the last turn is left for [`Disk::refs_durable`].
    fn move_refs(&self, edits: &[RawEdit], each: &mut dyn FnMut() -> Result<()>) -> Result<Moved>;
    /// Makes moved refs durable.
    fn refs_durable(&self) -> Result<()>;

    /// The journal's bytes.
    fn journal_load(&self) -> Result<Vec<u8>>;
    /// Appends; not durable.
    fn journal_append(&self, bytes: &[u8]) -> Result<()>;
    /// Makes appended bytes durable.
    fn journal_durable(&self) -> Result<()>;
    /// Replaces all of it, durably and at once.
    fn journal_replace(&self, bytes: &[u8]) -> Result<()>;
    /// Where the journal is, for messages.
    fn journal_path(&self) -> String;

    /// The other side, if there is one.
    fn upstream(&self) -> Option<&dyn Upstream>;
    /// Runs the writer's work, on a thread of its own unless [`Disk::INLINE`].
    fn run(&self, work: Box<dyn FnOnce() + Send>);
}
