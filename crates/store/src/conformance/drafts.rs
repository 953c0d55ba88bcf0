//! Commits and refs.

use std::sync::Arc;

use super::{
    CaseResult, CommitSpec, Content, Dir, Expect, File, RefEdit, RemoteSpec, Submission,
    SubmissionRefusal, Suite, at, branch, check, commit_on, draft, files, head, package, refused,
    same, signature, submission, taken, tree_of,
};

pub(super) async fn a_draft_is_durable_and_visible(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/apps/nginx/packagevariant-1");
    let base = head(&*repo)?;
    let written = draft(&*repo, "apps/nginx", &name).await?;
    same(&at(&*repo, &name)?, &Some(written.commit()), "the ref")?;
    let commit = repo.commit(written.commit())?;
    same(&commit.parents, &vec![base], "parents")?;
    same(&commit.author, &signature(), "author")?;
    same(&commit.message, &"Creating\n".to_owned(), "message")?;
    check(repo.has_commit(written.commit())?, "it is here")?;
    let outside = suite.world.outside().await?;
    same(
        &at(&*outside, &name)?,
        &Some(written.commit()),
        "the ref, seen from outside",
    )?;
    let tree = tree_of(&*outside, written.commit(), "apps/nginx")?.ok_or("no tree")?;
    same(
        &outside.snapshot(tree)?.files,
        &package("apps/nginx")?,
        "files, seen from outside",
    )
}

pub(super) async fn equal_input_makes_equal_ids(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let base = head(&*repo)?;
    let one = commit_on(&*repo, base, "p", &package("p")?, "m")?;
    let two = commit_on(&*repo, base, "p", &package("p")?, "m")?;
    same(&one.commit(), &two.commit(), "commit")?;
    same(
        &(one.root(), one.tree()),
        &(two.root(), two.tree()),
        "trees",
    )
}

pub(super) async fn kept_files_are_not_written_again(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/kept/ws");
    let first = draft(&*repo, "kept", &name).await?;
    let before = repo.stats();
    let mut all = repo.snapshot(first.tree().ok_or("no tree")?)?.files.clone();
    let changed = model::PackagePath::parse("cm-3.yaml")?;
    all.insert(changed, File::text("kind: Other\n"));
    let second = commit_on(&*repo, first.commit(), "kept", &all, "edit")?;
    let update = RefEdit::update(name, first.commit(), second.commit());
    taken(
        repo.submit(submission(second.clone(), vec![update]))
            .await?,
    )?;
    let written = repo.stats().objects - before.objects;
    // One blob, the package's tree, the root tree, the commit.
    same(&written, &4, "objects written for one edit")?;
    let snapshot = repo.snapshot(second.tree().ok_or("no tree")?)?;
    same(&snapshot.files, &all, "files")
}

pub(super) async fn a_chain_is_written_whole(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let base = head(&*repo)?;
    let machine = commit_on(&*repo, base, "chain", &package("v")?, "V")?;
    let shot = repo.snapshot(machine.tree().ok_or("no tree")?)?;
    let last = repo.write(CommitSpec {
        base: Some(machine.commit()),
        dir: &Dir::parse("chain")?,
        content: Content::Files(&shot.files, &[]),
        parents: &[base, machine.commit()],
        author: &signature(),
        committer: &signature(),
        message: "M",
    })?;
    let machine_id = machine.commit();
    drop(machine);
    let name = branch("drafts/chain/ws");
    let create = RefEdit::create(name, last.commit());
    taken(repo.submit(submission(last.clone(), vec![create])).await?)?;
    let id = last.commit();
    drop(last);
    let outside = suite.world.outside().await?;
    same(
        &outside.commit(id)?.parents,
        &vec![base, machine_id],
        "parents",
    )?;
    let tree = tree_of(&*outside, machine_id, "chain")?.ok_or("no tree")?;
    same(
        &outside.snapshot(tree)?.files,
        &package("v")?,
        "the files of the first",
    )
}

