//! What a set remembers of its variants under a rollout, in its status (F7): those of which the same is known stand together,
//! so that thousands of them take little room.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{Before, CommitId, Member, PackageName, RepositoryName, UidMark, Unmade};
use serde_json::{Map, Value, json};

use crate::fields::{FieldReader, put};
use crate::upstream::{read_upstream, write_upstream};

/// How many characters the hash of a spec has.
const HASH: usize = 16;

/// What is the same for all of a group: upstream, step, and what was published before, as they are written.
type Shared = (String, String, String);

/// The wire form: groups, each with the marks of its variants and the hashes of their specs, one behind the other.
pub(crate) fn write_remembered(members: &BTreeMap<UidMark, Member>) -> Vec<Value> {
    let mut groups: BTreeMap<Shared, (&Member, String)> = BTreeMap::new();
    for (mark, member) in members {
        if member.spec.len() != HASH {
            continue;
        }
        let upstream = write_upstream(&member.upstream).to_string();
        let step = member.step.clone().unwrap_or_default();
        let before = member.before.as_ref();
        let before = before.map_or(String::new(), |b| write_before(b).to_string());
        let group = groups.entry((upstream, step, before));
        let (_, marks) = group.or_insert_with(|| (member, String::new()));
        // Writing to a String cannot fail.
        _ = write!(marks, "{mark}{}", member.spec);
    }
    let groups = groups.into_values().map(|(member, marks)| {
        let mut out = Map::new();
        out.insert("upstream".to_owned(), write_upstream(&member.upstream));
        put(&mut out, "step", member.step.as_deref().unwrap_or_default());
        if let Some(before) = &member.before {
            out.insert("before".to_owned(), write_before(before));
        }
        put(&mut out, "specs", &marks);
        Value::Object(out)
    });
    groups.collect()
}

/// The wire form of targets that cannot be made.
pub(crate) fn write_unmade(all: &[Unmade]) -> Vec<Value> {
    let one = |of: &Unmade| json!({ "name": of.name, "step": of.step, "message": of.why });
    all.iter().map(one).collect()
}

/// Reads them.
pub(crate) fn read_unmade(all: &[FieldReader<'_>]) -> Vec<Unmade> {
    let one = |of: &FieldReader<'_>| {
        Some(Unmade {
            name: of.owned("name")?,
            step: of.owned("step")?,
            why: of.owned("message")?,
        })
    };
    all.iter().filter_map(one).collect()
}

/// Reads them leniently: what cannot be read is not remembered.
pub(crate) fn read_remembered(groups: &[FieldReader<'_>]) -> BTreeMap<UidMark, Member> {
    let mut members = BTreeMap::new();
    for group in groups {
        let Some(upstream) = read_upstream(group.value(), &mut Vec::new()) else {
            continue;
        };
        let before = group.child("before").and_then(|b| read_before(&b));
        let step = group.owned("step");
        let specs = group.text("specs").unwrap_or_default().as_bytes();
        for entry in specs.chunks(UidMark::TEXT + HASH) {
            let text = std::str::from_utf8(entry).unwrap_or_default();
            let Some((mark, spec)) = text.split_at_checked(UidMark::TEXT) else {
                continue;
            };
            let Some(mark) = UidMark::parse(mark).filter(|_| spec.len() == HASH) else {
                continue;
            };
            let member = Member {
                upstream: upstream.clone(),
                spec: spec.to_owned(),
                step: step.clone(),
                before: before.clone(),
            };
            members.insert(mark, member);
        }
    }
    members
}

/// The wire form of what was published before.
pub(crate) fn write_before(before: &Before) -> Value {
    json!({
        "repo": before.repo.as_str(),
        "package": before.package.as_str(),
        "commit": before.commit.to_string(),
    })
}

fn read_before(fields: &FieldReader<'_>) -> Option<Before> {
    Some(Before {
        repo: RepositoryName::parse(fields.text("repo")?).ok()?,
        package: PackageName::parse(fields.text("package")?).ok()?,
        commit: CommitId::parse(fields.text("commit")?)?,
    })
}

#[cfg(test)]
mod tests {
    use model::{Upstream, UpstreamVersion, WorkspaceName};

    use super::*;

    /// Thousands that are at the same commit take two dozen characters each.
    #[test]
    fn what_is_remembered_of_many_stands_together() {
        let commit = |digit: &str| CommitId::parse(&digit.repeat(40)).unwrap();
        let repo = RepositoryName::parse("blueprints").unwrap();
        let package = PackageName::parse("base/web").unwrap();
        let named = WorkspaceName::parse("stable").unwrap();
        let versions = [
            UpstreamVersion::Latest,
            UpstreamVersion::Revision(3),
            UpstreamVersion::BranchHead,
            UpstreamVersion::Tag(named.clone()),
            UpstreamVersion::Workspace(named),
        ];
        let member = |n: u8| Member {
            upstream: Upstream {
                repo: repo.clone(),
                package: package.clone(),
                version: versions[usize::from(n) % 5].clone(),
                allow_unpublished: n.is_multiple_of(2),
                commit: (!n.is_multiple_of(3)).then(|| commit("a")),
            },
            spec: format!("{n:016x}"),
            step: (!n.is_multiple_of(4)).then(|| "canary".to_owned()),
            before: (n % 4 > 1).then(|| Before {
                repo: repo.clone(),
                package: package.clone(),
                commit: commit("b"),
            }),
        };
        let all = |n: u8| (UidMark::new([0, 0, 0, 0, 1, n]), member(n));
        let members: BTreeMap<_, _> = (0..60).map(all).collect();
        let status = model::RolloutStatus {
            members: members.clone(),
            ..model::RolloutStatus::default()
        };
        let wire = crate::rollout::write_status(&status);
        let read = crate::rollout::read_status(&FieldReader::new(&wire, "status.rollout"));
        assert_eq!(read.members, members);
        let same = (0..100).map(|n| (UidMark::new([0, 0, 0, 0, 2, n]), member(0)));
        let text = write_remembered(&same.collect());
        assert_eq!(text.len(), 1);
        assert!(text[0].to_string().len() < 100 * 24 + 200);
    }
}
