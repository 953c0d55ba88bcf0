//! One suite for every implementation of the traits.
//!
//! A [`World`] makes a fresh repository, opened by us and seen by somebody else; each case of
//! [`cases`] is run in a world of its own. Cases return what went wrong as text, so that the suite
//! can be used outside tests (it never panics).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use model::{CommitId, File, Files, PackagePath, TreeId};

use crate::{
    Answer, BranchEdit, CommitSpec, Content, Dir, Expect, Published, RefEdit, RefName, RemoteSpec,
    Repo, Signature, Store, Submission, SubmissionRefusal, Time, Written,
};

mod drafts;
mod outside;
mod publish;
mod read;
mod restart;

/// What a case answers with: nothing, or what went wrong.
pub type CaseResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// One implementation, with one repository that has a branch `main`.
#[async_trait]
pub trait World: Send + Sync {
    /// Our store.
    fn store(&self) -> Arc<dyn Store>;
    /// Where the repository is.
    fn url(&self) -> String;
    /// The same repository as another writer sees it, at the remote if there is one.
    async fn outside(&self) -> Result<Arc<dyn Repo>, crate::Error>;
    /// Ends our process uncleanly and starts it again.
    fn restart(&self);
    /// Drops what no ref of the repository reaches, at the remote if there is one, as `git gc --prune=now` does.
    fn tidy(&self);
}

/// A case: its name and what it does.
pub type Case = (
    &'static str,
    for<'a> fn(&'a Suite) -> Pin<Box<dyn Future<Output = CaseResult> + Send + 'a>>,
);

