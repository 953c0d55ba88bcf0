//! Pushes that go wrong on the way, against the real git: whatever is taken, cut, repeated or lost, a
//! ref goes only when what replaces it stands, and what was acknowledged is there.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use model::{Class, CommitId};
use store::{
    Answer, BranchEdit, Dir, Expect, GitOptions, Published, RefEdit, RefName, Repo, Submission,
    SubmissionRefusal,
};
use testkit::git_http::{Asked, Fault};

use crate::http::Remote;
use crate::local::{draft_on, head, name, one, who};
use crate::oracle::{available, fsck, git};

pub(crate) const ERROR: &str = "500 Internal Server Error";

pub(crate) fn tag(dir: &str) -> RefName {
    RefName::tag(&format!("{dir}/v1")).unwrap()
}

/// Publishes a draft: a merge on the branch, a tag, and the draft goes.
pub(crate) fn approval(repo: &dyn Repo, dir: &str, draft: CommitId) -> Submission {
    let root = repo.commit(draft).unwrap().tree;
    let at = Dir::parse(dir).unwrap();
    let branch = BranchEdit {
        branch: RefName::branch("main").unwrap(),
        expect: Expect::Absent,
        content: repo.subtree(root, &at).unwrap(),
        dir: at,
        second_parent: Some(draft),
        author: who(),
        committer: who(),
        message: format!("Approving {dir}\n"),
        tags: vec![tag(dir)],
    };
    Submission {
        refs: vec![RefEdit::delete(name(dir), draft)],
        branch: Some(branch),
        intent: Some(dir.as_bytes().to_vec()),
        ..Submission::default()
    }
}

/// A world whose remotes that say nothing are given up soon.
fn world(options: &GitOptions) -> Remote {
    Remote::new(GitOptions {
        silence: Duration::from_secs(1),
        ..options.clone()
    })
}

/// Whether a draft is published at the remote; it is never neither that nor a draft.
fn is_published(world: &Remote, dir: &str, draft: CommitId) -> bool {
    let served = world.served();
    let published = head(&served, tag(dir).as_str());
    if let Some(published) = published {
        let main = git(&served, &["rev-list", "main"]);
        assert!(main.contains(&published.to_string()), "{dir} is on main");
        return true;
    }
    let left = head(&served, name(dir).as_str());
    assert_eq!(left, Some(draft), "{dir} is neither published nor a draft");
    false
}

/// Approves as a person does, who tries again.
async fn approve(world: &Remote, repo: &dyn Repo, dir: &str, draft: CommitId) -> Published {
    for _ in 0..5 {
        let mut answer = repo.submit(approval(repo, dir, draft)).await;
        let published = is_published(world, dir, draft);
        for _ in 0..5 {
            if let Ok(Answer::Pending(handle)) = answer {
                answer = repo.outcome(handle).await;
            }
        }
        match answer {
            Ok(Answer::Published(published)) => return published,
            Ok(Answer::Refused(SubmissionRefusal::NotTaken)) => assert!(!published, "{dir}"),
            Err(error) => {
                assert_eq!(error.class(), Class::Unavailable, "{error}");
                assert!(
                    !published,
                    "{dir}: an error says that nothing stands: {error}"
                );
            }
            other => panic!("{dir}: {other:?}"),
        }
    }
    panic!("{dir} was never published");
}

fn faults() -> impl Iterator<Item = Fault> {
    let all = [
        Fault::Refuse(ERROR),
        Fault::Refuse("503 Service Unavailable"),
        Fault::CarryOutAndRefuse(ERROR),
        Fault::Hang,
        Fault::CarryOutAndHang,
        Fault::Late(Duration::from_millis(1_300)),
    ];
    let cut = [0, 50, 99].map(Fault::CutRequest);
    let unheard = [0, 60, 90].map(Fault::CutAnswer);
    all.into_iter().chain(cut).chain(unheard)
}

