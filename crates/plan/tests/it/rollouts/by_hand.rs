//! What somebody does by hand to variants that wait for their step: it is put back, and decides nothing (F7).

use std::sync::Arc;

use model::{RolloutState, VariantSpec};
use plan::set::{Observed, UNDO};

use super::{
    FLEET, annotate, carry_out, commit_of, fleet, publish, publish_all, settle, state, upstream,
};
use crate::set::on_large_stack;
use crate::wire::commit;

/// The place of a variant of the last step.
pub(super) const LATE: usize = FLEET - 1;

/// A fleet that has published a first upstream, and waits behind the canaries for the second.
pub(super) fn waiting() -> Observed {
    let mut o = fleet("");
    upstream(&mut o, "one");
    settle(&mut o);
    for _ in 0..4 {
        publish_all(&mut o);
    }
    assert_eq!(state(&o), RolloutState::Complete);
    o.variants.sort_by(|a, b| a.key.name.cmp(&b.key.name));
    upstream(&mut o, "two");
    settle(&mut o);
    o
}

/// Somebody with the right to write variants writes one.
pub(super) fn by_hand(o: &mut Observed, at: usize, change: impl FnOnce(&mut VariantSpec)) {
    let existing = Arc::make_mut(&mut o.variants[at]);
    existing.published = false;
    change(&mut Arc::make_mut(existing.variant.as_mut().expect("a variant")).spec);
}

fn spec_of(o: &Observed, at: usize) -> VariantSpec {
    o.variants[at]
        .variant
        .as_ref()
        .expect("a variant")
        .spec
        .clone()
}

#[test]
fn what_is_changed_by_hand_in_a_variant_that_waits_is_put_back() {
    on_large_stack(|| {
        let mut o = waiting();
        let was = spec_of(&o, LATE);
        let odd = Some(commit("three"));
        by_hand(&mut o, LATE, |spec| spec.upstream.commit = odd);
        settle(&mut o);
        assert_eq!(spec_of(&o, LATE), was, "another commit");
        // The very commit that it waits for: its step is not open for that.
        by_hand(&mut o, LATE, |spec| {
            spec.upstream.commit = Some(commit("two"))
        });
        settle(&mut o);
        assert_eq!(spec_of(&o, LATE), was, "the wanted commit");
        by_hand(&mut o, LATE, |spec| {
            spec.upstream.commit = None;
            spec.labels.insert("by".to_owned(), "hand".to_owned());
        });
        settle(&mut o);
        assert_eq!(spec_of(&o, LATE), was, "another field");
        // What a person may decide stays.
        by_hand(&mut o, LATE, |spec| spec.suspend = true);
        settle(&mut o);
        assert!(spec_of(&o, LATE).suspend);
    });
}

#[test]
fn a_variant_that_was_put_back_during_an_undo_stays_back() {
    on_large_stack(|| {
        let mut o = waiting();
        let id = o.status.rollout.as_ref().expect("a rollout").id.clone();
        annotate(&mut o, UNDO, &id);
        settle(&mut o);
        assert_eq!(state(&o), RolloutState::Undone);
        for at in [0, LATE] {
            let was = spec_of(&o, at);
            by_hand(&mut o, at, |spec| {
                spec.upstream.commit = Some(commit("two"))
            });
            settle(&mut o);
            assert_eq!(spec_of(&o, at), was);
            assert_eq!(commit_of(&o, at), Some(commit("one")));
        }
    });
}

/// Changed just before its step opens: it is put back and marked first, so that nothing of it stays in its draft.
#[test]
fn what_is_changed_by_hand_as_the_step_opens_is_put_back_before_it_is_written() {
    on_large_stack(|| {
        let mut o = waiting();
        let was = spec_of(&o, 0);
        let second = (2..FLEET).find(|at| {
            let steps = plan::set::decide(&o).targets;
            steps
                .get(&o.variants[*at].key.name)
                .is_some_and(|s| s == "quarter")
        });
        let second = second.expect("a member of the second step");
        let before = spec_of(&o, second);
        by_hand(&mut o, second, |spec| {
            spec.context.data.insert("by".to_owned(), "hand".to_owned());
        });
        for at in 0..2 {
            publish(&mut o, at);
        }
        let marked = |o: &Observed| {
            let annotations = &o.variants[second].meta.annotations;
            annotations.contains_key(plan::variant::words::PUT_BACK)
        };
        let mut seen = Vec::new();
        for _ in 0..6 {
            carry_out(&mut o);
            seen.push((spec_of(&o, second), marked(&o)));
        }
        let back = seen
            .iter()
            .position(|(spec, marked)| *spec == before && *marked);
        let written = seen
            .iter()
            .position(|(spec, _)| spec.upstream == was.upstream);
        assert!(back.is_some() && back < written, "{back:?} {written:?}");
        settle(&mut o);
        assert!(!marked(&o), "no draft of it is open");
    });
}

