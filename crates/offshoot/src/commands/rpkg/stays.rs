//! What stays where every revision of a package was deleted: its directory on the branch, which whoever deploys the branch
//! goes on deploying (V23).

use std::collections::BTreeSet;

use serde_json::Value;

use super::entry::Entry;
use super::remove::is_head;
use super::{items, text};
use crate::client::{Client, PACKAGES, collection};
use crate::commands::say;

/// How many packages are named.
const NAMED: usize = 3;

/// Says which of the packages whose revisions were deleted are still on their branches, and what removes them.
pub(super) async fn tell(client: &Client, deleted: &[Entry]) {
    let path = collection(PACKAGES, &client.namespace, &[]);
    // They are deleted whether this can be said or not.
    let Ok(list) = client.get(&path).await else {
        return;
    };
    let names = deleted.iter().map(|entry| entry.name.as_str());
    let all = left(items(&list), names);
    for (package, repository) in all.iter().take(NAMED) {
        say(&format!(
            "{package} is still on the branch of {repository}: offshoot rpkg del --package {package} --repository {repository} removes it there, too"
        ));
    }
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        say(&format!("so are {more} more"));
    }
}

/// Package and repository of those of which the branch's own revision is all that is left.
fn left<'a>(
    revisions: &[Value],
    deleted: impl Iterator<Item = &'a str>,
) -> BTreeSet<(String, String)> {
    let place = |revision: &Value| {
        let package = text(revision, &["spec", "packageName"]).unwrap_or_default();
        let repository = text(revision, &["spec", "repository"]).unwrap_or_default();
        (package, repository)
    };
    // A revision is named after its package and its workspace.
    let of = |name: &str| name.rsplit_once('.').map(|(of, _)| of.to_owned());
    let deleted: BTreeSet<String> = deleted.filter_map(of).collect();
    let is_of = |revision: &Value| {
        let name = text(revision, &["metadata", "name"]);
        let of = name.and_then(|name| of(&name));
        of.is_some_and(|of| deleted.contains(&of))
    };
    let (heads, others): (Vec<&Value>, Vec<&Value>) = revisions
        .iter()
        .filter(|r| is_of(r))
        .partition(|r| is_head(r));
    let mut all: BTreeSet<_> = heads.into_iter().map(place).collect();
    for other in others {
        all.remove(&place(other));
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn revision(package: &str, workspace: &str, number: i64) -> Value {
        json!({
            "metadata": { "name": format!("edge.{package}.{workspace}") },
            "spec": { "packageName": package, "repository": "edge", "revision": number },
        })
    }

    #[test]
    fn a_package_of_which_the_branch_alone_is_left_is_told() {
        let all = [
            revision("web", "main", -1),
            revision("db", "main", -1),
            revision("db", "v1", 1),
            revision("other", "main", -1),
        ];
        let deleted = ["edge.web.v1", "edge.web.v2", "edge.db.v2"];
        let found = left(&all, deleted.into_iter());
        let wanted = ("web".to_owned(), "edge".to_owned());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [wanted]);
    }
}
