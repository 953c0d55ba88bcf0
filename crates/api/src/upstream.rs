//! `spec.upstream` of variants and sets, in all its forms (A2).

use model::{
    CommitId, PackageName, Problem, RepositoryName, Upstream, UpstreamVersion, WorkspaceName,
};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, name};

/// Which kind asks: their messages differ (R16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    Variant,
    Set,
}

impl Asker {
    fn missing(self, field: &str) -> Problem {
        let what = match self {
            Self::Variant => format!("missing required field {field}"),
            Self::Set => format!("{field} is a required field"),
        };
        Problem::new(field, what)
    }
}

/// Reads `spec.upstream` of a variant.
pub fn read_upstream(spec: &Value, problems: &mut Vec<Problem>) -> Option<Upstream> {
    read_for(&FieldReader::new(spec, "spec"), Asker::Variant, problems)
}

pub(crate) fn read_for(
    spec: &FieldReader<'_>,
    asker: Asker,
    problems: &mut Vec<Problem>,
) -> Option<Upstream> {
    let Some(upstream) = spec.child("upstream") else {
        problems.push(asker.missing("spec.upstream"));
        return None;
    };
    read_at(&upstream, asker, problems)
}

/// Reads one upstream package, wherever it stands.
pub(crate) fn read_at(
    upstream: &FieldReader<'_>,
    asker: Asker,
    problems: &mut Vec<Problem>,
) -> Option<Upstream> {
    let order = if asker == Asker::Set {
        ["package", "repo"]
    } else {
        ["repo", "package"]
    };
    for key in order {
        if upstream.text(key).is_none() {
            problems.push(asker.missing(&upstream.field(key)));
        }
    }
    let repo = upstream
        .text("repo")
        .and_then(|t| name(problems, &upstream.field("repo"), t, RepositoryName::parse));
    let package = upstream
        .text("package")
        .and_then(|t| name(problems, &upstream.field("package"), t, PackageName::parse));
    let version = read_version(upstream, problems);
    let commit = match asker {
        Asker::Variant => read_commit(upstream, problems),
        Asker::Set => None,
    };
    Some(Upstream {
        repo: repo?,
        package: package?,
        version: version?,
        allow_unpublished: upstream.flag("allowUnpublished"),
        commit,
    })
}

/// A whole commit id: one that is cut short could come to name another one.
fn read_commit(upstream: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<CommitId> {
    let value = upstream.raw("commit")?;
    let hex = |text: &&str| {
        let lower = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (text.len() == 40 || text.len() == 64) && text.bytes().all(lower)
    };
    let commit = value.as_str().filter(hex).and_then(CommitId::parse);
    if commit.is_none() {
        let field = upstream.field("commit");
        let what = format!("{field} must be a whole commit id: 40 or 64 lower case hex digits");
        problems.push(Problem::new(field, what).hint("leave it out to follow `revision`"));
    }
    commit
}

/// Two forms that disagree are a validation error (A2).
fn read_version(
    upstream: &FieldReader<'_>,
    problems: &mut Vec<Problem>,
) -> Option<UpstreamVersion> {
    let revision = match upstream.raw("revision") {
        None => None,
        Some(value) => Some(read_revision(value, &upstream.field("revision"), problems)?),
    };
    let workspace = upstream.text("workspaceName").map(|t| {
        name(
            problems,
            &upstream.field("workspaceName"),
            t,
            WorkspaceName::parse,
        )
    });
    let tag = upstream
        .text("tag")
        .map(|t| name(problems, &upstream.field("tag"), t, WorkspaceName::parse));
    match (revision, workspace, tag) {
        (None, None, None) => Some(UpstreamVersion::Latest),
        (Some(revision), None, None) => Some(revision),
        (None, Some(workspace), None) => workspace.map(UpstreamVersion::Workspace),
        (None, None, Some(tag)) => tag.map(UpstreamVersion::Tag),
        (Some(revision), Some(workspace), None) => {
            agree(revision, workspace?, upstream.path(), problems)
        }
        _ => {
            problems.push(
                Problem::new(
                    upstream.path(),
                    format!(
                        "{}: `tag` cannot be combined with `revision` or `workspaceName`",
                        upstream.path()
                    ),
                )
                .hint("keep the one that names the revision you want"),
            );
            None
        }
    }
}

fn agree(
    revision: UpstreamVersion,
    workspace: WorkspaceName,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<UpstreamVersion> {
    let agreed = match &revision {
        UpstreamVersion::Revision(n) => workspace.as_str() == format!("v{n}"),
        UpstreamVersion::Named(name) => *name == workspace,
        // Porch's own controller wrote -1 beside workspace names.
        UpstreamVersion::BranchHead => true,
        _ => false,
    };
    if agreed {
        return Some(UpstreamVersion::Workspace(workspace));
    }
    problems.push(
        Problem::new(
            path,
            format!("{path}: `revision` and `workspaceName` name different revisions"),
        )
        .hint("keep one of the two"),
    );
    None
}

fn read_revision(
    value: &Value,
    field: &str,
    problems: &mut Vec<Problem>,
) -> Option<UpstreamVersion> {
    let number = |n: i64, problems: &mut Vec<Problem>| match n {
        1.. => Some(UpstreamVersion::Revision(n)),
        -1 => Some(UpstreamVersion::BranchHead),
        _ => {
            problems.push(
                Problem::new(field, format!("{field}: Invalid value: {n}: must be at least 1, or -1 for the head of the branch"))
                    .hint("leave it out to follow the latest published revision"),
            );
            None
        }
    };
    match value {
        Value::Number(n) => match n.as_i64() {
            Some(n) => number(n, problems),
            None => number(0, problems),
        },
        Value::String(text) if text.is_empty() => Some(UpstreamVersion::Latest),
        Value::String(text) => {
            let digits = text.strip_prefix('v').unwrap_or(text);
            match digits.parse::<i64>() {
                Ok(n) if text == digits || n > 0 => number(n, problems),
                _ => name(problems, field, text, WorkspaceName::parse).map(UpstreamVersion::Named),
            }
        }
        _ => {
            problems.push(Problem::new(
                field,
                format!("{field}: must be a number or a text"),
            ));
            None
        }
    }
}

/// The wire form, as a set writes it into its variants.
pub fn write_upstream(upstream: &Upstream) -> Value {
    let mut out = Map::new();
    out.insert("repo".to_owned(), upstream.repo.as_str().into());
    out.insert("package".to_owned(), upstream.package.as_str().into());
    match &upstream.version {
        UpstreamVersion::Latest => {}
        UpstreamVersion::Revision(n) => {
            out.insert("revision".to_owned(), (*n).into());
        }
        UpstreamVersion::BranchHead => {
            out.insert("revision".to_owned(), (-1).into());
        }
        UpstreamVersion::Named(name) => {
            out.insert("revision".to_owned(), name.as_str().into());
        }
        UpstreamVersion::Workspace(name) => {
            out.insert("workspaceName".to_owned(), name.as_str().into());
        }
        UpstreamVersion::Tag(name) => {
            out.insert("tag".to_owned(), name.as_str().into());
        }
    }
    if upstream.allow_unpublished {
        out.insert("allowUnpublished".to_owned(), true.into());
    }
    if let Some(commit) = upstream.commit {
        out.insert("commit".to_owned(), commit.to_string().into());
    }
    Value::Object(out)
}
