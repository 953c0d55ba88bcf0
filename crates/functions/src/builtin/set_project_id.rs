//! `set-project-id`: a project id as a setter of every Kptfile, and as an annotation of Config Connector resources.

use yaml::owned::Value;

use crate::config::Config;
use crate::{FunctionReport, Item};

const SETTER: &str = "project-id";
const ANNOTATION: &str = "cnrm.cloud.google.com/project-id";
/// Config Connector's resources of the cloud.
const GROUPS: &str = ".cnrm.cloud.google.com";
/// Its own configuration: no resource of a project.
const CONFIGURATION: &str = "core.cnrm.cloud.google.com";
const FUNCTION: &str = "gcr.io/kpt-fn/apply-setters:v0.2";

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    match set(items, config.data(SETTER).unwrap_or_default()) {
        Ok(()) => FunctionReport::default(),
        Err(message) => {
            let stderr = format!("failed to set project-id setter: {message}");
            FunctionReport {
                stderr,
                refused: true,
                ..FunctionReport::default()
            }
        }
    }
}

fn set(items: &mut [Item], project: &str) -> Result<(), String> {
    let kptfiles: Vec<usize> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.kind() == "Kptfile" && item.group() == "kpt.dev")
        .map(|(at, _)| at)
        .collect();
    if kptfiles.is_empty() {
        let hint = "please include --include-meta-resources flag if a Kptfile is present";
        return Err(format!(
            "failed to find Kptfile: unable to find Kptfile, {hint}"
        ));
    }
    for at in kptfiles {
        setter(items, at, project).map_err(|why| format!("error updating Kptfile: {why}"))?;
    }
    for item in items
        .iter_mut()
        .filter(|item| item.group().ends_with(GROUPS) && item.group() != CONFIGURATION)
    {
        if item.annotation(ANNOTATION).is_none() {
            item.set_text(&["metadata", "annotations", ANNOTATION], project);
        }
    }
    Ok(())
}

/// Puts the setter where the Kptfile's `apply-setters` reads it, or adds that function.
fn setter(items: &mut [Item], at: usize, project: &str) -> Result<(), String> {
    let Some(kptfile) = items.get(at) else {
        return Ok(());
    };
    let mutators = kptfile
        .value
        .lookup(&["pipeline", "mutators"])
        .and_then(Value::as_seq);
    let functions = mutators.map(|seq| seq.items()).unwrap_or_default();
    let is_it = |function: &Value| {
        function
            .get("image")
            .and_then(Value::text)
            .is_some_and(|image| image.contains("apply-setters"))
    };
    let found = functions.iter().position(is_it);
    let path = found
        .and_then(|at| functions.get(at)?.get("configPath")?.text())
        .map(str::to_owned);
    if let Some(path) = path {
        let config = items
            .iter_mut()
            .find(|item| item.path.as_deref() == Some(path.as_str()));
        let missing = || {
            let hint = "please ensure the file specified in \"configPath\" exists and retry";
            format!("failed to find setter file: file {path} doesn't exist, {hint}")
        };
        config
            .ok_or_else(missing)?
            .set_text(&["data", SETTER], project);
        return Ok(());
    }
    let blocked = || "pipeline.mutators is not a list".to_owned();
    let kptfile = items.get_mut(at).ok_or_else(blocked)?.value_mut();
    let pipeline = kptfile.ensure_map(&["pipeline"]).ok_or_else(blocked)?;
    if pipeline.get("mutators").is_none_or(Value::is_null) {
        pipeline.set("mutators", Value::seq([]));
    }
    let mutators = pipeline
        .get_mut("mutators")
        .and_then(Value::as_seq_mut)
        .ok_or_else(blocked)?;
    match found.and_then(|at| mutators.items_mut().get_mut(at)) {
        Some(function) => {
            let map = function.ensure_map(&["configMap"]).ok_or_else(blocked)?;
            map.set_str(SETTER, project);
        }
        None => mutators.items_mut().push(Value::map([
            ("image", Value::string(FUNCTION)),
            ("configMap", Value::map([(SETTER, Value::string(project))])),
        ])),
    }
    Ok(())
}
