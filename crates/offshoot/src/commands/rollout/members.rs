//! The members of a rollout that somebody has to look at, by name.

use model::{RolloutState, RolloutStatus, Standing};
use plan::set::LABEL;
use serde_json::Value;

use super::status;
use crate::client::{Client, VARIANTS, collection};
use crate::commands::rpkg;
use crate::exit::ExitFailure;

/// How many members are named.
const NAMED: usize = 20;

/// The members that were reached and are not published as they are wanted, or not back yet, with what each waits for.
pub(super) async fn open(
    client: &Client,
    set: &Value,
    rollout: &RolloutStatus,
) -> Result<String, ExitFailure> {
    let list = variants(client, set).await?;
    let lines = rpkg::items(&list).iter().filter_map(|v| line(rollout, v));
    let text = few(lines.collect());
    Ok(match (text.is_empty(), rollout.state) {
        (true, _) => text,
        (false, RolloutState::Undone) => format!("not back yet:\n{text}"),
        (false, _) => format!("not published yet:\n{text}"),
    })
}

/// The targets that cannot be made, and why; nothing where there are none.
pub(super) fn unmade(rollout: &RolloutStatus) -> String {
    let lines: String = rollout.unmade.iter().map(|u| format!("- {u}\n")).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("cannot be made:\n{lines}"),
    }
}

/// The line of a variant that is to be named. During an undo that is also who is published as before and has an edited draft
/// that conflicts or fails; what the rollout made does not go back, and is named where it fails.
pub(super) fn line(rollout: &RolloutStatus, variant: &Value) -> Option<String> {
    let (meta, status) = (api::read_meta(variant), api::read_variant_status(variant));
    let name = api::str_at(variant, &["metadata", "name"]).unwrap_or_default();
    let step = plan::set::step_of(rollout, name)?;
    let standing = Standing::of(&status, meta.generation);
    let troubled = matches!(standing, Standing::Conflicts | Standing::Failed);
    let mut is_done = status.published_generation == Some(meta.generation);
    if rollout.state == RolloutState::Undone {
        let member = rollout.members.get(&plan::set::uid_mark(name));
        let stays = member.is_some_and(|m| m.before.is_none());
        is_done = !troubled && (is_done || stays);
    }
    let state = api::str_at(variant, &["status", "offshoot", "state"]);
    let state = state.unwrap_or("not looked at yet");
    let state = match status.is_untagged(meta.generation) {
        true => "its tag was deleted in git, and the branch holds what it published",
        false => state,
    };
    (!is_done).then(|| format!("- {name} ({step}): {state}\n"))
}

/// The members whose proposal stands in the way of an undo, and the way out; nothing where there are none.
pub(super) async fn proposed(client: &Client, set: &Value) -> Result<String, ExitFailure> {
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
async fn variants(client: &Client, set: &Value) -> Result<Value, ExitFailure> {
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
