//! Other writers beside us.

use super::{
    CaseResult, RefEdit, Submission, Suite, approval, at, branch, check, commit_on, draft, head,
    main_ref, package, refused, same, submission, tag, taken,
};

pub(super) async fn a_push_from_outside_is_seen(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let outside = suite.world.outside().await?;
    let name = branch("drafts/pushed/ws");
    let written = draft(&*outside, "pushed", &name).await?;
    let refs = repo.fetch().await?;
    same(&refs.get(&name), &Some(&written.commit()), "the ref")?;
    let tree = super::tree_of(&*repo, written.commit(), "pushed")?.ok_or("no tree")?;
    same(&repo.snapshot(tree)?.files, &package("pushed")?, "files")?;
    let delete = RefEdit::delete(name.clone(), written.commit());
    taken(
        outside
            .submit(Submission {
                refs: vec![delete],
                ..Submission::default()
            })
            .await?,
    )?;
    check(!repo.fetch().await?.contains_key(&name), "it is gone")
}

pub(super) async fn what_was_tidied_away_is_written_again(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/tidied/ws");
    for _ in 0..2 {
        let written = draft(&*repo, "tidied", &name).await?;
        let outside = suite.world.outside().await?;
        let tree = super::tree_of(&*outside, written.commit(), "tidied")?.ok_or("no tree")?;
        same(&outside.snapshot(tree)?.files, &package("tidied")?, "files")?;
        let delete = RefEdit::delete(name.clone(), written.commit());
        let gone = Submission {
            refs: vec![delete],
            ..Submission::default()
        };
        taken(repo.submit(gone).await?)?;
        drop(written);
        suite.world.tidy();
    }
    Ok(())
}

pub(super) async fn a_forced_branch_is_a_conflict(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let first = head(&*repo)?;
    let name = branch("drafts/forced/ws");
    let written = draft(&*repo, "forced", &name).await?;
    let outside = suite.world.outside().await?;
    // Somebody replaces main by a history of their own.
    let other = outside.write(super::CommitSpec {
        base: None,
        dir: &super::Dir::parse("forced")?,
        content: super::Content::Files(&package("theirs")?, &[]),
        parents: &[],
        author: &super::signature(),
        committer: &super::signature(),
        message: "anew",
    })?;
    let force = RefEdit::update(main_ref(), first, other.commit());
    taken(
        outside
            .submit(submission(other.clone(), vec![force]))
            .await?,
    )?;
    refused(
        repo.submit(approval("forced", &written, &name, tag("forced/v1"))?)
            .await?,
    )?;
    same(&head(&*outside)?, &other.commit(), "theirs stands")?;
    same(
        &at(&*outside, &name)?,
        &Some(written.commit()),
        "our draft stands",
    )?;
    let seen = repo.fetch().await?;
    same(
        &seen.get(&main_ref()),
        &Some(&other.commit()),
        "we see theirs",
    )?;
    check(
        repo.has_commit(first)?,
        "what stood before can still be read",
    )
}

pub(super) async fn a_deleted_draft_is_a_conflict(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/lost/ws");
    let first = draft(&*repo, "lost", &name).await?;
    let outside = suite.world.outside().await?;
    let delete = RefEdit::delete(name.clone(), first.commit());
    taken(
        outside
            .submit(Submission {
                refs: vec![delete],
                ..Submission::default()
            })
            .await?,
    )?;
    let second = commit_on(&*repo, first.commit(), "lost", &package("more")?, "2")?;
    let update = RefEdit::update(name.clone(), first.commit(), second.commit());
    refused(repo.submit(submission(second, vec![update])).await?)?;
    same(&at(&*outside, &name)?, &None, "it stays deleted")
}
