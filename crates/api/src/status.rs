//! The statuses of variants, sets and repositories: written for people and automation, and read
//! back so that an equal one is never written twice (V16).

use model::{
    DownstreamTarget, InjectionNote, Lifecycle, ObjectName, PackedRenderStatus, RepositoryStatus,
    RevisionNumber, SetStatus, VariantStatus, WorkspaceName,
};
use serde_json::{Map, Value};

use crate::conditions::merge_conditions;
use crate::fields::{FieldReader, put, put_list, put_number};
use crate::revision_status::{read_lock, write_lock};
use crate::{guard, rollout};
use crate::{read_conditions, read_render_status, write_render_status};

/// Where the answered request to look now stands, as others name it.
const HANDLED: &str = "lastHandledReconcileAt";

fn start(
    old: Option<&Value>,
    conditions: &[model::Condition],
    generation: i64,
    now: &str,
) -> Map<String, Value> {
    let before = old.and_then(|o| o.get("conditions"));
    let mut out = Map::new();
    out.insert("observedGeneration".to_owned(), generation.into());
    let conditions = merge_conditions(before, conditions, generation, now);
    out.insert("conditions".to_owned(), conditions);
    out
}

/// The wire form of a variant's status; `old` is the status that stands, for transition times.
pub fn write_variant_status(old: Option<&Value>, status: &VariantStatus, now: &str) -> Value {
    let mut out = start(old, &status.conditions, status.observed_generation, now);
    put(
        &mut out,
        HANDLED,
        status.handled.as_deref().unwrap_or_default(),
    );
    let targets = status.downstream_targets.iter().map(write_target).collect();
    put_list(&mut out, "downstreamTargets", targets);
    let notes = status.injection.iter().map(write_note).collect();
    put_list(&mut out, "injection", notes);
    let mut ours = Map::new();
    let text = |name: &Option<ObjectName>| name.as_ref().map_or("", |n| n.as_str()).to_owned();
    put(&mut ours, "upstream", &text(&status.upstream));
    put(&mut ours, "versions", &status.versions);
    put(&mut ours, "drift", status.drift().unwrap_or_default());
    put(&mut ours, "state", status.words(status.observed_generation));
    if let Some(generation) = status.published_generation {
        ours.insert("publishedGeneration".to_owned(), generation.into());
    }
    if let Some(mark) = &status.rollout {
        ours.insert("rollout".to_owned(), rollout::write_member(mark));
    }
    put(
        &mut ours,
        "deletedDownstream",
        &text(&status.deleted_downstream),
    );
    if !ours.is_empty() {
        out.insert("offshoot".to_owned(), Value::Object(ours));
    }
    Value::Object(out)
}

fn write_note(note: &InjectionNote) -> Value {
    let mut out = Map::new();
    put(&mut out, "point", &note.point);
    put(&mut out, "reason", &note.reason);
    put(&mut out, "message", &note.message);
    Value::Object(out)
}

fn read_note(fields: &FieldReader<'_>) -> Option<InjectionNote> {
    Some(InjectionNote {
        point: fields.owned("point")?,
        reason: fields.owned("reason").unwrap_or_default(),
        message: fields.owned("message").unwrap_or_default(),
    })
}

fn write_target(target: &DownstreamTarget) -> Value {
    let mut out = Map::new();
    put(&mut out, "name", target.name.as_str());
    put(&mut out, "lifecycle", target.lifecycle.as_str());
    put(&mut out, "workspaceName", target.workspace.as_str());
    put_number(&mut out, "revision", target.revision);
    if let Some(lock) = &target.upstream_lock {
        out.insert("upstreamLock".to_owned(), write_lock(lock));
    }
    if target.conflicts > 0 {
        out.insert("conflicts".to_owned(), target.conflicts.into());
    }
    if target.gates > 0 {
        out.insert("gates".to_owned(), target.gates.into());
    }
    if target.rejected {
        out.insert("rejected".to_owned(), true.into());
    }
    if let Some(render) = &target.render_status {
        out.insert(
            "renderStatus".to_owned(),
            write_render_status(&render.unpack()),
        );
    }
    Value::Object(out)
}

/// Reads the status of a variant object, leniently: what cannot be read is not there.
pub fn read_variant_status(object: &Value) -> VariantStatus {
    let Some(status) = object.get("status") else {
        return VariantStatus::default();
    };
    let fields = FieldReader::new(status, "status");
    let ours = fields.child("offshoot");
    let name = |key: &str| {
        ours.as_ref()
            .and_then(|o| o.text(key))
            .and_then(|t| ObjectName::parse(t).ok())
    };
    VariantStatus {
        observed_generation: fields.int("observedGeneration").unwrap_or_default(),
        conditions: read_conditions(fields.raw("conditions")),
        downstream_targets: fields
            .list("downstreamTargets")
            .iter()
            .filter_map(read_target)
            .collect(),
        upstream: name("upstream"),
        versions: ours
            .as_ref()
            .and_then(|o| o.owned("versions"))
            .unwrap_or_default(),
        deleted_downstream: name("deletedDownstream"),
        handled: fields.owned(HANDLED),
        injection: fields
            .list("injection")
            .iter()
            .filter_map(read_note)
            .collect(),
        published_generation: ours.as_ref().and_then(|o| o.int("publishedGeneration")),
        rollout: ours
            .as_ref()
            .and_then(|o| o.child("rollout"))
            .and_then(|r| rollout::read_member(&r)),
    }
}