/// Whoever may write variants can write any annotation, too.
#[test]
fn a_forged_mark_opens_nothing_and_is_put_right() {
    on_large_stack(|| {
        let mut o = waiting();
        let id = o.status.rollout.as_ref().expect("a rollout").id.clone();
        let marks = |o: &Observed, at: usize| {
            let annotations = &o.variants[at].meta.annotations;
            annotations.get("offshoot.dev/rollout").cloned()
        };
        let true_mark = marks(&o, 0);
        let commit = commit("three");
        for text in [
            format!("{id} canary 00ff00ff00ff00ff"),
            format!("999-abc canary 00ff00ff00ff00ff blueprints nginx {commit}"),
            format!("{id} canary 00ff00ff00ff00ff blueprints other {commit}"),
        ] {
            for at in [0, LATE] {
                let meta = &mut Arc::make_mut(&mut o.variants[at]).meta;
                let annotations = &mut Arc::make_mut(meta).annotations;
                annotations.insert("offshoot.dev/rollout".to_owned(), text.clone());
            }
            settle(&mut o);
            let rollout = o.status.rollout.as_ref().expect("a rollout");
            assert_eq!(rollout.id, id);
            assert_eq!(rollout.steps[0].members, 2);
            assert_eq!(commit_of(&o, LATE), Some(crate::wire::commit("one")));
            assert_eq!(marks(&o, 0), true_mark);
        }
        annotate(&mut o, UNDO, &id);
        settle(&mut o);
        assert_eq!(commit_of(&o, 0), Some(crate::wire::commit("one")));
    });
}

#[test]
fn a_variant_that_is_deleted_by_hand_while_it_waits_is_made_anew_as_it_was() {
    on_large_stack(|| {
        let mut o = waiting();
        let gone = o.variants.remove(LATE);
        let spec = gone.variant.as_ref().expect("a variant").spec.clone();
        settle(&mut o);
        let anew = o.variants.iter().find(|v| v.key == gone.key);
        let anew = anew.expect("made anew").variant.as_ref();
        assert_eq!(anew.expect("a variant").spec, spec);
    });
}

/// The template changed, too: what the variant was is not known any more, and nothing goes ahead of its step.
#[test]
fn what_cannot_be_told_any_more_waits_for_its_step_and_is_named() {
    on_large_stack(|| {
        let mut o = waiting();
        let plan::set::Subject::Valid { set, templates } = &mut o.set else {
            panic!("a set");
        };
        let template = &mut Arc::make_mut(set).spec.targets[0].template;
        let changed = template.get_or_insert_default();
        changed.labels.insert("new".to_owned(), "yes".to_owned());
        *templates = Arc::new(plan::set::Compiled::of(&set.spec));
        settle(&mut o);
        let gone = o.variants.remove(LATE).key.name.to_string();
        let was = spec_of(&o, LATE - 1);
        by_hand(&mut o, LATE - 1, |spec| {
            spec.upstream.commit = Some(commit("two"));
            spec.annotations.insert("by".to_owned(), "hand".to_owned());
        });
        settle(&mut o);
        assert_eq!(o.variants.len(), LATE, "not made before its step");
        assert_eq!(spec_of(&o, LATE - 1).upstream, was.upstream);
        assert!(!spec_of(&o, LATE - 1).labels.contains_key("new"));
        let plan = plan::set::decide(&o);
        let notes = format!("{:?}", plan.report.notes);
        let changed = o.variants[LATE - 1].key.name.to_string();
        assert!(notes.contains(&gone) && notes.contains(&changed), "{notes}");
    });
}
