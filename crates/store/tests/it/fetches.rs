//! How many fetches run at once, and whose: with remotes that hang.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use store::conformance::World as _;
use store::{Credential, CredentialError, Credentials, GitOptions, RemoteSpec};
use testkit::git_http::{Asked, Fault};

use crate::http::Remote;
use crate::local::draft_on;
use crate::oracle::{available, git};

/// Somebody of this name, without a secret.
struct Tenant(&'static str);

#[async_trait]
impl Credentials for Tenant {
    fn tenant(&self) -> Arc<str> {
        Arc::from(self.0)
    }

    async fn credential(&self, _url: &str) -> Result<Credential, CredentialError> {
        Ok(Credential::None)
    }
}

fn spec(url: String, tenant: &'static str) -> RemoteSpec {
    RemoteSpec {
        credentials: Arc::new(Tenant(tenant)),
        ..RemoteSpec::new(url)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_whose_remotes_hang_keeps_nobody_out() {
    if !available() {
        return;
    }
    let silence = Duration::from_secs(8);
    let fine = Remote::new(GitOptions::default());
    draft_on(&*fine.open().await, "app").await;
    let hanging = Remote::new(GitOptions {
        silence,
        fetches: 2,
        ..GitOptions::default()
    });
    draft_on(&*hanging.open().await, "app").await;
    let served = hanging.served();
    let mut urls = Vec::new();
    for name in ["one.git", "two.git", "three.git"] {
        let to = served.with_file_name(name).display().to_string();
        git(&served, &["clone", "-q", "--bare", ".", &to]);
        urls.push(hanging.server.url(name));
    }
    let left = || hanging.server.manners().faults.len();
    hanging.restart();
    hanging
        .server
        .set(|m| m.faults = vec![(Asked::Objects, Fault::Hang); 2]);
    let store = hanging.store();
    let begun = Instant::now();
    let opening: Vec<_> = urls
        .into_iter()
        .map(|url| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.open(spec(url, "many")).await.map(drop) })
        })
        .collect();
    while left() == 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The other remotes of the same tenant wait for its share, those of another one do not.
    let opened = store.open(spec(fine.server.url("repo.git"), "other")).await;
    assert_eq!(opened.unwrap().refs().unwrap().len(), 2);
    assert_eq!(left(), 1, "the first one hangs, no other one was asked");
    // Each has its turn: two find that their remote hangs, the third one is served.
    let mut served = 0;
    for one in opening {
        match one.await.unwrap() {
            Ok(()) => served += 1,
            Err(error) => assert_eq!(error.class(), model::Class::Unavailable, "{error}"),
        }
    }
    assert_eq!((served, left()), (1, 0));
    assert!(begun.elapsed() >= silence * 2, "{:?}", begun.elapsed());
}
