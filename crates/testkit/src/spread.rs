//! How git work would be spread over several holders by repository: a model, and not in the product.
//!
//! Each holder renews a Lease of its own; one object of the cluster names the members, under an epoch that grows. Who writes a
//! repository is a function of its address and of the members ([`holder_of`]): when one is lost, what was its own moves, and nothing
//! else. A repository that moves is begun once its former holder says in its Lease that it acts in the new epoch, or was seen
//! unchanged for as long as a Lease lasts. A push that was under way meets a compare-and-swap, and what it made is known by its
//! trailers, as with one holder.
//!
//! [`run`] upgrades a fleet while one holder is killed, sleeps or is cut off, by a clock of its own and with figures of one process
//! that were measured: seconds are those of the model, and promises are held at every step.

mod holders;
mod world;

use std::fmt;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Fleet {
    /// How many holders there are at first.
    pub holders: usize,
    /// How many repositories.
    pub repositories: usize,
    /// How many variants, evenly over the repositories.
    pub variants: usize,
    /// Whether one is lost when half of the variants are upgraded.
    pub loses: bool,
    /// What is broken on purpose.
    pub mutant: Option<Mutant>,
}

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A repository that moves is begun at once.
    NoHandingOver,
    /// Refs are moved whatever stands there.
    NoCompare,
    /// What another holder made is not recognised.
    NoTrailers,
    /// Effects start after the time in which a Lease must be renewed.
    NoGrace,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::NoHandingOver,
        Self::NoCompare,
        Self::NoTrailers,
        Self::NoGrace,
    ];
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpreadReport {
    /// Milliseconds until everything is published in git and recorded.
    pub took: u64,
    /// Milliseconds from the loss to the first push to a repository of the lost holder; 0 where none was lost.
    pub away: u64,
    /// Repositories of each holder at first.
    pub owned: Vec<usize>,
    /// Repositories that moved when one was lost.
    pub moved: usize,
    /// Pushes, and those of them that were stale.
    pub pushes: (usize, usize),
    /// Variants that another holder found done, and had only to record.
    pub found: usize,
}

/// Minutes of the model in which everything has to end.
const LONGEST: u64 = 60 * 60_000;

impl fmt::Display for SpreadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ms: u64| format!("{}.{} s", ms / 1_000, ms % 1_000 / 100);
        write!(
            f,
            "{} after {} pushes ({} stale), repositories of each {:?}, {} moved, the first of them written {} after the loss, {} \
             variants found done",
            seconds(self.took),
            self.pushes.0,
            self.pushes.1,
            self.owned,
            self.moved,
            seconds(self.away),
            self.found
        )
    }
}

/// The member that writes a repository: of all, the one whose name and its address have the highest hash together. So a member that
/// goes or comes moves its own share alone.
pub fn holder_of(url: &str, members: &[usize]) -> Option<usize> {
    let weight = |member: usize| {
        // FNV-1a over both, then mixed: neighbours in name must not be neighbours in weight.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in url.bytes().chain([0]).chain(member.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    members.iter().copied().max_by_key(|member| weight(*member))
}

/// Upgrades a fleet; a seed decides who is lost, how, and how long everything takes on its way.
///
/// # Errors
/// A promise that was broken, or what did not end.
pub fn run(seed: u64, fleet: Fleet) -> Result<SpreadReport, String> {
    let mut world = world::World::new(seed, fleet);
    while let Some(now) = world.step()? {
        if now > LONGEST {
            return Err(format!(
                "{} variants are not upgraded after an hour",
                world.open()
            ));
        }
    }
    world.report()
}
