//! The twin keeps what ports promise: what simulations find is found over something like a cluster.

use std::sync::Arc;

use futures::FutureExt as _;
use model::{
    DeletionGuard, GitSpec, ObjectKey, ObjectMeta, OnError, Repository, RepositoryName, VariantSet,
    VariantSetSpec,
};
use testkit::conformance::{World, cases};
use testkit::twin::{TestClock, Twin, key};

fn set(key: ObjectKey) -> VariantSet {
    VariantSet {
        key,
        meta: ObjectMeta::default(),
        spec: VariantSetSpec {
            upstreams: Vec::new(),
            targets: Vec::new(),
            on_error: OnError::Continue,
            deletion_guard: DeletionGuard {
                enabled: true,
                percent: 20,
            },
            max_in_flight: None,
            rollout: None,
            suspend: false,
        },
    }
}

fn repository(key: ObjectKey) -> Repository {
    Repository {
        name: RepositoryName::parse(key.name.as_str()).expect("a name"),
        key,
        meta: ObjectMeta::default(),
        description: String::new(),
        deployment: false,
        ignore_author_gates: false,
        git: GitSpec {
            repo: "https://git.example.com/web.git".to_owned(),
            branch: "main".to_owned(),
            create_branch: false,
            create: false,
            directory: String::new(),
            secret: None,
            author: None,
            email: None,
        },
        sync_schedule: String::new(),
        run_once_at: String::new(),
    }
}

#[tokio::test]
async fn the_twin_conforms() {
    for (name, case) in cases() {
        let twin = Twin::new();
        let ports = twin.ports(&TestClock::at(1_770_000_000));
        let world = World::new(ports, "shop", move |object| {
            let twin = Arc::clone(&twin);
            async move {
                let name = object["metadata"]["name"].as_str().expect("a name");
                match object["kind"].as_str() {
                    Some("Repository") => drop(twin.put_repository(repository(key("shop", name)))),
                    _ => drop(twin.put_set(set(key("shop", name)))),
                }
            }
            .boxed()
        });
        case(&world)
            .await
            .unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
