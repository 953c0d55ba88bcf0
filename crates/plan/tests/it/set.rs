//! Cases of sets.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use model::{
    DeletionGuard, DeletionPolicy, FunctionTemplate, GuardMemory, InjectorTemplate, LabelSelector,
    MapExpr, ObjectKey, ObjectSelector, OnError, PackageContextTemplate, Problem, SetStatus,
    Shrink, Target, TargetSelection, Template, UpstreamSource, Variant, VariantSet, VariantSetSpec,
    WaitingDeletions,
};
use plan::set::{
    Compiled, EXPLICIT, Existing, Followed, LABEL, Observed, QuietTime, RepositoryObject,
    SelectedObject, SelectionFailure, SetOutcome, Subject, Unread, decide, next_after,
    status_after, uid_mark,
};
use plan::variant::{FailedDerivation, resolve_upstream};

use crate::cases;
use crate::wire::{
    Json, class, functions, key, meta, namespace, package, repo, revisions, spec, status_word, uid,
    upstream,
};

/// Expressions need a large stack.
pub(crate) fn on_large_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(64 << 20)
            .spawn_scoped(scope, run)
            .expect("a thread")
            .join()
            .expect("no panic")
    })
}

#[test]
fn cases_of_sets() {
    on_large_stack(|| cases::run("set", answer));
}

fn answer(world: &Json) -> String {
    let mut observed = observed(world);
    let now = observed.now;
    // How many seconds ago somebody looked at the same world, and wrote what followed from it into the status.
    for ago in world.texts("looked") {
        observed.now = now - ago.parse::<i64>().expect("seconds");
        observed.status = decide(&observed).status;
    }
    crate::rollouts::complete_marks(&mut observed);
    observed.now = now;
    let plan = decide(&observed);
    let mut text = plan.to_string();
    let outcomes: Vec<SetOutcome> = world.list("outcomes").iter().map(outcome).collect();
    if !outcomes.is_empty() {
        writeln!(text, "afterwards:").expect("a text");
        match status_after(&observed, &plan, &outcomes) {
            None => writeln!(text, "- no status is written").expect("a text"),
            Some(status) => {
                for c in &status.conditions {
                    writeln!(
                        text,
                        "- {}={} {}: {}",
                        c.kind, c.status, c.reason, c.message
                    )
                    .expect("a text");
                }
            }
        }
        writeln!(text, "next: {}", next_after(&plan, &outcomes)).expect("a text");
    }
    text + &remembered(&observed, &plan.status.guard) + &crate::rollouts::told(&plan)
}

/// What the guard remembers, with the names that its marks stand for.
fn remembered(o: &Observed, memory: &GuardMemory) -> String {
    let mut text = String::new();
    let uid = |v: &Existing| v.meta.uid.clone().expect("a uid");
    let decided = o
        .variants
        .iter()
        .filter(|v| memory.decided.contains(&uid_mark(uid(v).as_str())));
    for variant in decided {
        writeln!(text, "decided: delete {}", variant.key.name).expect("a text");
    }
    if let Some(w) = &memory.waiting {
        let (since, changed) = (o.now - w.since, o.now - w.changed);
        let held = if w.held { ", held" } else { "" };
        writeln!(
            text,
            "waiting: for {since} s, unchanged for {changed} s{held}"
        )
        .expect("a text");
    }
    for s in &memory.recent {
        writeln!(
            text,
            "recent: {} of {} at {}",
            s.deletions, s.variants, s.at
        )
        .expect("a text");
    }
    text
}

fn outcome(world: &Json) -> SetOutcome {
    if let Some(failed) = world.get("failed") {
        return SetOutcome::Failed(FailedDerivation {
            digest: model::Digest::new(1, &[0]),
            class: class(&failed.or("class", "Invalid")),
            reason: failed.or("reason", "VariantRefused"),
            message: failed.or("message", "refused"),
            attempts: 1,
            due: false,
        });
    }
    match world.0.as_str() {
        Some("done") => SetOutcome::Done,
        Some("conflict") => SetOutcome::Conflict,
        other => panic!("unknown outcome: {other:?}"),
    }
}

