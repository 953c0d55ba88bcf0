//! What a tree says that decisions need: its injection points, its package context, what was injected.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Files, KeptInjection, Machine, TreeId};
use package::mutate::points_and_previous;
use plan::variant::Stated;

use crate::repos::Open;
use crate::{Engine, Error, Result};

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
    /// What the machine stated in this tree of its own (V22).
    pub(super) fn stated(&self, machine: &Machine) -> Stated {
        let ours = |(key, _): &&(String, String)| machine.context_keys.contains(key);
        Stated {
            context: self.context.iter().filter(ours).cloned().collect(),
            injections: self.kept.to_vec(),
        }
    }
}

impl Engine {
    /// The facts about a package's tree. One that cannot be understood has none: deriving it will
    /// say why.
    pub(crate) fn facts(&self, open: &Open, tree: TreeId) -> Result<Arc<Facts>> {
        if let Some(known) = self.inner.trees.facts.get(&tree) {
            return Ok(known);
        }
        let snapshot = open.repo.snapshot(tree).map_err(|source| Error::Store {
            attempt: "read a package",
            source,
        })?;
        Ok(self.keep_facts(tree, &snapshot.files))
    }

    /// Takes the facts of a tree whose files are at hand, so that they need not be read again; a plan may have done so.
    pub(crate) fn keep_facts(&self, tree: TreeId, files: &Files) -> Arc<Facts> {
        if let Some(known) = self.inner.trees.facts.get(&tree) {
            return known;
        }
        let (points, held) = points_and_previous(files).unwrap_or_default();
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
        let kinds: BTreeSet<String> = points.iter().map(package::mutate::Point::gvk).collect();
        let facts = Arc::new(Facts {
            kept: kept.collect(),
            points: kinds.into_iter().collect(),
            context: package::context::data(files).into_iter().collect(),
        });
        let bytes = 256
            + facts
                .context
                .iter()
                .map(|(k, v)| k.len() + v.len() + 64)
                .sum::<usize>()
            + facts
                .kept
                .iter()
                .map(|k| k.content.len() + 128)
                .sum::<usize>()
            + facts.points.len() * 64;
        self.inner.trees.facts.put(tree, Arc::clone(&facts), bytes);
        facts
    }
}
