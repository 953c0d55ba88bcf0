//! What a page says to a rollout: pause, resume, retry and undo, by the code of `offshoot rollout`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Board;
use crate::commands::rollout::{Saying, act, said};
use crate::exit::ExitFailure;

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Request {
    verb: String,
    set: String,
    /// How the rollout stood when it was shown.
    seen: String,
    #[serde(default)]
    dry_run: bool,
}

/// Says it; what came of it.
///
/// # Errors
/// It is no request, or the server refuses; that it was shown otherwise is an answer.
pub(super) async fn run(board: &Board, body: &[u8]) -> Result<Value, ExitFailure> {
    let request: Request =
        serde_json::from_slice(body).map_err(|e| ExitFailure::of("read the request", &e))?;
    let verb = said(&request.verb, &request.set).ok_or_else(|| {
        ExitFailure::new(format!(
            "{:?} cannot be said to a rollout: pause, resume, retry or undo can",
            request.verb
        ))
    })?;
    let saying = Saying {
        verb: &verb,
        seen: Some(&request.seen),
        dry_run: request.dry_run,
    };
    match act(&board.client, &saying).await {
        Ok(told) => {
            let told = told.trim_end();
            let how = if request.dry_run { " (dry run)" } else { "" };
            Ok(json!({ "summary": format!("{told}{how}") }))
        }
        Err(why) if why.is_conflict() => Ok(json!({ "error": why.message(), "changed": true })),
        Err(why) => Err(why),
    }
}
