//! Our kinds for the server: how one version becomes the other, and what is wrong with what is accepted
//! all the same (A4a). `api` knows both.

use std::sync::Arc;

use model::Problem;
use objects::resource::Converter;
use serde_json::Value;

use crate::stack;

/// By definition, what the server is told.
pub(crate) fn versions() -> [(&'static str, Arc<dyn Converter>); 4] {
    [
        (
            "packagevariantsets.config.porch.kpt.dev",
            Arc::new(SetVersions),
        ),
        ("packagevariants.config.porch.kpt.dev", Arc::new(Variants)),
        (
            "packagerevisionsets.config.porch.kpt.dev",
            Arc::new(RevisionSets),
        ),
        ("repositories.config.porch.kpt.dev", Arc::new(Repositories)),
    ]
}

/// Sets, in two versions.
struct SetVersions;

impl Converter for SetVersions {
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, String> {
        api::convert_set(object, api_version).map_err(|e| e.to_string())
    }

    fn review(&self, object: &Value) -> Vec<String> {
        let stored = api::convert_set(object.clone(), "config.porch.kpt.dev/v1alpha2");
        let Some((_, _, spec)) = stored.ok().and_then(|stored| api::read_set(&stored)) else {
            return Vec::new();
        };
        match spec {
            Ok(spec) => {
                let compiled =
                    apiserver::aside(|| stack::on_large(|| plan::set::Compiled::of(&spec).err()));
                let mut told = texts(compiled.ok().flatten());
                told.extend(spec.rollout_warnings());
                told
            }
            Err(problems) => texts(Some(problems)),
        }
    }
}

/// Variants, in one.
struct Variants;

impl Converter for Variants {
    fn convert(&self, object: Value, _: &str) -> Result<Value, String> {
        Ok(object)
    }

    fn review(&self, object: &Value) -> Vec<String> {
        api::read_variant(object).map_or_else(Vec::new, |(_, _, spec)| texts(spec.err()))
    }
}

/// Package revision sets, in one.
struct RevisionSets;

impl Converter for RevisionSets {
    fn convert(&self, object: Value, _: &str) -> Result<Value, String> {
        Ok(object)
    }

    fn review(&self, object: &Value) -> Vec<String> {
        texts(api::read_revision_set(object).err())
    }
}

/// Repositories, in one.
struct Repositories;

impl Converter for Repositories {
    fn convert(&self, object: Value, _: &str) -> Result<Value, String> {
        Ok(object)
    }

    fn review(&self, object: &Value) -> Vec<String> {
        let schedule = api::str_at(object, &["spec", "sync", "schedule"]).unwrap_or_default();
        let mut told = texts(api::read_repository(object).err());
        told.extend(engine::controllers::schedule_problem(schedule));
        told
    }
}

fn texts(problems: Option<Vec<Problem>>) -> Vec<String> {
    let problems = problems.into_iter().flatten();
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    problems
        .map(|problem| first_line(problem.to_string()))
        .collect()
}
