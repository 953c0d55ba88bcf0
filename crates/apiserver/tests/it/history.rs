//! What concurrent clients see is one history: writes, reads, lists and watches, across restarts that cut requests off.
//!
//! Every answer is recorded with the moments of its request; watches are held against the validators of a robust store
//! (ordered, unique, gapless, resumable, bookmarks, kinds of events, list + watch ≡ list), answers against a
//! linearizability checker: each key is a register whose versions are unique, so the order of versions is the order
//! of the history, and every answer must fit into it between its start and its end.

mod check;
mod clients;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use apiserver::Server;

use crate::world::{admin, shoes};
use check::{Event, linearizable, validate};
use clients::{Clients, Watcher, list, marker};

async fn open(directory: &std::path::Path) -> Arc<Server> {
    let builder = Server::builder().data_dir(directory).crd(shoes());
    Arc::new(builder.build().await.expect("build"))
}

/// Runs clients on one data directory, with a restart after each round; answers how many answers were checked.
async fn run(seed: u64, rounds: u64, operations: u64) -> usize {
    let directory = tempfile::tempdir().expect("directory");
    let clients = Clients::new(seed);
    let mut history: Vec<Event> = Vec::new();
    let mut seen = 0;
    for round in 0..rounds {
        let server = open(directory.path()).await;
        if round == 0 {
            seen = list(&server).await.0;
        }
        // One watcher follows from where the last server ended, others begin on the way.
        let follower = Watcher::start(&server, seen).await;
        let others = clients.run(&server, round, operations).await;
        let (last, state) = marker(&server, &format!("marker-{round}")).await;
        let events = follower.until(last).await;
        assert!(
            validate(&events, seen),
            "the follower's events are in order"
        );
        history.extend(events);
        for (from, before, watcher) in others {
            let events = watcher.until(last).await;
            assert!(validate(&events, from), "a watcher's events are in order");
            let whole: Vec<_> = history
                .iter()
                .filter(|e| e.rv > from && e.rv <= last)
                .collect();
            let got: Vec<_> = events.iter().filter(|e| e.rv <= last).collect();
            assert_eq!(got, whole, "no gap, nothing that others do not see");
            assert_eq!(check::replay(before, &got), state, "list + watch is list");
        }
        // Whoever comes again at any version gets the rest.
        for event in history.iter().rev().skip(1).step_by(37).take(3) {
            let again = Watcher::start(&server, event.rv).await.until(last).await;
            let rest: Vec<_> = history
                .iter()
                .filter(|e| e.rv > event.rv)
                .cloned()
                .collect();
            assert_eq!(again, rest, "a watch resumes where it was left");
        }
        seen = last;
        let handle = server.handle();
        drop(server);
        handle.close().await;
    }
    let answers = clients.answers();
    assert_eq!(linearizable(&history, &answers), Ok(()), "seed {seed}");
    assert!(
        clients.cut.load(Ordering::SeqCst) > 0,
        "no request was cut off"
    );
    answers.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_concurrent_clients_see_is_one_history() {
    assert_eq!(admin().user.name, "admin");
    let mut checked = 0;
    for seed in 0..3 {
        checked += run(seed, 3, 40).await;
    }
    assert!(checked > 600, "only {checked} answers were checked");
}

#[test]
fn the_checkers_notice_what_must_not_be() {
    check::they_notice();
}
