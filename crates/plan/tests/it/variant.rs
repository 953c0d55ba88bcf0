//! Cases of variants.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use model::{
    Digest, DraftOwner, Injection, InjectionOutcome, KeptInjection, Machine, Problem, Revision,
    Variant, VariantStatus,
};
use plan::variant::{
    FailedDerivation, Feeder, Lineage, LostTag, Observed, ObservedBase, OldUpstream,
    RepositorySummary, Rival, Stated, Subject, UpstreamResolution, VariantOutcome, Writer, base_of,
    check, decide, digests, next_after, resolve_upstream, status_after, validate, words,
};

use crate::cases;
use crate::wire::{
    Json, class, commit, key, lock, meta, name, off_branch, place, repo, revisions, spec, tree,
    uid, workspace,
};

#[test]
fn cases_of_variants() {
    cases::run("variant", answer);
}

/// The plan, and what applying it brought where the world says so.
pub(crate) fn answer(world: &Json) -> String {
    let observed = observed(world);
    let plan = decide(&observed);
    check(&plan, &observed).unwrap_or_else(|v| panic!("{v}\n{plan}"));
    let mut text = plan.to_string();
    let outcomes: Vec<VariantOutcome> = world
        .list("outcomes")
        .iter()
        .enumerate()
        .map(|(i, o)| outcome(o, plan.steps.get(i)))
        .collect();
    if !outcomes.is_empty() {
        writeln!(text, "afterwards:").expect("a text");
        match status_after(&observed, &plan, &outcomes) {
            None => writeln!(text, "- no status is written").expect("a text"),
            Some(status) => write_status(&mut text, &status),
        }
        writeln!(text, "next: {}", next_after(&plan, &outcomes)).expect("a text");
    }
    text
}

fn write_status(text: &mut String, status: &VariantStatus) {
    for c in &status.conditions {
        writeln!(
            text,
            "- {}={} {}: {}",
            c.kind, c.status, c.reason, c.message
        )
        .expect("a text");
    }
    for t in &status.downstream_targets {
        writeln!(text, "- target {} {}", t.name, t.lifecycle).expect("a text");
    }
}

fn outcome(world: &Json, step: Option<&plan::variant::VariantStep>) -> VariantOutcome {
    if let Some(draft) = world.get("draft") {
        let mut record = crate::wire::revision(&draft, "uid-shop");
        if let Some(plan::variant::VariantStep::CreateDraft(create)) = step {
            record.key = create.key.clone();
        }
        return VariantOutcome::Draft(Arc::new(record));
    }
    if let Some(failed) = world.get("failed") {
        return VariantOutcome::Failed(failure(&failed, None));
    }
    match world.0.as_str() {
        Some("done") => VariantOutcome::Done,
        Some("unchanged") => VariantOutcome::Unchanged,
        Some("conflict") => VariantOutcome::Conflict,
        Some("skipped") => VariantOutcome::Skipped,
        other => panic!("unknown outcome: {other:?}"),
    }
}

fn failure(world: &Json, digest: Option<Digest>) -> FailedDerivation {
    FailedDerivation {
        digest: digest.unwrap_or_else(|| Digest::new(1, &[0])),
        class: class(&world.or("class", "Invalid")),
        reason: world.or("reason", "RenderFailed"),
        message: world.or("message", "set-namespace: no namespace given"),
        attempts: world.or("attempts", "1").parse().expect("a number"),
        due: world.flag("due"),
    }
}

