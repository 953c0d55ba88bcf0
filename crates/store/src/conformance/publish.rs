//! Approving and removing packages on the shared branch.

use super::drafts::{futures_join, join_all};
use super::{
    BranchEdit, CaseResult, Dir, Expect, Submission, SubmissionRefusal, Suite, approval, at,
    branch, check, draft, files, head, main_ref, package, refused, same, signature, tag, taken,
    tree_of,
};

pub(super) async fn approval_merges_tags_and_deletes(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let before = head(&*repo)?;
    let name = branch("proposed/apps/web/ws");
    let written = draft(&*repo, "apps/web", &name).await?;
    let published = taken(
        repo.submit(approval("apps/web", &written, &name, tag("apps/web/v1"))?)
            .await?,
    )?;
    let merge = published.commit.ok_or("no commit")?;
    same(&at(&*repo, &main_ref())?, &Some(merge), "main")?;
    same(&at(&*repo, &tag("apps/web/v1"))?, &Some(merge), "tag")?;
    same(&at(&*repo, &name)?, &None, "draft")?;
    let commit = repo.commit(merge)?;
    same(&commit.parents, &vec![before, written.commit()], "parents")?;
    same(
        &commit.message,
        &"Approving package revision apps/web/1\n".to_owned(),
        "message",
    )?;
    same(
        &tree_of(&*repo, merge, "apps/web")?,
        &written.tree(),
        "content",
    )?;
    same(
        &published.refs.get(&name),
        &Some(&None),
        "the answer names the draft",
    )?;
    same(
        &repo.last_change(merge, &Dir::parse("apps/web")?)?,
        &Some(merge),
        "last change",
    )
}

pub(super) async fn a_batch_of_approvals_is_a_chain(suite: &Suite) -> CaseResult {
    const N: usize = 40;
    let repo = suite.repo().await?;
    let mut all = Vec::new();
    for n in 0..N {
        let (dir, name) = (
            format!("chain/p{n}"),
            branch(&format!("drafts/chain/p{n}/ws")),
        );
        let written = draft(&*repo, &dir, &name).await?;
        let tag = tag(&format!("{dir}/v1"));
        all.push((
            dir.clone(),
            written.tree(),
            approval(&dir, &written, &name, tag)?,
        ));
    }
    let before = (head(&*repo)?, repo.stats());
    let (mut trees, mut waiting) = (Vec::new(), Vec::new());
    for (dir, tree, submission) in all {
        trees.push((dir, tree));
        waiting.push(repo.submit(submission));
    }
    for answer in join_all(waiting).await {
        taken(answer?)?;
    }
    let after = repo.stats();
    check(
        after.packs - before.1.packs <= after.batches - before.1.batches,
        format!("{after:?}"),
    )?;
    let now = head(&*repo)?;
    for (dir, tree) in trees {
        same(&tree_of(&*repo, now, &dir)?, &tree, &dir)?;
        check(at(&*repo, &tag(&format!("{dir}/v1")))?.is_some(), "its tag")?;
    }
    same(
        &repo.first_parents(now, N + 1)?.last().copied(),
        &Some(before.0),
        "one commit each",
    )
}

pub(super) async fn a_changed_directory_is_refused(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let (one, two) = (branch("drafts/same/a"), branch("drafts/same/b"));
    let first = draft(&*repo, "same", &one).await?;
    let second = super::commit_on(&*repo, head(&*repo)?, "same", &package("2")?, "2")?;
    let create = crate::RefEdit::create(two.clone(), second.commit());
    taken(
        repo.submit(super::submission(second.clone(), vec![create]))
            .await?,
    )?;
    // Both expect the directory to be absent; in one batch, too.
    let first = repo.submit(approval("same", &first, &one, tag("same/v1"))?);
    let second = repo.submit(approval("same", &second, &two, tag("same/v2"))?);
    let (first, second) = futures_join(first, second).await;
    taken(first?)?;
    let refusal = refused(second?)?;
    check(
        matches!(refusal, SubmissionRefusal::Directory { .. }),
        format!("{refusal:?}"),
    )?;
    same(
        &at(&*repo, &tag("same/v2"))?,
        &None,
        "the tag of the second",
    )?;
    check(at(&*repo, &two)?.is_some(), "the second draft stands")
}