/// Reads a world.
pub(crate) fn observed(world: &Json) -> Observed {
    let wanted = world
        .get("set")
        .unwrap_or_else(|| Json(serde_json::json!({})));
    let set = subject(&wanted);
    let revisions = match world.get("upstream") {
        Some(_) => revisions(world, "upstream", ""),
        None => {
            let plain = serde_json::json!({"upstream": [{"at": "blueprints/nginx", "n": 1,
                "labels": {"app": "nginx"}, "annotations": {"bigco.com/team": "web"}}]});
            revisions(&Json(plain), "upstream", "")
        }
    };
    Observed {
        set,
        status: status(world),
        now: world.or("now", "10000").parse().expect("a time"),
        quiet: QuietTime::default(),
        variants_here: world.flag("variantsHere"),
        upstreams: followed(world, &wanted, &revisions),
        unread: unread(world),
        repositories: Arc::new(repositories(world)),
        selected: world
            .entries("objects")
            .into_iter()
            .map(|(i, list)| (i.parse().expect("a target"), objects(&list)))
            .collect(),
        variants: world.list("variants").iter().map(existing).collect(),
        published: crate::rollouts::published(world),
        whole_rollout: world.flag("wholeRollout"),
        failure: None,
    }
}

/// What the set names, then what is `selected` for it.
fn followed(world: &Json, set: &Json, revisions: &[Arc<model::Revision>]) -> Vec<Followed> {
    let selected = world.texts("selected");
    let selected = selected.iter().map(|t| (upstream(t), false));
    let named = wanted_upstreams(set).into_iter().map(|up| (up, true));
    named
        .chain(selected)
        .map(|(wanted, listed)| Followed {
            found: resolve_upstream(revisions, &wanted, "main"),
            wanted,
            listed,
        })
        .collect()
}

/// Sources that cannot be read, for good (`unread`, `unreadForNobody`) or now (`unreadNow`).
fn unread(world: &Json) -> Vec<Unread> {
    let of = |key: &'static str, passes: bool| {
        let texts = world.texts(key).into_iter();
        texts.map(move |why| Unread {
            why,
            passes,
            writer_unknown: key == "unreadForNobody",
        })
    };
    let stay = of("unread", false).chain(of("unreadForNobody", false));
    stay.chain(of("unreadNow", true)).collect()
}

/// `upstream`, or the list `upstreams`.
fn wanted_upstreams(world: &Json) -> Vec<model::Upstream> {
    match world.get("upstreams") {
        Some(_) => world
            .texts("upstreams")
            .iter()
            .map(|t| upstream(t))
            .collect(),
        None => vec![upstream(&world.or("upstream", "blueprints/nginx@v1"))],
    }
}

fn subject(world: &Json) -> Subject {
    let mut meta = meta(world, "uid-fan");
    meta.labels.clear();
    let set = ObjectKey::new(namespace(), key(&world.or("name", "fan")).name);
    let problems = world.texts("problems");
    if !problems.is_empty() {
        return Subject::Invalid {
            key: set,
            meta: Arc::new(meta),
            problems: problems.iter().map(|p| Problem::new("spec", p)).collect(),
        };
    }
    let guard = DeletionGuard {
        enabled: world.or("guard", "on") == "on",
        percent: world.or("percent", "20").parse().expect("a number"),
    };
    let spec = VariantSetSpec {
        upstreams: wanted_upstreams(world)
            .into_iter()
            .map(UpstreamSource::Package)
            .collect(),
        targets: world.list("targets").iter().map(target).collect(),
        on_error: match world.or("onError", "Continue").as_str() {
            "Stop" => OnError::Stop,
            _ => OnError::Continue,
        },
        deletion_guard: guard,
        max_in_flight: world
            .text("maxInFlight")
            .map(|n| n.parse().expect("a number")),
        rollout: world.get("rollout").map(|r| crate::rollouts::rollout(&r)),
        suspend: world.flag("suspend"),
    };
    let templates = Arc::new(Compiled::of(&spec));
    Subject::Valid {
        set: Arc::new(VariantSet {
            key: set,
            meta,
            spec,
        }),
        templates,
    }
}

