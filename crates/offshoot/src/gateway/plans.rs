//! `plans`: what writing or deleting objects would do to every target. Answered, and never stored (F2).
//!
//! Each manifest must be the caller's to write: it goes through the very rules of its kind as a dry run of the caller's own
//! create or update. What is planned is what the caller could read once it is there.

mod applied;
mod drafts;
mod objects;

use std::sync::Arc;

use apiserver::gateway::{Call, CallAnswer, Refusal, RefusalClass, Verb};
use base64::Engine as _;
use engine::{SupposedContent, SupposedUpstream};
use model::{
    File, FileMode, Files, Namespace, PackageName, PackagePath, Problem, RepositoryName,
    WorkspaceName,
};
use serde_json::{Value, json};

use self::objects::{Objects, Taken};
use super::refusal::{invalid, refusal};
use super::rights::may;
use super::{PackageGateway, unsupported};
use crate::planning;
use crate::ports::supposed;
pub(crate) use drafts::Drafts;

/// How many plans are made at once; others wait for their turn, and not for long (X9).
pub(super) const AT_ONCE: usize = 4;
/// How many of them for one namespace, so that long ones of one keep no others waiting (I11).
pub(super) const OF_EACH: usize = 1;

/// What a caller must be allowed to list to be told what becomes of it.
const SEEN: [(&str, &str); 5] = [
    ("config.porch.kpt.dev", "packagevariants"),
    ("config.porch.kpt.dev", "packagevariantsets"),
    ("config.porch.kpt.dev", "repositories"),
    (api::PACKAGE_GROUP, "packagerevisions"),
    (api::PACKAGE_GROUP, "packagerevisionresources"),
];

/// Handles a request.
pub(super) async fn handle(gateway: &PackageGateway, call: Call) -> Result<CallAnswer, Refusal> {
    if call.verb != Verb::Create {
        return Err(unsupported(call.verb, &call.resource));
    }
    let wrong = |e: model::NameError| Refusal::new(RefusalClass::BadRequest, e.to_string());
    let namespace = Namespace::parse(&call.namespace).map_err(wrong)?;
    may_see(gateway, &call).await?;
    let tenant = Some(Arc::from(namespace.as_str()));
    let turn = gateway.plans.place(tenant.as_ref());
    let Ok(_turn) = tokio::time::timeout(gateway.answer_within, turn).await else {
        let text = "other plans are being made: try again when they are done";
        return Err(Refusal::new(RefusalClass::Unavailable, text));
    };
    let spec = call.new.as_ref().and_then(|new| new.get("spec"));
    let spec = spec.cloned().unwrap_or_default();
    let mut objects = Objects::new(gateway, &call);
    for (at, object) in list(&spec, "objects").enumerate() {
        let field = format!("spec.objects[{at}]");
        objects.write(object, &field).await?;
    }
    for (at, named) in list(&spec, "delete").enumerate() {
        objects.delete(named, &format!("spec.delete[{at}]")).await?;
    }
    let Taken {
        mut suppositions,
        overlay,
        mut unknown,
        doubts,
    } = objects.supposed();
    for (at, named) in list(&spec, "upstreams").enumerate() {
        let field = format!("spec.upstreams[{at}]");
        let upstream = upstream(&namespace, named, &field);
        let upstream = upstream.map_err(|problem| invalid(&call, &[problem]))?;
        may_write_packages(gateway, &call).await?;
        suppositions.upstreams.push(upstream);
    }
    suppositions.run_functions = spec["runFunctions"].as_bool().unwrap_or_default();
    let cluster = supposed(Arc::clone(&gateway.api), overlay);
    let planned = gateway
        .engine
        .plan_fleet(&namespace, suppositions, cluster)
        .await;
    let mut plan = planned.map_err(|error| refusal(&call, &error))?;
    plan.unknown.append(&mut unknown);
    for doubt in doubts {
        let mut told = false;
        for target in plan.targets.iter_mut().filter(|t| doubt.concerns(t)) {
            target.doubt(&doubt.why);
            told = true;
        }
        if !told {
            plan.unknown.push((doubt.what, doubt.why));
        }
    }
    let class = spec["class"].as_str().filter(|class| !class.is_empty());
    Ok(CallAnswer {
        object: json!({
            "apiVersion": "fleet.offshoot.dev/v1alpha1",
            "kind": "Plan",
            "metadata": {"name": call.name, "namespace": call.namespace},
            "status": {"document": planning::document(&plan, class)},
        }),
        ..CallAnswer::default()
    })
}

