//! Which upstream is followed, what is said where there is none, and when something that failed is tried again.

use std::sync::Arc;
use std::time::Duration;

use model::{Class, Revision};
use plan::Next;
use plan::variant::{
    FailedDerivation, Plan, UpstreamResolution, VariantOutcome, VariantStep, decide, next_after,
    resolve_upstream, status_after, validate,
};
use serde_json::{Value, json};

use crate::variant::observed;
use crate::wire::{Json, revision, revisions, spec, upstream};

fn published() -> Vec<Arc<Revision>> {
    let world = json!({"upstream": [
        {"at": "blueprints/nginx", "ws": "one", "n": 1},
        {"at": "blueprints/nginx", "ws": "stable", "n": -1},
        {"at": "blueprints/nginx", "ws": "main", "n": -1, "placeholder": true},
        {"at": "blueprints/nginx", "ws": "three", "state": "Draft"},
        {"at": "blueprints/nginx", "ws": "four", "state": "Proposed"},
        {"at": "blueprints/nginx", "ws": "five", "n": 5, "deleting": true},
        {"at": "blueprints/other", "ws": "six", "n": 6},
        {"at": "deploy/nginx", "ws": "seven", "n": 7},
    ]});
    revisions(&Json(world), "upstream", "")
}

/// What `wanted` comes to: the workspace that is found, or what there is instead.
fn found(all: &[Arc<Revision>], wanted: &str, allow_unpublished: bool) -> String {
    let mut wanted = upstream(wanted);
    wanted.allow_unpublished = allow_unpublished;
    match resolve_upstream(all, &wanted, "main") {
        UpstreamResolution::Found(r) => r.workspace.to_string(),
        UpstreamResolution::NotPublished(r) => format!("not published: {}", r.workspace),
        UpstreamResolution::NotFound { others } => format!("none of {}", others.join(", ")),
    }
}

/// R3, R4, R7, A2: numbers and tags are published; what is deleted, another package's, or the head of the branch has none.
#[test]
fn numbers_and_tags_name_what_is_published() {
    for (wanted, want) in [
        ("blueprints/nginx", "one"),
        ("blueprints/nginx@1", "one"),
        ("blueprints/nginx@0", "none of v1, stable"),
        ("blueprints/nginx@5", "none of v1, stable"),
        ("blueprints/nginx@6", "none of v1, stable"),
        ("blueprints/nginx@7", "none of v1, stable"),
        ("blueprints/nginx@tag:v1", "one"),
        ("blueprints/nginx@tag:stable", "stable"),
        ("blueprints/nginx@tag:main", "none of v1, stable"),
        ("blueprints/nginx@tag:three", "none of v1, stable"),
        ("blueprints/nginx@main", "main"),
        ("blueprints/nginx@ws:main", "none of one, stable"),
        ("blueprints/nginx@ws:three", "not published: three"),
        ("blueprints/nginx@ws:six", "none of one, stable"),
    ] {
        assert_eq!(found(&published(), wanted, false), want, "{wanted}");
    }
}

/// F7: a commit that a rollout wrote is taken whatever its version names by now; the branch's head stands for it only where
/// the branch is what was wanted. The record of its tag may not be known yet.
#[test]
fn a_pinned_commit_is_not_taken_for_the_head_of_the_branch() {
    let all = published();
    let at = |workspace: &str| {
        let found = all.iter().find(|r| r.workspace.as_str() == workspace);
        found.unwrap().commit
    };
    for (wanted, pinned, want) in [
        ("blueprints/nginx", "stable", "stable"),
        ("blueprints/nginx", "main", "none of v1, stable"),
        ("blueprints/nginx@tag:v2", "main", "none of v1, stable"),
        ("blueprints/nginx@main", "main", "main"),
        ("blueprints/nginx@-1", "main", "main"),
    ] {
        let mut wanted_at = upstream(wanted);
        wanted_at.commit = Some(at(pinned));
        let found = match resolve_upstream(&all, &wanted_at, "main") {
            UpstreamResolution::Found(r) => r.workspace.to_string(),
            UpstreamResolution::NotPublished(r) => format!("not published: {}", r.workspace),
            UpstreamResolution::NotFound { others } => format!("none of {}", others.join(", ")),
        };
        assert_eq!(found, want, "{wanted} at {pinned}");
    }
}

