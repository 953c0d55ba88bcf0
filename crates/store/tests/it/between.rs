//! What somebody else does between two steps of ours.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use store::{
    Answer, FaultVerdict, Faults, GitOptions, Point, RefEdit, RefName, Submission,
    SubmissionRefusal,
};
use testkit::git_http::{Asked, Fault};

use crate::git::Local;
use crate::http::Remote;
use crate::local::{draft_on, head, name, one, open};
use crate::oracle::{available, fsck, git, output};
use crate::push::{ERROR, approval, tag};

type Deed = Box<dyn FnOnce() + Send>;

/// Does something once, at a point.
#[derive(Default)]
pub(crate) struct Between(Mutex<Option<(Point, Deed)>>);

impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Between")
    }
}

impl Between {
    pub(crate) fn at(&self, point: Point, deed: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some((point, Box::new(deed)));
    }

    fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }
}

impl Faults for Between {
    fn at(&self, _url: &str, point: Point) -> FaultVerdict {
        let due = self.0.lock().unwrap().take_if(|(at, _)| *at == point);
        if let Some((_, deed)) = due {
            deed();
        }
        FaultVerdict::Go
    }
}

pub(crate) fn options(between: &Arc<Between>) -> GitOptions {
    GitOptions {
        faults: Arc::clone(between) as Arc<dyn Faults>,
        ..GitOptions::default()
    }
}

fn update(dir: &Path, name: &RefName, to: &str) {
    git(dir, &["update-ref", name.as_str(), to]);
}

/// Checked by one value, and found with another when it is to move: theirs stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ref_that_moves_after_it_was_judged_stays_where_it_moved() {
    if !available() {
        return;
    }
    // As a file of its own, in the file of all, and in a batch that goes there in any case.
    for (own_file, beside) in [(true, 0), (false, 0), (true, 9), (false, 9)] {
        let between = Arc::new(Between::default());
        let world = Local::new(options(&between));
        let repo = open(&world).await;
        let first = draft_on(&*repo, "app").await;
        let ours = draft_on(&*repo, "ours").await;
        let theirs = draft_on(&*repo, "theirs").await.to_string();
        let (dir, app) = (world.path(), name("app"));
        git(&dir, &["pack-refs", "--all"]);
        if own_file {
            std::fs::create_dir_all(dir.join("refs/heads/drafts/app")).unwrap();
        }
        for goes in [false, true] {
            update(&dir, &app, &first.to_string());
            let mut refs = vec![match goes {
                true => RefEdit::delete(app.clone(), first),
                false => RefEdit::update(app.clone(), first, ours),
            }];
            let more = (0..beside).map(|n| RefName::branch(&format!("more/{goes}/{n}")).unwrap());
            refs.extend(more.map(|name| RefEdit::create(name, ours)));
            let submission = Submission {
                refs,
                intent: Some(Vec::new()),
                ..Submission::default()
            };
            between.at(Point::JournalDurable, {
                let (dir, app, theirs) = (dir.clone(), app.clone(), theirs.clone());
                move || update(&dir, &app, &theirs)
            });
            let answer = repo.submit(submission).await.unwrap();
            let context = format!("own file: {own_file}, beside: {beside}, goes: {goes}");
            assert!(
                matches!(&answer, Answer::Refused(SubmissionRefusal::Ref { name, .. }) if *name == app),
                "{context}: {answer:?}"
            );
            assert_eq!(head(&dir, app.as_str()).unwrap().to_string(), theirs);
            let made = git(&dir, &["for-each-ref", "refs/heads/more"]);
            assert_eq!(made, "", "{context}: nothing of it stands");
            assert!(repo.unfinished().unwrap().is_empty(), "{context}");
        }
        fsck(&dir);
    }
}

