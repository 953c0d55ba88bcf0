use std::sync::atomic::Ordering;

use serde_json::json;

use super::super::world::World;
use super::*;

const REVIEWS: &str = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";

async fn world() -> World {
    let world = World::new().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
        "rules": [
            {"apiGroups": ["porch.kpt.dev"], "resources": ["packagerevisions"], "verbs": ["get"]},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "team"}],
    });
    world
        .apply(&format!("{rbac}/clusterroles/reader"), role)
        .await;
    world
        .apply(&format!("{rbac}/clusterrolebindings/reader"), binding)
        .await;
    world
}

fn asked<'a>(user: &'a User, verb: &'a str, path: &'a str) -> Attributes<'a> {
    let resource = match path {
        "" => "packagerevisions",
        _ => "",
    };
    Attributes {
        user,
        verb,
        group: if path.is_empty() { "porch.kpt.dev" } else { "" },
        resource,
        subresource: "",
        namespace: if path.is_empty() { "shop" } else { "" },
        name: "",
        path,
    }
}

#[tokio::test]
async fn the_cluster_decides_and_is_asked_once_for_a_question() {
    let world = world().await;
    let access = Access::new(world.client());
    let ann = User::new("ann", &["team"]);
    let bob = User::new("bob", &[]);
    for _ in 0..3 {
        assert!(access.allows(&asked(&ann, "get", "")).await);
        assert!(access.allows(&asked(&ann, "get", "/metrics")).await);
        let decision = access.decide(&asked(&bob, "get", "")).await;
        assert!(!decision.allowed);
        assert_eq!(decision.reason, "");
    }
    assert_eq!(world.seen.asked(REVIEWS), 3);
    // Another verb, another group and another extra are other questions.
    assert!(!access.allows(&asked(&ann, "update", "")).await);
    assert!(
        !access
            .allows(&asked(&User::new("ann", &["other"]), "get", ""))
            .await
    );
    let mut other = ann.clone();
    other
        .extra
        .insert("scopes".to_owned(), vec!["some".to_owned()]);
    assert!(access.allows(&asked(&other, "get", "")).await);
    assert_eq!(world.seen.asked(REVIEWS), 6);
}

#[tokio::test]
async fn a_thousand_at_once_ask_once() {
    let world = world().await;
    world.seen.slow.store(20, Ordering::SeqCst);
    let access = Access::new(world.client());
    let ann = User::new("ann", &["team"]);
    let request = asked(&ann, "get", "");
    let all = futures::future::join_all((0..1000).map(|_| access.allows(&request))).await;
    assert!(all.into_iter().all(|allowed| allowed));
    assert_eq!(world.seen.asked(REVIEWS), 1);
}

#[tokio::test]
async fn masters_and_probes_wait_for_nobody() {
    let world = world().await;
    world.seen.down.store(true, Ordering::SeqCst);
    let access = Access::new(world.client());
    let admin = User::new("admin", &["system:masters"]);
    assert!(access.allows(&asked(&admin, "delete", "")).await);
    let nobody = User::new("system:anonymous", &["system:unauthenticated"]);
    for path in ["/healthz", "/livez", "/readyz"] {
        assert!(access.allows(&asked(&nobody, "get", path)).await);
    }
    assert_eq!(world.seen.asked(REVIEWS), 0);
    // These words as a resource's are no path, and what is below them is another one.
    assert!(!access.allows(&asked(&nobody, "get", "/readyz/log")).await);
    assert!(!access.allows(&asked(&nobody, "get", "")).await);
}

#[tokio::test]
async fn a_verdict_that_is_lost_is_asked_for_again_and_refuses_nobody() {
    let world = world().await;
    let access = Access::new(world.client());
    let ann = User::new("ann", &["team"]);
    world.seen.lost.store(1, Ordering::SeqCst);
    assert!(access.allows(&asked(&ann, "get", "")).await);
    assert_eq!(world.seen.asked(REVIEWS), 2);
}

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_allows_nothing_and_is_asked_again() {
    let world = world().await;
    let access = Access::new(world.client());
    let ann = User::new("ann", &["team"]);
    world.seen.down.store(true, Ordering::SeqCst);
    let decision = access.decide(&asked(&ann, "get", "")).await;
    assert!(!decision.allowed);
    let words = "the cluster cannot be asked now whether that is allowed: ";
    assert!(decision.reason.starts_with(words), "{}", decision.reason);
    world.seen.down.store(false, Ordering::SeqCst);
    assert!(access.allows(&asked(&ann, "get", "")).await);
}
