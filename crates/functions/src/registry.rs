//! The built-in functions, by image name (X2).

use yaml::owned::Value;

use crate::builtin;
use crate::builtin::kubeconform::Schemas;
use crate::config::Config;
use crate::runner::{FunctionCall, FunctionOutcome};
use crate::{FunctionReport, Item};

/// A function that runs in this process.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// The last part of its image name, such as `set-namespace`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Its configuration, results and differences from the catalog's, as Markdown.
    pub doc: &'static str,
    run: Body,
}

#[derive(Debug, Clone, Copy)]
enum Body {
    Plain(fn(&mut Vec<Item>, Config<'_>) -> FunctionReport),
    OwnProcess(fn(&mut Vec<Item>, Config<'_>) -> FunctionReport),
    Schemas(fn(&mut Vec<Item>, Config<'_>, Option<&Schemas>) -> FunctionReport),
}

/// What a built-in function needs besides its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it is pure and bounded, and runs wherever the documents are.
    Nothing,
    /// A process whose memory and time the system bounds: it runs scripts of others.
    OwnProcess,
    /// The schemas of this machine.
    Schemas,
}

impl BuiltIn {
    /// Runs it: changes the resources in place and reports. Pure: equal input gives equal output.
    pub fn run(&self, items: &mut Vec<Item>, config: Option<&Value>) -> FunctionReport {
        self.report(items, config, None)
    }

    /// What it needs besides its input.
    pub fn needs(&self) -> Needs {
        match self.run {
            Body::Plain(_) => Needs::Nothing,
            Body::OwnProcess(_) => Needs::OwnProcess,
            Body::Schemas(_) => Needs::Schemas,
        }
    }

    fn report(
        &self,
        items: &mut Vec<Item>,
        config: Option<&Value>,
        schemas: Option<&Schemas>,
    ) -> FunctionReport {
        match self.run {
            Body::Plain(run) | Body::OwnProcess(run) => run(items, Config(config)),
            Body::Schemas(run) => run(items, Config(config), schemas),
        }
    }

    /// Runs a call with it.
    pub(crate) fn outcome(&self, call: FunctionCall, schemas: Option<&Schemas>) -> FunctionOutcome {
        let FunctionCall {
            config, mut items, ..
        } = call;
        let report = self.report(&mut items, config.as_deref(), schemas);
        FunctionOutcome {
            exit_code: i32::from(report.failed()),
            items,
            results: report.results,
            stderr: report.stderr,
        }
    }
}

macro_rules! builtins {
    ($($name:literal $about:literal $body:ident $run:path;)*) => {
        &[$(BuiltIn {
            name: $name,
            about: $about,
            doc: include_str!(concat!("../docs/", $name, ".md")),
            run: Body::$body($run),
        },)*]
    };
}

const BUILTINS: &[BuiltIn] = builtins! {
    "apply-replacements" "Copies a field of one resource into fields of others." Plain builtin::apply_replacements::run;
    "apply-setters" "Sets the fields that carry a `# kpt-set:` comment." Plain builtin::apply_setters::run;
    "create-setters" "Puts `# kpt-set:` comments at fields with given values." Plain builtin::create_setters::run;
    "delete-annotations" "Takes named annotations off every resource." Plain builtin::delete_annotations::run;
    "ensure-name-substring" "Puts a part into every name that lacks it." Plain builtin::ensure_name_substring::run;
    "gen-pkg-context" "Writes the package's name into its package context." Plain builtin::gen_pkg_context::run;
    "kubeconform" "Checks every resource against its schema." Schemas builtin::kubeconform::run;
    "list-setters" "Tells which setters a package has." Plain builtin::list_setters::run;
    "remove-local-config-resources" "Drops what is never applied to a cluster." Plain builtin::remove_local_config::run;
    "search-replace" "Finds fields by value, pattern or path and replaces them." Plain builtin::search_replace::run;
    "set-annotations" "Sets annotations on resources and pod templates." Plain builtin::set_annotations::run;
    "set-enforcement-action" "Sets what constraints do about a violation." Plain builtin::set_enforcement_action::run;
    "set-image" "Sets name, tag or digest of container images." Plain builtin::set_image::run;
    "set-labels" "Sets labels on resources, selectors and templates." Plain builtin::set_labels::run;
    "set-namespace" "Sets the namespace of every resource that has one." Plain builtin::set_namespace::run;
    "set-project-id" "Sets a project id as a setter and an annotation." Plain builtin::set_project_id::run;
    "starlark" "Runs a script over the resources." OwnProcess builtin::starlark::run;
    "upsert-resource" "Replaces a resource, or adds it." Plain builtin::upsert_resource::run;
};

/// What a call may be worth to run where others are served: the bytes of its configuration, times the values of its resources.
const LIGHT: u64 = 256 << 20;
/// How many resources: some functions look from each at each.
const FEW: usize = 16 << 10;
/// How long a configuration of patterns may be: each takes milliseconds to build.
const PATTERNS: u64 = 16 << 10;

/// Whether a call may take long, or much memory: it then belongs into a process that the system bounds, where there is one.
/// Everything else grows by less than its configuration for each value that it sees, or counts what it puts (`budget`).
pub fn is_heavy(call: &FunctionCall) -> bool {
    let config = call.config.as_ref().map_or(0, |config| config.weight().0);
    let values: u64 = call.items.iter().map(|item| item.value.weight().1).sum();
    let name = call.function.image.as_deref().map_or("", short_name);
    let builds = matches!(name, "apply-replacements" | "search-replace");
    config.saturating_mul(values) > LIGHT || call.items.len() > FEW || (builds && config > PATTERNS)
}

/// All of them, by name.
pub fn builtins() -> &'static [BuiltIn] {
    BUILTINS
}

/// The built-in function of an image, whatever its registry prefix, tag or digest.
pub fn find(image: &str) -> Option<&'static BuiltIn> {
    let name = short_name(image);
    BUILTINS.iter().find(|function| function.name == name)
}

/// The last part of an image's name, without tag and digest.
pub fn short_name(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').map_or(last, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_may_take_long_is_told_before_it_runs() {
        let call = |image: &str, config: usize, items: usize, values: usize| {
            let list = Value::seq((0..values).map(|_| Value::plain("a")));
            let item = Item::made(Value::map([("list", list)]));
            FunctionCall {
                function: model::Function {
                    image: Some(image.to_owned()),
                    ..model::Function::default()
                },
                config: Some(Arc::new(Value::plain("x".repeat(config)))),
                items: vec![item; items],
                tenant: None,
            }
        };
        assert!(!is_heavy(&call("set-labels:v0.2", 1_000, 100, 1_000)));
        assert!(is_heavy(&call("set-labels:v0.2", 10_000, 100, 1_000)));
        assert!(is_heavy(&call("set-namespace", 10, 20_000, 1)));
        assert!(!is_heavy(&call("set-labels", 20_000, 1, 1)));
        assert!(is_heavy(&call("x/apply-replacements:v0.1", 20_000, 1, 1)));
    }

    #[test]
    fn x2_images_are_matched_whatever_their_prefix_and_tag() {
        for image in [
            "set-labels",
            "set-labels:v0.1",
            "gcr.io/kpt-fn/set-labels:v0.2.0",
            "localhost:5000/a/b/set-labels",
            "ghcr.io/kptdev/krm-functions-catalog/set-labels@sha256:0123",
            "r.example.com/set-labels:v1@sha256:0123",
        ] {
            assert_eq!(find(image).map(|f| f.name), Some("set-labels"), "{image}");
        }
        assert!(find("example.com/set-labels/other").is_none());
        assert!(BUILTINS.is_sorted_by_key(|f| f.name));
    }
}
