//! The memory twin passes the suite, written in place and as a remote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use store::conformance::{World, cases, run};
use store::{
    Answer, BranchEdit, Dir, Error, Expect, FaultVerdict, Faults, MemoryOptions, MemoryStore,
    Point, RefEdit, RefName, RemoteSpec, Repo, Store, Submission,
};

use crate::local::{name, one, who};

struct Memory {
    store: Arc<MemoryStore>,
    url: &'static str,
}

#[async_trait]
impl World for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn url(&self) -> String {
        self.url.to_owned()
    }

    async fn outside(&self) -> Result<Arc<dyn Repo>, Error> {
        self.store.outside(self.url)
    }

    fn restart(&self) {
        self.store.crash(|_, _| false);
    }

    fn tidy(&self) {
        self.store.prune(self.url);
    }
}

async fn all(url: &'static str) {
    for case in cases() {
        let store = Arc::new(MemoryStore::default());
        store.serve(url);
        let world = Arc::new(Memory { store, url });
        run(world, &case).await.unwrap();
    }
}

#[tokio::test]
async fn conforms_in_place() {
    all("file:///repo").await;
}

#[tokio::test]
async fn conforms_as_a_remote() {
    all("https://git.example/repo").await;
}

/// Dies once all refs are moved and the last of them are not durable.
#[derive(Debug, Default)]
struct Cut {
    armed: AtomicBool,
}

impl Faults for Cut {
    fn at(&self, _url: &str, point: Point) -> FaultVerdict {
        if point == Point::RefsWritten && self.armed.load(Ordering::SeqCst) {
            return FaultVerdict::Die;
        }
        FaultVerdict::Go
    }
}

/// A draft in a world that dies after the next move of refs.
async fn drafted(url: &str) -> (MemoryStore, Arc<dyn Repo>, model::CommitId) {
    let cut = Arc::new(Cut::default());
    let faults = Arc::clone(&cut) as Arc<dyn Faults>;
    let store = MemoryStore::new(MemoryOptions {
        faults,
        ..MemoryOptions::default()
    });
    store.serve(url);
    let repo = store.open(spec(url)).await.unwrap();
    let (id, draft) = one(&*repo, "a");
    let answer = repo.submit(draft).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)));
    cut.armed.store(true, Ordering::SeqCst);
    (store, repo, id)
}

fn spec(url: &str) -> RemoteSpec {
    RemoteSpec {
        branch: Some("main".to_owned()),
        create_branch: Some(who()),
        ..RemoteSpec::new(url)
    }
}

/// What is left where the crash kept of the undurable refs those that `keep` names, and no journal.
async fn left(
    store: &MemoryStore,
    url: &str,
    keep: fn(&RefName) -> bool,
) -> Vec<(RefName, model::CommitId)> {
    store.crash(|_, name| keep(name));
    store.lose_journals();
    let refs = store.outside(url).unwrap().refs().unwrap();
    refs.iter().map(|(n, id)| (n.clone(), *id)).collect()
}

#[tokio::test]
async fn a_ref_goes_only_once_the_one_that_takes_its_place_lasts() {
    let url = "file:///repo";
    let is_draft: fn(&RefName) -> bool = |n| n.as_str().contains("/drafts/");
    for keep in [is_draft, |n| !n.as_str().contains("/drafts/"), |_| false] {
        let (store, repo, id) = drafted(url).await;
        let proposed = RefName::branch("proposed/a/ws").unwrap();
        let propose = Submission {
            refs: vec![
                RefEdit::delete(name("a"), id),
                RefEdit::create(proposed.clone(), id),
            ],
            intent: Some(b"a record".to_vec()),
            ..Submission::default()
        };
        repo.submit(propose).await.unwrap_err();
        let left = left(&store, url, keep).await;
        assert!(
            left.contains(&(proposed, id)),
            "what was edited is lost: {left:?}"
        );
    }
}

#[tokio::test]
async fn a_tag_stands_only_on_what_the_branch_has() {
    let url = "file:///repo";
    let is_tag: fn(&RefName) -> bool = |n| n.as_str().starts_with("refs/tags/");
    for keep in [is_tag, |n| n.as_str() == "refs/heads/main", |_| false] {
        let (store, repo, id) = drafted(url).await;
        let main = RefName::branch("main").unwrap();
        let dir = Dir::parse("a").unwrap();
        let content = repo.subtree(repo.commit(id).unwrap().tree, &dir).unwrap();
        let tag = RefName::tag("a/v1").unwrap();
        let publish = Submission {
            refs: vec![RefEdit::delete(name("a"), id)],
            branch: Some(BranchEdit {
                branch: main.clone(),
                dir,
                expect: Expect::Absent,
                content,
                second_parent: Some(id),
                author: who(),
                committer: who(),
                message: "approve\n".to_owned(),
                tags: vec![tag.clone()],
            }),
            intent: Some(b"a record".to_vec()),
            ..Submission::default()
        };
        repo.submit(publish).await.unwrap_err();
        let left = left(&store, url, keep).await;
        let at = |wanted: &RefName| left.iter().find(|(n, _)| n == wanted).map(|(_, id)| *id);
        let outside = store.outside(url).unwrap();
        let head = outside.commit(at(&main).unwrap()).unwrap();
        assert_eq!(head.parents.get(1), Some(&id), "the branch moved first");
        assert_eq!(at(&tag), at(&main), "then the tag was made");
    }
}
