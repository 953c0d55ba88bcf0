//! The world: a variant, its upstream and the revisions of its package.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectName, Revision, TreeId, Variant, VariantStatus};

use super::action::Action;

/// A package's content: what the machine made it of, and what people added since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) inputs: String,
    pub(super) people: u32,
}

impl Content {
    pub(super) fn tree(&self) -> TreeId {
        use std::hash::{Hash, Hasher};
        let mut hasher = std::collections::hash_map::DefaultHasher::new();
        (&self.inputs, self.people).hash(&mut hasher);
        TreeId::from_bytes(&hasher.finish().to_be_bytes()).expect("eight bytes")
    }
}

/// What the machine makes of its inputs; two values of the context come to the same bytes, so that
/// an input can change without a change of content.
pub(super) fn made_of(upstream: &Revision, recipe: &model::Recipe) -> String {
    let tier = recipe.context.get("tier").map(|t| t.replace('2', "1"));
    format!("{} {tier:?} {:?}", upstream.commit, recipe.injections)
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) variant: Option<Variant>,
    pub(super) status: VariantStatus,
    pub(super) incarnation: u32,
    pub(super) upstream: Vec<Arc<Revision>>,
    pub(super) revisions: Vec<Arc<Revision>>,
    pub(super) contents: BTreeMap<ObjectName, Content>,
    pub(super) injected: u8,
    pub(super) version: u64,
    pub(super) highest: i64,
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            variant: None,
            status: VariantStatus::default(),
            incarnation: 0,
            upstream: Vec::new(),
            revisions: Vec::new(),
            contents: BTreeMap::new(),
            injected: 0,
            version: 1,
            highest: 0,
        };
        world.act(&Action::NewUpstream);
        world.act(&Action::Recreate(false));
        world
    }

    pub(super) fn change(&mut self, name: &ObjectName, how: impl FnOnce(&mut Revision)) {
        self.version += 1;
        let version = self.version.to_string();
        for revision in &mut self.revisions {
            if revision.key.name == *name {
                let mut changed = Revision::clone(revision);
                how(&mut changed);
                changed.meta.resource_version.clone_from(&version);
                *revision = Arc::new(changed);
                return;
            }
        }
        panic!("there is no {name}");
    }

    pub(super) fn first(&self, wanted: impl Fn(&Revision) -> bool) -> Option<Arc<Revision>> {
        let mut found: Vec<_> = self.revisions.iter().filter(|r| wanted(r)).collect();
        found.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        found.first().map(|r| Arc::clone(r))
    }
}
