//! Mutations: what a variant writes into a package, as values (`Files + [Mutation] → Files`).
//!
//! Each mutation reads and writes fields of its own, so that their order does not matter (R60), and applying one
//! twice is applying it once. Texts are edited, never re-emitted (R76, V5); a file that no mutation touches stays
//! as it is. Nothing here asks a cluster: what was found there arrives in the recipe.

mod context;
mod inject;
pub(crate) mod kptfile;
mod open;
mod pipeline;
mod points;

use std::collections::{BTreeMap, BTreeSet};

use model::{Class, Files, Injection, ObjectName, Pairs, Pipeline, Recipe};

use crate::documents::{DocumentsError, Parsed};

use open::OpenFiles;

pub(crate) use inject::held;
pub use inject::{Injected, Previous, points_and_previous, previous};
pub use pipeline::is_own_function;
pub(crate) use pipeline::{OWN_FUNCTION_PREFIX, behind_variant};
pub(crate) use points::INJECTED_NAME;
pub(crate) use points::{CONDITION_PREFIX, points_of};
pub use points::{INJECTED, InjectionPoint, injection_points};

/// One change of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// Keys of the package context, the ConfigMap `kptfile.kpt.dev` at the package's root (R63–R68).
    Context {
        /// Keys to set.
        set: Pairs,
        /// Keys to remove; removal wins (R64).
        remove: BTreeSet<String>,
        /// Make the ConfigMap where there is none (V13).
        create: bool,
    },
    /// A variant's own functions, at the head of both lists (R70–R76).
    Pipeline {
        /// The variant, whose name marks its functions.
        variant: ObjectName,
        /// All functions that it wants; those it wanted before and no longer names go (R72).
        pipeline: Pipeline,
    },
    /// Configuration from the cluster, at the package's injection points (R80–R95).
    Inject {
        /// The variant's injectors, each with what was found.
        injections: Vec<Injection>,
        /// What points hold that nothing matches any more (V22), by condition type.
        previous: BTreeMap<String, Previous>,
    },
}

/// What mutations made of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutated {
    /// The package.
    pub files: Files,
    /// How each injection point fared, in order of file and position.
    pub injected: Vec<Injected>,
    /// Readiness gates that were not there before (V8).
    pub gates_added: Vec<String>,
}

/// Why a package cannot be changed as wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MutateError {
    /// There is something to write and nowhere to write it (R67, V13).
    #[error(
        "the package has no ConfigMap \"kptfile.kpt.dev\" at its root to hold the package context \
         (spec.packageContext.create makes one)"
    )]
    PackageContextMissing,
    /// A field that must be a mapping or list is something else.
    #[error("{file}: {field} is not a {wanted}")]
    Shape {
        /// The file.
        file: String,
        /// The field.
        field: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// Injection points that cannot be told apart, or say something unknown (R81, R82).
    #[error("errors in injection points: {0}")]
    InjectionPoints(String),
    /// The package has no Kptfile that could be changed.
    #[error("the package has no Kptfile")]
    KptfileMissing,
    /// A file cannot be read or written.
    #[error(transparent)]
    File(DocumentsError),
}

impl MutateError {
    /// What kind of failure it is.
    pub fn class(&self) -> Class {
        Class::Invalid
    }
}

impl Mutation {
    /// Everything that a recipe writes, with what points held before (V22).
    pub fn of(recipe: &Recipe, previous: BTreeMap<String, Previous>) -> Vec<Self> {
        vec![
            Self::Context {
                set: recipe.context.clone(),
                remove: recipe.remove_keys.clone(),
                create: recipe.create_context,
            },
            Self::Pipeline {
                variant: recipe.variant.clone(),
                pipeline: recipe.pipeline.clone(),
            },
            Self::Inject {
                injections: recipe.injections.clone(),
                previous,
            },
        ]
    }
}

/// Applies mutations to a package: all of them, or none.
///
/// # Errors
/// When one of them cannot be applied.
pub fn apply(files: &Files, mutations: &[Mutation]) -> Result<Mutated, MutateError> {
    apply_known(files, mutations, &mut Parsed::default())
}

/// The same of a package of which something was parsed already; what is written is noted there.
pub(crate) fn apply_known(
    files: &Files,
    mutations: &[Mutation],
    parsed: &mut Parsed,
) -> Result<Mutated, MutateError> {
    let mut opened = OpenFiles::new(files, parsed);
    let (mut injected, mut gates_added) = (Vec::new(), Vec::new());
    for mutation in mutations {
        match mutation {
            Mutation::Context {
                set,
                remove,
                create,
            } => {
                context::apply(&mut opened, set, remove, *create)?;
            }
            Mutation::Pipeline { variant, pipeline } => {
                pipeline::apply(&mut opened, variant, pipeline)?;
            }
            Mutation::Inject {
                injections,
                previous,
            } => {
                let (outcomes, gates) = inject::apply(&mut opened, injections, previous)?;
                injected.extend(outcomes);
                gates_added.extend(gates);
            }
        }
    }
    let (files, written) = opened.finish()?;
    parsed.extend(written);
    Ok(Mutated {
        files,
        injected,
        gates_added,
    })
}
