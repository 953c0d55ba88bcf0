//! From which kinds a set may select, and a variant inject.

use model::{InjectionOutcome, Namespace, ObjectSelector, Pairs};

use super::SelectionFailure;

/// What a namespace carries, as a label or an annotation, whose sets may select from kinds that lie in no namespace.
const CLUSTER_TARGETS: &str = "offshoot.dev/cluster-targets";

/// Where the objects of a kind lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindScope {
    /// In namespaces: a set sees those of its own.
    Namespaced,
    /// In none.
    Cluster {
        /// The labels of the namespace that asks.
        labels: Pairs,
        /// Its annotations.
        annotations: Pairs,
    },
}

impl KindScope {
    /// Whether a set of this namespace may select what its selector names; `found` is where the kind lies, if the set's
    /// writer may list it there.
    ///
    /// # Errors
    /// Why not, or why that is unknown.
    pub fn may_select(
        found: Result<Self, SelectionFailure>,
        namespace: &Namespace,
        selector: &ObjectSelector,
    ) -> Result<(), SelectionFailure> {
        if is_secret(selector) {
            return Err(SelectionFailure::Forbidden(
                "Secrets cannot be selected".to_owned(),
            ));
        }
        let Self::Cluster {
            labels,
            annotations,
        } = found?
        else {
            return Ok(());
        };
        // What lies in no namespace is everybody's: the namespace says whether its people may spread packages over it (S5).
        let mut marks = [labels, annotations].into_iter();
        if marks.any(|pairs| pairs.get(CLUSTER_TARGETS).is_some_and(|v| v == "true")) {
            return Ok(());
        }
        let (api, kind) = (&selector.api_version, &selector.kind);
        let group = if api.contains('/') { "" } else { "/" };
        Err(SelectionFailure::Forbidden(format!(
            "{group}{api}/{kind} is cluster-scoped: namespace {namespace} must carry {CLUSTER_TARGETS}: \"true\""
        )))
    }

    /// What an injector comes to whose kind lies in no namespace: a variant takes what its own namespace holds, and nothing
    /// that is everybody's.
    pub fn not_injected(kind: &str) -> InjectionOutcome {
        InjectionOutcome::Unreadable(format!("{kind} is cluster-scoped and cannot be injected"))
    }
}

/// Secrets are never selectable, whoever asks (S4).
pub(super) fn is_secret(selector: &ObjectSelector) -> bool {
    selector.api_version == "v1" && selector.kind == "Secret"
}
