//! Gathers what `plan` decides on: from indexes in memory, contents by object id. It reads only,
//! never derives and never decides; whether anything is to be done is a comparison of digests
//! (V21).

mod base;
mod facts;
mod injections;
mod set;
mod sink;
mod upstreams;
mod variant;

pub(crate) use base::{is_traced, old_files};
pub(crate) use facts::Facts;
pub(crate) use set::{set, stands, targets_now};
pub(crate) use sink::Sink;
pub(crate) use upstreams::revision_sets;
pub(crate) use variant::{repository_summary, variant};

impl crate::Engine {
    /// Everything that is known about one variant, for `offshoot plan` and `offshoot why`: the plan
    /// for it is `plan::variant::decide`. Nothing is written.
    ///
    /// # Errors
    /// Git or the cluster cannot be read now.
    pub async fn observe_variant(
        &self,
        key: &model::ObjectKey,
    ) -> crate::Result<Option<plan::variant::Observed>> {
        variant(self, Sink::of(self), key).await
    }

    /// The same about one set: the plan for it is `plan::set::decide`.
    ///
    /// # Errors
    /// As [`crate::Engine::observe_variant`].
    pub async fn observe_set(
        &self,
        key: &model::ObjectKey,
    ) -> crate::Result<Option<plan::set::Observed>> {
        set(self, Sink::of(self), key).await
    }
}