fn read_target(fields: &FieldReader<'_>) -> Option<DownstreamTarget> {
    Some(DownstreamTarget {
        name: ObjectName::parse(fields.text("name")?).ok()?,
        lifecycle: Lifecycle::parse(fields.text("lifecycle")?)?,
        revision: RevisionNumber(fields.int("revision").unwrap_or_default()),
        workspace: WorkspaceName::parse(fields.text("workspaceName")?).ok()?,
        upstream_lock: fields.child("upstreamLock").and_then(|l| read_lock(&l)),
        render_status: fields
            .raw("renderStatus")
            .map(|status| PackedRenderStatus::from(&read_render_status(status))),
        conflicts: fields.count("conflicts"),
        gates: fields.count("gates"),
        rejected: fields.flag("rejected"),
    })
}

/// The wire form of a set's status.
pub fn write_set_status(old: Option<&Value>, status: &SetStatus, now: &str) -> Value {
    let mut out = start(old, &status.conditions, status.observed_generation, now);
    put(
        &mut out,
        HANDLED,
        status.handled.as_deref().unwrap_or_default(),
    );
    put(&mut out, "upstream", &status.upstream);
    let counts = [
        ("targets", status.targets),
        ("variants", status.variants),
        ("readyVariants", status.ready),
        ("stalledVariants", status.stalled),
        ("draftVariants", status.drafts),
        ("proposedVariants", status.proposed),
        ("publishedVariants", status.published),
        ("upToDateVariants", status.up_to_date),
        ("conflictedVariants", status.conflicted),
        ("gatedVariants", status.gated),
        ("untaggedVariants", status.untagged),
        ("failedVariants", status.failing),
        ("failedTargets", status.failed),
    ];
    for (key, count) in counts {
        out.insert(key.to_owned(), count.into());
    }
    if let Some(rollout) = &status.rollout {
        out.insert("rollout".to_owned(), rollout::write_status(rollout));
    }
    let mut ours = guard::write(&status.guard);
    put(&mut ours, "state", status.words());
    // One number for a column: what cannot be made, and what was made and cannot go on.
    let failed = status.failed + status.failing;
    ours.insert("failed".to_owned(), failed.into());
    if !ours.is_empty() {
        out.insert("offshoot".to_owned(), Value::Object(ours));
    }
    Value::Object(out)
}

/// Reads the status of a set object, leniently.
pub fn read_set_status(object: &Value) -> SetStatus {
    let Some(status) = object.get("status") else {
        return SetStatus::default();
    };
    let fields = FieldReader::new(status, "status");
    let mut out = SetStatus {
        observed_generation: fields.int("observedGeneration").unwrap_or_default(),
        conditions: read_conditions(fields.raw("conditions")),
        upstream: fields.owned("upstream").unwrap_or_default(),
        targets: fields.count("targets"),
        variants: fields.count("variants"),
        ready: fields.count("readyVariants"),
        stalled: fields.count("stalledVariants"),
        drafts: fields.count("draftVariants"),
        proposed: fields.count("proposedVariants"),
        published: fields.count("publishedVariants"),
        up_to_date: fields.count("upToDateVariants"),
        conflicted: fields.count("conflictedVariants"),
        gated: fields.count("gatedVariants"),
        untagged: fields.count("untaggedVariants"),
        failing: fields.count("failedVariants"),
        failed: fields.count("failedTargets"),
        handled: fields.owned(HANDLED),
        rollout: fields.child("rollout").map(|r| rollout::read_status(&r)),
        ..SetStatus::default()
    };
    if let Some(ours) = fields.child("offshoot") {
        out.guard = guard::read(&ours, out.variants);
    }
    out
}

/// The wire form of a repository's status.
pub fn write_repository_status(old: Option<&Value>, status: &RepositoryStatus, now: &str) -> Value {
    let mut out = start(old, &status.conditions, status.observed_generation, now);
    put(&mut out, "gitCommitHash", &status.git_commit);
    put(&mut out, "lastFullSyncTime", &status.last_full_sync);
    put(&mut out, "nextFullSyncTime", &status.next_full_sync);
    put(&mut out, "observedRunOnceAt", &status.observed_run_once_at);
    out.insert("packageCount".to_owned(), status.package_count.into());
    Value::Object(out)
}

/// Reads the status of a repository object, leniently.
pub fn read_repository_status(object: &Value) -> RepositoryStatus {
    let Some(status) = object.get("status") else {
        return RepositoryStatus::default();
    };
    let fields = FieldReader::new(status, "status");
    let text = |key: &str| fields.owned(key).unwrap_or_default();
    RepositoryStatus {
        observed_generation: fields.int("observedGeneration").unwrap_or_default(),
        conditions: read_conditions(fields.raw("conditions")),
        package_count: fields
            .int("packageCount")
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or_default(),
        git_commit: text("gitCommitHash"),
        last_full_sync: text("lastFullSyncTime"),
        next_full_sync: text("nextFullSyncTime"),
        observed_run_once_at: text("observedRunOnceAt"),
    }
}
