//! Links that somebody put into a repository on this disk, and where they may lead.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Class;
use store::{Error, GitOptions, RemoteSpec, Repo, Store as _};

use crate::git::{Local, url};
use crate::local::{draft_on, head, one_at, open};
use crate::oracle::{available, git};

/// A world whose repository lies in a directory that may be opened, beside another one.
struct Fenced {
    world: Local,
    store: store::GitStore,
    dir: PathBuf,
}

impl Fenced {
    async fn new() -> Self {
        let world = Local::new(GitOptions::default());
        let repo = open(&world).await;
        draft_on(&*repo, "app").await;
        git(&world.path(), &["repack", "-adq"]);
        let dir = world.dir.path().join("open");
        std::fs::create_dir(&dir).unwrap();
        let options = GitOptions {
            local: store::Local {
                below: Some(vec![dir.clone()]),
                never: Vec::new(),
            },
            ..GitOptions::default()
        };
        let store = store::GitStore::new(world.dir.path().join("fenced"), options);
        Self { world, store, dir }
    }

    /// A copy of the repository where it may be opened.
    fn copy(&self, name: &str) -> PathBuf {
        let to = self.dir.join(name);
        let all = |from: &Path| from.display().to_string();
        let copied = std::process::Command::new("cp")
            .args(["-r", &all(&self.world.path()), &all(&to)])
            .status();
        assert!(copied.unwrap().success());
        to
    }

    async fn open(&self, at: &Path) -> Result<Arc<dyn Repo>, Error> {
        let mut spec = RemoteSpec::new(url(at));
        spec.branch = Some("main".to_owned());
        self.store.open(spec).await
    }
}

/// Puts a link in the place of something, to what the other repository has there.
fn replace(at: &Path, to: &Path) {
    match std::fs::symlink_metadata(at) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(at).unwrap(),
        Ok(_) => std::fs::remove_file(at).unwrap(),
        Err(_) => std::fs::create_dir_all(at.parent().unwrap()).unwrap(),
    }
    symlink(to, at).unwrap();
}

fn is_refused(error: Option<Error>, what: &str) {
    let error = error.unwrap_or_else(|| panic!("{what} was followed"));
    let told = error.to_string();
    assert_eq!(error.class(), Class::Denied, "{what}: {told}");
    assert!(told.contains("local repositories lie below"), "{told}");
    assert!(told.contains("it takes "), "{told}");
}

/// Whether a repository shows what lies in it.
async fn reads(repo: &dyn Repo) -> Result<(), Error> {
    repo.tidied()?;
    let refs = repo.refs()?;
    for at in refs.values() {
        let root = repo.commit(*at)?.tree;
        repo.packages(root, &store::Dir::root())?;
    }
    Ok(())
}

const PLACES: [&str; 8] = [
    "objects",
    "objects/pack",
    "objects/info",
    "refs",
    "refs/heads",
    "packed-refs",
    "HEAD",
    "config",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_leads_out_of_where_repositories_lie() {
    if !available() {
        return;
    }
    let fenced = Fenced::new().await;
    let outside = fenced.world.path();
    // Of the other one nothing is missing there.
    git(&outside, &["pack-refs", "--all"]);
    git(&outside, &["branch", "beside", "main"]);
    for (at, place) in PLACES.iter().enumerate() {
        let before = fenced.copy(&format!("before-{at}.git"));
        replace(&before.join(place), &outside.join(place));
        is_refused(fenced.open(&before).await.err(), place);
        // The same beside the running server.
        let after = fenced.copy(&format!("after-{at}.git"));
        let repo = fenced.open(&after).await.unwrap();
        reads(&*repo).await.unwrap();
        replace(&after.join(place), &outside.join(place));
        is_refused(reads(&*repo).await.err(), place);
    }
    // A link to what may be opened anyway is as good as what it leads to.
    let (one, two) = (fenced.copy("one.git"), fenced.copy("two.git"));
    replace(&one.join("objects/pack"), &two.join("objects/pack"));
    reads(&*fenced.open(&one).await.unwrap()).await.unwrap();
}

/// Packs, single objects and refs by their names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_in_the_place_of_a_file_leads_out() {
    if !available() {
        return;
    }
    let fenced = Fenced::new().await;
    let outside = fenced.world.path();
    let pack = std::fs::read_dir(outside.join("objects/pack")).unwrap();
    let mut packs = pack.flatten().map(|e| e.file_name());
    let pack = packs.find(|n| Path::new(n).extension().is_some_and(|x| x == "pack"));
    let pack = format!("objects/pack/{}", pack.unwrap().to_str().unwrap());
    let link = |at: &Path, place: &str| replace(&at.join(place), &outside.join(place));
    // An index of one's own makes anything an object of it.
    let one = fenced.copy("pack.git");
    link(&one, &pack);
    is_refused(fenced.open(&one).await.err(), "a pack");
    let one = fenced.copy("later.git");
    let repo = fenced.open(&one).await.unwrap();
    link(&one, &pack);
    is_refused(repo.tidied().err(), "a pack");
    // An object that is a file of its own, and a directory of such.
    let commit = git(&outside, &["commit-tree", "-m", "one", "main^{tree}"]);
    let (dir, file) = commit.split_at(2);
    for (name, place) in [
        ("file", format!("objects/{dir}/{file}")),
        ("dir", format!("objects/{dir}")),
    ] {
        let one = fenced.copy(&format!("{name}.git"));
        drop(std::fs::remove_dir_all(one.join("objects").join(dir)));
        let repo = fenced.open(&one).await.unwrap();
        link(&one, &place);
        let id = model::CommitId::parse(&commit).unwrap();
        is_refused(repo.commit(id).err(), name);
    }
    // A draft is not written through one, either.
    git(&outside, &["branch", "drafts/mine/ws", "main"]);
    let one = fenced.copy("drafts.git");
    let repo = fenced.open(&one).await.unwrap();
    link(&one, "refs/heads/drafts");
    let (_, submission) = one_at(&*repo, "mine", head(&one, "main").unwrap());
    is_refused(repo.submit(submission).await.err(), "a directory of refs");
    is_refused(repo.refs().err(), "a directory of refs");
    assert!(!outside.join("refs/heads/drafts/mine/ws.lock").exists());
}
