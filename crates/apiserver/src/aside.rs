//! Work that takes processor time where others wait to be served.

use std::sync::{Condvar, Mutex, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

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
