//! What a member goes back to where somebody published it by hand before its step was open (F8).

use std::sync::Arc;

use model::RolloutState;
use plan::set::{Observed, Published, UNDO};

use super::by_hand::{LATE, by_hand, waiting};
use super::{annotate, commit_of, fleet, publish_all, settle, state, upstream};
use crate::set::on_large_stack;
use crate::wire::{commit, name};

/// A variant has published `of` now, and had published `then` when the rollout began.
fn has_published(o: &mut Observed, variant: &str, of: &str, then: Option<&str>) {
    let published = Published {
        commit: commit(of),
        at: Some(o.now),
        then: then.map(commit),
        earlier: None,
    };
    o.published.insert(name(variant), published);
}

fn undo(o: &mut Observed) {
    let id = o.status.rollout.as_ref().expect("a rollout").id.clone();
    annotate(o, UNDO, &id);
    settle(o);
    assert_eq!(state(o), RolloutState::Undone);
}

pub(super) fn at(o: &Observed, variant: &str) -> usize {
    let mut all = o.variants.iter();
    let at = all.position(|v| v.key.name.as_str() == variant);
    at.expect("the variant")
}

/// Whoever publishes what is wanted ahead of the step publishes the rollout, and not what was before it.
#[test]
fn what_is_published_ahead_of_its_step_goes_back_to_what_was_before_the_rollout() {
    on_large_stack(|| {
        for (of, back) in [("two", "one"), ("other", "other")] {
            let mut o = waiting();
            let late = o.variants[LATE].key.name.to_string();
            o.now += 10;
            has_published(&mut o, &late, of, Some("one"));
            settle(&mut o);
            for _ in 0..3 {
                publish_all_but(&mut o, &late);
            }
            assert_eq!(commit_of(&o, LATE), Some(commit("two")));
            undo(&mut o);
            assert_eq!(commit_of(&o, LATE), Some(commit(back)), "{of}");
        }
    });
}

/// What was there when the rollout began is what it goes back to, also where that is what the rollout wants.
#[test]
fn what_had_published_what_is_wanted_before_the_rollout_stays() {
    on_large_stack(|| {
        let mut o = waiting();
        let late = o.variants[LATE].key.name.to_string();
        has_published(&mut o, &late, "two", Some("one"));
        settle(&mut o);
        for _ in 0..3 {
            publish_all_but(&mut o, &late);
        }
        undo(&mut o);
        assert_eq!(commit_of(&o, LATE), Some(commit("two")));
    });
}

/// What is to be written is remembered first: who approves between the two approves what was before the rollout.
#[test]
fn what_is_published_before_a_remembered_write_is_what_it_goes_back_to() {
    on_large_stack(|| {
        let mut o = fleet("");
        upstream(&mut o, "one");
        settle(&mut o);
        upstream(&mut o, "two");
        o.status = plan::set::decide(&o).status;
        super::publish(&mut o, 0);
        settle(&mut o);
        assert_eq!(commit_of(&o, 0), Some(commit("two")));
        undo(&mut o);
        assert_eq!(commit_of(&o, 0), Some(commit("one")));
    });
}

fn publish_all_but(o: &mut Observed, but: &str) {
    let kept = o.published.get(&name(but)).copied();
    for at in 0..o.variants.len() {
        super::publish(o, at);
    }
    o.published.extend(kept.map(|kept| (name(but), kept)));
    settle(o);
}

/// A variant that somebody made under the name of one that is not made yet, at another commit, and published.
pub(super) fn theirs(o: &mut Observed, late: &str, of: &str) {
    let mut theirs = (*o.variants[0]).clone();
    theirs.key.name = name(late);
    let meta = Arc::make_mut(&mut theirs.meta);
    meta.owners.clear();
    meta.annotations.clear();
    let mut variant = (**theirs.variant.as_ref().expect("a variant")).clone();
    variant.key.name = name(late);
    let place = &mut variant.spec.downstream;
    place.repo = model::RepositoryName::parse("edge-19").expect("a name");
    variant.spec.upstream.commit = Some(commit(of));
    theirs.variant = Some(Arc::new(variant));
    o.variants.push(Arc::new(theirs));
    settle(o);
}