pub(super) async fn a_kept_file_of_another_repository_comes_along(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    // Kept elsewhere: this repository has never seen the bytes.
    let bytes: Arc<[u8]> = Arc::from(&b"from upstream\n"[..]);
    let id = crate::object::hash(gix::objs::Kind::Blob, &bytes)?;
    let id = crate::object::blob_id(&id);
    let mut all = files(&[("Kptfile", "")])?;
    let kept = File::Kept {
        id,
        mode: model::FileMode::Regular,
        bytes,
    };
    all.insert(model::PackagePath::parse("up.txt")?, kept);
    let written = commit_on(&*repo, head(&*repo)?, "far", &all, "m")?;
    let create = RefEdit::create(branch("drafts/far/ws"), written.commit());
    taken(
        repo.submit(submission(written.clone(), vec![create]))
            .await?,
    )?;
    let outside = suite.world.outside().await?;
    let tree = tree_of(&*outside, written.commit(), "far")?.ok_or("no tree")?;
    same(&outside.snapshot(tree)?.files, &all, "files")?;
    let lie = File::Kept {
        id,
        mode: model::FileMode::Regular,
        bytes: Arc::from(&b"lie"[..]),
    };
    let mut wrong = files(&[("Kptfile", "")])?;
    wrong.insert(model::PackagePath::parse("lie.txt")?, lie);
    // Here by now: the id alone is believed, and no wrong bytes are written.
    let written = commit_on(&*repo, head(&*repo)?, "far2", &wrong, "m")?;
    let shot = repo.snapshot(written.tree().ok_or("no tree")?)?;
    let read = shot.files.get("lie.txt").map(|f| f.bytes().to_vec());
    same(
        &read,
        &Some(b"from upstream\n".to_vec()),
        "what stands is what the id says",
    )
}

pub(super) async fn two_on_one_name_conflict(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/twice/ws");
    let base = head(&*repo)?;
    let one = commit_on(&*repo, base, "twice", &package("1")?, "1")?;
    let two = commit_on(&*repo, base, "twice", &package("2")?, "2")?;
    let first = repo.submit(submission(
        one.clone(),
        vec![RefEdit::create(name.clone(), one.commit())],
    ));
    let second = repo.submit(submission(
        two.clone(),
        vec![RefEdit::create(name.clone(), two.commit())],
    ));
    let (first, second) = futures_join(first, second).await;
    taken(first?)?;
    let refusal = refused(second?)?;
    same(&refusal.class(), &model::Class::Conflict, "class")?;
    let found =
        matches!(refusal, SubmissionRefusal::Ref { found: Some(c), .. } if c == one.commit());
    check(found, "the refusal says what is there")?;
    same(&at(&*repo, &name)?, &Some(one.commit()), "the first stands")
}

/// Runs two futures together, the first first.
pub(super) async fn futures_join<A, B>(
    a: impl Future<Output = A>,
    b: impl Future<Output = B>,
) -> (A, B) {
    tokio::join!(biased; a, b)
}

pub(super) async fn a_batch_is_its_submissions_one_by_one(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/steps/ws");
    let base = head(&*repo)?;
    let one = commit_on(&*repo, base, "steps", &package("1")?, "1")?;
    let two = commit_on(&*repo, one.commit(), "steps", &package("2")?, "2")?;
    let create = RefEdit::create(name.clone(), one.commit());
    let update = RefEdit::update(name.clone(), one.commit(), two.commit());
    let first = repo.submit(submission(one.clone(), vec![create]));
    let second = repo.submit(submission(two.clone(), vec![update]));
    let (first, second) = futures_join(first, second).await;
    taken(first?)?;
    taken(second?)?;
    same(
        &at(&*repo, &name)?,
        &Some(two.commit()),
        "the second is on top",
    )
}

pub(super) async fn nothing_of_a_refused_submission_stands(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let taken_name = branch("drafts/taken/ws");
    let other = branch("drafts/other/ws");
    drop(draft(&*repo, "taken", &taken_name).await?);
    let written = commit_on(&*repo, head(&*repo)?, "other", &package("o")?, "o")?;
    let edits = vec![
        RefEdit::create(other.clone(), written.commit()),
        RefEdit::create(taken_name, written.commit()),
    ];
    let mut both = submission(written, edits);
    both.intent = Some(b"both".to_vec());
    refused(repo.submit(both).await?)?;
    same(&at(&*repo, &other)?, &None, "the other ref")?;
    same(&repo.unfinished()?.len(), &0, "open intents")
}

pub(super) async fn propose_and_reject_move_two_refs(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let drafts = branch("drafts/moving/ws");
    let proposed = branch("proposed/moving/ws");
    let id = draft(&*repo, "moving", &drafts).await?.commit();
    let step = |from: &crate::RefName, to: &crate::RefName| Submission {
        refs: vec![
            RefEdit::create(to.clone(), id),
            RefEdit::delete(from.clone(), id),
        ],
        ..Submission::default()
    };
    taken(repo.submit(step(&drafts, &proposed)).await?)?;
    same(
        &(at(&*repo, &drafts)?, at(&*repo, &proposed)?),
        &(None, Some(id)),
        "proposed",
    )?;
    taken(repo.submit(step(&proposed, &drafts)).await?)?;
    same(
        &(at(&*repo, &drafts)?, at(&*repo, &proposed)?),
        &(Some(id), None),
        "rejected",
    )?;
    refused(repo.submit(step(&proposed, &drafts)).await?)?;
    let gone = RefEdit {
        expect: Expect::Any,
        ..RefEdit::delete(drafts.clone(), id)
    };
    let gone = Submission {
        refs: vec![gone],
        ..Submission::default()
    };
    taken(repo.submit(gone).await?)?;
    same(&at(&*repo, &drafts)?, &None, "deleted")
}

