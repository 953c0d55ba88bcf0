//! The open conflicts of a set's drafts, equal ones together, with the command that decides them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::client::{Client, PACKAGES, collection};
use crate::exit::ExitFailure;

/// How many drafts are named.
const NAMED: usize = 3;

/// A line for each kind of conflict; nothing where none is open, or where the caller may not list revisions.
///
/// # Errors
/// The server cannot be reached.
pub(super) async fn of_set(client: &Client, set: &str) -> Result<String, ExitFailure> {
    let of_set = format!("offshoot.dev/set={set}");
    let query = [
        ("labelSelector", of_set.as_str()),
        ("fieldSelector", "spec.lifecycle=Draft"),
    ];
    let path = collection(PACKAGES, &client.namespace, &query);
    let (code, list) = client.ask(http::Method::GET, &path, None).await?;
    Ok(match code {
        200 => lines(&list),
        _ => String::new(),
    })
}

fn lines(list: &Value) -> String {
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for draft in list["items"].as_array().into_iter().flatten() {
        let name = api::str_at(draft, &["metadata", "name"]).unwrap_or_default();
        let open = api::str_at(draft, &["status", "offshoot", "openConflicts"]);
        for key in open
            .unwrap_or_default()
            .split(',')
            .filter(|k| !k.is_empty())
        {
            keys.entry(key).or_default().push(name);
        }
    }
    if keys.is_empty() {
        return String::new();
    }
    let mut out = "open conflicts, equal ones together:\n".to_owned();
    for (key, drafts) in keys {
        let named: Vec<&str> = drafts.iter().take(NAMED).copied().collect();
        let rest = if drafts.len() > NAMED { ", …" } else { "" };
        // Writing to a String cannot fail.
        _ = writeln!(
            out,
            "- {key} of {} drafts: {}{rest}\n  hint: offshoot resolve {key} --take local|upstream|base",
            drafts.len(),
            named.join(", ")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_conflicts_are_told_once_with_what_decides_them() {
        let draft = |name: &str, open: Value| json!({ "metadata": { "name": name }, "status": { "offshoot": { "openConflicts": open } } });
        let items = [
            draft("a", "k1,k2".into()),
            draft("b", "k1".into()),
            draft("c", Value::Null),
        ];
        let out = lines(&json!({ "items": items }));
        assert!(
            out.contains("- k1 of 2 drafts: a, b\n  hint: offshoot resolve k1 --take"),
            "{out}"
        );
        assert!(out.contains("- k2 of 1 drafts: a\n"), "{out}");
        assert_eq!(lines(&json!({ "items": [] })), "");
    }
}
