//! A set through the hours under its deletion guard (S3): decisions, statuses and news together. What the guard alone
//! promises, at any size, timing and death, is held by its own tests.

use std::sync::Arc;

use plan::set::{
    CONFIRM, Observed, RepositoryObject, SetOutcome, SetStep, Subject, decide, news, status_after,
};
use plan::{News, Next};
use serde_json::json;

use crate::set::{observed, on_large_stack};
use crate::wire::Json;

/// A set over labelled repositories, each with its variant.
struct Life {
    o: Observed,
    deleted: usize,
    told: Vec<News>,
}

impl Life {
    fn of(size: usize) -> Self {
        let mut repositories = serde_json::Map::new();
        let mut variants = Vec::new();
        for n in 0..size {
            let name = format!("r{n:05}");
            variants.push(
                json!({"name": format!("fan-{name}-nginx"), "downstream": format!("{name}/nginx")}),
            );
            repositories.insert(name, json!({"labels": {"on": "yes"}}));
        }
        let world = json!({"repositories": repositories, "variants": variants,
            "set": {"targets": [{"labels": {"on": "yes"}}]}});
        Self {
            o: observed(&Json(world)),
            deleted: 0,
            told: Vec::new(),
        }
    }

    fn label(&mut self, numbers: std::ops::Range<usize>, on: bool) {
        for n in numbers {
            let name = model::RepositoryName::parse(&format!("r{n:05}")).expect("a name");
            let labels = on.then(|| ("on".to_owned(), "yes".to_owned()));
            let object = RepositoryObject {
                labels: labels.into_iter().collect(),
                ..RepositoryObject::default()
            };
            Arc::make_mut(&mut self.o.repositories).insert(name, object);
        }
    }

    /// Lets time pass; the set is looked at when its plan says so.
    fn pass(&mut self, seconds: i64) {
        let until = self.o.now + seconds;
        while let Next::After(time) = self.look() {
            let wake = self.o.now + i64::try_from(time.as_secs()).expect("seconds");
            if wake > until {
                break;
            }
            self.o.now = wake;
        }
        self.o.now = until;
        self.look();
    }

    /// Looks until nothing is to be done now.
    fn look(&mut self) -> Next {
        for _ in 0..10 {
            let plan = decide(&self.o);
            for step in &plan.steps {
                let SetStep::Delete { key, .. } = step else {
                    panic!("unexpected: {}", step.summary());
                };
                self.o.variants.retain(|v| v.key != *key);
                self.deleted += 1;
            }
            let outcomes = vec![SetOutcome::Done; plan.steps.len()];
            if let Some(status) = status_after(&self.o, &plan, &outcomes) {
                self.told
                    .extend(news(&self.o.status, &status, &plan, &outcomes));
                self.o.status = status;
            }
            if plan.steps.is_empty() && plan.next != Next::Again {
                return plan.next;
            }
        }
        panic!("no rest: {}", decide(&self.o));
    }

    fn message(&self) -> String {
        let guarded = self.o.status.condition("DeletionGuarded");
        guarded.expect("a condition").message.clone()
    }
}

/// S3: the accident that the ruling was made for. 51 variants, 30 of their targets relabelled one by one, and the
/// mistake undone as slowly: nothing goes.
#[test]
fn thirty_of_fifty_one_by_mistake() {
    on_large_stack(|| {
        let mut life = Life::of(51);
        for n in 0..30 {
            life.label(n..n + 1, false);
            life.pass(1);
        }
        life.pass(60);
        assert_eq!(life.deleted, 0);
        assert!(
            life.message().starts_with("30 of 51 "),
            "{}",
            life.message()
        );
        for n in 0..30 {
            life.label(n..n + 1, true);
            life.pass(15);
        }
        assert_eq!(life.deleted, 0);
        assert!(life.o.status.condition("DeletionGuarded").is_none());
        // Three within the hour are free, and so is a fifth.
        life.label(0..10, false);
        life.pass(12);
        assert_eq!(life.deleted, 10);
        life.label(10..11, false);
        life.pass(12);
        assert_eq!(life.deleted, 10);
    });
}

/// S3: the condition counts, events list all of many.
#[test]
fn a_thousand_that_wait_are_all_listed() {
    on_large_stack(|| {
        let mut life = Life::of(1_200);
        life.label(0..1_100, false);
        life.pass(11);
        assert_eq!(life.deleted, 0);
        let news: Vec<News> = std::mem::take(&mut life.told);
        assert!(
            news.iter()
                .all(|n| n.warning && n.reason == "ConfirmationNeeded")
        );
        assert_eq!(news.len(), 2, "{news:?}");
        for n in 0..1_100 {
            let name = format!("fan-r{n:05}-nginx");
            assert!(news.iter().any(|n| n.message.contains(&name)), "{name}");
        }
        assert!(news.iter().all(|n| n.message.len() < 18_000));
        let message = life.message();
        assert!(message.starts_with("1100 of 1200 "), "{message}");
        assert!(message.contains(" and 1090 more"), "{message}");
        let (_, hash) = message.rsplit_once('=').expect("a hash");
        let Subject::Valid { set, .. } = &mut life.o.set else {
            panic!("a set");
        };
        let annotations = &mut Arc::make_mut(set).meta.annotations;
        annotations.insert(CONFIRM.to_owned(), hash.to_owned());
        life.pass(1);
        assert_eq!(life.deleted, 1_100);
        assert!(life.o.status.guard.decided.is_empty());
    });
}
