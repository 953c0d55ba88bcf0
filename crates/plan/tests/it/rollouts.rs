//! Rollouts of sets: cases, and any order of events (F7, F8).

mod ahead;
mod any_order;
mod back;
mod before;
mod by_hand;
mod halts;
mod suspended;
mod told;
mod unreachable;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{
    HaltWhen, LabelSelector, ObjectName, OpenWhen, Rollout, RolloutState, RolloutStep, Standing,
    StepMembers, Variant,
};
use plan::set::{Existing, Observed, Published, SetStep, decide};

use crate::set::{observed, on_large_stack};
use crate::wire::{Json, commit, name, uid};

/// `steps` as `name`, `name 10%` or `name label=value`; `soak`, `share`, and what is borne.
pub(crate) fn rollout(world: &Json) -> Rollout {
    let step = |text: &String| {
        let (name, members) = text.split_once(' ').unwrap_or((text, ""));
        let members = match (members.strip_suffix('%'), members.split_once('=')) {
            (Some(percent), _) => StepMembers::Percent(percent.parse().expect("a share")),
            (None, Some((key, value))) => StepMembers::Selector(LabelSelector {
                match_labels: model::Pairs::from_iter([(key.to_owned(), value.to_owned())]),
                requirements: Vec::new(),
            }),
            (None, None) => StepMembers::Rest,
        };
        RolloutStep {
            name: name.to_owned(),
            members,
        }
    };
    let number = |key: &str, other: &str| world.or(key, other).parse().expect("a number");
    Rollout {
        steps: world.texts("steps").iter().map(step).collect(),
        open: OpenWhen {
            published: u8::try_from(number("share", "100")).expect("a share"),
            soak: i64::try_from(number("soak", "0")).expect("seconds"),
        },
        halt: HaltWhen {
            conflicts: number("conflicts", "0"),
            failed: number("failed", "0"),
            rejected: number("rejected", "0"),
        },
    }
}

/// `publishedAt`: a variant's name, and `commit-word` or `commit-word seconds`.
pub(crate) fn published(world: &Json) -> BTreeMap<ObjectName, Published> {
    let one = |(variant, text): (String, String)| {
        let (word, at) = text.split_once(' ').unwrap_or((&text, "0"));
        let published = Published {
            commit: commit(word),
            at: Some(at.parse().expect("seconds")),
            then: None,
            earlier: None,
        };
        (name(&variant), published)
    };
    world.map("publishedAt").into_iter().map(one).collect()
}

/// A mark that ends with `*` is the one that the set itself would have written.
pub(crate) fn complete_marks(o: &mut Observed) {
    let members = o.status.rollout.as_ref().map(|r| r.members.clone());
    for existing in &mut o.variants {
        let mark = plan::set::uid_mark(existing.key.name.as_str());
        let Some(member) = members.as_ref().and_then(|m| m.get(&mark)).cloned() else {
            continue;
        };
        let annotations = &mut Arc::make_mut(&mut Arc::make_mut(existing).meta).annotations;
        let text = annotations.get_mut(plan::variant::words::ROLLOUT);
        let Some((text, said)) = text.and_then(|t| model::MemberMark::parse(t).map(|m| (t, m)))
        else {
            continue;
        };
        if said.spec == "*" {
            let (spec, before) = (member.spec, member.before);
            *text = model::MemberMark {
                spec,
                before,
                ..said
            }
            .to_string();
        }
    }
}

/// What is remembered of a rollout, and the step of each target; nothing without one.
pub(crate) fn told(plan: &plan::set::Plan) -> String {
    let Some(rollout) = &plan.status.rollout else {
        return String::new();
    };
    let mut text = format!("rollout: {}\n", rollout.progress());
    for step in &rollout.steps {
        let opened = step
            .opened
            .map_or_else(|| "closed".to_owned(), |at| format!("opened {at}"));
        let filled = step
            .filled
            .map_or(String::new(), |at| format!(", filled {at}"));
        let frozen = if step.frozen { ", frozen" } else { "" };
        text.push_str(&format!(
            "- {}: {opened}{filled}{frozen}; members {} published {} deleted {} unreachable {} diverged {}\n",
            step.name, step.members, step.published, step.deleted, step.unreachable, step.diverged
        ));
    }
    for (target, step) in &plan.targets {
        text.push_str(&format!("- {target} in {step}\n"));
    }
    text
}