/// What a set takes over goes back to what it had published by hand, as every member.
#[test]
fn a_variant_that_is_taken_over_goes_back_to_what_it_had_published() {
    on_large_stack(|| {
        let late = "fan-edge-19-nginx";
        for (of, then, back) in [
            ("one", None, Some("one")),
            ("two", Some("one"), Some("one")),
            // Nothing was published but what the rollout brings: it stays, and is named.
            ("two", None, None),
        ] {
            let mut o = fleet("");
            upstream(&mut o, "two");
            settle(&mut o);
            theirs(&mut o, late, of);
            o.now += 10;
            has_published(&mut o, late, of, then);
            settle(&mut o);
            // It is no member yet, and what it publishes is nobody's concern.
            assert_eq!(o.status.rollout.as_ref().and_then(|r| r.diverged()), None);
            let asked = |o: &Observed| commit_of(o, at(o, late));
            for _ in 0..3 {
                publish_all_but(&mut o, late);
            }
            assert!(
                !o.variants[at(&o, late)].meta.owners.is_empty(),
                "taken over"
            );
            assert_eq!(asked(&o), Some(commit("two")));
            publish_all(&mut o);
            assert_eq!(state(&o), RolloutState::Complete);
            undo(&mut o);
            let wanted = back.unwrap_or("two");
            assert_eq!(asked(&o), Some(commit(wanted)), "{of} {then:?}");
            let created = &o.status.rollout.as_ref().expect("a rollout").created;
            assert_eq!(created.contains(&late.to_owned()), back.is_none());
        }
    });
}

/// A variant that somebody else owns is in the way, and nothing of it is a member's.
#[test]
fn a_variant_that_is_not_taken_over_is_not_moved() {
    on_large_stack(|| {
        let late = "fan-edge-19-nginx";
        let mut o = fleet("");
        upstream(&mut o, "two");
        settle(&mut o);
        theirs(&mut o, late, "one");
        let here = at(&o, late);
        by_hand(&mut o, here, |spec| {
            spec.downstream.repo = model::RepositoryName::parse("elsewhere").expect("a name");
        });
        has_published(&mut o, late, "one", None);
        for _ in 0..3 {
            for at in (0..o.variants.len()).filter(|at| *at != here) {
                super::publish(&mut o, at);
            }
            settle(&mut o);
        }
        undo(&mut o);
        assert_eq!(commit_of(&o, here), Some(commit("one")));
        assert!(o.variants[here].meta.owners.is_empty());
    });
}

/// A list of revisions that came late hid what a member had published when the rollout reached it: once it is known, it is
/// what the member goes back to. What was published since its step opened is not.
#[test]
fn what_a_late_list_hid_is_remembered_once_it_is_known() {
    on_large_stack(|| {
        for (since, back) in [(-10, "old"), (0, "three")] {
            let mut o = waiting();
            for _ in 0..4 {
                publish_all(&mut o);
            }
            assert_eq!(state(&o), RolloutState::Complete);
            upstream(&mut o, "three");
            let first = o.variants[0].key.name.clone();
            o.published.remove(&first);
            settle(&mut o);
            assert_eq!(commit_of(&o, 0), Some(commit("three")));
            let old = Published {
                commit: commit("old"),
                at: Some(o.now + since),
                then: None,
                earlier: None,
            };
            o.published.insert(first, old);
            settle(&mut o);
            undo(&mut o);
            assert_eq!(commit_of(&o, 0), Some(commit(back)), "{since}");
        }
    });
}

/// Also where it is known only while the rollout is taken back, and where somebody published what the rollout brought by then.
#[test]
fn what_a_late_list_hid_goes_back_once_it_is_known_in_an_undo() {
    on_large_stack(|| {
        for (of, began) in [("old", None), ("three", Some("old"))] {
            let mut o = waiting();
            for _ in 0..4 {
                publish_all(&mut o);
            }
            upstream(&mut o, "three");
            let first = o.variants[0].key.name.clone();
            o.published.remove(&first);
            settle(&mut o);
            o.now += 10;
            undo(&mut o);
            assert_eq!(commit_of(&o, 0), Some(commit("three")));
            let since = if began.is_some() { 0 } else { -20 };
            let known = Published {
                commit: commit(of),
                at: Some(o.now + since),
                then: began.map(commit),
                earlier: began.map(commit),
            };
            o.published.insert(first, known);
            settle(&mut o);
            assert_eq!(commit_of(&o, 0), Some(commit("old")), "{of}");
        }
    });
}
