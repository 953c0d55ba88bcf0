//! The twin for simulations: no runtime, no threads, no wall clock; the same run gives the same bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apiserver::{ResourceName, Server, ServerHandle};
use futures::StreamExt;
use futures::executor::block_on;
use objectstore::{EventKind, FaultPoint, Faults, Memory, Options};
use serde_json::json;

use crate::world::{Still, admin, shoe, shoes};

fn name() -> ResourceName {
    ResourceName::new("test.dev", "v1", "shoes")
}

async fn server(medium: &Memory, seed: u64, faults: Option<Arc<dyn Faults>>) -> Server {
    Server::builder()
        .memory(medium.clone())
        .store_options(Options {
            faults,
            ..Options::default()
        })
        .clock(Arc::new(Still))
        .counted_uids(seed)
        .crd(shoes())
        .build()
        .await
        .expect("build")
}

async fn walk(handle: &ServerHandle) -> Vec<String> {
    let (shoes, admin) = (name(), admin());
    let from = handle.version();
    let mut events = Box::pin(handle.watch(&shoes, "default", from).expect("watch"));
    let made = handle
        .create(&shoes, "default", shoe("a", 40), &admin)
        .await
        .expect("create");
    let mut dependent = shoe("b", 41);
    dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "test.dev/v1", "kind": "Shoe", "name": "a", "uid": made["metadata"]["uid"]}]);
    handle
        .create(&shoes, "default", dependent, &admin)
        .await
        .expect("create");
    let patch = json!({"spec": {"size": 42}});
    handle
        .patch(&shoes, "default", "a", "", &patch, &admin)
        .await
        .expect("patch");
    let status = json!({"status": {"worn": true}});
    handle
        .patch(&shoes, "default", "a", "status", &status, &admin)
        .await
        .expect("patch");
    handle
        .delete(&shoes, "default", "a", &Default::default(), &admin)
        .await
        .expect("delete");
    handle.settle().await.expect("settle");
    assert!(
        handle
            .list(&shoes, "", "")
            .await
            .expect("list")
            .items
            .is_empty()
    );
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let event = events.next().await.expect("an event").expect("kept");
        seen.push(format!(
            "{:?} {}",
            event.kind,
            String::from_utf8_lossy(&event.object.bytes())
        ));
    }
    assert!(
        seen.last()
            .is_some_and(|last| last.starts_with(&format!("{:?}", EventKind::Deleted)))
    );
    seen
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run =
        |seed| block_on(async { walk(&server(&Memory::new(), seed, None).await.handle()).await });
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first, run(1000), "the seed is in the uids");
}

/// Stops the store at the n-th time it comes by.
struct StopAt(FaultPoint, AtomicUsize);

impl Faults for StopAt {
    fn stop_at(&self, point: FaultPoint) -> bool {
        point == self.0 && self.1.fetch_sub(1, Ordering::SeqCst) == 1
    }
}

#[test]
fn a_crash_at_any_write_leaves_all_of_it_or_nothing() {
    for point in [FaultPoint::BeforePersist, FaultPoint::AfterPersist] {
        for nth in 1..=4 {
            let medium = Memory::new();
            block_on(async {
                let warm = server(&medium, 1, None).await;
                drop(warm);
                let faults = Arc::new(StopAt(point, AtomicUsize::new(nth)));
                let handle = server(&medium, 1 << 20, Some(faults)).await.handle();
                let mut answered = 0;
                for i in 0..4 {
                    let made = handle
                        .create(&name(), "default", shoe(&format!("s{i}"), 40), &admin())
                        .await;
                    match made {
                        Ok(_) => answered += 1,
                        Err(failure) => assert_eq!(failure.code, 503),
                    }
                }
                assert_eq!(answered, nth - 1, "nothing is answered after the crash");
                let again = server(&medium, 1 << 30, None).await.handle();
                let kept = again.list(&name(), "", "").await.expect("list").items.len();
                assert_eq!(
                    kept,
                    answered + usize::from(point == FaultPoint::AfterPersist)
                );
            });
        }
    }
}