pub(crate) fn target(world: &Json) -> Target {
    let packages = world.texts("packages").iter().map(|p| package(p)).collect();
    let labels = LabelSelector {
        match_labels: world.map("labels"),
        requirements: Vec::new(),
    };
    let selection = if let Some(kind) = world.text("kind") {
        TargetSelection::ObjectSelector {
            selector: ObjectSelector {
                api_version: world.or("apiVersion", "v1"),
                kind,
                name: world.text("name"),
                labels,
            },
            packages,
        }
    } else if world.get("labels").is_some() {
        TargetSelection::RepositorySelector {
            selector: labels,
            packages,
        }
    } else {
        let list = world
            .entries("repositories")
            .into_iter()
            .map(|(name, packages)| {
                let packages = Json(serde_json::json!({"packages": packages.0}));
                let names = packages
                    .texts("packages")
                    .iter()
                    .map(|p| package(p))
                    .collect();
                (repo(&name), names)
            })
            .collect();
        TargetSelection::Repositories(list)
    };
    Target {
        selection,
        template: world.get("template").map(|t| template(&t)),
    }
}

fn template(world: &Json) -> Template {
    let plain = spec(world);
    Template {
        repo: world.text("repo"),
        repo_expr: world.text("repoExpr"),
        package: world.text("package"),
        package_expr: world.text("packageExpr"),
        adoption: world.text("adoption").map(|_| plain.adoption),
        deletion: world.text("deletion").map(|d| {
            if d == "orphan" {
                DeletionPolicy::Orphan
            } else {
                DeletionPolicy::Delete
            }
        }),
        labels: world.map("labels"),
        label_exprs: pairs(world, "labelExprs"),
        annotations: world.map("annotations"),
        annotation_exprs: pairs(world, "annotationExprs"),
        context: world.get("context").map(|c| PackageContextTemplate {
            data: c.map("data"),
            data_exprs: pairs(&c, "dataExprs"),
            remove_keys: c.texts("removeKeys"),
            remove_key_exprs: c.texts("removeKeyExprs"),
            create: false,
        }),
        mutators: pipeline(world, "mutators"),
        validators: pipeline(world, "validators"),
        injectors: world
            .list("injectors")
            .iter()
            .map(|i| InjectorTemplate {
                kind: i.text("kind"),
                name: i.text("name"),
                name_expr: i.text("nameExpr"),
                ..InjectorTemplate::default()
            })
            .collect(),
        ..Template::default()
    }
}

fn pipeline(world: &Json, key: &str) -> Vec<FunctionTemplate> {
    functions(world, key)
        .into_iter()
        .zip(world.list(key))
        .map(|(function, said)| FunctionTemplate {
            function,
            config_map_exprs: pairs(&said, "configExprs"),
        })
        .collect()
}

fn pairs(world: &Json, key: &str) -> Vec<MapExpr> {
    world
        .list(key)
        .iter()
        .map(|p| MapExpr {
            key: p.text("key"),
            key_expr: p.text("keyExpr"),
            value: p.text("value"),
            value_expr: p.text("valueExpr"),
        })
        .collect()
}

fn status(world: &Json) -> SetStatus {
    let Some(said) = world.get("status") else {
        return SetStatus::default();
    };
    let now: i64 = world.or("now", "10000").parse().expect("a time");
    let waiting = said.get("waiting").map(|waiting| WaitingDeletions {
        hash: "of others".to_owned(),
        since: now - waiting.or("for", "0").parse::<i64>().expect("seconds"),
        changed: now
            - waiting
                .or("unchanged", "0")
                .parse::<i64>()
                .expect("seconds"),
        held: waiting.flag("held"),
    });
    let decided = said.texts("decided");
    SetStatus {
        guard: GuardMemory {
            decided: decided.iter().map(|uid| uid_mark(uid)).collect(),
            waiting,
            recent: said.texts("recent").iter().map(|s| shrink(s)).collect(),
        },
        ..SetStatus::default()
    }
}

