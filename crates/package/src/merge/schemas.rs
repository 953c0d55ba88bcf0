//! The schemas of the resources that two packages hold.

use std::cell::OnceCell;

use yaml::Node;

use super::sides::Sides;
use crate::schema::{Crds, Schema};

/// What is known of resources' lists: built in, and from CRDs once somebody asks.
#[derive(Debug)]
pub(super) struct Schemas<'f> {
    sides: Sides<'f>,
    crds: OnceCell<Crds>,
}

impl<'f> Schemas<'f> {
    pub(super) fn new(sides: Sides<'f>) -> Self {
        Self {
            sides,
            crds: OnceCell::new(),
        }
    }

    /// The schema of a resource; CRDs are looked for only where a kind is not built in.
    pub(super) fn of(&self, root: Node<'_>) -> Schema<'_> {
        let text = |key: &str| {
            let node = root.get(key).and_then(|node| node.as_str());
            node.unwrap_or_default()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        Schema::built_in(api_version, kind).unwrap_or_else(|| {
            let read = || Crds::of([self.sides.local, self.sides.upstream]);
            Schema::of(api_version, kind, self.crds.get_or_init(read))
        })
    }
}