const FLEET: usize = 20;

/// A set over twenty repositories, two of them in ring 0.
fn fleet(extra: &str) -> Observed {
    let mut text = format!(
        "{{\"set\": {{\"targets\": [{{\"labels\": {{\"all\": \"yes\"}}}}], \"rollout\": {{\"steps\": [\"canary ring=0\", \"quarter 25%\", \"rest\"]{extra}}}}}, \"repositories\": {{"
    );
    for i in 0..FLEET {
        let comma = if i == 0 { "" } else { "," };
        let ring = i32::from(i >= 2);
        text.push_str(&format!(
            "{comma}\"edge-{i:02}\": {{\"labels\": {{\"all\": \"yes\", \"ring\": \"{ring}\"}}}}"
        ));
    }
    text.push_str("}}");
    observed(&Json(serde_json::from_str(&text).expect("a world")))
}

/// Carries a plan out; answers how many variants were written.
fn carry_out(o: &mut Observed) -> usize {
    let plan = decide(o);
    let mut written = 0;
    for step in &plan.steps {
        let (variant, old) = match step {
            SetStep::Create(variant) => (variant, None),
            SetStep::Update { variant, .. } => {
                let at = o.variants.iter().position(|v| v.key == variant.key);
                (variant, at)
            }
            SetStep::Delete { .. } => panic!("nothing is deleted here"),
        };
        written += 1;
        let mut variant = Variant::clone(variant);
        let meta = Arc::make_mut(&mut variant.meta);
        meta.uid = Some(uid(&format!("uid-{}", variant.key.name)));
        meta.generation += 1;
        let existing = Arc::new(Existing {
            key: variant.key.clone(),
            meta: Arc::clone(&variant.meta),
            variant: Some(Arc::new(variant)),
            // Stale on purpose: it never opens a step.
            ready: (model::Status::True, "NoErrors".to_owned(), String::new()),
            stalled: false,
            lifecycle: None,
            holds: None,
            standing: Standing::UpToDate,
            published: false,
            rejected: false,
            untagged: false,
        });
        match old {
            Some(at) => o.variants[at] = existing,
            None => o.variants.push(existing),
        }
    }
    o.status = plan.status;
    written
}

/// Publishes what a variant wants.
fn publish(o: &mut Observed, at: usize) {
    let now = o.now;
    let existing = Arc::make_mut(&mut o.variants[at]);
    let wanted = existing
        .variant
        .as_ref()
        .expect("a variant")
        .spec
        .upstream
        .commit;
    existing.published = true;
    existing.standing = Standing::UpToDate;
    let published = Published {
        commit: wanted.expect("a commit"),
        at: Some(now),
        then: None,
        earlier: None,
    };
    o.published.insert(existing.key.name.clone(), published);
}

fn settle(o: &mut Observed) {
    for _ in 0..20 {
        let status = o.status.clone();
        if carry_out(o) == 0 && o.status == status {
            carry_out(o);
            assert_eq!(o.status, status, "at rest nothing is written");
            shown(o);
            return;
        }
    }
    panic!("no rest");
}

/// Whoever shows a rollout puts each variant into the step that was decided, or into none where that is not settled.
fn shown(o: &Observed) {
    let (plan, status) = (decide(o), o.status.rollout.as_ref().expect("a rollout"));
    if status.state == RolloutState::Undone {
        return;
    }
    let plan::set::Subject::Valid { set, .. } = &o.set else {
        panic!("a set");
    };
    let places = o.variants.iter().map(|v| plan::set::MemberPlace {
        name: v.key.name.as_str(),
        uid: v.meta.uid.as_ref().map(|uid| uid.as_str()),
        is_written: false,
        labels: v
            .variant
            .as_ref()
            .and_then(|v| o.repositories.get(&v.spec.downstream.repo))
            .map(|r| &r.labels),
    });
    let places: Vec<_> = places.collect();
    let rollout = set.spec.rollout.as_ref().expect("a rollout");
    let steps = plan::set::steps(rollout, status, &places);
    for (place, step) in places.iter().zip(steps) {
        let decided = plan.targets.get(&name(place.name)).map(String::as_str);
        let open = step.is_none() && !status.awaited.is_empty();
        assert!(
            open || step == decided,
            "{}: {step:?}, {decided:?}",
            place.name
        );
    }
}

