//! The members of a rollout that somebody has to look at, by name.

use model::RolloutStatus;
use plan::set::LABEL;
use serde_json::Value;

use super::status;
use crate::client::{Client, VARIANTS, collection};
use crate::commands::rpkg;
use crate::exit::Failure;

/// How many members are named.
const NAMED: usize = 20;

/// The members that were reached and are not published as they are wanted, with what each waits for.
pub(super) async fn open(
    client: &Client,
    set: &Value,
    rollout: &RolloutStatus,
) -> Result<String, Failure> {
    let list = variants(client, set).await?;
    let mut lines = Vec::new();
    for variant in rpkg::items(&list) {
        let status = api::read_variant_status(variant);
        let generation = variant
            .pointer("/metadata/generation")
            .and_then(Value::as_i64);
        let name = api::str_at(variant, &["metadata", "name"]).unwrap_or_default();
        let Some(step) = plan::set::step_of(rollout, name) else {
            continue;
        };
        if status.published_generation == generation {
            continue;
        }
        let state = api::str_at(variant, &["status", "offshoot", "state"]);
        let state = state.unwrap_or("not looked at yet");
        lines.push(format!("- {name} ({step}): {state}\n"));
    }
    let text = few(lines);
    Ok(match text.is_empty() {
        true => text,
        false => format!("not published yet:\n{text}"),
    })
}

/// The members whose proposal stands in the way of an undo, and the way out; nothing where there are none.
pub(super) async fn proposed(client: &Client, set: &Value) -> Result<String, Failure> {
    let rollout = status(set)?;
    let list = variants(client, set).await?;
    let mut lines = Vec::new();
    for variant in rpkg::items(&list) {
        let name = api::str_at(variant, &["metadata", "name"]).unwrap_or_default();
        let status = api::read_variant_status(variant);
        let newest = status.downstream_targets.first();
        let Some(newest) = newest.filter(|t| t.lifecycle == model::Lifecycle::Proposed) else {
            continue;
        };
        if plan::set::step_of(&rollout, name).is_some() {
            lines.push(format!("- {name}: {}\n", newest.name));
        }
    }
    let text = few(lines);
    Ok(match text.is_empty() {
        true => text,
        false => format!(
            "these keep their proposal until somebody decides on it (offshoot rpkg reject NAME lets them go back):\n{text}"
        ),
    })
}

/// The variants of a set.
async fn variants(client: &Client, set: &Value) -> Result<Value, Failure> {
    let uid = api::str_at(set, &["metadata", "uid"]).unwrap_or_default();
    let query = format!("{LABEL}={uid}");
    let selector = [("labelSelector", query.as_str())];
    let path = collection(VARIANTS, &client.namespace, &selector);
    client.get(&path).await
}

/// The first lines, and how many more there are.
fn few(mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(NAMED);
    lines.truncate(NAMED);
    if more > 0 {
        lines.push(format!("- and {more} more\n"));
    }
    lines.concat()
}
