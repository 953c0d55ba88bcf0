//! Errors of the engine as clients see them (A6).

use apiserver::gateway::{Call, Cause, Refusal, RefusalClass};
use engine::Error;
use model::{Class, Problem, join_problems};
use plan::revision::RejectionReason;

/// What a client is told of a failure.
pub(super) fn refusal(call: &Call, error: &Error) -> Refusal {
    let problems = error.problems();
    let hints: Vec<_> = problems.iter().filter_map(|p| p.hint.as_deref()).collect();
    let mut text = error.chain();
    if !hints.is_empty() {
        text = format!("{text} ({})", hints.join("; "));
    }
    let reason = error.rejection();
    let mut refusal = of_class(call, (error.class(), reason), &text);
    refusal.causes = causes(problems, reason);
    if refusal.class == RefusalClass::Invalid && refusal.causes.is_empty() {
        // kubectl prints the causes alone: without one it would say nothing but that it is invalid.
        let field = match call.resource.as_str() {
            "packagerevisionresources" => "spec.resources",
            _ => "spec",
        };
        refusal.causes = causes(&[Problem::new(field, text)], reason);
    }
    refusal
}

/// What a client is told of input that cannot be understood.
pub(super) fn invalid(call: &Call, problems: &[Problem]) -> Refusal {
    let mut refusal = of_class(call, (Class::Invalid, None), &join_problems(problems));
    refusal.causes = causes(problems, None);
    refusal
}

/// The words that the Kubernetes API puts before a message of each class.
fn of_class(call: &Call, (class, reason): (Class, Option<RejectionReason>), text: &str) -> Refusal {
    let resource = format!("{}.{}", call.resource, call.group);
    let name = &call.name;
    let kind = match call.resource.as_str() {
        "packagerevisions" => "PackageRevision",
        "bulkchanges" => "BulkChange",
        "plans" => "Plan",
        _ => "PackageRevisionResources",
    };
    let (class, message) = match class {
        Class::Invalid => (
            RefusalClass::Invalid,
            format!("{kind}.{} {name:?} is invalid: {text}", call.group),
        ),
        // The engine knows the revision; whoever asked for its files is told of them.
        Class::NotFound => {
            let revision = format!("packagerevisions.{} {name:?} not found", call.group);
            let asked = format!("{resource} {name:?} not found");
            (RefusalClass::NotFound, text.replace(&revision, &asked))
        }
        Class::Conflict if reason == Some(RejectionReason::AlreadyExists) => {
            (RefusalClass::Conflict, text.to_owned())
        }
        Class::Conflict => (
            RefusalClass::Conflict,
            format!("Operation cannot be fulfilled on {resource} {name:?}: {text}"),
        ),
        Class::Denied => (
            RefusalClass::Denied,
            format!("{resource} {name:?} is forbidden: {text}"),
        ),
        Class::Unavailable => (RefusalClass::Unavailable, text.to_owned()),
        Class::Limit => (RefusalClass::Limit, text.to_owned()),
        Class::Bug => (
            RefusalClass::Bug,
            format!("Internal error occurred: {text}"),
        ),
    };
    Refusal {
        class,
        message,
        causes: Vec::new(),
    }
}

/// The causes of a refusal, with its reason for programs, or else that of a field that is wrong.
fn causes(problems: &[Problem], reason: Option<RejectionReason>) -> Vec<Cause> {
    let reason = reason.map_or("FieldValueInvalid", RejectionReason::as_str);
    let cause = |p: &Problem| {
        // A cause names its field apart from its message; where nothing else is named, it is the object.
        let field = if p.field.is_empty() {
            "spec"
        } else {
            p.field.as_str()
        };
        let what = p
            .what
            .strip_prefix(&format!("{field}: "))
            .unwrap_or(&p.what);
        // kubectl shows causes alone: the way out belongs to them.
        let hint = p.hint.as_ref().map(|hint| format!(" ({hint})"));
        Cause {
            field: field.to_owned(),
            reason: reason.to_owned(),
            message: format!("{what}{}", hint.unwrap_or_default()),
        }
    };
    problems.iter().map(cause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_names_a_field_and_the_way_out() {
        let plain = Problem::new("", "readiness conditions not met: mine");
        let with_hint = Problem {
            hint: Some("look at it".to_owned()),
            ..Problem::new("spec.tasks", "spec.tasks: field is immutable")
        };
        let told: Vec<String> = causes(&[plain, with_hint], None)
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        assert_eq!(
            told,
            [
                "spec: readiness conditions not met: mine",
                "spec.tasks: field is immutable (look at it)"
            ]
        );
        let gates = Problem::new("spec.lifecycle", "readiness conditions not met: mine");
        for (reason, word) in [
            (None, "FieldValueInvalid"),
            (Some(RejectionReason::OpenGates), "OpenGates"),
        ] {
            let told = causes(std::slice::from_ref(&gates), reason);
            assert_eq!(told[0].reason, word);
        }
    }
}
