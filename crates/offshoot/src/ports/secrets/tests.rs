//! A repository's Secret is read as whoever named it, or its address, and only while both stand there (X8).

use apiserver::{Server, ServerHandle, Whose};
use engine::ports::Secrets;
use model::ObjectName;
use objectstore::{Memory, Options};
use serde_json::json;

use super::*;
use crate::ports::embedded::Embedded;
use crate::ports::ours::ApiObjects;

const NS: &str = "default";
const GOOD: &str = "https://git.test/a.git";
const EVIL: &str = "https://evil.test/a.git";

fn whose(name: &str, groups: &[&str]) -> Whose {
    Whose {
        user: User::new(name, groups),
        agent: "tests".to_owned(),
    }
}

/// May write repositories, and read no Secret.
fn bob() -> Whose {
    whose("bob", &["system:authenticated"])
}

fn admin() -> Whose {
    whose("admin", &["system:masters"])
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(
        Namespace::parse(NS).unwrap(),
        ObjectName::parse(name).unwrap(),
    )
}

struct World {
    handle: ServerHandle,
    _server: Server,
}

impl World {
    async fn new() -> Self {
        let mut builder = crate::ports::recording(Server::builder())
            .memory(Memory::new())
            .store_options(Options::default());
        for crd in api::crds().unwrap() {
            builder = builder.crd(crd);
        }
        let server = builder.build().await.unwrap();
        let handle = server.handle();
        let world = Self {
            handle,
            _server: server,
        };
        for name in ["one", "two"] {
            world.secret(name).await;
        }
        world
    }

    async fn secret(&self, name: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
            "metadata": { "name": name, "annotations": { "offshoot.dev/hosts": "git.test" } },
            "stringData": { "username": "ada", "password": "pw" },
        });
        let secrets = ResourceName::new("", "v1", "secrets");
        let made = self.handle.create(&secrets, NS, secret, &admin()).await;
        made.unwrap();
    }

    async fn register(&self, address: &str, secret: &str, by: &Whose) {
        let object = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
            "metadata": { "name": "r", "annotations": {
                "offshoot.dev/secret-set-by": "{\"username\":\"admin\",\"groups\":[\"system:masters\"]}",
            } },
            "spec": { "type": "git", "git": { "repo": address, "secretRef": { "name": secret } } },
        });
        let made = self.handle.create(&repositories(), NS, object, by).await;
        made.unwrap();
    }

    async fn change(&self, by: &Whose, change: impl FnOnce(&mut Value)) {
        let mut object = self.object().await;
        change(&mut object);
        let repositories = repositories();
        let changed = self.handle.update(&repositories, NS, "r", object, by).await;
        changed.unwrap();
    }

    async fn object(&self) -> Value {
        let found = self.handle.get(&repositories(), NS, "r").await;
        found.unwrap().unwrap()
    }

    /// Whether the engine gets the Secret for an address.
    async fn given(&self, secret: &str, address: &str) -> Result<(), String> {
        let cluster = ApiObjects(Embedded::new(self.handle.clone()));
        let reader = Reader::Repository {
            key: key("r"),
            address: address.to_owned(),
        };
        match cluster.secret(&key(secret), &reader).await.unwrap() {
            Found::Here(secret) => {
                assert_eq!(secret.hosts.as_deref(), Some("git.test"));
                Ok(())
            }
            Found::Forbidden(why) => Err(why),
            other => panic!("{other:?}"),
        }
    }
}

fn set(object: &mut Value, path: &str, value: &str) {
    *object.pointer_mut(path).unwrap() = value.into();
}

const NAME: &str = "/spec/git/secretRef/name";
const RECORD: &str = "/metadata/annotations/offshoot.dev~1secret-set-by";

#[tokio::test]
async fn x8_a_secret_is_read_as_whoever_named_it_or_its_address() {
    let world = World::new().await;
    // What bob says about who he is counts for nothing.
    world.register(EVIL, "one", &bob()).await;
    let why = world.given("one", EVIL).await.unwrap_err();
    assert!(why.contains("\"bob\"") && why.contains("secrets"), "{why}");
    // An administrator who changes something else does not answer for what bob named.
    world
        .change(&admin(), |o| o["spec"]["description"] = "mine".into())
        .await;
    assert!(world.given("one", EVIL).await.is_err());
    // Naming another one does, for that one.
    world.change(&admin(), |o| set(o, NAME, "two")).await;
    assert_eq!(world.given("two", EVIL).await, Ok(()));
    assert!(world.given("one", EVIL).await.is_err(), "it is not named");
    assert!(
        world.given("two", GOOD).await.is_err(),
        "nor is that address"
    );
    // Neither does a change of something else take away what stands, nor a status.
    world
        .change(&bob(), |o| o["spec"]["description"] = "bob's".into())
        .await;
    assert_eq!(world.given("two", EVIL).await, Ok(()));
    let mut object = world.object().await;
    object["status"] = json!({ "packageCount": 1 });
    set(&mut object, NAME, "one");
    set(&mut object, RECORD, "{}");
    let (resource, by) = (repositories(), bob());
    let handle = &world.handle;
    let written = handle.update_status(&resource, NS, "r", object, &by);
    written.await.unwrap();
    assert_eq!(world.given("two", EVIL).await, Ok(()));
    world.change(&bob(), |o| set(o, NAME, "one")).await;
    assert!(world.given("one", EVIL).await.is_err());
}

#[tokio::test]
async fn x8_a_secret_that_is_named_no_more_is_named_by_nobody() {
    let world = World::new().await;
    world.register(GOOD, "one", &admin()).await;
    assert_eq!(world.given("one", GOOD).await, Ok(()));
    let none = |o: &mut Value| {
        let git = o["spec"]["git"].as_object_mut().unwrap();
        git.remove("secretRef");
    };
    world.change(&bob(), none).await;
    let object = world.object().await;
    assert_eq!(object.pointer(RECORD), None, "{object}");
    let again = |o: &mut Value| o["spec"]["git"]["secretRef"] = json!({ "name": "one" });
    world.change(&bob(), again).await;
    assert!(world.given("one", GOOD).await.is_err());
}

#[tokio::test]
async fn x8_whoever_takes_the_record_over_answers_for_it() {
    let world = World::new().await;
    world.register(GOOD, "one", &bob()).await;
    world.change(&admin(), |o| set(o, RECORD, "me")).await;
    assert_eq!(world.given("one", GOOD).await, Ok(()));
    let take = |o: &mut Value| drop(o["metadata"].as_object_mut().unwrap().remove("annotations"));
    world.change(&bob(), take).await;
    assert!(world.given("one", GOOD).await.is_err());
}

#[tokio::test]
async fn x8_a_caller_reads_what_the_caller_may_read() {
    let world = World::new().await;
    let cluster = ApiObjects(Embedded::new(world.handle.clone()));
    let read = async |whose: Whose, name: &str| {
        let reader = Reader::Caller {
            user: whose.user.name,
            groups: whose.user.groups,
        };
        cluster.secret(&key(name), &reader).await.unwrap()
    };
    assert!(matches!(read(admin(), "one").await, Found::Here(_)));
    assert!(matches!(read(admin(), "none").await, Found::Absent));
    // Whether there is one is not told either.
    for name in ["one", "none"] {
        assert!(matches!(read(bob(), name).await, Found::Forbidden(_)));
    }
}