/// Reads a world.
pub(crate) fn observed(world: &Json) -> Observed {
    let empty = Json(serde_json::json!({}));
    let wanted = world.get("variant").unwrap_or_else(|| empty.clone());
    let variant = subject(&wanted);
    let own = variant
        .meta()
        .uid
        .clone()
        .map_or_else(String::new, |u| u.to_string());
    let down = revisions(world, "downstream", &own);
    let upstream = match &variant {
        Subject::Valid(v) => resolve_upstream(
            &revisions(world, "upstream", &own),
            &v.spec.upstream,
            "main",
        ),
        Subject::Invalid { .. } => UpstreamResolution::NotFound { others: Vec::new() },
    };
    let mut observed = Observed {
        status: status(world, variant.meta().generation),
        variant,
        namespace_terminating: world.flag("namespaceTerminating"),
        repositories: repositories(world),
        upstream,
        feeders: world.list("feeders").iter().map(feeder).collect(),
        elsewhere: revisions(world, "elsewhere", &own),
        made_elsewhere: world
            .texts("madeElsewhere")
            .iter()
            .map(|t| name(t))
            .collect(),
        take_back: world.text("takeBack").map(|t| uid(&t)),
        set_suspended: world.flag("setSuspended"),
        step_closed: world.flag("stepClosed"),
        claimed_elsewhere: world
            .texts("claimedElsewhere")
            .iter()
            .map(|t| place(t))
            .collect(),
        rivals: world.list("rivals").iter().map(rival).collect(),
        injections: world.list("injections").iter().map(injection).collect(),
        absent: Vec::new(),
        writer: match world.text("writer").as_deref() {
            None => Writer::Known,
            Some(word) => Writer::Unknown {
                lacking: word == "lacking",
            },
        },
        base: None,
        lost_tag: world.get("lostTag").map(|lost| LostTag {
            deleted: lost.flag("deleted"),
            tag: lost.text("tag"),
            commit: commit(&lost.or("commit", "p1")),
            revision: lost.text("revision").map(|t| name(&t)),
        }),
        deleted_up_to: world
            .text("deletedUpTo")
            .map(|n| model::RevisionNumber(n.parse().expect("a number"))),
        off_branch: world.text("offBranch").map(|t| off_branch(&t)),
        stated: stated(world),
        failure: None,
        unreadable: world
            .get("unreadable")
            .map(|why| ("UpstreamUnreadable", failure(&why, None))),
        downstream: down,
    };
    machines(world, &mut observed);
    observed
}

fn subject(world: &Json) -> Subject {
    let shop = world.or("name", "shop");
    let mut meta = meta(world, "uid-shop");
    meta.labels.clear();
    if world.get("finalizers").is_none() {
        meta.finalizers = vec![words::FINALIZER.to_owned()];
    }
    let problems = world.texts("problems");
    if problems.is_empty() {
        return Subject::Valid(Arc::new(Variant {
            key: key(&shop),
            meta: Arc::new(meta),
            spec: spec(world),
        }));
    }
    Subject::Invalid {
        key: key(&shop),
        meta: Arc::new(meta),
        problems: problems.iter().map(|p| Problem::new("spec", p)).collect(),
    }
}

fn status(world: &Json, generation: i64) -> VariantStatus {
    let Some(status) = world.get("status") else {
        return VariantStatus::default();
    };
    VariantStatus {
        observed_generation: generation,
        conditions: status
            .entries("conditions")
            .into_iter()
            .map(|(kind, c)| {
                let message = c.or("message", "");
                let is = crate::wire::status_word(&c.or("status", "False"));
                model::Condition::new(kind, is, c.or("reason", ""), message)
            })
            .collect(),
        downstream_targets: revisions(&status, "targets", "uid-shop")
            .iter()
            .map(|r| model::DownstreamTarget {
                name: r.key.name.clone(),
                lifecycle: r.lifecycle,
                revision: r.revision,
                workspace: r.workspace.clone(),
                upstream_lock: None,
                render_status: None,
                conflicts: 0,
                gates: 0,
                rejected: false,
            })
            .collect(),
        upstream: None,
        versions: String::new(),
        published_generation: None,
        rollout: None,
        deleted_downstream: status.text("deleted").map(|n| name(&n)),
        handled: status.text("handled"),
        injection: Vec::new(),
    }
}

fn repositories(world: &Json) -> BTreeMap<model::RepositoryName, RepositorySummary> {
    let summary = |r: &Json, deployment: bool| RepositorySummary {
        deployment,
        branch: "main".to_owned(),
        writable: r.text("readOnly").map_or(Ok(()), Err),
        ready: r.text("notReady").map_or(Ok(()), Err),
    };
    let given = world.entries("repositories");
    if world.get("repositories").is_none() {
        let plain = Json(serde_json::json!({}));
        return ["blueprints", "deploy"]
            .into_iter()
            .map(|r| (repo(r), summary(&plain, r == "deploy")))
            .collect();
    }
    given
        .into_iter()
        .map(|(name, r)| (repo(&name), summary(&r, name == "deploy")))
        .collect()
}

fn feeder(world: &Json) -> Feeder {
    Feeder {
        variant: key(&world.or("variant", "other")),
        downstream: place(&world.or("downstream", "")),
        upstream: place(&world.or("upstream", "")),
    }
}

