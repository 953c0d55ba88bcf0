//! What looking leads to besides its answer: kinds that are followed from now on, names that somebody is interested in,
//! and failures that are remembered. A controller's look leaves it with the engine; whoever only asks leaves nothing.

use std::collections::BTreeSet;

use model::{ObjectKey, UpstreamSource};
use plan::variant::FailedDerivation;

use crate::index::Wake;
use crate::ports::Gvk;
use crate::{Engine, followed};

/// Where a look leaves what it leads to.
#[derive(Clone, Copy)]
pub(crate) struct Sink<'e>(Option<&'e Engine>);

impl<'e> Sink<'e> {
    /// The look of a controller.
    pub(crate) fn of(engine: &'e Engine) -> Self {
        Self(Some(engine))
    }

    /// The look of somebody who only asks: all of it is dropped.
    pub(crate) fn dropped() -> Self {
        Self(None)
    }

    /// A kind matters from now on, also one that is not served yet (V11).
    pub(super) fn follow(self, kind: &Gvk) {
        if let Some(engine) = self.0 {
            followed::follow(engine, kind);
        }
    }

    /// These objects matter to a variant from now on, and no others (V11).
    pub(super) fn wants(self, variant: &ObjectKey, objects: BTreeSet<(Gvk, ObjectKey)>) {
        let Some(engine) = self.0 else { return };
        engine.learn(|world| {
            world.objects.want(variant, objects);
            Wake::default()
        });
    }

    /// Where a set takes its upstream packages from, named selections resolved; `None` where it names none any more.
    pub(super) fn sources(self, set: &ObjectKey, sources: Option<Vec<UpstreamSource>>) {
        let Some(engine) = self.0 else { return };
        if sources.is_none() && !engine.world(|w| w.has_sources(set)) {
            return;
        }
        engine.learn(|world| {
            match sources {
                Some(sources) => world.take_sources(set, sources),
                None => world.drop_sources(set),
            }
            Wake::default()
        });
    }

    /// Contents cannot be read; answers the failure with its count.
    pub(super) fn failed(self, variant: &ObjectKey, failure: FailedDerivation) -> FailedDerivation {
        match self.0 {
            Some(engine) => engine.inner.failures.note(variant, failure),
            None => failure,
        }
    }

    /// What could not be read can be read again.
    pub(super) fn recovered(self, variant: &ObjectKey) {
        if let Some(engine) = self.0 {
            engine.inner.failures.clear(variant);
        }
    }
}