fn list<'a>(spec: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let items = spec.get(key).and_then(Value::as_array);
    items.into_iter().flatten()
}

/// A plan shows variants, revisions and contents: whoever may not read them is told nothing of them.
async fn may_see(gateway: &PackageGateway, call: &Call) -> Result<(), Refusal> {
    for (group, resource) in SEEN {
        may(gateway, call, "list", (group, resource, "")).await?;
    }
    Ok(())
}

/// Whoever supposes an upstream revision must be allowed to make one.
async fn may_write_packages(gateway: &PackageGateway, call: &Call) -> Result<(), Refusal> {
    may(
        gateway,
        call,
        "create",
        (api::PACKAGE_GROUP, "packagerevisions", ""),
    )
    .await
}

/// Reads a supposed upstream.
fn upstream(
    namespace: &Namespace,
    named: &Value,
    field: &str,
) -> Result<SupposedUpstream, Problem> {
    let text = |key: &str| named.get(key).and_then(Value::as_str).unwrap_or_default();
    let wrong = |key: &str, e: &dyn std::fmt::Display| {
        let field = format!("{field}.{key}");
        let what = format!("{field}: {e}");
        Problem::new(field, what)
    };
    let content = match (text("ref"), named.get("files").and_then(Value::as_object)) {
        ("", Some(files)) => {
            let files = contents(files).map_err(|e| wrong("files", &e))?;
            let named = named.get("executable").and_then(Value::as_array);
            SupposedContent::Files(executable(files, named).map_err(|e| wrong("executable", &e))?)
        }
        ("", None) => return Err(wrong("ref", &"either a ref or files are needed")),
        (name, _) => SupposedContent::GitRef(name.to_owned()),
    };
    Ok(SupposedUpstream {
        namespace: namespace.clone(),
        repository: RepositoryName::parse(text("repository"))
            .map_err(|e| wrong("repository", &e))?,
        package: PackageName::parse(text("package")).map_err(|e| wrong("package", &e))?,
        revision: WorkspaceName::parse(text("revision")).map_err(|e| wrong("revision", &e))?,
        content,
    })
}

fn contents(files: &serde_json::Map<String, Value>) -> Result<Files, String> {
    let decode = base64::engine::general_purpose::STANDARD;
    let read = |(path, data): (&String, &Value)| {
        let parsed = PackagePath::parse(path).map_err(|e| format!("{path}: {e}"))?;
        let bytes = decode.decode(data.as_str().unwrap_or_default());
        let bytes = bytes.map_err(|e| format!("{path}: {e}"))?;
        Ok((parsed, File::new(bytes)))
    };
    files.iter().map(read).collect()
}

/// Makes files executable that are named so; git keeps no more of a mode.
fn executable(mut files: Files, named: Option<&Vec<Value>>) -> Result<Files, String> {
    for path in named.into_iter().flatten() {
        let path = path.as_str().unwrap_or_default();
        let parsed = PackagePath::parse(path).map_err(|e| format!("{path}: {e}"))?;
        let file = files.get_mut(&parsed);
        let file = file.ok_or_else(|| format!("{path:?} is not among the files"))?;
        *file = File::New {
            mode: FileMode::Executable,
            bytes: Arc::clone(file.bytes()),
        };
    }
    Ok(files)
}