/// V24: what is not published is followed, and named, only on request; of drafts the one made last.
#[test]
fn drafts_are_followed_on_request() {
    let all = published();
    assert_eq!(found(&all, "blueprints/nginx", true), "one");
    assert_eq!(found(&all, "blueprints/nginx@ws:four", true), "four");
    assert_eq!(
        found(&all, "blueprints/nginx@9", true),
        "none of v1, four, three, stable"
    );
    let drafts = |first: &str, second: &str| {
        let world = json!({"upstream": [
            {"at": "blueprints/nginx", "ws": "main", "n": -1, "placeholder": true, "created": "2026-01-09T00:00:00Z"},
            {"at": "blueprints/nginx", "ws": "stable", "n": -1, "created": "2026-01-09T00:00:00Z"},
            {"at": "blueprints/nginx", "ws": "a", "state": "Draft", "created": first},
            {"at": "blueprints/nginx", "ws": "b", "state": "Proposed", "created": second},
        ]});
        revisions(&Json(world), "upstream", "")
    };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    assert_eq!(found(&drafts(early, late), "blueprints/nginx", true), "b");
    assert_eq!(found(&drafts(late, early), "blueprints/nginx", true), "a");
    assert_eq!(found(&drafts(late, late), "blueprints/nginx", true), "b");
    assert_eq!(
        found(&drafts(early, late), "blueprints/nginx", false),
        "none of stable"
    );
}

/// R113: five others are named, more are counted.
#[test]
fn the_newest_others_are_named() {
    let others = |count: usize| {
        let list: Vec<Value> = (1..=count)
            .map(|n| json!({"at": "blueprints/nginx", "ws": format!("v{n}"), "n": n}))
            .collect();
        let all = revisions(&Json(json!({"upstream": list})), "upstream", "");
        found(&all, "blueprints/nginx@99", false)
    };
    assert_eq!(others(0), "none of ");
    assert_eq!(others(5), "none of v5, v4, v3, v2, v1");
    assert_eq!(others(6), "none of v6, v5, v4, v3, v2, 1 more");
    assert_eq!(others(9), "none of v9, v8, v7, v6, v5, 4 more");
}

/// R13, R16: a text is quoted as JSON quotes it.
#[test]
fn texts_are_quoted_as_in_json() {
    let context = json!({"name": "a \"b\" \\ \n \r \t \u{1} \u{1f} \u{20} é"});
    let problems = validate(&spec(&Json(json!({"context": context}))));
    let texts: Vec<&str> = problems.iter().map(|p| p.what.as_str()).collect();
    assert_eq!(
        texts,
        [
            r#"spec.packageContext.data: Invalid value: {"name":"a \"b\" \\ \n \r \t \u0001 \u001f   é"}: must not contain the key "name""#
        ]
    );
}

/// R14, R16: a function needs an image or a command, in whichever list it stands.
#[test]
fn a_function_has_an_image_or_a_command() {
    let texts = |function: Value| {
        let world = json!({"mutators": [function], "validators": [function]});
        let problems = validate(&spec(&Json(world)));
        problems.iter().map(|p| p.what.clone()).collect::<Vec<_>>()
    };
    let none = [
        "spec.pipeline.mutators[0].image must not be empty",
        "spec.pipeline.validators[0].image must not be empty",
    ];
    assert_eq!(texts(json!({})), none);
    assert_eq!(texts(json!({"image": "", "exec": ""})), none);
    assert_eq!(texts(json!({"image": "a"})), Vec::<String>::new());
    assert_eq!(texts(json!({"exec": "a"})), Vec::<String>::new());
}

