//! The machine's output of a package whose trailer is lost, derived anew (V19a).

use std::collections::BTreeMap;

use model::{Files, Function, Pipeline, Recipe};

use crate::context;
use crate::kptfile::Kptfile;
use crate::mutate::{self, Previous, is_own_function};

/// The recipe with the package's own values wherever it states one: so nothing that the machine wrote there counts
/// as a local edit.
pub(crate) fn recipe_anew(recipe: &Recipe, package: &Files) -> Recipe {
    let written = context::data(package);
    let kept = |key: &String| written.get(key).map(|text| (key.clone(), text.clone()));
    Recipe {
        context: recipe.context.keys().filter_map(kept).collect(),
        pipeline: own_functions(recipe, package),
        injections: Vec::new(),
        kept: Vec::new(),
        push_on_render_failure: true,
        ..recipe.clone()
    }
}

/// What the points of a package hold; one that cannot be read holds nothing.
pub(super) fn own_previous(package: &Files) -> BTreeMap<String, Previous> {
    mutate::previous(package).unwrap_or_default()
}

fn own_functions(recipe: &Recipe, package: &Files) -> Pipeline {
    let Ok(kptfile) = Kptfile::of_files(package) else {
        return Pipeline::default();
    };
    let pipeline = &kptfile.fields().pipeline;
    let own = |functions: &[Function]| -> Vec<Function> {
        let own = functions
            .iter()
            .filter(|f| is_own_function(&recipe.variant, &f.name));
        own.map(|f| Function {
            name: bare_name(recipe, &f.name),
            ..f.clone()
        })
        .collect()
    };
    Pipeline {
        mutators: own(&pipeline.mutators),
        validators: own(&pipeline.validators),
    }
}

/// The function's own name in `PackageVariant.{variant}.{function}.{index}`.
fn bare_name(recipe: &Recipe, name: &str) -> String {
    let prefix = format!("PackageVariant.{}.", recipe.variant);
    let rest = name.strip_prefix(&prefix).unwrap_or(name);
    rest.rsplit_once('.')
        .map_or("", |(function, _)| function)
        .to_owned()
}