/// `2 of 10 at 9000`
fn shrink(text: &str) -> Shrink {
    let words: Vec<i64> = text.split(' ').filter_map(|w| w.parse().ok()).collect();
    let [deletions, variants, at] = words[..] else {
        panic!("no shrink: {text}");
    };
    let count = |n: i64| usize::try_from(n).expect("a count");
    Shrink {
        at,
        deletions: count(deletions),
        variants: count(variants),
    }
}

fn repositories(world: &Json) -> BTreeMap<model::RepositoryName, RepositoryObject> {
    world
        .entries("repositories")
        .into_iter()
        .map(|(name, said)| {
            let object = RepositoryObject {
                labels: said.map("labels"),
                annotations: said.map("annotations"),
            };
            (repo(&name), object)
        })
        .collect()
}

fn objects(list: &Json) -> Result<Vec<Arc<SelectedObject>>, SelectionFailure> {
    match list.0.as_str() {
        Some("kind missing") => return Err(SelectionFailure::KindMissing),
        Some("writer unknown") => return Err(SelectionFailure::WriterUnknown),
        Some("forbidden") => {
            return Err(SelectionFailure::Forbidden(
                "list is not allowed".to_owned(),
            ));
        }
        Some("unavailable") => {
            return Err(SelectionFailure::Unavailable("not listed yet".to_owned()));
        }
        _ => {}
    }
    let items = Json(serde_json::json!({"items": list.0}));
    Ok(items
        .list("items")
        .iter()
        .map(|o| SelectedObject {
            name: o.or("name", ""),
            namespace: "fleet".to_owned(),
            labels: o.map("labels"),
            annotations: o.map("annotations"),
        })
        .map(Arc::new)
        .collect())
}

fn existing(world: &Json) -> Arc<Existing> {
    let mut metadata = meta(world, &format!("uid-{}", world.or("name", "")));
    if !world.flag("foreign") {
        metadata.owners = vec![model::OwnerReference {
            api_version: "config.porch.kpt.dev/v1alpha2".to_owned(),
            kind: "PackageVariantSet".to_owned(),
            name: "fan".to_owned(),
            uid: uid("uid-fan"),
            controller: true,
            block_owner_deletion: false,
        }];
        metadata.labels = model::Pairs::from_iter([(LABEL.to_owned(), "uid-fan".to_owned())]);
    }
    if world.flag("listed") {
        metadata
            .annotations
            .insert(EXPLICIT.to_owned(), "true".to_owned());
    }
    if let Some(mark) = world.text("mark") {
        let name = plan::variant::words::ROLLOUT.to_owned();
        metadata.annotations.insert(name, mark);
    }
    let key = key(&world.or("name", ""));
    let ready = world.or("ready", "True");
    let metadata = Arc::new(metadata);
    Arc::new(Existing {
        variant: (!world.flag("unreadable")).then(|| {
            Arc::new(Variant {
                key: key.clone(),
                meta: Arc::clone(&metadata),
                spec: spec(world),
            })
        }),
        key,
        meta: metadata,
        ready: (
            status_word(&ready),
            world.or("reason", "NoErrors"),
            world.or("message", "fine"),
        ),
        stalled: world.flag("stalled"),
        lifecycle: world
            .text("at")
            .map(|t| model::Lifecycle::parse(&t).expect("a lifecycle")),
        holds: world.text("holds").map(|t| crate::wire::commit(&t)),
        standing: crate::waits::standing(world),
        published: world.flag("published"),
        rejected: world.flag("rejected"),
        untagged: world.flag("untagged"),
    })
}
