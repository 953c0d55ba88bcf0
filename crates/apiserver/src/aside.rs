//! Work that takes processor time where others wait to be served.

use std::sync::{Condvar, Mutex, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Stack for rules of schemas: expressions nest up to `expr::MAX_RECURSION`.
const STACK: usize = 64 << 20;

/// How many such pieces of work run at once: one processor at least is left to everybody else.
struct Seats {
    free: Mutex<Option<usize>>,
    freed: Condvar,
}

static SEATS: Seats = Seats {
    free: Mutex::new(None),
    freed: Condvar::new(),
};

impl Seats {
    fn take(&self) -> Seat<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = free.get_or_insert_with(seats);
            if *left > 0 {
                *left -= 1;
                return Seat(self);
            }
            free = self
                .freed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn seats() -> usize {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    all.saturating_sub(1).max(1)
}

struct Seat<'a>(&'a Seats);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = free.map(|free| free + 1);
        self.0.freed.notify_one();
    }
}

/// Does work that takes processor time and never waits. The requests that this thread serves go on elsewhere meanwhile,
/// and no more such work runs at once than leaves a processor to others. Work within it must not come here again.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    let served =
        Handle::try_current().is_ok_and(|at| at.runtime_flavor() == RuntimeFlavor::MultiThread);
    if !served {
        return work();
    }
    tokio::task::block_in_place(|| {
        let _seat = SEATS.take();
        work()
    })
}

/// Does work on a thread with a stack that deep expressions fit, aside.
pub(crate) fn large(work: &mut (dyn FnMut() + Send)) {
    aside(|| {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name("cel".to_owned())
                .stack_size(STACK);
            let joined = thread
                .spawn_scoped(scope, work)
                .map(std::thread::ScopedJoinHandle::join);
            // Whoever lends the work sees that it did not come to its end.
            drop(joined);
        });
    });
}
