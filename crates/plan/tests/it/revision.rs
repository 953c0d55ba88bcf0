//! Cases of what people ask of package revisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Door, Lifecycle, Revision};
use plan::revision::{
    Action, ApproveObserved, ContentSource, CreateObserved, CreatePlan, Creation, DeleteObserved,
    Follower, Rejected, Update, UpdateObserved, approve, create, delete, propose, save, update,
};
use plan::variant::RepositorySummary;

use crate::cases;
use crate::wire::{
    Json, names, namespace, off_branch, package, repo, revision, revisions, tree, workspace,
};

#[test]
fn cases_of_revisions() {
    cases::run("revision", answer);
}

fn answer(world: &Json) -> String {
    let answer = match world.or("verb", "").as_str() {
        "create" => create(&creation(world)).map(|p| created(&p)),
        "update" => update(&change(world)).map(|c| changed(&c)),
        "approve" => approve(&approval(world)).map(|p| {
            format!(
                "publish {} as {} tag {} expecting {:?}",
                p.revision.key, p.number, p.tag, p.expect
            )
        }),
        "delete" => delete(&deletion(world)).map(|p| {
            let text = format!("{p:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        }),
        "save" => save(&of(world, "revision")).map(|()| "saved".to_owned()),
        "propose" => propose(&of(world, "revision")).map(|()| "proposed".to_owned()),
        other => panic!("unknown verb: {other}"),
    };
    match answer {
        Ok(text) => format!("{text}\n"),
        Err(rejected) => refusal(&rejected),
    }
}

fn created(plan: &CreatePlan) -> String {
    let source = match &plan.source {
        ContentSource::Init { description, .. } => format!("init ({description})"),
        ContentSource::Clone(upstream) => format!("clone of {}", upstream.key.name),
        ContentSource::CloneGit(git) => format!("clone of {}", git.repo),
        ContentSource::Edit(source) => format!("edit of {}", source.key.name),
        ContentSource::Upgrade {
            old, new, local, ..
        } => format!(
            "upgrade of {} from {} to {}",
            local.key.name, old.key.name, new.key.name
        ),
    };
    let directory = plan
        .directory
        .map_or_else(|| "nothing".to_owned(), |tree| tree.to_string());
    format!(
        "create {} by {}: {source}; expects {directory} on the branch",
        plan.key,
        plan.task.kind()
    )
}

fn changed(update: &Update) -> String {
    let action = match update.action {
        Action::Nothing => "nothing".to_owned(),
        Action::Record => "the record".to_owned(),
        Action::Commit(to) => format!("a commit, {to}"),
        Action::Move(to) => format!("to {to}"),
        Action::Rebase => "based anew".to_owned(),
        Action::Approve => "approve".to_owned(),
        Action::Finish => "the revision goes".to_owned(),
    };
    let warnings = update.warnings.iter().map(|w| format!("\nwarning: {w}"));
    format!("change {action}{}", warnings.collect::<String>())
}

fn refusal(r: &Rejected) -> String {
    let field = r.field.unwrap_or("-");
    let value = r.value.as_deref().unwrap_or("-");
    let hint = r
        .hint
        .as_deref()
        .map(|h| format!("hint: {h}\n"))
        .unwrap_or_default();
    format!(
        "refused ({}) {field} {value}: {}\n{hint}",
        r.class, r.message
    )
}

fn of(world: &Json, key: &str) -> Arc<Revision> {
    let plain = Json(serde_json::json!({}));
    Arc::new(revision(&world.get(key).unwrap_or(plain), ""))
}

fn creation(world: &Json) -> CreateObserved {
    let sources: BTreeMap<_, _> = revisions(world, "sources", "")
        .into_iter()
        .map(|r| (r.key.name.clone(), r))
        .collect();
    let tasks = world.texts("tasks");
    CreateObserved {
        request: Creation {
            namespace: namespace(),
            repository: repo("deploy"),
            package: package(&world.or("package", "shop")),
            workspace: workspace(&world.or("workspace", "v1")),
            lifecycle: Lifecycle::parse(&world.or("lifecycle", "Draft")).expect("a lifecycle"),
            tasks: tasks.iter().map(|t| task(t)).collect(),
        },
        repository: (!world.flag("noRepository")).then(|| RepositorySummary {
            deployment: true,
            branch: "main".to_owned(),
            writable: world.text("readOnly").map_or(Ok(()), Err),
            ready: world.text("notReady").map_or(Ok(()), Err),
        }),
        siblings: revisions(world, "siblings", ""),
        packages: names(&world.texts("packages")),
        sources,
    }
}

fn task(text: &str) -> model::Task {
    let holder = Json(serde_json::json!({"task": text}));
    revision(&holder, "").tasks.remove(0)
}

fn change(world: &Json) -> UpdateObserved {
    UpdateObserved {
        old: of(world, "old"),
        new: of(world, "new"),
        door: match world.or("door", "main").as_str() {
            "approval" => Door::Approval,
            _ => Door::Main,
        },
    }
}

fn approval(world: &Json) -> ApproveObserved {
    ApproveObserved {
        revision: of(world, "revision"),
        siblings: revisions(world, "siblings", ""),
        highest: world.or("highest", "0").parse().expect("a number"),
        deployment: !world.flag("blueprints"),
        ignore_author_gates: world.flag("ignoreAuthorGates"),
        branch: "main".to_owned(),
        on_branch: world.text("onBranch").map(|t| tree(&t)),
        based_on: world.text("basedOn").map(|t| tree(&t)),
        off_branch: world.text("offBranch").map(|t| off_branch(&t)),
        seen: world.text("seen").map(|t| tree(&t).to_string()),
    }
}

fn deletion(world: &Json) -> DeleteObserved {
    DeleteObserved {
        revision: of(world, "revision"),
        followers: world.list("followers").iter().map(follower).collect(),
    }
}

fn follower(world: &Json) -> Follower {
    Follower {
        revision: Arc::new(revision(world, "")),
        traced: world.flag("traced"),
    }
}

#[test]
fn numbers_are_never_used_again() {
    let number = |siblings: serde_json::Value, highest: &str| {
        let world = Json(serde_json::json!({
            "revision": {"ws": "v9", "state": "Proposed"}, "siblings": siblings, "highest": highest}));
        let publish = approve(&approval(&world)).expect("nothing is in the way");
        publish.number.0
    };
    let siblings = serde_json::json!([
        {"ws": "a", "n": 2}, {"ws": "b", "state": "Draft"}, {"placeholder": true}]);
    assert_eq!(number(siblings.clone(), "0"), 3);
    assert_eq!(number(siblings, "7"), 8);
    assert_eq!(number(serde_json::json!([]), "0"), 1);
}

/// The main door and the approval door, from everywhere to everywhere.
#[test]
fn the_lifecycle_table_holds_at_both_doors() {
    let mut allowed = Vec::new();
    for from in Lifecycle::ALL {
        for to in Lifecycle::ALL {
            for (door, label) in [(Door::Main, "main"), (Door::Approval, "approval")] {
                let at = |state: Lifecycle| {
                    Arc::new(revision(
                        &Json(serde_json::json!({"state": state.as_str()})),
                        "",
                    ))
                };
                let asked = UpdateObserved {
                    old: at(from),
                    new: at(to),
                    door,
                };
                if update(&asked).is_ok() && from != to {
                    allowed.push(format!("{from} → {to} by {label}"));
                }
            }
        }
    }
    assert_eq!(
        allowed,
        [
            "Draft → Proposed by main",
            "Proposed → Draft by main",
            "Proposed → Draft by approval",
            "Proposed → Published by approval",
            "Published → DeletionProposed by main",
            "Published → DeletionProposed by approval",
            "DeletionProposed → Published by main",
            "DeletionProposed → Published by approval",
        ]
    );
}

/// The approval door is for approving: it takes no revision that stays where it is, unless that is published.
#[test]
fn nothing_stays_where_it_is_through_the_approval_door() {
    let stays = |door: Door| {
        Lifecycle::ALL.map(|state| {
            let world = serde_json::json!({"state": state.as_str()});
            let same = Arc::new(revision(&Json(world), ""));
            let asked = UpdateObserved {
                old: Arc::clone(&same),
                new: same,
                door,
            };
            update(&asked).is_ok()
        })
    };
    assert_eq!(stays(Door::Main), [true, true, true, true]);
    assert_eq!(stays(Door::Approval), [false, false, true, true]);
}

/// Each part of a revision by itself: what the Kptfile mirrors is a commit, the rest a record.
#[test]
fn each_part_that_changes_is_found() {
    let draft = |more: serde_json::Value| {
        let mut world = serde_json::json!({"state": "Draft"});
        for (key, value) in more.as_object().expect("a map") {
            world[key] = value.clone();
        }
        revision(&Json(world), "")
    };
    let changed = |new: Revision| {
        let asked = UpdateObserved {
            old: Arc::new(draft(serde_json::json!({}))),
            new: Arc::new(new),
            door: Door::Main,
        };
        update(&asked).expect("a change").action
    };
    let (content, metadata) = (Action::Commit(Lifecycle::Draft), Action::Record);
    for (more, what) in [
        (serde_json::json!({}), Action::Nothing),
        (serde_json::json!({"gates": ["a"]}), content),
        (serde_json::json!({"packageLabels": {"a": "b"}}), content),
        (serde_json::json!({"conditions": {"a": "True"}}), content),
        (serde_json::json!({"labels": {"a": "b"}}), metadata),
        (serde_json::json!({"annotations": {"a": "b"}}), metadata),
        (serde_json::json!({"finalizers": ["a"]}), metadata),
        (
            serde_json::json!({"owners": ["PackageVariant shop uid-shop"]}),
            metadata,
        ),
    ] {
        assert_eq!(changed(draft(more.clone())), what, "{more}");
    }
    let mut annotated = draft(serde_json::json!({}));
    annotated
        .package_annotations
        .insert("a".to_owned(), "b".to_owned());
    assert_eq!(changed(annotated), content);
    let mut resolved = draft(serde_json::json!({}));
    resolved
        .resolved_conflicts
        .push(model::ConflictId("a".to_owned()));
    assert_eq!(changed(resolved), content);
}

/// What a change comes to is one thing: an approval is none of a lifecycle's moves, an object that was deleted goes with its last
/// finalizer whatever else is asked, and a draft that is to be based anew is, also while its proposal is rejected (V20).
#[test]
fn a_change_comes_to_one_thing() {
    let of = |world: serde_json::Value| revision(&Json(world), "");
    let action = |old: Revision, new: Revision, door: Door| {
        let asked = UpdateObserved {
            old: Arc::new(old),
            new: Arc::new(new),
            door,
        };
        update(&asked).expect("a change").action
    };
    let anew = serde_json::json!({"offshoot.dev/rebase": "true"});
    let proposed = || of(serde_json::json!({"state": "Proposed"}));
    let published = of(serde_json::json!({"state": "Published"}));
    let approved = action(proposed(), published, Door::Approval);
    assert_eq!(approved, Action::Approve);
    let rejected = of(serde_json::json!({"state": "Draft", "annotations": anew}));
    let based = action(proposed(), rejected.clone(), Door::Main);
    assert_eq!(based, Action::Rebase);
    let draft = of(serde_json::json!({"state": "Draft"}));
    let early = of(serde_json::json!({"state": "Proposed", "annotations": anew}));
    let later = action(draft, early, Door::Main);
    assert_eq!(later, Action::Move(Lifecycle::Proposed));
    let mut going = of(serde_json::json!({"state": "Draft", "finalizers": ["a"]}));
    going.meta.deleted = Some("2026-01-01T00:00:00Z".to_owned());
    let mut gone = rejected;
    gone.meta.deleted.clone_from(&going.meta.deleted);
    assert_eq!(action(going, gone, Door::Main), Action::Finish);
    let parts = [Action::Nothing, Action::Record, Action::Finish];
    assert!(parts.iter().all(|action| !action.writes_git()));
    let parts = [
        Action::Move(Lifecycle::Draft),
        Action::Rebase,
        Action::Approve,
    ];
    assert!(parts.iter().all(|action| action.writes_git()));
}