fn state(o: &Observed) -> RolloutState {
    o.status.rollout.as_ref().expect("a rollout").state
}

fn publish_all(o: &mut Observed) {
    for at in 0..o.variants.len() {
        publish(o, at);
    }
    settle(o);
}

/// The steps open one after the other, by what is published, never by `Ready`.
#[test]
fn a_step_opens_once_the_one_before_is_published() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        assert_eq!(o.variants.len(), 2, "a stale Ready opens nothing");
        publish(&mut o, 0);
        settle(&mut o);
        assert_eq!(o.variants.len(), 2);
        publish(&mut o, 1);
        settle(&mut o);
        // A quarter of twenty, with the two before.
        assert_eq!(o.variants.len(), 5);
        publish_all(&mut o);
        assert_eq!(o.variants.len(), FLEET);
        assert_eq!(state(&o), RolloutState::Progressing);
        publish_all(&mut o);
        assert_eq!(state(&o), RolloutState::Complete);
    });
}

/// The soak counts from the publication that filled the share, and the time to look again is told.
#[test]
fn a_step_soaks_from_the_publication_that_filled_the_share() {
    on_large_stack(|| {
        let mut o = fleet(", \"soak\": \"100\"");
        settle(&mut o);
        publish(&mut o, 0);
        publish(&mut o, 1);
        o.now += 40;
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Soaking);
        let next = decide(&o).next;
        assert_eq!(next, plan::Next::After(std::time::Duration::from_secs(60)));
        o.now += 60;
        settle(&mut o);
        assert_eq!(o.variants.len(), 5);
    });
}

/// A conflict halts at once, also after it was decided, until somebody asks for another try.
#[test]
fn a_conflict_halts_until_somebody_tries_again() {
    on_large_stack(|| {
        let mut o = fleet("");
        settle(&mut o);
        publish(&mut o, 0);
        Arc::make_mut(&mut o.variants[1]).standing = Standing::Conflicts;
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Halted);
        publish(&mut o, 1);
        settle(&mut o);
        assert_eq!((state(&o), o.variants.len()), (RolloutState::Halted, 2));
        annotate(&mut o, plan::set::RETRY, "1");
        settle(&mut o);
        assert_eq!(o.variants.len(), 5);
    });
}

fn annotate(o: &mut Observed, key: &str, value: &str) {
    let plan::set::Subject::Valid { set, .. } = &mut o.set else {
        panic!("a set");
    };
    let annotations = &mut Arc::make_mut(set).meta.annotations;
    match value {
        "" => drop(annotations.remove(key)),
        _ => drop(annotations.insert(key.to_owned(), value.to_owned())),
    }
}

/// A selection that is unknown for a while.
fn unread() -> plan::set::Unread {
    plan::set::Unread {
        why: "it cannot be read now".to_owned(),
        passes: true,
        writer_unknown: false,
    }
}

/// All steps of the last rollout are open: nothing of the next one is written before it can begin.
#[test]
fn what_cannot_begin_yet_is_written_nowhere() {
    on_large_stack(|| {
        let mut o = fleet("");
        upstream(&mut o, "one");
        for _ in 0..4 {
            publish_all(&mut o);
        }
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Complete);
        o.unread.push(unread());
        upstream(&mut o, "two");
        settle(&mut o);
        let at_two = |o: &Observed| {
            let all = (0..FLEET).filter(|at| commit_of(o, *at) == Some(commit("two")));
            all.count()
        };
        assert_eq!((at_two(&o), state(&o)), (0, RolloutState::Halted));
        o.unread.clear();
        settle(&mut o);
        assert_eq!(at_two(&o), 2, "the canaries");
    });
}

/// A step is not closed over the members that happen to be known while others are not.
#[test]
fn what_is_not_known_for_a_while_still_belongs_to_its_step() {
    on_large_stack(|| {
        let mut o = fleet("");
        for _ in 0..4 {
            publish_all(&mut o);
        }
        upstream(&mut o, "two");
        carry_out(&mut o);
        let whole = o.repositories.clone();
        let known = whole.iter().filter(|(name, _)| name.as_str() != "edge-01");
        o.repositories = Arc::new(known.map(|(n, r)| (n.clone(), r.clone())).collect());
        o.unread.push(unread());
        let first = o
            .variants
            .iter()
            .position(|v| v.key.name.as_str().contains("edge-00"));
        publish(&mut o, first.expect("a canary"));
        carry_out(&mut o);
        assert_eq!(state(&o), RolloutState::Halted);
        o.unread.clear();
        o.repositories = whole;
        settle(&mut o);
        let reached = (0..FLEET).filter(|at| commit_of(&o, *at) == Some(commit("two")));
        assert_eq!(reached.count(), 2, "one of two canaries is published");
    });
}

