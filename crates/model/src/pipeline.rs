//! A Kptfile's pipeline, as people and variants declare it.

use std::collections::BTreeMap;

/// How many functions run in one render, those of packages within a package included. Each is handed all resources, so that more
/// of them take a processor for minutes.
pub const MOST_FUNCTIONS: usize = 1_024;

/// Which resources a function sees, or does not (`selectors`, `exclude`); all given fields match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Selector {
    /// `apiVersion`
    pub api_version: Option<String>,
    /// `kind`
    pub kind: Option<String>,
    /// `name`
    pub name: Option<String>,
    /// `namespace`
    pub namespace: Option<String>,
    /// `labels`, all of them.
    pub labels: BTreeMap<String, String>,
    /// `annotations`, all of them.
    pub annotations: BTreeMap<String, String>,
}

/// One step of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Function {
    /// The image; `None` for an exec function.
    pub image: Option<String>,
    /// A tag or range kept apart from the image.
    pub tag: Option<String>,
    /// A command instead of an image.
    pub exec: Option<String>,
    /// The file that configures it, relative to the package.
    pub config_path: Option<String>,
    /// Its configuration in place, in the order written.
    pub config_map: Vec<(String, String)>,
    /// Its name; empty if it has none.
    pub name: String,
    /// Resources it sees; all if empty.
    pub selectors: Vec<Selector>,
    /// Resources it does not see.
    pub exclude: Vec<Selector>,
}

/// Mutators, then validators.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Pipeline {
    /// Functions that change resources.
    pub mutators: Vec<Function>,
    /// Functions that only judge.
    pub validators: Vec<Function>,
}

impl Pipeline {
    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.mutators.is_empty() && self.validators.is_empty()
    }
}