macro_rules! cases {
    ($($module:ident :: $name:ident),* $(,)?) => {
        vec![$((concat!(stringify!($module), "::", stringify!($name)),
               |suite: &Suite| Box::pin($module::$name(suite)) as Pin<Box<dyn Future<Output = CaseResult> + Send + '_>>)),*]
    };
}

/// All cases.
pub fn cases() -> Vec<Case> {
    cases![
        read::a_snapshot_holds_every_byte,
        read::one_ref_says_what_all_say,
        read::packages_stop_at_a_kptfile,
        read::history_names_the_last_change,
        read::missing_objects_are_not_found,
        read::carried_entries_survive_a_write,
        drafts::a_draft_is_durable_and_visible,
        drafts::equal_input_makes_equal_ids,
        drafts::kept_files_are_not_written_again,
        drafts::a_chain_is_written_whole,
        drafts::a_kept_file_of_another_repository_comes_along,
        drafts::two_on_one_name_conflict,
        drafts::a_batch_is_its_submissions_one_by_one,
        drafts::nothing_of_a_refused_submission_stands,
        drafts::propose_and_reject_move_two_refs,
        drafts::a_ref_cannot_shadow_another,
        drafts::many_drafts_are_few_packs,
        drafts::a_target_must_exist,
        publish::approval_merges_tags_and_deletes,
        publish::a_batch_of_approvals_is_a_chain,
        publish::a_changed_directory_is_refused,
        publish::what_is_no_directory_is_not_replaced,
        publish::another_package_moving_main_is_no_conflict,
        publish::a_taken_tag_refuses_all_of_it,
        publish::a_package_is_removed,
        outside::a_push_from_outside_is_seen,
        outside::what_was_tidied_away_is_written_again,
        outside::a_forced_branch_is_a_conflict,
        outside::a_deleted_draft_is_a_conflict,
        restart::what_was_answered_is_there,
        restart::intents_last_until_settled,
        restart::settled_intents_are_gone,
        restart::what_moved_on_is_not_put_back,
    ]
}

/// Runs one case in a world.
///
/// # Errors
/// What went wrong, as text.
pub async fn run(world: Arc<dyn World>, case: &Case) -> CaseResult {
    let suite = Suite { world };
    (case.1)(&suite)
        .await
        .map_err(|e| format!("{}: {e}", case.0).into())
}

/// What cases work with.
pub struct Suite {
    world: Arc<dyn World>,
}

impl Suite {
    async fn repo(&self) -> Result<Arc<dyn Repo>, crate::Error> {
        let mut spec = RemoteSpec::new(self.world.url());
        spec.branch = Some("main".to_owned());
        spec.create_branch = Some(signature());
        self.world.store().open(spec).await
    }
}

fn signature() -> Signature {
    Signature {
        name: "Package Orchestration Service".to_owned(),
        email: "porch@kpt.dev".to_owned(),
        time: Time::utc(1_700_000_000),
    }
}

fn check(holds: bool, what: impl Into<String>) -> CaseResult {
    if holds {
        Ok(())
    } else {
        Err(what.into().into())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T, what: &str) -> CaseResult {
    check(
        found == wanted,
        format!("{what}: found {found:?}, wanted {wanted:?}"),
    )
}

fn files(entries: &[(&str, &str)]) -> Result<Files, model::NameError> {
    let one = |(path, text): &(&str, &str)| Ok((PackagePath::parse(path)?, File::text(text)));
    entries.iter().map(one).collect()
}

/// Twelve small files, of which one says whose they are.
fn package(name: &str) -> Result<Files, model::NameError> {
    let mut all = files(&[
        ("Kptfile", &format!("metadata:\n  name: {name}\n")),
        ("a/b/deep.yaml", "x: 1\n"),
    ])?;
    for n in 0..10 {
        let text = format!("kind: ConfigMap # {n}\nmetadata: {{name: c{n}}}\n");
        all.insert(
            PackagePath::parse(&format!("cm-{n}.yaml"))?,
            File::text(text),
        );
    }
    Ok(all)
}

fn main_ref() -> RefName {
    branch("main")
}

fn branch(short: &str) -> RefName {
    RefName::branch(short).unwrap_or_else(|_| RefName::unknown())
}

fn tag(short: &str) -> RefName {
    RefName::tag(short).unwrap_or_else(|_| RefName::unknown())
}

fn head(repo: &dyn Repo) -> Result<CommitId, Box<dyn std::error::Error + Send + Sync>> {
    at(repo, &main_ref())?.ok_or_else(|| "there is no main".into())
}

fn at(repo: &dyn Repo, name: &RefName) -> Result<Option<CommitId>, crate::Error> {
    Ok(repo.refs()?.get(name).copied())
}

/// A commit of these files in a directory, on top of a commit.
fn commit_on(
    repo: &dyn Repo,
    base: CommitId,
    dir: &str,
    files: &Files,
    message: &str,
) -> Result<Written, Box<dyn std::error::Error + Send + Sync>> {
    Ok(repo.write(CommitSpec {
        base: Some(base),
        dir: &Dir::parse(dir)?,
        content: Content::Files(files, &[]),
        parents: &[base],
        author: &signature(),
        committer: &signature(),
        message,
    })?)
}

fn submission(written: Written, refs: Vec<RefEdit>) -> Submission {
    Submission {
        written: vec![written],
        refs,
        ..Submission::default()
    }
}

/// A draft of a package, on a new branch.
async fn draft(
    repo: &dyn Repo,
    dir: &str,
    name: &RefName,
) -> Result<Written, Box<dyn std::error::Error + Send + Sync>> {
    let written = commit_on(repo, head(repo)?, dir, &package(dir)?, "Creating")?;
    let create = RefEdit::create(name.clone(), written.commit());
    taken(
        repo.submit(submission(written.clone(), vec![create]))
            .await?,
    )?;
    Ok(written)
}

fn approval(
    dir: &str,
    draft: &Written,
    name: &RefName,
    tag: RefName,
) -> Result<Submission, crate::DirError> {
    let edit = BranchEdit {
        branch: main_ref(),
        dir: Dir::parse(dir)?,
        expect: Expect::Absent,
        content: draft.tree(),
        second_parent: Some(draft.commit()),
        author: signature(),
        committer: signature(),
        message: format!("Approving package revision {dir}/1\n"),
        tags: vec![tag],
    };
    let refs = vec![RefEdit::delete(name.clone(), draft.commit())];
    Ok(Submission {
        refs,
        branch: Some(edit),
        ..Submission::default()
    })
}

fn taken(answer: Answer) -> Result<Published, Box<dyn std::error::Error + Send + Sync>> {
    match answer {
        Answer::Published(published) => Ok(published),
        other => Err(format!("not published: {other:?}").into()),
    }
}

fn refused(answer: Answer) -> Result<SubmissionRefusal, Box<dyn std::error::Error + Send + Sync>> {
    match answer {
        Answer::Refused(refusal) => Ok(refusal),
        other => Err(format!("not refused: {other:?}").into()),
    }
}

fn tree_of(
    repo: &dyn Repo,
    commit: CommitId,
    dir: &str,
) -> Result<Option<TreeId>, Box<dyn std::error::Error + Send + Sync>> {
    Ok(repo.subtree(repo.commit(commit)?.tree, &Dir::parse(dir)?)?)
}