/// Who published something else since the rollout reached them is named, the first of them, and counted.
#[test]
fn members_that_published_another_commit_are_named() {
    on_large_stack(|| {
        let mut o = fleet("");
        for _ in 0..4 {
            publish_all(&mut o);
        }
        let told = |o: &Observed| o.status.rollout.as_ref().expect("a rollout").diverged();
        assert_eq!(told(&o), None);
        let now = o.now;
        for at in 0..12 {
            let variant = Arc::make_mut(&mut o.variants[at]);
            variant.published = false;
            let other = Published {
                commit: commit("other"),
                at: Some(now),
                then: None,
                earlier: None,
            };
            o.published.insert(variant.key.name.clone(), other);
        }
        settle(&mut o);
        let text = told(&o).expect("some diverged");
        assert!(
            text.starts_with("12 published what the rollout did not bring: "),
            "{text}"
        );
        assert!(text.ends_with(" and 2 more"), "{text}");
        assert_eq!(text.matches("edge-").count(), 10, "{text}");
        let notes = decide(&o).report.notes;
        let noted = notes.iter().any(|line| format!("{line:?}").contains(&text));
        assert!(noted, "{notes:?}");
    });
}

/// Another commit of the upstream.
fn upstream(o: &mut Observed, word: &str) {
    let plan::variant::UpstreamResolution::Found(revision) = &mut o.upstreams[0].found else {
        panic!("an upstream");
    };
    let revision = Arc::make_mut(revision);
    revision.commit = commit(word);
    if let Some(lock) = &mut revision.self_lock {
        lock.commit = Some(commit(word));
    }
}

/// Each member goes back to what it had published, and stays there until somebody resumes.
#[test]
fn an_undo_takes_the_opened_members_back_and_keeps_them_there() {
    on_large_stack(|| {
        let mut o = fleet("");
        for _ in 0..4 {
            publish_all(&mut o);
        }
        assert_eq!(state(&o), RolloutState::Complete);
        let first = commit_of(&o, 0);
        upstream(&mut o, "two");
        settle(&mut o);
        let reached = |o: &Observed, at| commit_of(o, at) == Some(commit("two"));
        let count = |o: &Observed| (0..FLEET).filter(|at| reached(o, *at)).count();
        assert_eq!(count(&o), 2);
        for at in 0..FLEET {
            if reached(&o, at) {
                publish(&mut o, at);
            }
        }
        settle(&mut o);
        assert_eq!(count(&o), 5);
        let id = o.status.rollout.as_ref().expect("a rollout").id.clone();
        annotate(&mut o, plan::set::UNDO, &format!("{id}0"));
        settle(&mut o);
        assert_eq!(count(&o), 5, "another rollout's undo asks for nothing");
        annotate(&mut o, plan::set::UNDO, &id);
        settle(&mut o);
        assert_eq!((count(&o), state(&o)), (0, RolloutState::Undone));
        assert!((0..FLEET).all(|at| commit_of(&o, at) == first));
        publish_all(&mut o);
        // A floating upstream moves on: nothing goes forward.
        upstream(&mut o, "three");
        settle(&mut o);
        assert!((0..FLEET).all(|at| commit_of(&o, at) == first));
        annotate(&mut o, plan::set::UNDO, "");
        settle(&mut o);
        let forward = (0..FLEET).filter(|at| commit_of(&o, *at) == Some(commit("three")));
        assert_eq!(forward.count(), 2, "step by step again");
        let rollout = o.status.rollout.as_ref().expect("a rollout");
        let told = rollout.progress();
        assert!(told.starts_with("canary 1/3"), "{told}");
    });
}

fn commit_of(o: &Observed, at: usize) -> Option<model::CommitId> {
    o.variants[at]
        .variant
        .as_ref()
        .expect("a variant")
        .spec
        .upstream
        .commit
}