/// Somebody packs refs while one that is a file of its own goes, or moves to the file of all: what was read of it
/// before is not brought back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_while_somebody_packs_refs_stays_gone() {
    if !available() {
        return;
    }
    // As a file of its own alone, and as one that hides a line of the file of all.
    for (hides, goes) in [(false, true), (true, true), (true, false)] {
        let context = format!("hides: {hides}, goes: {goes}");
        let between = Arc::new(Between::default());
        let world = Local::new(options(&between));
        let repo = open(&world).await;
        let first = draft_on(&*repo, "app").await;
        let second = draft_on(&*repo, "second").await;
        let (dir, app) = (world.path(), name("app"));
        let main = RefName::branch("main").unwrap();
        if !hides {
            git(&dir, &["update-ref", "-d", app.as_str()]);
        }
        std::fs::create_dir_all(dir.join("refs/heads/drafts/app")).unwrap();
        update(&dir, &app, &second.to_string());
        let mut refs = vec![
            RefEdit::update(main.clone(), crate::local::main_head(&*repo), second),
            match goes {
                true => RefEdit::delete(app.clone(), second),
                false => RefEdit::update(app.clone(), second, first),
            },
        ];
        if !goes {
            let more = (0..9).map(|n| RefName::branch(&format!("more/{n}")).unwrap());
            refs.extend(more.map(|name| RefEdit::create(name, first)));
        }
        // Git waits for a lock that is held; here it gives up at once.
        let packs = [
            "-c",
            "core.packedRefsTimeout=0",
            "pack-refs",
            "--all",
            "--no-prune",
        ];
        between.at(Point::RefMoved, {
            let dir = dir.clone();
            move || drop(output(&dir, &packs))
        });
        let submission = Submission {
            refs,
            ..Submission::default()
        };
        let answer = repo.submit(submission).await.unwrap();
        assert!(
            matches!(answer, Answer::Published(_)),
            "{context}: {answer:?}"
        );
        assert!(between.is_done(), "{context}");
        let wanted = (!goes).then_some(first);
        assert_eq!(head(&dir, app.as_str()), wanted, "{context}");
        assert_eq!(repo.find_ref(&app).unwrap(), wanted, "{context}");
        assert_eq!(head(&dir, main.as_str()), Some(second), "{context}");
        let left = ["packed-refs.lock", "packed-refs.offshoot"].map(|left| dir.join(left).exists());
        assert_eq!(left, [false, false], "{context}");
        git(&dir, &["pack-refs", "--all"]);
        assert_eq!(head(&dir, app.as_str()), wanted, "{context}");
        fsck(&dir);
    }
}

/// A push got lost, and a person deletes what it was to replace: nothing was published.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draft_that_is_gone_does_not_say_that_it_was_published() {
    if !available() {
        return;
    }
    for direct in [true, false] {
        let between = Arc::new(Between::default());
        let world = Remote::new(GitOptions {
            direct,
            ..options(&between)
        });
        let repo = world.open().await;
        let draft = draft_on(&*repo, "app").await;
        let main = head(&world.served(), "main");
        let refuse = (Asked::Push, Fault::Refuse(ERROR));
        world.server.set(|m| m.faults.push(refuse));
        between.at(Point::PushAnswered, {
            let served = world.served();
            move || drop(git(&served, &["update-ref", "-d", name("app").as_str()]))
        });
        let answer = repo.submit(approval(&*repo, "app", draft)).await.unwrap();
        assert!(
            matches!(&answer, Answer::Refused(SubmissionRefusal::Ref { name: n, .. }) if *n == name("app")),
            "{answer:?}"
        );
        assert_eq!(head(&world.served(), "main"), main);
        assert_eq!(head(&world.served(), tag("app").as_str()), None);
        assert!(repo.unfinished().unwrap().is_empty());
    }
}

/// A server that names some of the refs in its answer has said nothing of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_report_does_not_name_was_not_taken() {
    if !available() {
        return;
    }
    for (direct, named) in [(true, 0), (true, 1), (true, 2), (false, 1)] {
        let world = Remote::new(GitOptions {
            direct,
            ..GitOptions::default()
        });
        let repo = world.open().await;
        let (id, mut submission) = one(&*repo, "app");
        let more = ["also", "then"].map(|n| RefName::branch(n).unwrap());
        let create = |name: &RefName| RefEdit::create(name.clone(), id);
        submission.refs.extend(more.iter().map(create));
        world
            .server
            .set(|m| m.faults.push((Asked::Push, Fault::Report(named))));
        let answer = repo.submit(submission).await.unwrap();
        assert!(matches!(answer, Answer::Published(_)), "{answer:?}");
        assert_eq!(world.server.manners().faults, []);
        for name in more.iter().chain([&name("app")]) {
            assert_eq!(
                head(&world.served(), name.as_str()),
                Some(id),
                "{name}, of which {named} were named"
            );
        }
    }
}
