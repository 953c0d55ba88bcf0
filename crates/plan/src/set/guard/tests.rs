//! Laws of the guard (S3), over sets of any size whose targets leave and return in any order, at any time, under a
//! process that may die between any two writes: within an hour no more than three or the share go unconfirmed, what
//! was found too many stays until it is confirmed or undone, and what was confirmed goes.

use std::collections::BTreeMap;

use model::{DeletionGuard, Namespace, ObjectKey, ObjectMeta, ObjectName, OnError, SetStatus};
use model::{Status, VariantSetSpec};
use proptest::prelude::*;

use super::*;
use crate::set::{Compiled, Subject};

/// What happens next.
#[derive(Debug, Clone)]
enum Event {
    /// A share of the targets, in per mille, leave one by one, with so many seconds between them.
    Leave(usize, i64),
    /// The same of those that are gone; they return.
    Return(usize, i64),
    /// Time passes.
    Pass(i64),
    /// Somebody confirms what waits.
    Confirm,
}

fn gaps() -> impl Strategy<Value = i64> {
    prop_oneof![2 => Just(0_i64), 2 => 1_i64..12, 1 => 12_i64..90, 1 => 90_i64..2_000]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (1_usize..120, gaps()).prop_map(|(n, gap)| Event::Leave(n, gap)),
        1 => (120_usize..1000, gaps()).prop_map(|(n, gap)| Event::Leave(n, gap)),
        3 => (1_usize..1000, gaps()).prop_map(|(n, gap)| Event::Return(n, gap)),
        2 => gaps().prop_map(Event::Pass),
        1 => Just(Event::Confirm),
    ];
    proptest::collection::vec(event, 1..12)
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1_usize..80, 3 => 80_usize..600, 1 => 600_usize..=10_000]
}

/// At which of its writes each turn of the process dies, over and over; some turns live.
fn deaths() -> impl Strategy<Value = Vec<Option<usize>>> {
    let some = proptest::collection::vec(proptest::option::of(0_usize..5), 2..9);
    prop_oneof![
        Just(vec![None]),
        some.prop_map(|mut deaths| {
            deaths.push(None);
            deaths
        })
    ]
}

/// A set, its variants, and a process that looks at them.
struct Life {
    o: Observed,
    set: VariantSet,
    /// Whether each target is there, and its variant, if it has one.
    targets: Vec<(bool, Option<Arc<Existing>>)>,
    deaths: Vec<Option<usize>>,
    turns: usize,
    /// When variants were deleted, and whether that was confirmed.
    deleted: Vec<(i64, bool)>,
    /// How many variants there were, when that changed.
    sizes: Vec<(i64, usize)>,
    confirmed: BTreeSet<Uid>,
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(
        Namespace::parse("fleet").expect("a namespace"),
        ObjectName::parse(name).expect("a name"),
    )
}

impl Life {
    fn of(size: usize, deaths: Vec<Option<usize>>) -> Self {
        let set = VariantSet {
            key: key("fan"),
            meta: ObjectMeta {
                uid: Uid::parse("uid-of-set").ok(),
                ..ObjectMeta::default()
            },
            spec: VariantSetSpec {
                upstreams: Vec::new(),
                targets: Vec::new(),
                on_error: OnError::Continue,
                deletion_guard: DeletionGuard::default(),
                max_in_flight: None,
                rollout: None,
                suspend: false,
            },
        };
        let o = Observed {
            set: Subject::Valid {
                set: Arc::new(set.clone()),
                templates: Arc::new(Ok(Compiled {
                    templates: Vec::new(),
                })),
            },
            status: SetStatus::default(),
            now: 1_000_000,
            quiet: QuietTime::default(),
            variants_here: true,
            upstreams: Vec::new(),
            unread: Vec::new(),
            repositories: Arc::default(),
            selected: BTreeMap::new(),
            variants: Vec::new(),
            published: BTreeMap::new(),
            whole_rollout: false,
            failure: None,
        };
        let mut life = Self {
            o,
            set,
            targets: vec![(true, None); size],
            deaths,
            turns: 0,
            deleted: Vec::new(),
            sizes: Vec::new(),
            confirmed: BTreeSet::new(),
        };
        life.create();
        life
    }

