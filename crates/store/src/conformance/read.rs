//! Reading by id.

use super::{
    CaseResult, CommitSpec, Content, Dir, RefEdit, Suite, branch, check, commit_on, draft, files,
    head, package, same, signature, submission, taken, tree_of,
};

pub(super) async fn a_snapshot_holds_every_byte(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let mut all = package("one")?;
    let binary = model::PackagePath::parse("dir/data.bin")?;
    let bytes: Vec<u8> = (0..=255).collect();
    all.insert(
        binary,
        model::File::New {
            mode: model::FileMode::Executable,
            bytes: bytes.into(),
        },
    );
    let written = commit_on(&*repo, head(&*repo)?, "apps/one", &all, "m")?;
    let name = branch("drafts/apps/one/ws");
    let create = RefEdit::create(name, written.commit());
    let root = written.root();
    taken(repo.submit(submission(written, vec![create])).await?)?;
    let tree = repo
        .subtree(root, &Dir::parse("apps/one")?)?
        .ok_or("no tree")?;
    let shot = repo.snapshot(tree)?;
    same(&shot.files, &all, "files")?;
    check(
        shot.files.values().all(|f| f.id().is_some()),
        "files are kept",
    )?;
    same(&shot.opaque.len(), &0, "carried entries")?;
    let size: usize = model::total_bytes(&all);
    same(&shot.bytes, &(size as u64), "bytes")
}

pub(super) async fn one_ref_says_what_all_say(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let written = commit_on(&*repo, head(&*repo)?, "one", &package("one")?, "m")?;
    let (here, gone) = (branch("drafts/one/ws"), branch("drafts/one/other"));
    let create = RefEdit::create(here.clone(), written.commit());
    same(&repo.find_ref(&here)?, &None, "before")?;
    taken(repo.submit(submission(written, vec![create])).await?)?;
    let all = repo.refs()?;
    for name in all.keys().chain([&gone]) {
        same(
            &repo.find_ref(name)?,
            &all.get(name).copied(),
            name.as_str(),
        )?;
    }
    for dir in [
        "refs/heads/drafts/one",
        "refs/heads/drafts",
        "refs/heads/drafts/on",
        "refs/tags",
    ] {
        let below: crate::Refs = all
            .iter()
            .filter(|(name, _)| name.as_str().starts_with(&format!("{dir}/")))
            .map(|(name, at)| (name.clone(), *at))
            .collect();
        same(&repo.refs_below(&crate::RefName::parse(dir)?)?, &below, dir)?;
    }
    // Several at once are what each is alone; what is not there is left out.
    let dirs = ["refs/heads/drafts/one", "refs/tags", "refs/heads/none"];
    let dirs: Vec<crate::RefName> = dirs
        .into_iter()
        .map(crate::RefName::parse)
        .collect::<Result<_, _>>()?;
    let names = [branch("main"), gone];
    let mut wanted = crate::Refs::new();
    for dir in &dirs {
        wanted.extend(repo.refs_below(dir)?);
    }
    wanted.extend(repo.find_ref(&names[0])?.map(|at| (names[0].clone(), at)));
    check(wanted.len() > 1, "the draft and the branch")?;
    same(&repo.refs_of(&dirs, &names)?, &wanted, "all of them")?;
    let delete = RefEdit::delete(here.clone(), all.get(&here).copied().ok_or("no draft")?);
    let delete = crate::Submission {
        refs: vec![delete],
        ..crate::Submission::default()
    };
    taken(repo.submit(delete).await?)?;
    same(&repo.find_ref(&here)?, &None, "after")?;
    // The list follows what moved since the one before, and keeps the rest.
    let mut left = crate::Refs::clone(&all);
    left.remove(&here);
    same(&*repo.refs()?, &left, "all after")?;
    let next = commit_on(&*repo, head(&*repo)?, "two", &package("two")?, "m")?;
    let moved = RefEdit::create(here.clone(), next.commit());
    left.insert(here, next.commit());
    taken(repo.submit(submission(next, vec![moved])).await?)?;
    same(&*repo.refs()?, &left, "all after it came back")
}

