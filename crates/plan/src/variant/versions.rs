//! Which upstream version is published and which is wanted, as a list shows it (F6): `web/v1 → v2`.

use model::{CommitId, GitLock, Revision, Variant};

use super::{Observed, Subject, UpstreamResolution, base_of};

/// How many digits of a commit tell two versions of one name apart.
const DIGITS: usize = 7;

/// Both versions, one of them where both are the same; as before where the spec cannot be understood.
pub(super) fn versions(o: &Observed) -> String {
    let Subject::Valid(variant) = &o.variant else {
        return o.status.versions.clone();
    };
    let have = base_of(&o.downstream).and_then(|choice| {
        let lock = choice.revision.upstream_lock.clone()?;
        Some(Version::of_lock(&lock, variant))
    });
    let want = match &o.upstream {
        UpstreamResolution::Found(r) | UpstreamResolution::NotPublished(r) => {
            Version::of_revision(r)
        }
        UpstreamResolution::NotFound { .. } => Version::missing(variant),
    };
    told(have.as_ref(), &want)
}

fn told(have: Option<&Version>, want: &Version) -> String {
    let Some(have) = have else {
        return format!("none → {}", want.full());
    };
    let named_alike = (&have.package, &have.name) == (&want.package, &want.name);
    let same = match (have.commit, want.commit) {
        // Another name of the same content is no other version (V1).
        (Some(a), Some(b)) => a == b && have.package == want.package,
        _ => named_alike,
    };
    if same {
        return want.full();
    }
    if have.package != want.package {
        return format!("{} → {}", have.full(), want.full());
    }
    if have.name != want.name {
        return format!("{} → {}", have.full(), want.name);
    }
    // A tag that moved, or a branch: the names say nothing, the commits do.
    format!(
        "{}@{} → {}@{}",
        have.full(),
        have.short(),
        want.name,
        want.short()
    )
}

/// A version of an upstream package.
#[derive(Debug, Clone)]
struct Version {
    package: String,
    name: String,
    commit: Option<CommitId>,
}

impl Version {
    fn of_revision(revision: &Revision) -> Self {
        let name = match revision.revision.is_numbered() {
            true => format!("v{}", revision.revision),
            false => revision.workspace.to_string(),
        };
        Self {
            package: revision.package.to_string(),
            name,
            commit: revision.self_lock.as_ref().and_then(|lock| lock.commit),
        }
    }

    /// What a lock names; a package elsewhere is named by its whole ref.
    fn of_lock(lock: &GitLock, variant: &Variant) -> Self {
        let wanted = variant.spec.upstream.package.as_str();
        let directory = lock.directory.trim_matches('/');
        let below = directory == wanted || directory.ends_with(&format!("/{wanted}"));
        let (before, name) = match lock.git_ref.rsplit_once('/') {
            Some((before, name)) => (before, name),
            None => (directory, lock.git_ref.as_str()),
        };
        // A draft's ref says so before the directory.
        let before = before
            .trim_start_matches("drafts/")
            .trim_start_matches("proposed/");
        Self {
            package: if below { wanted } else { before }.to_owned(),
            name: name.to_owned(),
            commit: lock.commit,
        }
    }

    fn missing(variant: &Variant) -> Self {
        Self {
            package: variant.spec.upstream.package.to_string(),
            name: "?".to_owned(),
            commit: None,
        }
    }

    fn full(&self) -> String {
        format!("{}/{}", self.package, self.name)
    }

    fn short(&self) -> String {
        let text = self.commit.map_or_else(String::new, |c| c.to_string());
        text.chars().take(DIGITS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(package: &str, name: &str, commit: Option<u8>) -> Version {
        Version {
            package: package.to_owned(),
            name: name.to_owned(),
            commit: commit
                .and_then(|digit| CommitId::parse(&format!("{digit:040x}").replace('0', "a"))),
        }
    }

    #[test]
    fn what_is_published_and_what_is_wanted_stand_side_by_side() {
        let web = |name, commit| version("web", name, commit);
        for (have, want, said) in [
            (None, web("v2", Some(2)), "none → web/v2"),
            (Some(web("v2", Some(2))), web("v2", Some(2)), "web/v2"),
            (Some(web("v1", Some(1))), web("v2", Some(2)), "web/v1 → v2"),
            (Some(web("v1", Some(1))), web("?", None), "web/v1 → ?"),
            (
                Some(version("api", "v1", Some(1))),
                web("v2", Some(2)),
                "api/v1 → web/v2",
            ),
            (
                Some(web("stable", Some(1))),
                web("stable", Some(2)),
                "web/stable@aaaaaaa → stable@aaaaaaa",
            ),
            // Two names of one content are no two versions.
            (Some(web("stable", Some(2))), web("v2", Some(2)), "web/v2"),
            (Some(web("v2", None)), web("v2", Some(2)), "web/v2"),
        ] {
            assert_eq!(told(have.as_ref(), &want), said);
        }
    }
}
