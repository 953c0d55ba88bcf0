//! What strikes the engine of a test: a death at a fault point, a remote that is away, and what happens elsewhere meanwhile.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Kills the process at the n-th fault point, counted over the engine and the store.
#[derive(Debug, Default)]
pub(crate) struct Deaths {
    /// Points passed so far.
    pub(crate) passed: AtomicU64,
    /// At which one to die; 0 is never.
    pub(crate) at: AtomicU64,
    /// By which name the next point is where to die.
    pub(crate) named: Mutex<Option<&'static str>>,
    /// How often that one is passed before without dying.
    pub(crate) spared: AtomicU64,
    /// Where it died, if it did since the last restart.
    died: Mutex<Option<String>>,
    /// The URL of the remote that cannot be reached.
    away: Mutex<Option<&'static str>>,
    /// What happens elsewhere just when the next point of this name is passed.
    meanwhile: Mutex<Option<Meanwhile>>,
    /// Whether nothing may begin.
    held: AtomicBool,
}

struct Meanwhile(&'static str, Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl Deaths {
    fn pass(&self, point: &str) -> bool {
        let due = self
            .meanwhile
            .lock()
            .expect("no panic")
            .take_if(|m| m.0 == point);
        if let Some(Meanwhile(_, act)) = due {
            act();
        }
        let n = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        let named = &mut *self.named.lock().expect("no panic");
        let spares = |left: u64| left.checked_sub(1);
        let (order, spared) = (Ordering::SeqCst, &self.spared);
        let dies_here =
            |name: &mut &str| *name == point && spared.fetch_update(order, order, spares).is_err();
        if n == self.at.load(order) || named.take_if(dies_here).is_some() {
            *self.died.lock().expect("no panic") = Some(point.to_owned());
        }
        self.died.lock().expect("no panic").is_some()
    }

    /// Lets something happen when the next point of this name is passed.
    pub(crate) fn meanwhile(&self, point: &'static str, act: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock().expect("no panic") = Some(Meanwhile(point, Box::new(act)));
    }

    /// Lets nobody reach a remote, until `None` brings it back.
    pub(crate) fn away(&self, url: Option<&'static str>) {
        *self.away.lock().expect("no panic") = url;
    }

    /// Lets nothing begin, or everything again.
    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::SeqCst);
    }

    /// Where the process died.
    pub(crate) fn died(&self) -> Option<String> {
        self.died.lock().expect("no panic").clone()
    }

    pub(crate) fn revive(&self) {
        *self.died.lock().expect("no panic") = None;
    }
}

impl engine::ports::Faults for Deaths {
    fn dies_at(&self, point: engine::ports::Point) -> bool {
        self.pass(&format!("engine {point:?}"))
    }

    fn holds_off(&self) -> bool {
        self.held.load(Ordering::SeqCst)
    }
}

impl store::Faults for Deaths {
    fn at(&self, url: &str, point: store::Point) -> store::FaultVerdict {
        use store::Point::{BeforeFetch, BeforePush, BeforeRemoval};
        let asks = matches!(point, BeforeFetch | BeforePush | BeforeRemoval);
        if asks && *self.away.lock().expect("no panic") == Some(url) {
            return store::FaultVerdict::Unreachable;
        }
        if self.pass(&format!("store {point:?}")) {
            store::FaultVerdict::Die
        } else {
            store::FaultVerdict::Go
        }
    }
}