async fn an_approval_survives_every_fault(options: GitOptions) {
    if !available() {
        return;
    }
    let world = world(&options);
    let repo = world.open().await;
    let mut cases: Vec<Vec<(Asked, Fault)>> = Vec::new();
    cases.extend(faults().map(|fault| vec![(Asked::Push, fault)]));
    let refuse = Fault::Refuse(ERROR);
    for fault in [
        refuse,
        Fault::CarryOutAndRefuse(ERROR),
        Fault::CutRequest(50),
    ] {
        cases.push(vec![(Asked::Push, fault); 2]);
    }
    for asked in [Asked::RefsToPush, Asked::Refs] {
        cases.push(vec![(Asked::Push, refuse), (asked, refuse)]);
        cases.push(vec![(asked, refuse), (Asked::Push, Fault::CutAnswer(0))]);
    }
    for (n, faults) in cases.into_iter().enumerate() {
        let dir = format!("app-{n}");
        let draft = draft_on(&*repo, &dir).await;
        world.server.set(|m| m.faults.clone_from(&faults));
        let published = approve(&world, &*repo, &dir, draft).await;
        world.server.set(|m| m.faults.clear());
        repo.settle(&[published.intent.unwrap()]).unwrap();
        assert!(is_published(&world, &dir, draft), "{faults:?}");
        assert_eq!(published.refs.get(&name(&dir)), Some(&None), "{faults:?}");
        assert_eq!(head(&world.served(), name(&dir).as_str()), None);
        let refs = repo.fetch().await.unwrap();
        assert!(!refs.contains_key(&name(&dir)) && refs.contains_key(&tag(&dir)));
    }
    assert!(repo.unfinished().unwrap().is_empty());
    // Requests that were held up arrive by now, and change nothing.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let before = repo.refs().unwrap();
    assert_eq!(repo.fetch().await.unwrap(), before);
    fsck(&world.served());
}

/// The second step of a push alone goes wrong.
async fn what_is_replaced_goes_at_last(options: GitOptions) {
    if !available() {
        return;
    }
    for fault in faults() {
        let world = world(&options);
        let repo = world.open().await;
        let draft = draft_on(&*repo, "app").await;
        let server = world.server.clone();
        let pushes = || {
            let push =
                |request: &String| request.starts_with("POST") && request.ends_with("receive-pack");
            let heard = server.requests();
            heard.iter().filter(|h| push(&h.request)).count()
        };
        let before = pushes();
        let task = tokio::spawn({
            let repo = Arc::clone(&repo);
            async move { repo.submit(approval(&*repo, "app", draft)).await.unwrap() }
        });
        while pushes() == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.set(|m| m.faults.push((Asked::Push, fault)));
        let answer = task.await.unwrap();
        let Answer::Published(published) = answer else {
            panic!("{fault:?}: {answer:?}")
        };
        assert_eq!(published.refs.get(&name("app")), Some(&None), "{fault:?}");
        assert!(is_published(&world, "app", draft), "{fault:?}");
        assert_eq!(head(&world.served(), name("app").as_str()), None);
    }
}

