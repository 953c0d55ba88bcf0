//! Who signs commits (A9).

use model::Repository;
use store::{Signature, Time};

/// The committer of everything that we write: Porch's, so that repositories can move (A5).
pub(crate) fn committer(now: i64) -> Signature {
    Signature {
        name: "Package Orchestration Service".to_owned(),
        email: "porch@kpt.dev".to_owned(),
        time: Time::utc(now),
    }
}

/// The author: the repository's fixed one, else the user as name and address.
pub(crate) fn author_of(user: &str, repository: Option<&Repository>, now: i64) -> Signature {
    let fixed = |pick: fn(&model::GitSpec) -> &Option<String>| {
        repository
            .and_then(|r| pick(&r.git).clone())
            .filter(|text| !text.is_empty())
    };
    let email = fixed(|git| &git.email);
    let name = fixed(|git| &git.author);
    Signature {
        name: name
            .or_else(|| email.clone())
            .unwrap_or_else(|| user.to_owned()),
        email: email.unwrap_or_else(|| user.to_owned()),
        time: Time::utc(now),
    }
}
