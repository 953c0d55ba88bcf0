//! Any order of events, the loss of a status included: whoever is at a wanted commit has all earlier steps behind it (F7).

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{ObjectName, RolloutState, Standing};
use plan::set::{Existing, Observed};

use super::{FLEET, annotate, carry_out, commit_of, fleet, publish, settle, unread, upstream};
use crate::set::on_large_stack;
use crate::wire::commit;

/// Any order of events: whoever is at a wanted commit has all earlier steps published behind it.
#[test]
fn no_target_is_ever_ahead_of_its_step() {
    let seeds = std::env::var("OFFSHOOT_ROLLOUT_SEEDS").ok();
    let seeds: u64 = seeds.and_then(|n| n.parse().ok()).unwrap_or(40);
    on_large_stack(|| (0..seeds).for_each(one_walk));
}

type Commits = BTreeMap<ObjectName, Option<model::CommitId>>;

/// What may happen between two looks, the worst of it included: a look whose status is lost, since the process died.
fn one_walk(seed: u64) {
    let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut roll = |n: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        usize::try_from(dice % n as u64).expect("small")
    };
    let mut o = fleet(", \"conflicts\": \"1\", \"soak\": \"5\"");
    let words = ["one", "two", "three"];
    for _ in 0..60 {
        let count = o.variants.len();
        match roll(17) {
            0 => upstream(&mut o, words[roll(3)]),
            1..=7 if count > 0 => publish(&mut o, roll(count)),
            8 => o.now += 10,
            9 if count > 0 => {
                let one = Arc::make_mut(&mut o.variants[roll(count)]);
                let reason = ["RepositoryNotReady", "DownstreamDeleted", "NoErrors"][roll(3)];
                one.ready.1 = reason.to_owned();
            }
            10 if count > 0 => {
                let one = Arc::make_mut(&mut o.variants[roll(count)]);
                one.standing = [Standing::Conflicts, Standing::UpToDate][roll(2)];
            }
            11 if count > 0 => by_hand(&mut o, roll(count), words[roll(3)]),
            15 if count > 0 => forge(&mut o, roll(count), ["canary", "quarter", "rest"][roll(3)]),
            16 if o.unread.is_empty() => o.unread.push(unread()),
            16 => o.unread.clear(),
            12 => annotate(&mut o, plan::set::PAUSE, ["", "yes"][roll(2)]),
            13 => annotate(&mut o, plan::set::RETRY, ["1", "2", "3"][roll(3)]),
            14 => {
                let id = o.status.rollout.as_ref().map(|r| r.id.clone());
                let id = id.filter(|_| roll(3) == 0).unwrap_or_default();
                annotate(&mut o, plan::set::UNDO, &id);
            }
            _ => {}
        }
        let (seen, before) = (o.clone(), commits(&o));
        carry_out(&mut o);
        ahead(&seen, &o, seed);
        written(&seen, &o, &before, seed);
        if roll(8) == 0 {
            o.status = seen.status;
        }
    }
    o.unread.clear();
    settle(&mut o);
    // At rest everything is as the set wrote it last.
    let status = o.status.rollout.as_ref().expect("a rollout");
    for (name, at) in commits(&o) {
        let member = status.members.get(&plan::set::uid_mark(name.as_str()));
        let decided = member.map(|m| m.upstream.commit);
        assert_eq!(Some(at), decided, "seed {seed}: {name} was not put back");
    }
}

fn commits(o: &Observed) -> Commits {
    let all = 0..o.variants.len();
    all.map(|at| (o.variants[at].key.name.clone(), commit_of(o, at)))
        .collect()
}

/// Somebody writes another commit into a variant.
fn by_hand(o: &mut Observed, at: usize, word: &str) {
    let existing = Arc::make_mut(&mut o.variants[at]);
    existing.published = false;
    let variant = existing.variant.as_mut().expect("a variant");
    Arc::make_mut(variant).spec.upstream.commit = Some(commit(word));
}

/// Somebody writes onto a variant that the present rollout reached it in this step.
fn forge(o: &mut Observed, at: usize, step: &str) {
    let id = o
        .status
        .rollout
        .as_ref()
        .map_or("1-00", |r| &r.id)
        .to_owned();
    let existing = Arc::make_mut(&mut o.variants[at]);
    let annotations = &mut Arc::make_mut(&mut existing.meta).annotations;
    let mark = format!("{id} {step} 00ff00ff00ff00ff");
    annotations.insert("offshoot.dev/rollout".to_owned(), mark);
}

/// What is decided now to be written at the wanted commit has all members of earlier steps behind it: published there, gone,
/// or out of reach.
fn ahead(seen: &Observed, now: &Observed, seed: u64) {
    let status = now.status.rollout.as_ref().expect("a rollout");
    if status.state == RolloutState::Undone {
        return;
    }
    let plan::variant::UpstreamResolution::Found(revision) = &seen.upstreams[0].found else {
        panic!("an upstream");
    };
    let lock = revision.self_lock.as_ref().and_then(|l| l.commit);
    let wanted = lock.unwrap_or(revision.commit);
    // Whether it is behind us, as it was seen.
    let passed = |v: &Existing| {
        let spec = &v.variant.as_ref().expect("a variant").spec;
        let at = seen.published.get(&v.key.name).map(|p| p.commit);
        let there = v.published && spec.upstream.commit == Some(wanted) && at == Some(wanted);
        there || v.ready.1 == "RepositoryNotReady" || v.ready.1 == "DownstreamDeleted"
    };
    let canary = |v: &&Arc<Existing>| {
        let name = v.key.name.as_str();
        name.contains("edge-00") || name.contains("edge-01")
    };
    let canaries = seen
        .variants
        .iter()
        .filter(canary)
        .filter(|v| passed(v))
        .count();
    let all = seen.variants.iter().filter(|v| passed(v)).count();
    for member in 0..FLEET {
        let name = format!("fan-edge-{member:02}-nginx");
        let mark = plan::set::uid_mark(&name);
        let Some(new) = status.members.get(&mark).filter(|m| m.step.is_some()) else {
            continue;
        };
        if seen
            .status
            .rollout
            .as_ref()
            .and_then(|r| r.members.get(&mark))
            == Some(new)
        {
            continue;
        }
        assert_eq!(new.upstream.commit, Some(wanted), "seed {seed}: {name}");
        match plan::set::step_of(status, &name) {
            Some("canary") => {}
            Some("quarter") => assert_eq!(canaries, 2, "seed {seed}: {name} is ahead"),
            Some("rest") => assert!(
                canaries == 2 && all >= 5,
                "seed {seed}: {name} is ahead: {all} of 5 are behind"
            ),
            other => panic!("seed {seed}: {name} is in no step: {other:?}"),
        }
    }
}

/// What is written was decided before, and stood in the status: also what puts back what somebody changed by hand.
fn written(seen: &Observed, now: &Observed, before: &Commits, seed: u64) {
    for (at, v) in now.variants.iter().enumerate() {
        let name = &v.key.name;
        if before.get(name) == Some(&commit_of(now, at)) {
            continue;
        }
        let remembered = seen.status.rollout.as_ref();
        let mark = plan::set::uid_mark(name.as_str());
        let member = remembered.and_then(|r| r.members.get(&mark));
        let decided = member.expect("remembered").upstream.commit;
        assert_eq!(commit_of(now, at), decided, "seed {seed}: {name}");
    }
}