#[test]
fn a_variant_has_so_many_functions_and_not_one_more() {
    let wrong = |count: usize| {
        let all: Vec<Value> = vec![json!({"image": "a"}); count];
        let problems = validate(&spec(&Json(json!({ "mutators": all }))));
        problems.iter().map(|p| p.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(wrong(model::MOST_FUNCTIONS), Vec::<String>::new());
    let told = "spec.pipeline.mutators has 1025 functions; 1024 may run";
    assert_eq!(wrong(model::MOST_FUNCTIONS + 1), [told]);
}

/// V24: the upstream is the downstream only if repository and package are.
#[test]
fn a_package_is_not_made_of_itself() {
    let wrong = |downstream: &str| {
        let world = json!({"upstream": "blueprints/nginx@v1", "downstream": downstream});
        !validate(&spec(&Json(world))).is_empty()
    };
    assert!(wrong("blueprints/nginx"));
    assert!(!wrong("deploy/nginx"));
    assert!(!wrong("blueprints/shop"));
}

/// V24: a cycle closes where a variant reads what this one writes; the same name elsewhere is no cycle.
#[test]
fn only_the_own_downstream_closes_a_cycle() {
    let through = |upstreams: [&str; 2]| {
        let o = observed(&Json(json!({
            "upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}],
            "feeders": [
                {"variant": "first", "downstream": "blueprints/nginx", "upstream": upstreams[0]},
                {"variant": "second", "downstream": upstreams[0], "upstream": upstreams[1]},
            ],
        })));
        let hint = decide(&o).report.notes.remove(0).what;
        hint.split_once("through ")
            .map(|(_, names)| names.to_owned())
    };
    assert_eq!(
        through(["deploy/shop", "base/nginx"]).as_deref(),
        Some("fleet/first")
    );
    assert_eq!(
        through(["base/nginx", "deploy/shop"]).as_deref(),
        Some("fleet/first, fleet/second")
    );
    assert_eq!(through(["base/shop", "deploy/nginx"]), None);
}

/// R115, V16: what passes by itself is tried again after 5 s, then after twice as long, up to five minutes; what only another
/// input can mend waits for it, but a step that derives nothing is tried again all the same (V10).
#[test]
fn what_failed_is_tried_again_later_and_later() {
    let create = observed(&Json(
        json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}]}),
    ));
    let delete = observed(&Json(json!({"variant": {"deleting": true},
        "downstream": [{"ws": "packagevariant-1", "state": "Draft", "mine": true}]})));
    let render = observed(&Json(
        json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}],
        "downstream": [{"ws": "packagevariant-1", "state": "Draft", "mine": true, "machine": "current",
            "gates": ["offshoot.dev/Rendered"], "conditions": {"offshoot.dev/Rendered": "Unknown"}}]}),
    ));
    let next = |o: &plan::variant::Observed, class: Class, attempts: u32| {
        let plan = decide(o);
        assert_eq!(plan.steps.len(), 1);
        let failed = FailedDerivation {
            digest: model::Digest::new(1, &[0]),
            class,
            reason: "Failed".to_owned(),
            message: "so".to_owned(),
            attempts,
            due: false,
        };
        next_after(&plan, &[VariantOutcome::Failed(failed)])
    };
    assert!(matches!(
        decide(&render).steps[0],
        VariantStep::RenderDraft { .. }
    ));
    let after = |seconds| Next::After(Duration::from_secs(seconds));
    for (attempts, seconds) in [
        (0, 5),
        (1, 5),
        (2, 10),
        (3, 20),
        (6, 160),
        (7, 300),
        (90, 300),
    ] {
        for class in [Class::Unavailable, Class::Bug] {
            assert_eq!(next(&create, class, attempts), after(seconds), "{attempts}");
            assert_eq!(next(&delete, class, attempts), after(seconds), "{attempts}");
        }
    }
    for class in [Class::Invalid, Class::Denied, Class::Limit, Class::NotFound] {
        assert_eq!(next(&create, class, 1), Next::Rest, "{class}");
        assert_eq!(next(&render, class, 1), Next::Rest, "{class}");
        assert_eq!(next(&delete, class, 1), after(60), "{class}");
    }
    assert_eq!(next(&create, Class::Conflict, 1), Next::Again);
    let plan = decide(&create);
    assert_eq!(next_after(&plan, &[VariantOutcome::Done]), Next::Rest);
    assert_eq!(next_after(&plan, &[VariantOutcome::Conflict]), Next::Again);
    assert_eq!(next_after(&plan, &[VariantOutcome::Unchanged]), Next::Again);
}

