//! From what the engine planned to the document (frozen: others build on it, and pass over fields that they do not know).

use std::collections::BTreeMap;

use engine::planned::{
    FleetPlan, Leaving, PlannedClass, PlannedSet, PlannedTarget, UpstreamChange, Verdict,
};
use model::{Conflict, ConflictValue, ObjectKey};
use package::changes::{ClassId, HashKey, Inputs};
use serde_json::{Map, Value, json};

use super::changes::of_changes;
use super::id_of;

/// The document of a plan; with a class, of its targets alone.
pub(crate) fn document(plan: &FleetPlan, class: Option<&str>) -> Value {
    let shown = |id: &str| class.is_none_or(|wanted| id.starts_with(wanted));
    let targets: Vec<&PlannedTarget> = plan
        .targets
        .iter()
        .filter(|t| class.is_none() || t.class.is_some_and(|id| shown(&id.to_string())))
        .collect();
    // Many targets may be in many classes: each is looked at once.
    let mut members: BTreeMap<ClassId, Vec<&PlannedTarget>> = BTreeMap::new();
    for target in &targets {
        if let Some(class) = target.class {
            members.entry(class).or_default().push(target);
        }
    }
    let classes: Vec<Value> = plan
        .classes
        .iter()
        .map(|(id, class)| (id, id.to_string(), class))
        .filter(|(_, text, _)| shown(text))
        .map(|(id, text, class)| {
            let mine = members.get(id).map_or(&[][..], Vec::as_slice);
            of_class(&text, class, mine)
        })
        .collect();
    let failed = targets.iter().filter(|t| t.verdict == Verdict::Failed);
    let failed = failed
        .map(|t| json!({"variant": t.variant.to_string(), "reason": t.why.0, "message": t.why.1}));
    let stalled = plan.stalled.iter().map(|(set, reason, message)| {
        json!({"set": set.to_string(), "reason": reason, "message": message})
    });
    let failed: Vec<Value> = failed.chain(stalled).collect();
    let counts = counted(&plan.targets);
    let sets: Vec<Value> = plan.sets.iter().map(|set| of_set(set, &counts)).collect();
    let unknown = plan.unknown.iter();
    let unknown: Vec<Value> = unknown
        .map(|(what, why)| json!({"what": what, "why": why}))
        .collect();
    let leaving: Vec<Value> = plan.leaving.iter().map(of_leaving).collect();
    let mut document = json!({
        "format": 1,
        "plan": "",
        "sets": sets,
        "classes": classes,
        "targets": targets.iter().map(|t| of_target(plan, t)).collect::<Vec<_>>(),
        "leaving": leaving,
        "failed": failed,
        "unknown": unknown,
    });
    document["plan"] = id_of(&document).into();
    document
}

/// How many targets of each set have which verdict.
fn counted(targets: &[PlannedTarget]) -> BTreeMap<(&ObjectKey, Verdict), usize> {
    let mut counts = BTreeMap::new();
    for target in targets {
        if let Some(set) = &target.set {
            *counts.entry((set, target.verdict)).or_default() += 1;
        }
    }
    counts
}

fn of_set(set: &PlannedSet, counts: &BTreeMap<(&ObjectKey, Verdict), usize>) -> Value {
    let counts: Map<String, Value> = Verdict::ALL
        .into_iter()
        .map(|verdict| {
            let count = counts.get(&(&set.key, verdict)).copied();
            (verdict.word().to_owned(), count.unwrap_or_default().into())
        })
        .collect();
    let mut object = json!({
        "set": set.key.to_string(),
        "counts": counts,
        "fuse": {"holds": set.held, "deleting": set.deleting, "of": set.of},
    });
    if let Some(confirm) = &set.confirm {
        object["fuse"]["confirm"] = confirm.as_str().into();
    }
    if set.unknown {
        object["unknown"] = true.into();
    }
    if !set.steps.is_empty() {
        object["steps"] = set.steps.as_slice().into();
    }
    if let Some(warning) = &set.warning {
        object["warning"] = warning.as_str().into();
    }
    object
}

