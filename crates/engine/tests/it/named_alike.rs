//! Packages whose object names are the same, since a name is put together with dots: one is served, and the other one is told of
//! for as long as that is so, however both came (A5).

use model::Lifecycle;
use store::{Answer, Expect, RefEdit, RefName, Scope, Submission};

use crate::variants::ready;
use crate::world::{NS, World};

const KPTFILE: &str = crate::variants::KPTFILE;
const NAMES: [&str; 2] = ["odd.a.b.main", "odd.a.b.v1"];

fn said(world: &World) -> String {
    let stored = world.twin.repository(NS, "odd").expect("registered");
    stored.status.ready().expect("a verdict").message.clone()
}

/// Which of the two is served under each name, and that the other one is told of.
fn served(world: &World) -> Vec<String> {
    let said = said(world);
    let packages = NAMES.map(|name| {
        let served = world.revision(name).package.to_string();
        let other = if served == "a.b" { "a/b" } else { "a.b" };
        let told = format!("its object name {name} is taken by package {served}");
        assert!(said.contains(&told), "{said}");
        assert!(said.contains(&format!("package {other}: ")), "{said}");
        served
    });
    packages.to_vec()
}

#[tokio::test(start_paused = true)]
async fn packages_of_one_object_name_are_told_of_in_one_look_and_after_a_rebuild() {
    let mut world = ready().await;
    world.slow_records = true;
    world.restart().await;
    world.git("odd").await;
    let files = [("Kptfile", KPTFILE)];
    for package in ["a/b", "a.b"] {
        world.push("odd", package, &files, Some("v1")).await;
    }
    world.register("odd", false).await;
    world.rest().await;
    served(&world);
    world.restart().await;
    served(&world);
    world.rebuild().await;
    served(&world);
    // A change of another package is no reason to forget it.
    world.push("odd", "c", &files, None).await;
    world.rest().await;
    let [_, tagged] = &served(&world)[..] else {
        panic!("two names");
    };
    // Once the name is free it is the other one's.
    let outside = world.outside("odd");
    let edit = RefEdit {
        name: RefName::tag(&format!("{tagged}/v1")).expect("a ref"),
        expect: Expect::Any,
        to: None,
        scope: Scope::Remote,
    };
    let submission = Submission {
        refs: vec![edit],
        ..Submission::default()
    };
    let answer = outside.submit(submission).await.expect("a push");
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    world.rest().await;
    let left = world.revision("odd.a.b.v1");
    assert_eq!(left.lifecycle, Lifecycle::Published);
    assert_ne!(left.package.as_str(), tagged);
    assert!(!said(&world).contains("odd.a.b.v1"), "{}", said(&world));
    assert!(said(&world).contains("odd.a.b.main"), "{}", said(&world));
}