/// V2: a draft is made although its render fails where the variant or its drafts are annotated so, by either name.
#[test]
fn a_failed_render_is_pushed_on_request() {
    let pushes = |on_variant: Value, on_drafts: Value| {
        let o = observed(&Json(json!({
            "variant": {"annotations": on_variant, "draftAnnotations": on_drafts},
            "upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}],
        })));
        match decide(&o).steps.as_slice() {
            [VariantStep::CreateDraft(draft)] => draft.recipe.push_on_render_failure,
            other => panic!("one draft: {other:?}"),
        }
    };
    for name in ["offshoot.dev", "porch.kpt.dev"] {
        let says = |value: &str| json!({format!("{name}/push-on-render-failure"): value});
        assert!(pushes(says("true"), json!({})));
        assert!(pushes(json!({}), says("true")));
        assert!(!pushes(says("false"), says("no")));
    }
    assert!(!pushes(json!({}), json!({})));
}

/// R20: a status is written once, and not at all where the variant goes or where the next look knows better.
#[test]
fn a_status_is_written_where_it_holds() {
    let o = observed(&Json(
        json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}]}),
    ));
    let plan = decide(&o);
    let after = |plan: &Plan, outcome: VariantOutcome| status_after(&o, plan, &[outcome]);
    assert_eq!(
        after(&plan, VariantOutcome::Done).as_ref(),
        Some(&plan.status)
    );
    assert_eq!(after(&plan, VariantOutcome::Conflict), None);
    assert_eq!(after(&plan, VariantOutcome::Unchanged), None);
    let mut again = plan.clone();
    again.next = Next::Again;
    assert_eq!(after(&again, VariantOutcome::Done), None);
    let mut leaving = plan.clone();
    leaving.steps = vec![VariantStep::RemoveFinalizer {
        finalizer: "f".to_owned(),
        resource_version: "1".to_owned(),
    }];
    assert_eq!(after(&leaving, VariantOutcome::Done), None);
    let mut written = o.clone();
    written.status = plan.status.clone();
    assert_eq!(status_after(&written, &plan, &[VariantOutcome::Done]), None);
}

/// R32, R116: what came of each draft is told of that draft, and the first trouble of all.
#[test]
fn each_draft_has_its_own_result() {
    let o = observed(&Json(json!({
        "variant": {"upstream": "blueprints/nginx@v2"},
        "upstream": [{"at": "blueprints/nginx", "ws": "v2", "n": 2}],
        "downstream": [
            {"ws": "packagevariant-1", "state": "Draft", "mine": true, "machine": "old"},
            {"ws": "packagevariant-2", "state": "Draft", "mine": true, "machine": "old"},
        ],
    })));
    let plan = decide(&o);
    assert_eq!(plan.steps.len(), 2, "{plan}");
    let made = |ws: &str, more: Value| {
        let mut world = json!({"ws": ws, "state": "Draft", "mine": true});
        for (key, value) in more.as_object().expect("a map") {
            world[key] = value.clone();
        }
        VariantOutcome::Draft(Arc::new(revision(&Json(world), "uid-shop")))
    };
    let after = |first: Value, second: Value| {
        let outcomes = [
            made("packagevariant-1", first),
            made("packagevariant-2", second),
        ];
        let status = status_after(&o, &plan, &outcomes).expect("a status");
        let targets = status.downstream_targets.iter();
        let targets: Vec<_> = targets
            .map(|t| {
                let lock = t.upstream_lock.as_ref().map(|l| l.git_ref.clone());
                (lock, t.render_status.clone(), t.conflicts)
            })
            .collect();
        let ready = status.condition("Ready").expect("a condition");
        (targets, ready.reason.clone())
    };
    let text = |text: &str| Some(text.to_owned());
    let plain = |conflicts| (text("v2"), None, conflicts);
    let locked = || json!({"lock": "v2"});
    let conflicted = || json!({"lock": "v2", "conflicts": "2"});
    let (targets, reason) = after(locked(), locked());
    assert_eq!(
        (targets, reason.as_str()),
        (vec![plain(0), plain(0)], "NoErrors")
    );
    let (targets, reason) = after(locked(), conflicted());
    assert_eq!(
        (targets, reason.as_str()),
        (vec![plain(0), plain(2)], "Conflicted")
    );
    let (targets, reason) = after(json!({"render": "no image"}), conflicted());
    let no_image = json!({"render": "no image"});
    let failed = (None, revision(&Json(no_image), "").render_status, 0);
    assert_eq!(
        (targets, reason.as_str()),
        (vec![failed, plain(2)], "RenderFailed")
    );
}

