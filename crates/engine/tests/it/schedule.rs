//! When repositories are looked at: by their schedule, on request, or all the time. A look that finds nothing writes
//! nothing (V16).

use std::time::Duration;

use model::RepositoryStatus;

use crate::variants::KPTFILE;
use crate::world::{NS, World, person, repository};

fn status(world: &World, name: &str) -> RepositoryStatus {
    world.twin.repository(NS, name).expect("registered").status
}

/// Lets so many seconds pass, for the engine's clock and for its timers.
async fn pass(world: &World, seconds: u32) {
    world.clock.pass(i64::from(seconds));
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_schedule_says_when_it_comes_next() {
    let world = World::new().await;
    world.git("deploy").await;
    let mut wanted = repository("deploy", true);
    wanted.sync_schedule = "0 3 * * *".to_owned();
    world.twin.put_repository(wanted.clone());
    world.rest().await;
    let first = status(&world, "deploy");
    assert_eq!(first.last_full_sync, "2026-02-02T02:40:00Z");
    assert_eq!(first.next_full_sync, "2026-02-02T03:00:00Z");
    let writes = world.twin.writes();
    pass(&world, 600).await;
    assert_eq!(world.twin.writes(), writes, "nothing changed");
    pass(&world, 900).await;
    let then = status(&world, "deploy");
    assert_eq!(then.last_full_sync, "2026-02-02T03:05:00Z");
    assert_eq!(then.next_full_sync, "2026-02-03T03:00:00Z");
    // Another schedule is seen at once; none promises nothing.
    wanted.sync_schedule = "30 * * * *".to_owned();
    world.twin.put_repository(wanted.clone());
    world.rest().await;
    assert_eq!(
        status(&world, "deploy").next_full_sync,
        "2026-02-02T03:30:00Z"
    );
    wanted.sync_schedule.clear();
    world.twin.put_repository(wanted);
    world.rest().await;
    assert_eq!(status(&world, "deploy").next_full_sync, "");
}

/// A schedule that names no time is told, and the repository is looked at as without one.
#[tokio::test(start_paused = true)]
async fn a_schedule_that_cannot_be_read_is_told() {
    let world = World::new().await;
    world.git("deploy").await;
    let mut wanted = repository("deploy", true);
    wanted.sync_schedule = "bad cron".to_owned();
    world.twin.put_repository(wanted.clone());
    world.rest().await;
    let ready = |world: &World| {
        let status = status(world, "deploy");
        let found = status.conditions.iter().find(|c| c.kind == "Ready");
        let ready = found.expect("a condition");
        (ready.status, ready.message.clone())
    };
    let (is, message) = ready(&world);
    assert_eq!(is, model::Status::True);
    assert!(
        message.starts_with("Repository Ready; spec.sync.schedule: \"bad cron\" names no time"),
        "{message}"
    );
    wanted.sync_schedule = "0 3 * * *".to_owned();
    world.twin.put_repository(wanted);
    world.rest().await;
    assert_eq!(ready(&world).1, "Repository Ready");
}

#[tokio::test(start_paused = true)]
async fn a_remote_that_is_polled_is_no_write() {
    let world = World::new().await;
    let url = "https://git.example/far.git";
    world.store.serve(url);
    let spec = store::RemoteSpec {
        branch: Some("main".to_owned()),
        create_branch: Some(person()),
        ..store::RemoteSpec::new(url)
    };
    store::Store::open(&*world.store, spec)
        .await
        .expect("a repository");
    let mut far = repository("far", false);
    url.clone_into(&mut far.git.repo);
    world.twin.put_repository(far);
    world.rest().await;
    let first = status(&world, "far");
    assert_eq!(
        (first.package_count, first.next_full_sync.as_str()),
        (0, "")
    );
    let writes = world.twin.writes();
    for _ in 0..3 {
        pass(&world, 61).await;
    }
    assert_eq!(world.twin.writes(), writes, "nobody pushed anything");
    world
        .push_url(url, "web", &[("Kptfile", KPTFILE)], Some("v1"))
        .await;
    pass(&world, 61).await;
    let then = status(&world, "far");
    assert!(then.package_count > 0, "{then:?}");
    assert!(then.last_full_sync > first.last_full_sync, "{then:?}");
    assert!(world.twin.revision(NS, "far.web.v1").is_some());
}
