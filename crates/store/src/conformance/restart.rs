//! After an unclean stop.

use super::{
    CaseResult, RefEdit, Submission, Suite, at, branch, check, commit_on, draft, head, package,
    same, submission, taken,
};

pub(super) async fn what_was_answered_is_there(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/durable/ws");
    let written = draft(&*repo, "durable", &name).await?;
    let (id, tree) = (written.commit(), written.tree().ok_or("no tree")?);
    drop((written, repo));
    suite.world.restart();
    let repo = suite.repo().await?;
    same(&at(&*repo, &name)?, &Some(id), "the ref")?;
    same(&repo.snapshot(tree)?.files, &package("durable")?, "files")
}

pub(super) async fn intents_last_until_settled(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let name = branch("drafts/intent/ws");
    let written = commit_on(&*repo, head(&*repo)?, "intent", &package("i")?, "m")?;
    let create = RefEdit::create(name.clone(), written.commit());
    let mut with = submission(written.clone(), vec![create]);
    let payload = b"a record\n{with lines}\n\0".to_vec();
    with.intent = Some(payload.clone());
    let id = taken(repo.submit(with).await?)?.intent.ok_or("no intent")?;
    drop(repo);
    suite.world.restart();
    let repo = suite.repo().await?;
    let open = repo.unfinished()?;
    same(&open.len(), &1, "open intents")?;
    let intent = open.into_iter().next().ok_or("no intent")?;
    same(&intent.id, &id, "id")?;
    same(&intent.payload, &payload, "payload")?;
    check(intent.stands, "its ref stands")?;
    let edit = intent.refs.first().ok_or("no ref")?;
    same(&edit.name, &name, "name")?;
    same(
        &(edit.from, edit.to),
        &(None, Some(written.commit())),
        "values",
    )?;
    check(edit.stands, "it stands")
}

pub(super) async fn settled_intents_are_gone(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let id = head(&*repo)?;
    let mut intents = Vec::new();
    for n in 0..3 {
        let create = RefEdit::create(branch(&format!("drafts/s/{n}")), id);
        let intent = Some(format!("record {n}").into_bytes());
        let one = Submission {
            refs: vec![create],
            intent,
            ..Submission::default()
        };
        intents.extend(taken(repo.submit(one).await?)?.intent);
    }
    same(&intents.len(), &3, "intents")?;
    repo.settle(intents.get(1..2).ok_or("no second")?)?;
    let open = |repo: &dyn super::Repo| -> Result<Vec<Vec<u8>>, crate::Error> {
        Ok(repo.unfinished()?.into_iter().map(|i| i.payload).collect())
    };
    let left = vec![b"record 0".to_vec(), b"record 2".to_vec()];
    same(&open(&*repo)?, &left, "open intents")?;
    repo.settle(&intents)?;
    same(
        &open(&*repo)?,
        &Vec::new(),
        "open intents after all are settled",
    )?;
    drop(repo);
    suite.world.restart();
    same(
        &open(&*suite.repo().await?)?,
        &Vec::new(),
        "open intents after a restart",
    )
}

/// An intent that nobody settled knows nothing of what became of its refs since.
pub(super) async fn what_moved_on_is_not_put_back(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let (first, second, third) = (
        branch("drafts/on/ws"),
        branch("beside/on"),
        branch("proposed/on/ws"),
    );
    let written = commit_on(&*repo, head(&*repo)?, "on", &package("on")?, "m")?;
    let id = written.commit();
    let refs = [&first, &second].map(|name| RefEdit::create(name.clone(), id));
    let mut with = submission(written, refs.into());
    with.intent = Some(b"made".to_vec());
    taken(repo.submit(with).await?)?;
    let moves = Submission {
        refs: vec![
            RefEdit::create(third.clone(), id),
            RefEdit::delete(first.clone(), id),
        ],
        ..Submission::default()
    };
    taken(repo.submit(moves).await?)?;
    drop(repo);
    suite.world.restart();
    let repo = suite.repo().await?;
    same(&at(&*repo, &first)?, &None, "what was replaced")?;
    same(&at(&*repo, &third)?, &Some(id), "what replaced it")?;
    let open = repo.unfinished()?;
    same(&open.len(), &1, "open intents")?;
    check(open.iter().all(|i| i.stands), "one of its refs stands")
}
