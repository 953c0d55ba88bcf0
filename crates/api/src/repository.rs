//! `Repository`.

use model::{GitSpec, Problem, Repository, RepositoryName};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, name};
use crate::{read_key, read_meta};

/// Reads a repository.
///
/// # Errors
/// Everything that is wrong with its spec; an empty list if it has no readable name.
pub fn read_repository(object: &Value) -> Result<Repository, Vec<Problem>> {
    let mut problems = Vec::new();
    let key = read_key(object).ok_or_else(Vec::new)?;
    let empty = Value::Object(Map::new());
    let spec = FieldReader::new(object.get("spec").unwrap_or(&empty), "spec");
    let repository = name(
        &mut problems,
        "metadata.name",
        key.name.as_str(),
        RepositoryName::parse,
    );
    if spec.text("type") == Some("oci") || spec.raw("oci").is_some() {
        problems.push(
            Problem::new("spec.type", "spec.type: OCI repositories are not served")
                .hint("register a git repository"),
        );
    }
    let git = read_git(&spec, &mut problems);
    match (repository, git) {
        (Some(repository), Some(git)) if problems.is_empty() => {
            let sync = spec.child("sync");
            let text = |key: &str| sync.as_ref().and_then(|s| s.owned(key)).unwrap_or_default();
            Ok(Repository {
                name: repository,
                meta: read_meta(object),
                description: spec.owned("description").unwrap_or_default(),
                deployment: spec.flag("deployment"),
                ignore_author_gates: spec.flag("ignorePackageGates"),
                git,
                sync_schedule: text("schedule"),
                run_once_at: text("runOnceAt"),
                key,
            })
        }
        _ => Err(problems),
    }
}

fn read_git(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<GitSpec> {
    let Some(git) = spec.child("git") else {
        problems.push(Problem::new("spec.git", "spec.git: Required value"));
        return None;
    };
    let Some(repo) = git.owned("repo") else {
        problems.push(Problem::new(
            "spec.git.repo",
            "spec.git.repo: Required value",
        ));
        return None;
    };
    let known = ["file://", "http://", "https://"]
        .iter()
        .any(|s| repo.starts_with(s));
    if !known {
        problems.push(
            Problem::new(
                "spec.git.repo",
                format!("spec.git.repo: Invalid value: {:?}: must start with file://, http:// or https://", without_user(&repo)),
            )
            .hint("ssh is not spoken: give the https:// address, and credentials in the Secret that spec.git.secretRef names; a repository beside `offshoot up` is file:///path/to/it.git, which a cluster refuses"),
        );
    }
    if repo.contains('@') && known && !repo.starts_with("file://") {
        problems.push(
            Problem::new(
                "spec.git.repo",
                "spec.git.repo: credentials do not belong into the address",
            )
            .hint("put them into a Secret and name it in spec.git.secretRef"),
        );
    }
    let directory = git
        .text("directory")
        .unwrap_or_default()
        .trim_matches('/')
        .to_owned();
    if directory
        .split('/')
        .any(|part| part == ".." || part == "." || part == ".git")
    {
        problems.push(Problem::new(
            "spec.git.directory",
            format!(
                "spec.git.directory: Invalid value: {directory:?}: must stay inside the repository"
            ),
        ));
    }
    Some(GitSpec {
        repo,
        branch: git.owned("branch").unwrap_or_else(|| "main".to_owned()),
        create_branch: git.flag("createBranch"),
        create: git.flag("create"),
        directory,
        secret: git.child("secretRef").and_then(|s| s.owned("name")),
        author: git.owned("author"),
        email: git.owned("email"),
    })
}

/// An address as it may be shown: without what stands before an `@`.
fn without_user(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}