    /// Creations wait for nothing.
    fn create(&mut self) {
        let turn = self.turns;
        for (n, (there, variant)) in self.targets.iter_mut().enumerate() {
            if *there && variant.is_none() {
                let meta = ObjectMeta {
                    uid: Uid::parse(&format!("uid-{n}-{turn}")).ok(),
                    ..ObjectMeta::default()
                };
                *variant = Some(Arc::new(Existing {
                    key: key(&format!("fan-{n:05}")),
                    meta: Arc::new(meta),
                    variant: None,
                    ready: (Status::True, String::new(), String::new()),
                    stalled: false,
                    lifecycle: None,
                    holds: None,
                    standing: model::Standing::UpToDate,
                    published: false,
                    rejected: false,
                    untagged: false,
                }));
            }
        }
        self.count();
    }

    fn present(&self) -> usize {
        self.targets.iter().filter(|(_, v)| v.is_some()).count()
    }

    fn count(&mut self) {
        let present = self.present();
        if self.sizes.last().is_none_or(|(_, n)| *n != present) {
            self.sizes.push((self.o.now, present));
        }
    }

    fn judge(&self) -> Verdict {
        let gone = self.targets.iter().filter(|(there, _)| !there);
        let there = self.targets.iter().any(|(there, _)| *there);
        let candidates = Candidates {
            surplus: gone.filter_map(|(_, v)| v.clone()).collect(),
            present: self.present(),
            doubt: if there { Doubt::None } else { Doubt::Empty },
        };
        judge(&self.o, &self.set, candidates)
    }

    /// Looks until nothing is to be done now; says in how many seconds to look again.
    fn look(&mut self) -> Option<u64> {
        for _ in 0..100 {
            self.turns += 1;
            self.create();
            let verdict = self.judge();
            let death = self.deaths.get(self.turns % self.deaths.len()).copied();
            let death = death.flatten().unwrap_or(usize::MAX);
            let deaths = verdict.delete.len().min(death);
            for variant in verdict.delete.iter().take(deaths) {
                self.delete(variant);
            }
            self.count();
            if death <= verdict.delete.len() {
                continue;
            }
            let rests = verdict.delete.is_empty() && self.o.status.guard == verdict.memory;
            self.o.status.guard = verdict.memory;
            if rests {
                return verdict.look_after;
            }
        }
        panic!("no rest");
    }

    fn delete(&mut self, variant: &Existing) {
        let place = self
            .targets
            .iter_mut()
            .find(|(_, v)| v.as_ref().is_some_and(|v| v.key == variant.key));
        let (there, found) = place.expect("a variant goes once");
        assert!(!*there, "{} goes, and its target is there", variant.key);
        *found = None;
        let uid = variant.meta.uid.as_ref().expect("a uid");
        self.deleted
            .push((self.o.now, self.confirmed.contains(uid)));
    }

    fn pass(&mut self, seconds: i64) {
        let until = self.o.now + seconds;
        while let Some(after) = self.look() {
            let wake = self.o.now + i64::try_from(after).expect("seconds");
            if wake > until {
                break;
            }
            self.o.now = wake;
        }
        self.o.now = until;
        self.look();
    }

    /// So many of the targets that are there, or gone, change, with a pause after each.
    fn turn(&mut self, per_mille: usize, there: bool, gap: i64) {
        let all = self.targets.iter().enumerate();
        let mut which: Vec<usize> = all.filter(|(_, t)| t.0 == there).map(|(n, _)| n).collect();
        let first = self.turns % which.len().max(1);
        which.rotate_left(first);
        // One by one takes long in the largest sets; those lose many at once.
        let count = (per_mille * self.targets.len()).div_ceil(1000);
        let steps = if self.targets.len() > 600 { 5 } else { 40 };
        let chunk = count.div_ceil(steps).max(1);
        which.truncate(count);
        for some in which.chunks(chunk) {
            for n in some {
                if let Some(target) = self.targets.get_mut(*n) {
                    target.0 = !there;
                }
            }
            self.pass(gap);
        }
    }

    /// Annotates the set with what it asks for; says how many that lets go.
    fn confirm(&mut self) -> Option<usize> {
        let verdict = self.judge();
        let hash = verdict.hash?;
        let uids = verdict.waiting.iter().filter_map(|v| v.meta.uid.clone());
        self.confirmed.extend(uids);
        let annotations = &mut self.set.meta.annotations;
        annotations.insert(CONFIRM.to_owned(), hash);
        Some(verdict.waiting.len())
    }

