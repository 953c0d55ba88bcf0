//! Where functions' configurations are: told before anything runs (M26). What is in them is for the functions.

use std::sync::Arc;

use model::{Files, PackagePath};

use crate::ignore::Ignore;
use crate::kptfile::clean_config_path;

use super::plan::{Plan, Task, within};
use super::resource::{full, is_resource_file};

/// kpt's reason, where there is no better one.
pub(super) const UNSEEN: &str = "this also occurs if it is part of a subpackage";

/// The first configuration that no function can be given, and the package whose pipeline names it. That the file is
/// there, and holds one resource, was seen when the Kptfile was read.
pub(super) fn problem(files: &Files, plan: &Plan) -> Option<(Arc<str>, String)> {
    let ignore = Ignore::of(files);
    plan.tasks.iter().find_map(|task| {
        let path = task.function.config_path.as_deref()?;
        let why = unreachable(path, task, plan, &ignore)?;
        Some((task.package.clone(), missing(task, path, &why)))
    })
}

fn unreachable(path: &str, task: &Task, plan: &Plan, ignore: &Ignore) -> Option<String> {
    let clean = clean_config_path(path).ok()?;
    let place = PackagePath::parse(&full(&task.package, &clean)).ok()?;
    let owner = plan.package_of(place.as_str())?;
    if *owner != task.package {
        let owner = within(&task.package, owner).unwrap_or(owner);
        return Some(format!(
            "the file belongs to the subpackage {owner:?}; put it, or a copy of it, into the package whose pipeline names it"
        ));
    }
    if !is_resource_file(&place) {
        return Some("only files that end in .yaml, .yml or .json hold resources".to_owned());
    }
    ignore
        .matches(&place)
        .then(|| ".krmignore leaves the file out".to_owned())
}

/// What is said of a configuration that is not among the package's resources.
pub(super) fn missing(task: &Task, path: &str, why: &str) -> String {
    let (list, what) = if task.validator {
        ("validators", "validator")
    } else {
        ("mutators", "mutator")
    };
    let name = match &task.function.image {
        Some(image) => short_name(image),
        None => task.function.exec.as_deref().unwrap_or_default(),
    };
    format!(
        "Kptfile is invalid:\nField: `pipeline.{list}[{}].configPath`\nValue: {path:?}\nReason: functionConfig resource for {what} {name:?} is missing from path {path:?}: {why}\n",
        task.index
    )
}

/// The last part of an image's name, without tag and digest.
pub(super) fn short_name(image: &str) -> &str {
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split([':', '@']).next().unwrap_or(last)
}
