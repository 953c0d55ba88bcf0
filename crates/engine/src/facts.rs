//! What a tree says that decisions need: its injection points, its package context, what was injected.

use std::collections::{BTreeMap, BTreeSet};

use model::{Files, KeptInjection, Machine, Pairs};
use package::derive::Derived;
use package::mutate::{InjectionPoint, Previous, points_and_previous};
use plan::variant::Stated;

/// Facts about one tree, cached by its id.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// `group/version/kind` of its injection points.
    pub(crate) points: Box<[String]>,
    /// The data of its package context.
    context: Box<[(String, String)]>,
    /// What its points hold.
    kept: Box<[KeptInjection]>,
}

impl Facts {
    /// The facts that files say; of what cannot be understood there are none: deriving it will say why.
    pub(crate) fn of(files: &Files) -> Self {
        let read = points_and_previous(files);
        Self::new(read.unwrap_or_default(), package::context::data(files))
    }

    /// The same of an output that was just made: it is not parsed once more.
    pub(crate) fn of_output(derived: &Derived) -> Self {
        Self::new(derived.points().unwrap_or_default(), derived.context())
    }

    fn new(
        (points, held): (Vec<InjectionPoint>, BTreeMap<String, Previous>),
        context: Pairs,
    ) -> Self {
        let kept = points.iter().filter_map(|point| {
            let previous = held.get(&point.condition_type())?;
            Some(KeptInjection {
                gvk: point.gvk(),
                point: point.name.clone(),
                injected: previous.name.clone(),
                content: previous.content.as_str().into(),
            })
        });
        // Points of one kind count once. Boxes, as this is kept for thousands of trees.
        let kinds: BTreeSet<String> = points
            .iter()
            .map(package::mutate::InjectionPoint::gvk)
            .collect();
        Self {
            kept: kept.collect(),
            points: kinds.into_iter().collect(),
            context: context.into_iter().collect(),
        }
    }

    /// What they cost in a cache.
    pub(crate) fn bytes(&self) -> usize {
        256 + self
            .context
            .iter()
            .map(|(k, v)| k.len() + v.len() + 64)
            .sum::<usize>()
            + self
                .kept
                .iter()
                .map(|k| k.content.len() + 128)
                .sum::<usize>()
            + self.points.len() * 64
    }

    /// What the machine stated in this tree of its own (V22).
    pub(crate) fn stated(&self, machine: &Machine) -> Stated {
        let ours = |(key, _): &&(String, String)| machine.context_keys.contains(key);
        Stated {
            context: self.context.iter().filter(ours).cloned().collect(),
            injections: self.kept.to_vec(),
        }
    }
}
