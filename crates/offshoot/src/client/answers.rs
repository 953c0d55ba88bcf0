//! What answers of a server say, as types.

use model::{Class, Lifecycle};
use plan::revision::RejectionReason;
use serde_json::Value;

use crate::exit::ExitFailure;

/// Where a package revision stands; `None` where that is nothing that is known here.
pub(crate) fn lifecycle(revision: &Value) -> Option<Lifecycle> {
    Lifecycle::parse(api::str_at(revision, &["spec", "lifecycle"])?)
}

/// An answer that is no success, as a failure.
pub(crate) fn refused(code: u16, answer: &Value) -> ExitFailure {
    let failure = match answer.get("message").and_then(Value::as_str) {
        Some(message) => ExitFailure::new(message.to_owned()).because(reason(answer)),
        None => {
            let text = answer.as_str().unwrap_or_default().trim();
            let known = http::StatusCode::from_u16(code).ok();
            let code = known.map_or_else(|| code.to_string(), |code| code.to_string());
            let colon = if text.is_empty() { "" } else { ": " };
            ExitFailure::new(format!("the server answers {code}{colon}{text}"))
        }
    };
    // What is invalid is no mistake in the command line, and has no class here.
    match code {
        401 => failure.hint("the server does not know the certificate or token of the kubeconfig, or not any more (both run out): whoever runs it writes another one with `offshoot user`"),
        403 => failure.of_class(Class::Denied),
        404 => failure.of_class(Class::NotFound),
        409 => failure.of_class(Class::Conflict),
        413 => failure.of_class(Class::Limit),
        _ => failure,
    }
}

/// Why a request was refused, as the causes of a `Status` say it.
fn reason(status: &Value) -> Option<RejectionReason> {
    let causes = status.pointer("/details/causes")?.as_array()?;
    let mut words = causes.iter().filter_map(|c| api::str_at(c, &["reason"]));
    words.find_map(RejectionReason::parse)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An older server names no reason that is known here: what it says is told all the same.
    #[test]
    fn the_reason_is_a_causes_and_not_the_messages() {
        let said = "readiness conditions not met: mine";
        let told = |causes: Value| {
            let status = json!({ "message": said, "details": { "causes": causes } });
            let failure = refused(422, &status);
            (failure.message().to_owned(), failure.reason())
        };
        let old = json!([{ "reason": "FieldValueInvalid", "field": "spec.lifecycle" }]);
        assert_eq!(told(old.clone()), (said.to_owned(), None));
        assert_eq!(told(Value::Null), (said.to_owned(), None));
        let new = json!([old[0], { "reason": "OpenGates", "field": "spec.lifecycle" }]);
        let open = Some(RejectionReason::OpenGates);
        assert_eq!(told(new), (said.to_owned(), open));
    }

    #[test]
    fn a_code_is_a_class() {
        for (code, class) in [
            (403, Some(Class::Denied)),
            (404, Some(Class::NotFound)),
            (409, Some(Class::Conflict)),
            (422, None),
        ] {
            assert_eq!(refused(code, &Value::Null).class(), class);
        }
    }
}
