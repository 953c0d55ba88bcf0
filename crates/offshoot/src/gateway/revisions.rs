//! `packagerevisions` and `packagerevisions/approval`.

use apiserver::gateway::{Attributes, Call, CallAnswer, Refusal, RefusalClass, Verb};
use engine::usecase::{Input, Made};
use model::{Door, Lifecycle, Namespace};
use plan::revision;
use serde_json::Value;

use super::refusal::{invalid, refusal};
use super::{PackageGateway, caller, key, preconditions, unsupported};

pub(super) async fn handle(gateway: &PackageGateway, call: Call) -> Result<CallAnswer, Refusal> {
    match call.verb {
        Verb::Create => create(gateway, &call).await,
        Verb::Update | Verb::Patch => update(gateway, &call).await,
        Verb::Delete => delete(gateway, &call).await,
        Verb::Get => get(gateway, &call).await,
        verb => Err(unsupported(verb, &call.resource)),
    }
}

async fn get(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let found = gateway.engine.revision(&key(call)?).await;
    let revision = found.map_err(|e| refusal(call, &e))?;
    Ok(CallAnswer {
        object: api::write_revision(&revision),
        ..CallAnswer::default()
    })
}

/// What a person sent, as the use-cases take it.
fn input(call: &Call, input: api::RevisionInput) -> Input {
    Input {
        meta: input.meta,
        repository: input.repository,
        package: input.package,
        workspace: input.workspace,
        lifecycle: input.lifecycle,
        revision: input.revision,
        tasks: input.tasks,
        readiness_gates: input.readiness_gates,
        package_metadata: input.package_metadata,
        // A patch of an object that had the field and has it no more took it off; whoever puts a whole object may not
        // know the field (V4a).
        resolved_conflicts: match (input.resolved_conflicts, call.verb) {
            (None, Verb::Patch) => Some(Vec::new()),
            (sent, _) => sent,
        },
        conditions: input.conditions,
    }
}

/// The name that a new revision gets, whatever it was called in the request (A5).
pub(super) fn composed_name(call: &Call) -> Option<String> {
    let input = api::read_revision_input(call.new.as_ref()?).ok()?;
    let (repository, package) = (&input.repository, &input.package);
    Some(model::compose_name(repository, package, &input.workspace))
}

async fn create(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let wrong = |e: model::NameError| {
        invalid(
            call,
            &[model::Problem::new("metadata.namespace", e.to_string())],
        )
    };
    let namespace = Namespace::parse(&call.namespace).map_err(wrong)?;
    let sent = call.new.as_ref().unwrap_or(&Value::Null);
    let sent = api::read_revision_input(sent).map_err(|problems| invalid(call, &problems))?;
    let made = gateway
        .engine
        .create(&caller(call), &namespace, input(call, sent))
        .await;
    let made = made.map_err(|e| refusal(call, &e))?;
    let mut outcome = outcome(made);
    let name = api::str_at(&outcome.object, &["metadata", "name"])
        .unwrap_or_default()
        .to_owned();
    if !call.name.is_empty() && call.name != name {
        // Porch warns, too: names of package revisions are composed.
        outcome.warnings.push(format!(
            "metadata.name {:?} is not used: package revisions are called by repository, package and workspace, this one {name:?}",
            call.name
        ));
    }
    Ok(outcome)
}

async fn update(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    let door = if call.subresource.as_deref() == Some("approval") {
        Door::Approval
    } else {
        Door::Main
    };
    let sent = call.new.as_ref().unwrap_or(&Value::Null);
    let sent = api::read_revision_update(sent).map_err(|problems| invalid(call, &problems));
    let (sent, wrong_tasks) = sent?;
    let made = gateway
        .engine
        .update(&caller(call), &key(call)?, door, input(call, sent))
        .await;
    let mut outcome = made.map(outcome).map_err(|e| refusal(call, &e))?;
    let unread = wrong_tasks
        .iter()
        .map(|problem| format!("{problem}; the tasks stay as they are"));
    outcome.warnings.extend(unread);
    Ok(outcome)
}

async fn delete(gateway: &PackageGateway, call: &Call) -> Result<CallAnswer, Refusal> {
    may_delete(gateway, call).await?;
    let deleted = gateway
        .engine
        .delete(&caller(call), &key(call)?, &preconditions(call))
        .await;
    let waiting = deleted.map_err(|e| refusal(call, &e))?;
    Ok(waiting.map(outcome).unwrap_or_else(|| CallAnswer {
        object: call.old.clone().unwrap_or_default(),
        ..CallAnswer::default()
    }))
}

/// Whether the caller has the rights that a deletion takes beside that of the request itself.
async fn may_delete(gateway: &PackageGateway, call: &Call) -> Result<(), Refusal> {
    let old = call.old.as_ref();
    let lifecycle = old.and_then(|old| api::str_at(old, &["spec", "lifecycle"]));
    let takes = revision::RevisionVerb::Delete.takes(lifecycle.and_then(Lifecycle::parse));
    for &(verb, subresource) in takes.iter().filter(|(_, of)| !of.is_empty()) {
        let asked = Attributes {
            user: &call.user,
            verb,
            group: &call.group,
            resource: &call.resource,
            subresource,
            namespace: &call.namespace,
            name: &call.name,
            path: "",
        };
        if gateway.handle.may(&asked).await.allowed {
            continue;
        }
        let text = format!(
            "packagerevisions.{} {:?} is forbidden: its deletion is approved by whoever may approve: User {:?} cannot {verb} \
             resource \"packagerevisions/{subresource}\" in API group {:?} in the namespace {:?}",
            call.group, call.name, call.user.name, call.group, call.namespace
        );
        return Err(Refusal::new(RefusalClass::Denied, text));
    }
    Ok(())
}

fn outcome(made: Made) -> CallAnswer {
    CallAnswer {
        object: api::write_revision(&made.revision),
        status: None,
        warnings: made.warnings,
    }
}