fn rival(world: &Json) -> Rival {
    Rival {
        created: world.or("created", ""),
        holds: world.flag("holds"),
        uid: uid(&world.or("uid", "uid-rival")),
        key: key(&world.or("name", "rival")),
        deleting: world.flag("deleting"),
    }
}

fn injection(world: &Json) -> Injection {
    Injection {
        group: world.text("group"),
        version: world.text("version"),
        kind: world.text("kind"),
        name: world.or("name", ""),
        found: world
            .map("found")
            .into_iter()
            .map(|(gvk, found)| {
                let outcome = match found.as_str() {
                    "absent" => InjectionOutcome::Absent,
                    "kind missing" => InjectionOutcome::KindMissing,
                    content => InjectionOutcome::Content(content.into()),
                };
                (gvk, outcome)
            })
            .collect(),
    }
}

fn stated(world: &Json) -> Stated {
    let stated = world
        .get("stated")
        .unwrap_or_else(|| Json(serde_json::json!({})));
    Stated {
        context: stated.map("context"),
        injections: stated
            .list("injections")
            .iter()
            .map(|k| KeptInjection {
                gvk: k.or("gvk", ""),
                point: k.or("point", "endpoint"),
                injected: k.or("injected", ""),
                content: k.or("content", "").into(),
            })
            .collect(),
    }
}

/// The world as it was when the machine wrote last: what `before` says instead of what is now.
fn past(world: &Json, before: &Json) -> Observed {
    let mut past = world.0.clone();
    for (key, value) in before.0.as_object().expect("a mapping") {
        past[key] = value.clone();
    }
    past["before"] = serde_json::Value::Null;
    past["lineage"] = serde_json::Value::Null;
    for revision in past["downstream"].as_array_mut().into_iter().flatten() {
        revision["machine"] = serde_json::Value::Null;
    }
    observed(&Json(past))
}

/// Machine notes, lineage and failures need today's digests, which need everything else.
fn machines(world: &Json, observed: &mut Observed) {
    let today = digests(observed);
    let before = world.get("before").and_then(|b| digests(&past(world, &b)));
    let digest = |word: &str, full: bool| match (word, &today) {
        ("before", _) => {
            let (inputs, draft) = before.clone().expect("a world before");
            if full { draft } else { inputs }
        }
        ("current", Some((inputs, draft))) => {
            if full {
                draft.clone()
            } else {
                inputs.clone()
            }
        }
        ("newer", _) => Digest::new(9, &[9]),
        _ => Digest::new(1, word.as_bytes()),
    };
    let shop = observed.variant.key().clone();
    let machine = |word: &str, base: Option<model::TreeId>| Machine {
        owner: DraftOwner {
            namespace: shop.namespace.clone(),
            name: shop.name.clone(),
            uid: uid("uid-shop"),
        },
        adopted: false,
        workspace: workspace("packagevariant-1"),
        digest: digest(word, false),
        full_digest: digest(word, true),
        m_tree: tree("m"),
        v_tree: tree("v"),
        base: None,
        base_tree: base,
        gates: Vec::new(),
        context_keys: std::collections::BTreeSet::new(),
    };
    let base = base_of(&observed.downstream);
    let base_tree = base.as_ref().map(|b| b.tree);
    for (revision, said) in observed.downstream.iter_mut().zip(world.list("downstream")) {
        let mut changed = Revision::clone(revision);
        changed.machine = said.text("machine").map(|word| {
            let mut machine = machine(&word, base_tree);
            if let Some(other) = said.text("machineOf") {
                machine.owner.name = name(&other);
            }
            if let Some(word) = said.text("fullDigest") {
                machine.full_digest = digest(&word, true);
            }
            if said.flag("oldBase") {
                machine.base_tree = Some(tree("older"));
            }
            machine
        });
        // A draft is compared with what it is based on, too (V21).
        let of_draft = !revision.lifecycle.is_published();
        changed.noted_digest = said
            .text("noted")
            .map(|word| digest(&word, of_draft).to_string());
        *revision = Arc::new(changed);
    }
    observed.base = base.map(|choice| {
        let commit = world
            .text("baseMoved")
            .map_or(choice.commit, |w| commit(&w));
        ObservedBase {
            commit,
            lineage: lineage(world, |word| machine(word, base_tree)),
        }
    });
    observed.failure = world
        .get("failure")
        .map(|f| failure(&f, Some(digest(&f.or("of", "current"), true))));
}