/// R32, R111: a draft that was brought in line is in trouble no more, another one still is; nothing was made, nothing changes.
#[test]
fn trouble_goes_with_the_draft_that_was_mended() {
    let after = |in_line: Value, mended: bool| {
        let mut drafts = vec![
            json!({"ws": "packagevariant-1", "state": "Draft", "mine": true, "machine": "old", "conflicts": "1"}),
        ];
        if !in_line.is_null() {
            drafts.push(in_line);
        }
        let o = observed(&Json(json!({
            "variant": {"upstream": "blueprints/nginx@v2"},
            "upstream": [{"at": "blueprints/nginx", "ws": "v2", "n": 2}],
            "downstream": drafts,
        })));
        let plan = decide(&o);
        assert_eq!(plan.steps.len(), 1, "{plan}");
        let fine = json!({"ws": "packagevariant-1", "state": "Draft", "mine": true, "lock": "v2"});
        let outcome = match mended {
            true => VariantOutcome::Draft(Arc::new(revision(&Json(fine), "uid-shop"))),
            false => VariantOutcome::Done,
        };
        let status = status_after(&o, &plan, &[outcome]).expect("a status");
        let ready = status.condition("Ready").expect("a condition");
        format!("{}: {}", ready.reason, ready.message)
    };
    let another = |more: &str| json!({"ws": "packagevariant-2", "state": "Draft", "mine": true, "machine": "current", "conflicts": more});
    let fine = "NoErrors: successfully ensured downstream package variant";
    assert_eq!(after(json!(null), true), fine);
    assert_eq!(after(another("0"), true), fine);
    let conflicts = |ws: u8| {
        format!(
            "Conflicted: 'deploy.shop.packagevariant-{ws}' has 1 conflict to acknowledge or resolve: "
        )
    };
    for (mended, ws) in [(true, 2), (false, 1)] {
        let told = after(another("1"), mended);
        assert!(told.starts_with(&conflicts(ws)), "{told}");
    }
}

/// R32, R115, R116: a draft that was made is a target whatever failed beside it, one that was not made is none.
#[test]
fn only_drafts_that_were_made_are_targets() {
    let o = observed(&Json(
        json!({"upstream": [{"at": "blueprints/nginx", "ws": "v1", "n": 1}]}),
    ));
    let mut plan = decide(&o);
    let old = revision(
        &Json(json!({"at": "deploy/old", "state": "Draft"})),
        "uid-shop",
    );
    plan.steps.push(VariantStep::DeleteRevision {
        revision: plan::variant::RevisionRef::of(&old),
        why: "so".to_owned(),
    });
    let targets = |first: VariantOutcome| {
        let failed = VariantOutcome::Failed(FailedDerivation {
            digest: model::Digest::new(1, &[0]),
            class: Class::Denied,
            reason: "Forbidden".to_owned(),
            message: "it is referenced".to_owned(),
            attempts: 1,
            due: false,
        });
        let status = status_after(&o, &plan, &[first, failed]).expect("a status");
        let ready = status.condition("Ready").expect("a condition");
        assert_eq!(ready.message, "it is referenced");
        let targets = status.downstream_targets.iter();
        targets.map(|t| t.name.to_string()).collect::<Vec<_>>()
    };
    let made = json!({"ws": "packagevariant-1", "state": "Draft", "mine": true});
    let made = VariantOutcome::Draft(Arc::new(revision(&Json(made), "uid-shop")));
    assert_eq!(targets(made), ["deploy.shop.packagevariant-1"]);
    assert_eq!(targets(VariantOutcome::Skipped), Vec::<String>::new());
}
