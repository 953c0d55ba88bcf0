//! What answers of a server say, as types.

use model::Lifecycle;
use serde_json::Value;

use crate::exit::ExitFailure;

/// Where a package revision stands; `None` where that is nothing that is known here.
pub(crate) fn lifecycle(revision: &Value) -> Option<Lifecycle> {
    Lifecycle::parse(api::str_at(revision, &["spec", "lifecycle"])?)
}

/// An answer that is no success, as a failure.
pub(crate) fn refused(code: u16, answer: &Value) -> ExitFailure {
    match answer.get("message").and_then(Value::as_str) {
        Some(message) if code == 409 => ExitFailure::new(message.to_owned()).conflict(),
        Some(message) => ExitFailure::new(message.to_owned()),
        None => {
            let text = answer.as_str().unwrap_or_default().trim();
            let known = http::StatusCode::from_u16(code).ok();
            let code = known.map_or_else(|| code.to_string(), |code| code.to_string());
            ExitFailure::new(format!("the server answers {code}: {text}"))
        }
    }
}
