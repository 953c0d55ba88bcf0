//! Which variants follow a revision whose deletion is proposed: they are told of before it is approved, not when they fail.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::Entry;
use super::{items, text};
use crate::client::{Client, VARIANTS, collection};
use crate::commands::say;
use crate::visible::counted;

/// How many variants are named of each revision, and how many revisions.
const NAMED: usize = 3;

/// Says of each revision how many variants have it as their upstream; nothing to whoever may not list them.
pub(super) async fn tell(client: &Client, proposed: &[Entry]) {
    let path = collection(VARIANTS, &client.namespace, &[]);
    // The deletion is proposed whether this can be said or not.
    let Ok(list) = client.get(&path).await else {
        return;
    };
    let names: Vec<&str> = proposed.iter().map(|entry| entry.name.as_str()).collect();
    for line in lines(items(&list), &names) {
        say(&line);
    }
}

fn lines(variants: &[Value], proposed: &[&str]) -> Vec<String> {
    let mut followed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for variant in variants {
        let upstream = api::read_variant_status(variant).upstream;
        let is_it = |name: &&&str| upstream.as_ref().is_some_and(|u| u.as_str() == **name);
        if let Some(revision) = proposed.iter().find(is_it) {
            let name = text(variant, &["metadata", "name"]);
            followed.entry(revision).or_default().extend(name);
        }
    }
    let line = |(revision, variants): (&str, Vec<String>)| {
        let first: Vec<&str> = variants.iter().take(NAMED).map(String::as_str).collect();
        let rest = if variants.len() > NAMED { ", …" } else { "" };
        let follow = counted(variants.len(), "variant follows", "variants follow");
        format!(
            "Warning: {follow} {revision}: {}{rest}; once it is deleted, those that name it fail, and those that take the latest take the one before, or fail if there is none (offshoot rpkg reject {revision} keeps it)",
            first.join(", ")
        )
    };
    followed.into_iter().take(NAMED).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_follows_what_is_to_be_deleted_is_named() {
        let variant = |name: &str, follows: &str| json!({ "metadata": { "name": name }, "status": { "offshoot": { "upstream": follows } } });
        let all = [
            variant("a", "cat.web.v1"),
            variant("b", "cat.web.v2"),
            variant("c", "cat.web.v1"),
        ];
        let told = lines(&all, &["cat.web.v1", "cat.db.v1"]);
        assert_eq!(told.len(), 1);
        let start = "Warning: 2 variants follow cat.web.v1: a, c; ";
        assert!(told[0].starts_with(start), "{told:?}");
        assert!(lines(&all, &["cat.db.v1"]).is_empty());
    }
}