pub(super) async fn packages_stop_at_a_kptfile(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let all = files(&[
        ("b/Kptfile", ""),
        ("b/sub/Kptfile", ""),
        ("a/deep/er/Kptfile", ""),
        ("a/README.md", ""),
        ("Kptfile.yaml", ""),
    ])?;
    let written = commit_on(&*repo, head(&*repo)?, "top", &all, "m")?;
    let found = |under: &str| -> Result<Vec<String>, Box<dyn std::error::Error + Send + Sync>> {
        let found = repo.packages(written.root(), &Dir::parse(under)?)?.found;
        Ok(found.into_iter().map(|(dir, _)| dir.to_string()).collect())
    };
    same(
        &found("")?,
        &vec!["top/a/deep/er".to_owned(), "top/b".to_owned()],
        "all",
    )?;
    same(
        &found("top")?,
        &vec!["a/deep/er".to_owned(), "b".to_owned()],
        "below top",
    )?;
    same(&found("top/b")?, &vec![String::new()], "the package itself")?;
    same(&found("nowhere")?, &Vec::new(), "an absent directory")
}

pub(super) async fn history_names_the_last_change(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let first = head(&*repo)?;
    let one = commit_on(&*repo, first, "x/one", &package("one")?, "1")?;
    let two = commit_on(&*repo, one.commit(), "x/two", &package("two")?, "2")?;
    let three = commit_on(&*repo, two.commit(), "x/one", &package("again")?, "3")?;
    let last = |at, dir: &str| repo.last_change(at, &Dir::trusted(dir));
    same(
        &last(two.commit(), "x/one")?,
        &Some(one.commit()),
        "one at 2",
    )?;
    same(
        &last(three.commit(), "x/one")?,
        &Some(three.commit()),
        "one at 3",
    )?;
    same(
        &last(three.commit(), "x/two")?,
        &Some(two.commit()),
        "two at 3",
    )?;
    same(&last(three.commit(), "x")?, &Some(three.commit()), "x at 3")?;
    same(&last(three.commit(), "never")?, &None, "never there")?;
    same(
        &last(one.commit(), "x/one")?,
        &Some(one.commit()),
        "one at 1",
    )?;
    let line = repo.first_parents(three.commit(), 3)?;
    same(
        &line,
        &vec![three.commit(), two.commit(), one.commit()],
        "first parents",
    )?;
    check(
        repo.is_ancestor(first, three.commit())?,
        "the first is an ancestor",
    )?;
    check(
        repo.is_ancestor(two.commit(), two.commit())?,
        "so is itself",
    )?;
    check(
        !repo.is_ancestor(three.commit(), two.commit())?,
        "not the other way round",
    )
}

pub(super) async fn missing_objects_are_not_found(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let commit = model::CommitId::parse(&"ab".repeat(20)).ok_or("no id")?;
    let error = repo
        .commit(commit)
        .err()
        .ok_or("a commit that nobody made")?;
    same(&error.class(), &model::Class::NotFound, "class")?;
    check(!repo.has_commit(commit)?, "it is not here")?;
    let short = model::CommitId::parse("abcd").ok_or("no id")?;
    let error = repo.commit(short).err().ok_or("an id of two bytes")?;
    same(
        &error.class(),
        &model::Class::Invalid,
        "class of a short id",
    )?;
    same(
        &tree_of(&*repo, head(&*repo)?, "no/where")?,
        &None,
        "an absent directory",
    )
}

/// A second package is untouched, and what we do not read survives a write of its package.
pub(super) async fn carried_entries_survive_a_write(suite: &Suite) -> CaseResult {
    let repo = suite.repo().await?;
    let written = draft(&*repo, "carry", &branch("drafts/carry/ws")).await?;
    let tree = written.tree().ok_or("no tree")?;
    let shot = repo.snapshot(tree)?;
    let link = crate::Opaque::new(
        b"to/elsewhere".to_vec(),
        0o120_000,
        shot.files.values().next(),
    );
    let link = link.ok_or("no id")?;
    let spec = |opaque| CommitSpec {
        base: None,
        dir: Box::leak(Box::new(Dir::trusted("p"))),
        content: Content::Files(&shot.files, opaque),
        parents: &[],
        author: Box::leak(Box::new(signature())),
        committer: Box::leak(Box::new(signature())),
        message: "m",
    };
    let with = [link];
    let second = repo.write(spec(&with))?;
    let again = repo.snapshot(second.tree().ok_or("no tree")?)?;
    same(&again.opaque, &with.to_vec(), "what is carried")?;
    same(&again.files, &shot.files, "files")?;
    same(
        &repo.write(spec(&again.opaque))?.commit(),
        &second.commit(),
        "the same again",
    )
}