pub(super) async fn a_ref_cannot_shadow_another(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let id = draft(&*repo, "shade", &branch("drafts/shade"))
        .await?
        .commit();
    for name in ["drafts/shade/ws", "drafts"] {
        let create = RefEdit::create(branch(name), id);
        let create = Submission {
            refs: vec![create],
            ..Submission::default()
        };
        let refusal = refused(repo.submit(create).await?)?;
        check(
            matches!(refusal, SubmissionRefusal::Shadowed { .. }),
            format!("{name}: {refusal:?}"),
        )?;
    }
    let (a, b) = (branch("new/x"), branch("new/x/y"));
    let both = vec![RefEdit::create(a, id), RefEdit::create(b, id)];
    refused(
        repo.submit(Submission {
            refs: both,
            ..Submission::default()
        })
        .await?,
    )?;
    // Once the one is gone, the other can be made.
    let delete = RefEdit::delete(branch("drafts/shade"), id);
    taken(
        repo.submit(Submission {
            refs: vec![delete],
            ..Submission::default()
        })
        .await?,
    )?;
    let create = RefEdit::create(branch("drafts/shade/ws"), id);
    taken(
        repo.submit(Submission {
            refs: vec![create],
            ..Submission::default()
        })
        .await?,
    )?;
    same(
        &at(&*repo, &branch("drafts/shade/ws"))?,
        &Some(id),
        "the other",
    )
}

pub(super) async fn many_drafts_are_few_packs(suite: &Suite) -> CaseResult {
    const N: usize = 60;
    let repo = suite.repo().await?;
    let base = head(&*repo)?;
    let mut waiting = Vec::new();
    for n in 0..N {
        let dir = format!("fan/p{n}");
        let written = commit_on(&*repo, base, &dir, &package(&dir)?, "m")?;
        let create = RefEdit::create(branch(&format!("drafts/{dir}/ws")), written.commit());
        waiting.push((dir, written.commit(), submission(written, vec![create])));
    }
    let before = repo.stats();
    let mut tasks = Vec::new();
    for (dir, id, submission) in waiting {
        let repo = Arc::clone(&repo);
        tasks.push(async move { (dir, id, repo.submit(submission).await) });
    }
    for (dir, id, answer) in join_all(tasks).await {
        taken(answer?)?;
        same(
            &at(&*repo, &branch(&format!("drafts/{dir}/ws")))?,
            &Some(id),
            &dir,
        )?;
    }
    let after = repo.stats();
    same(
        &(after.submissions - before.submissions),
        &(N as u64),
        "submissions",
    )?;
    let batches = after.batches - before.batches;
    check(
        after.packs - before.packs <= batches,
        format!("packs: {after:?}"),
    )?;
    let transactions = after.ref_transactions - before.ref_transactions;
    check(
        transactions <= 2 * batches,
        format!("ref transactions: {after:?}"),
    )?;
    // Two more rounds on the same refs: moved and deleted in bulk.
    let refs = repo.refs()?;
    let all = refs
        .iter()
        .filter(|(n, _)| n.as_str().starts_with("refs/heads/drafts/fan/"));
    let delete: Vec<RefEdit> = all.map(|(n, id)| RefEdit::delete(n.clone(), *id)).collect();
    same(&delete.len(), &N, "drafts listed")?;
    taken(
        repo.submit(Submission {
            refs: delete,
            ..Submission::default()
        })
        .await?,
    )?;
    let left = repo.refs()?;
    let left = left.keys().filter(|n| n.as_str().contains("/fan/")).count();
    same(&left, &0, "drafts left")
}

/// All futures together, in order.
pub(super) async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut all: Vec<_> = futures.into_iter().map(|f| (Box::pin(f), None)).collect();
    std::future::poll_fn(|cx| {
        let mut open = false;
        for (future, done) in &mut all {
            if done.is_none() {
                match future.as_mut().poll(cx) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => open = true,
                }
            }
        }
        if open {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}

pub(super) async fn a_target_must_exist(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let nobody = model::CommitId::parse(&"cd".repeat(20)).ok_or("no id")?;
    let create = RefEdit::create(branch("drafts/none/ws"), nobody);
    let create = Submission {
        refs: vec![create],
        ..Submission::default()
    };
    let error = repo.submit(create).await.err().ok_or("a ref to nothing")?;
    same(&error.class(), &model::Class::NotFound, "class")?;
    let mut spec = RemoteSpec::new(suite.world.url());
    spec.branch = Some("no-such-branch".to_owned());
    let error = suite
        .world
        .store()
        .open(spec)
        .await
        .err()
        .ok_or("an absent branch")?;
    same(
        &error.class(),
        &model::Class::NotFound,
        "class of an absent branch",
    )
}