fn lineage(world: &Json, machine: impl Fn(&str) -> Machine) -> Lineage {
    let Some(said) = world.get("lineage") else {
        return Lineage::Trailer(machine("current"));
    };
    if let Some(word) = said.text("machine") {
        return Lineage::Trailer(machine(&word));
    }
    if let Some(how) = said.text("diverged") {
        return Lineage::Diverged(how);
    }
    Lineage::NoTrailer {
        lock: said.text("lock").map(|l| lock(&l)),
        old_upstream: match said.text("old").as_deref() {
            None | Some("commit") => OldUpstream::Commit,
            Some("gone") => OldUpstream::Gone,
            Some(other) => OldUpstream::Revision(name(other)),
        },
    }
}

/// R13-R16.
#[test]
fn validation_texts_are_the_peers() {
    let world = Json(serde_json::json!({
        "context": {"name": "test"},
        "removeKeys": ["package-path", "x"],
        "injectors": ["first", ""],
        "mutators": [{"name": "a.b"}],
        "upstream": "deploy/shop@v1",
    }));
    let texts: Vec<String> = validate(&spec(&world))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        texts,
        [
            r#"spec.packageContext.data: Invalid value: {"name":"test"}: must not contain the key "name""#,
            r#"spec.packageContext.removeKeys: Invalid value: ["package-path","x"]: must not contain the key "package-path""#,
            "spec.injectors[1].name must not be empty",
            "spec.pipeline.mutators[0].image must not be empty",
            "spec.pipeline.mutators[0].name must not contain '.'",
            "spec.downstream must not be the upstream package itself ('shop' in repo 'deploy')",
        ]
    );
}

/// R2-R5, R7.
#[test]
fn upstream_versions_resolve_as_a2_says() {
    let world = Json(serde_json::json!({"upstream": [
        {"at": "blueprints/nginx", "ws": "one", "n": 1, "commit": "c1"},
        {"at": "blueprints/nginx", "ws": "two", "n": 2, "commit": "c2"},
        {"at": "blueprints/nginx", "ws": "stable", "n": -1, "commit": "c3"},
        {"at": "blueprints/nginx", "ws": "main", "n": -1, "placeholder": true, "commit": "c4"},
        {"at": "blueprints/nginx", "ws": "three", "state": "Draft", "commit": "c5"},
        {"at": "blueprints/redis", "ws": "one", "n": 7, "commit": "c6"},
    ]}));
    let all = revisions(&world, "upstream", "");
    for (wanted, want) in [
        ("blueprints/nginx", "found c2"),
        ("blueprints/nginx@1", "found c1"),
        ("blueprints/nginx@v2", "found c2"),
        ("blueprints/nginx@9", "none"),
        ("blueprints/nginx@one", "found c1"),
        ("blueprints/nginx@stable", "found c3"),
        ("blueprints/nginx@main", "found c4"),
        ("blueprints/nginx@-1", "found c4"),
        ("blueprints/nginx@ws:two", "found c2"),
        ("blueprints/nginx@ws:main", "none"),
        ("blueprints/nginx@tag:v1", "found c1"),
        ("blueprints/nginx@tag:stable", "found c3"),
        ("blueprints/nginx@tag:one", "none"),
        ("blueprints/nginx@three", "unpublished c5"),
        ("blueprints/redis", "found c6"),
        ("deploy/nginx", "none"),
    ] {
        for revisions in [all.clone(), all.iter().rev().cloned().collect()] {
            let upstream = crate::wire::upstream(wanted);
            let got = match resolve_upstream(&revisions, &upstream, "main") {
                UpstreamResolution::Found(r) => ("found", r.commit),
                UpstreamResolution::NotPublished(r) => ("unpublished", r.commit),
                UpstreamResolution::NotFound { .. } => ("none", commit("")),
            };
            let (word, id) = want.split_once(' ').unwrap_or((want, ""));
            assert_eq!(got, (word, commit(id)), "{wanted}");
        }
    }
    let mut draft = crate::wire::upstream("blueprints/nginx@three");
    draft.allow_unpublished = true;
    assert!(matches!(
        resolve_upstream(&all, &draft, "main"),
        UpstreamResolution::Found(_)
    ));
}