pub(super) async fn what_is_no_directory_is_not_replaced(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/way/pkg/ws");
    let written = draft(&*repo, "way/pkg", &name).await?;
    let outside = suite.world.outside().await?;
    let file = files(&[("way", "no directory")])?;
    let main = head(&*outside)?;
    let put = outside.write(crate::CommitSpec {
        base: Some(main),
        dir: &Dir::root(),
        content: crate::Content::Files(&file, &[]),
        parents: &[main],
        author: &signature(),
        committer: &signature(),
        message: "a file",
    })?;
    let update = crate::RefEdit::update(branch("main"), main, put.commit());
    taken(outside.submit(super::submission(put, vec![update])).await?)?;
    repo.fetch().await?;
    let answer = repo.submit(approval("way/pkg", &written, &name, tag("way/pkg/v1"))?);
    let refusal = refused(answer.await?)?;
    check(
        matches!(&refusal, SubmissionRefusal::InTheWay { path, .. } if path == "way"),
        format!("{refusal:?}"),
    )?;
    let again = super::commit_on(&*repo, head(&*repo)?, "way/pkg", &package("2")?, "2").map(drop);
    check(again.is_err(), "a draft that takes the file away")
}

pub(super) async fn another_package_moving_main_is_no_conflict(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/mine/ws");
    let written = draft(&*repo, "mine", &name).await?;
    let outside = suite.world.outside().await?;
    let theirs = branch("drafts/theirs/ws");
    let other = draft(&*outside, "theirs", &theirs).await?;
    taken(
        outside
            .submit(approval("theirs", &other, &theirs, tag("theirs/v1"))?)
            .await?,
    )?;
    // We have not looked: for a remote, main is not where we think.
    taken(
        repo.submit(approval("mine", &written, &name, tag("mine/v1"))?)
            .await?,
    )?;
    let now = head(&*outside)?;
    same(&tree_of(&*outside, now, "mine")?, &written.tree(), "mine")?;
    same(&tree_of(&*outside, now, "theirs")?, &other.tree(), "theirs")
}

pub(super) async fn a_taken_tag_refuses_all_of_it(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/tagged/ws");
    let written = draft(&*repo, "tagged", &name).await?;
    let before = head(&*repo)?;
    let create = crate::RefEdit::create(tag("tagged/v1"), before);
    taken(
        repo.submit(Submission {
            refs: vec![create],
            ..Submission::default()
        })
        .await?,
    )?;
    refused(
        repo.submit(approval("tagged", &written, &name, tag("tagged/v1"))?)
            .await?,
    )?;
    same(&head(&*repo)?, &before, "main")?;
    same(&at(&*repo, &name)?, &Some(written.commit()), "draft")
}

pub(super) async fn a_package_is_removed(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/gone/deep/ws");
    let written = draft(&*repo, "gone/deep", &name).await?;
    taken(
        repo.submit(approval("gone/deep", &written, &name, tag("gone/deep/v1"))?)
            .await?,
    )?;
    let removal = |expect| Submission {
        branch: Some(BranchEdit {
            branch: main_ref(),
            dir: Dir::trusted("gone/deep"),
            expect,
            content: None,
            second_parent: None,
            author: signature(),
            committer: signature(),
            message: "Delete gone/deep".to_owned(),
            tags: Vec::new(),
        }),
        ..Submission::default()
    };
    refused(repo.submit(removal(Expect::Absent)).await?)?;
    let tree = written.tree().ok_or("no tree")?;
    taken(repo.submit(removal(Expect::Is(tree))).await?)?;
    let now = head(&*repo)?;
    same(
        &tree_of(&*repo, now, "gone")?,
        &None,
        "the empty directory above it goes, too",
    )?;
    same(&repo.commit(now)?.parents.len(), &1, "parents")?;
    refused(repo.submit(removal(Expect::Is(tree))).await?).map(|_| ())
}
