//! The open conflicts of a set's drafts, equal ones together: where they are, what their sides hold, and the command that decides
//! them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{items, side, text};
use crate::client::{Client, PACKAGES, collection};
use crate::exit::ExitFailure;
use crate::visible::{counted, line};

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

/// The drafts that have a conflict of one key.
#[derive(Default)]
struct Equal<'a> {
    drafts: Vec<&'a str>,
    /// The conflict as each draft tells it, where it does.
    told: Vec<&'a Value>,
}

fn lines(list: &Value) -> String {
    let mut keys: BTreeMap<&str, Equal<'_>> = BTreeMap::new();
    for draft in items(list, "/items") {
        let name = api::str_at(draft, &["metadata", "name"]).unwrap_or_default();
        let open = api::str_at(draft, &["status", "offshoot", "openConflicts"]);
        for key in open
            .unwrap_or_default()
            .split(',')
            .filter(|k| !k.is_empty())
        {
            let equal = keys.entry(key).or_default();
            equal.drafts.push(name);
            let told = items(draft, "/status/conflicts").find(|c| text(c, "key") == key);
            equal.told.extend(told);
        }
    }
    if keys.is_empty() {
        return String::new();
    }
    let mut out = "open conflicts, equal ones together:\n".to_owned();
    for (key, equal) in keys {
        let drafts = equal.drafts.len();
        let named: Vec<&str> = equal.drafts.iter().take(NAMED).copied().collect();
        let rest = if drafts > NAMED { ", …" } else { "" };
        // Writing to a String cannot fail.
        _ = writeln!(
            out,
            "- {key} of {}: {}{rest}",
            counted(drafts, "draft", "drafts"),
            named.join(", ")
        );
        out.push_str(&what(&equal.told));
        _ = writeln!(
            out,
            "  hint: offshoot resolve {key} --take local|upstream|base"
        );
    }
    out
}

/// Where the conflict is, and what its sides hold: a key stands for a place with one base and one upstream value, and only what is
/// local may differ.
fn what(told: &[&Value]) -> String {
    let Some(first) = told.first() else {
        return String::new();
    };
    let place = ["file", "resource", "path"].map(|key| text(first, key));
    let of = |key: &str| side(first.get(key));
    let mut local: Vec<String> = Vec::new();
    for conflict in told {
        let value = side(conflict.get("local"));
        if !local.contains(&value) {
            local.push(value);
        }
    }
    let rest = if local.len() > NAMED { " or …" } else { "" };
    local.truncate(NAMED);
    format!(
        "  {}: base {}, upstream {}, local {}{rest}\n",
        line(place.join(" ").trim()),
        of("base"),
        of("upstream"),
        local.join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_conflicts_are_told_once_with_what_they_are_about_and_what_decides_them() {
        let draft = |name: &str, open: Value, told: Value| json!({ "metadata": { "name": name }, "status": { "offshoot": { "openConflicts": open }, "conflicts": told } });
        let conflict = |key: &str, local: &str| {
            json!({
                "key": key, "file": "deployment.yaml", "resource": "apps/Deployment/web", "path": "spec.replicas",
                "base": { "value": "3" }, "local": { "value": local }, "upstream": { "value": "5" },
            })
        };
        let items = [
            draft("a", "k1,k2".into(), json!([conflict("k1", "9")])),
            draft(
                "b",
                "k1".into(),
                json!([conflict("k0", "1"), conflict("k1", "7")]),
            ),
            draft("c", Value::Null, json!([conflict("k3", "9")])),
        ];
        let out = lines(&json!({ "items": items }));
        assert_eq!(
            out,
            "open conflicts, equal ones together:\n\
             - k1 of 2 drafts: a, b\n\
             \u{20} deployment.yaml apps/Deployment/web spec.replicas: base 3, upstream 5, local 9 or 7\n\
             \u{20} hint: offshoot resolve k1 --take local|upstream|base\n\
             - k2 of 1 draft: a\n\
             \u{20} hint: offshoot resolve k2 --take local|upstream|base\n"
        );
        assert_eq!(lines(&json!({ "items": [] })), "");
    }
}