fn hook(world: &Remote, which: &str, text: &str) {
    let hook = world.served().join("hooks").join(which);
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

async fn a_server_that_says_yes_and_does_no_keeps_its_drafts(options: GitOptions) {
    if !available() {
        return;
    }
    let world = world(&options);
    let repo = world.open().await;
    let draft = draft_on(&*repo, "app").await;
    let main = head(&world.served(), "main").unwrap();
    // It says that it took them, and puts them back.
    let undo = format!(
        "while read old new ref; do case $ref in refs/tags/*) git update-ref -d $ref;; refs/heads/main) git update-ref $ref {main};; esac; done"
    );
    hook(&world, "post-receive", &undo);
    let error = repo.submit(approval(&*repo, "app", draft)).await;
    assert_eq!(error.err().unwrap().class(), Class::Unavailable);
    assert!(!is_published(&world, "app", draft));
    assert!(repo.unfinished().unwrap().is_empty());
    std::fs::remove_file(world.served().join("hooks/post-receive")).unwrap();
    approve(&world, &*repo, "app", draft).await;
    assert_eq!(head(&world.served(), name("app").as_str()), None);
}

async fn a_draft_that_a_person_goes_on_with_stays(options: GitOptions) {
    if !available() {
        return;
    }
    let world = world(&options);
    let repo = world.open().await;
    let draft = draft_on(&*repo, "app").await;
    let theirs = draft_on(&*repo, "other").await;
    // Between the two steps.
    let moves = format!(
        "while read old new ref; do case $ref in refs/tags/*) git update-ref {} {theirs};; esac; done",
        name("app")
    );
    hook(&world, "post-receive", &moves);
    let published = approve(&world, &*repo, "app", draft).await;
    assert!(is_published(&world, "app", draft));
    assert_eq!(head(&world.served(), name("app").as_str()), Some(theirs));
    let refs = repo.refs().unwrap();
    assert_eq!(refs.get(&name("app")), Some(&theirs), "and we know it");
    assert!(!published.refs.contains_key(&name("app")), "{published:?}");
    assert!(published.refs.contains_key(&tag("app")), "{published:?}");
}

async fn a_server_that_takes_a_part_is_believed_about_that_part(options: GitOptions) {
    if !available() {
        return;
    }
    // Git skips hidden refs whether or not it was asked for all or nothing.
    let world = world(&options);
    let repo = world.open().await;
    let draft = draft_on(&*repo, "app").await;
    git(
        &world.served(),
        &["config", "receive.hideRefs", "refs/tags"],
    );
    let answer = repo.submit(approval(&*repo, "app", draft)).await.unwrap();
    let Answer::Refused(refusal) = answer else {
        panic!("{answer:?}")
    };
    assert!(
        matches!(&refusal, SubmissionRefusal::Declined { name, .. } if *name == tag("app")),
        "{refusal}"
    );
    assert_eq!(head(&world.served(), name("app").as_str()), Some(draft));
    let main = repo.refs().unwrap()[&RefName::branch("main").unwrap()];
    assert_eq!(head(&world.served(), "main"), Some(main), "and we know it");
    assert!(repo.unfinished().unwrap().is_empty());
    // Nothing may be deleted: what was made stands, and what it replaces stands beside it.
    git(&world.served(), &["config", "--unset", "receive.hideRefs"]);
    git(&world.served(), &["config", "receive.denyDeletes", "true"]);
    let draft = draft_on(&*repo, "kept").await;
    let published = approve(&world, &*repo, "kept", draft).await;
    assert!(is_published(&world, "kept", draft));
    assert!(!published.refs.contains_key(&name("kept")), "{published:?}");
    assert_eq!(repo.refs().unwrap().get(&name("kept")), Some(&draft));
    // A deletion alone is declined as a whole.
    let only = Submission {
        refs: vec![RefEdit::delete(name("kept"), draft)],
        ..Submission::default()
    };
    let answer = repo.submit(only).await.unwrap();
    assert!(
        matches!(&answer, Answer::Refused(SubmissionRefusal::Declined { .. })),
        "{answer:?}"
    );
}

async fn a_remote_that_was_made_anew_loses_nothing_more(options: GitOptions) {
    if !available() {
        return;
    }
    let world = world(&options);
    let repo = world.open().await;
    let draft = draft_on(&*repo, "app").await;
    let (other, submission) = one(&*repo, "later");
    std::fs::remove_dir_all(world.served()).unwrap();
    let parent = world.served().parent().unwrap().to_owned();
    git(&parent, &["init", "-q", "--bare", "-b", "main", "repo.git"]);
    git(&world.served(), &["config", "http.receivepack", "true"]);
    let answer = repo.submit(approval(&*repo, "app", draft)).await.unwrap();
    assert!(
        matches!(answer, Answer::Refused(SubmissionRefusal::Ref { .. })),
        "{answer:?}"
    );
    assert_eq!(git(&world.served(), &["for-each-ref"]), "");
    // A draft that stands on what only we have brings all of it.
    let answer = repo.submit(submission).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    assert_eq!(head(&world.served(), name("later").as_str()), Some(other));
    fsck(&world.served());
}

async fn what_the_remote_threw_away_is_sent_again(options: GitOptions) {
    if !available() {
        return;
    }
    let world = world(&options);
    let repo = world.open().await;
    let first = draft_on(&*repo, "app").await;
    let branch = name("app");
    git(&world.served(), &["update-ref", "-d", branch.as_str()]);
    git(&world.served(), &["gc", "-q", "--prune=now"]);
    repo.fetch().await.unwrap();
    // The same files, all of them here: the remote has none.
    let again = draft_on(&*repo, "app").await;
    assert_eq!(again, first, "the same input is the same commit");
    fsck(&world.served());
    approve(&world, &*repo, "app", again).await;
    fsck(&world.served());
}

async fn what_is_ours_alone_follows_a_lost_answer(options: GitOptions) {
    if !available() {
        return;
    }
    let world = world(&options);
    let repo = world.open().await;
    let pin = RefName::parse("refs/offshoot/pin/app").unwrap();
    let (id, mut submission) = one(&*repo, "app");
    submission
        .refs
        .push(RefEdit::create(pin.clone(), id).local());
    world.server.set(|m| {
        m.faults
            .push((Asked::Push, Fault::CarryOutAndRefuse(ERROR)))
    });
    let answer = repo.submit(submission).await.unwrap();
    assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
    assert_eq!(repo.refs().unwrap().get(&pin), Some(&id));
}

both![
    an_approval_survives_every_fault,
    what_is_replaced_goes_at_last,
    a_server_that_says_yes_and_does_no_keeps_its_drafts,
    a_draft_that_a_person_goes_on_with_stays,
    a_server_that_takes_a_part_is_believed_about_that_part,
    a_remote_that_was_made_anew_loses_nothing_more,
    what_the_remote_threw_away_is_sent_again,
    what_is_ours_alone_follows_a_lost_answer,
];
