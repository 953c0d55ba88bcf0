//! `set-enforcement-action`: what a Gatekeeper constraint does about a violation.

use yaml::owned::Value;

use crate::config::Config;
use crate::goquote::list;
use crate::report::{at_file, info, warning};
use crate::{FunctionReport, Item};

pub(crate) fn run(items: &mut Vec<Item>, config: Config<'_>) -> FunctionReport {
    match set(items, config) {
        Ok(report) => report,
        Err(message) => {
            let text = format!("failed to process policies: {message}");
            FunctionReport {
                stderr: message,
                ..FunctionReport::failure(text)
            }
        }
    }
}

fn set(items: &mut [Item], config: Config<'_>) -> Result<FunctionReport, String> {
    if config.data_pairs().len() != 1 {
        return Err("expecting exactly 1 enforcementAction as part of the ConfigMap".to_owned());
    }
    let action = config.data("enforcementAction").unwrap_or_default();
    if !["deny", "warn", "dryrun"].contains(&action) {
        return Err(
            "expected values for enforcementAction are [deny] or [warn] or [dryrun]".to_owned(),
        );
    }
    let mut policies = Vec::new();
    for item in items.iter_mut() {
        item.meta_stands()?;
        if item.group() != "constraints.gatekeeper.sh" {
            continue;
        }
        if item.value.get("spec").and_then(Value::as_map).is_none() {
            let why = "wrong Node Kind for spec expected: MappingNode was ScalarNode: value: {}";
            return Err(why.to_owned());
        }
        item.set_text(&["spec", "enforcementAction"], action);
        policies.push(at_file(
            item,
            format!("Policy name: {}", list([item.name()])),
        ));
    }
    let action = list([action]);
    if policies.is_empty() {
        return Ok(FunctionReport::of([warning(format!(
            "Found no policy to set to {action}"
        ))]));
    }
    let first = info(format!(
        "Number of policies set to {action}: {}",
        policies.len()
    ));
    Ok(FunctionReport::of(std::iter::once(first).chain(policies)))
}