    fn live(&mut self, event: &Event) {
        match event {
            Event::Leave(share, gap) => self.turn(*share, true, *gap),
            Event::Return(share, gap) => self.turn(*share, false, *gap),
            Event::Pass(seconds) => self.pass(*seconds),
            Event::Confirm => {
                self.confirm();
                self.pass(1);
            }
        }
    }

    /// No hour sees more unconfirmed deletions than three, or a fifth of the largest number within it.
    fn bounded(&self) {
        let mut times: Vec<i64> = self.deleted.iter().map(|(at, _)| *at).collect();
        times.dedup();
        for at in times {
            // What was let go is counted then, and may be carried out a moment later.
            let hour = |time: &i64| *time <= at && at - time < HOUR;
            let gone = self.deleted.iter().filter(|(t, c)| hour(t) && !c).count();
            let before = self.sizes.iter().rev().find(|(t, _)| at - t >= HOUR);
            let sizes = self.sizes.iter().filter(|(t, _)| hour(t)).chain(before);
            let largest = sizes.map(|(_, n)| *n).max().unwrap_or_default();
            assert!(
                gone <= 3.max(largest / 5),
                "{gone} of {largest} went in the hour before {at}: {:?}",
                self.o.status.guard
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// S3: accidents come as loops of single changes.
    #[test]
    fn an_hour_sees_few_unconfirmed_deletions(size in sizes(), events in events(), deaths in deaths()) {
        let mut life = Life::of(size, deaths);
        for event in &events {
            life.live(event);
            life.bounded();
        }
    }

    /// S3: what was found too many stays, however slowly the mistake is undone; then nothing waits.
    #[test]
    fn undoing_deletes_nothing(
        size in sizes(), gone in 0_usize..=1000, (there, back) in (gaps(), gaps()), deaths in deaths(),
    ) {
        let mut life = Life::of(size, deaths);
        life.turn(gone, true, there);
        let held = |life: &Life| life.o.status.guard.waiting.as_ref().is_some_and(|w| w.held);
        if held(&life) {
            let before = life.deleted.len();
            life.turn(1000, false, back);
            prop_assert_eq!(life.deleted.len(), before);
            prop_assert_eq!(life.present(), size);
            prop_assert_eq!(&life.o.status.guard.waiting, &None);
        }
    }

    /// S3: what waits goes on waiting, whatever its share has become, and rest is rest (V16).
    #[test]
    fn what_waits_goes_on_waiting(size in 5_usize..200, back in 0_usize..1000, time in 0_i64..100_000) {
        let mut life = Life::of(size, vec![None]);
        life.turn(900, true, 0);
        life.pass(61);
        prop_assert_eq!(life.deleted.len(), 0);
        life.turn(back, false, 0);
        let left = life.targets.iter().filter(|(there, _)| !there).count();
        life.pass(61);
        let memory = life.o.status.guard.clone();
        life.pass(time);
        prop_assert_eq!(life.deleted.len(), 0);
        prop_assert_eq!(life.o.status.guard.waiting.is_some(), left > 0);
        prop_assert_eq!(&life.o.status.guard, &memory);
    }

    /// S3, R169: what is confirmed goes, whenever the process dies, and nothing else with it.
    #[test]
    fn what_is_confirmed_goes(size in sizes(), gone in 1_usize..=1000, deaths in deaths()) {
        let mut life = Life::of(size, deaths);
        life.turn(gone, true, 0);
        life.pass(61);
        let there = life.present();
        if let Some(confirmed) = life.confirm() {
            life.pass(0);
            prop_assert_eq!(life.present(), there - confirmed);
            prop_assert!(life.o.status.guard.decided.is_empty());
        }
    }
}

/// However often a few go, what is remembered stays small, and no two hours are mixed up.
#[test]
fn what_is_remembered_is_small() {
    let mut recent = Vec::new();
    for n in 0..100_000 {
        let shrink = Shrink {
            at: n / 10,
            deletions: 1,
            variants: 50_000,
        };
        remember(&mut recent, shrink);
        assert!(recent.len() <= REMEMBERED);
    }
    let sum: usize = recent.iter().map(|s| s.deletions).sum();
    assert!(sum >= 36_000, "{sum} of an hour are remembered");
}

/// A clock that is set back makes nothing wait for longer than ever.
#[test]
fn a_clock_that_is_set_back_is_no_end() {
    let mut life = Life::of(50, vec![None]);
    life.turn(40, true, 0);
    life.o.now -= 10 * HOUR;
    life.pass(11);
    assert_eq!(life.deleted.len(), 2);
}