fn of_leaving(leaving: &Leaving) -> Value {
    let revisions = leaving.revisions.iter();
    let revisions: Vec<Value> = revisions
        .map(|one| {
            let tree = one.tree.map(|tree| tree.to_string());
            json!({"name": one.name.as_str(), "fate": one.fate, "tree": tree})
        })
        .collect();
    let mut object =
        json!({"variant": leaving.variant.to_string(), "why": leaving.why, "revisions": revisions});
    if let Some(branch) = &leaving.branch {
        object["branch"] = branch.as_str().into();
    }
    object
}

fn of_target(plan: &FleetPlan, target: &PlannedTarget) -> Value {
    let class = target.class.and_then(|id| plan.classes.get(&id));
    let key = class.map(|class| &class.changes.key);
    let inputs = target.inputs.iter();
    let inputs: Map<String, Value> = inputs.map(|(k, v)| (k.to_owned(), v.into())).collect();
    let mut object = json!({
        "variant": target.variant.to_string(),
        "set": target.set.as_ref().map(ToString::to_string),
        "repository": target.place.as_ref().map(|(repository, _)| repository.as_str()),
        "package": target.place.as_ref().map(|(_, package)| package.as_str()),
        "verdict": target.verdict.word(),
        "exact": target.inexact.is_none() && !matches!(target.verdict, Verdict::Unknown | Verdict::Failed),
        "class": target.class.map(|id| id.to_string()),
        "step": target.step,
        "upstream": target.upstream.as_ref().map(of_upstream),
        "draft": target.draft.as_ref().map(|name| name.as_str()),
        "tree": target.tree.map(|tree| tree.to_string()),
        "inputs": inputs,
        "conflicts": target.conflicts.iter().map(|c| of_conflict(c, key)).collect::<Vec<_>>(),
    });
    if let Some(why) = &target.inexact {
        object["inexact"] = why.as_str().into();
    }
    if !target.absent.is_empty() {
        object["absent"] = target.absent.clone().into();
    }
    let (reason, message) = &target.why;
    if !message.is_empty() {
        object["reason"] = reason.as_str().into();
        object["message"] = message.as_str().into();
    }
    object
}

fn of_upstream(change: &UpstreamChange) -> Value {
    let end = |(revision, commit): &(String, Option<model::CommitId>)| json!({"revision": revision, "commit": commit.map(|c| c.to_string())});
    json!({
        "repository": change.repository.as_str(),
        "package": change.package.as_str(),
        "from": change.from.as_ref().map(end),
        "to": end(&change.to),
    })
}

fn of_conflict(conflict: &Conflict, key: Option<&HashKey>) -> Value {
    let side = |value: &ConflictValue| match value {
        ConflictValue::Absent => json!({"absent": true}),
        value if value.abridged().is_some() => json!({"abridged": value.abridged()}),
        // What is recorded is a plain hash, which would tell whoever tries values which one it is.
        ConflictValue::Hash(hash) => match key {
            Some(key) => json!({"hash": key.hash(hash), "hidden": true}),
            None => json!({"hidden": true}),
        },
        ConflictValue::Json(text) => json!({"value": text.to_string()}),
    };
    json!({
        "id": conflict.id.0,
        "key": api::conflict_key(conflict),
        "file": conflict.file.as_str(),
        "resource": conflict.resource,
        "path": conflict.path,
        "base": side(&conflict.base),
        "local": side(&conflict.local),
        "upstream": side(&conflict.upstream),
    })
}

fn of_class(id: &str, class: &PlannedClass, targets: &[&PlannedTarget]) -> Value {
    let mine: Vec<&Inputs> = targets.iter().map(|t| &t.inputs).collect();
    let files = (&class.before, &class.after);
    of_changes(id, &class.first.to_string(), &class.changes, files, &mine)
}
