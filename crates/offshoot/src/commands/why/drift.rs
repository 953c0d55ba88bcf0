//! The variants of a set whose packages somebody changed on the branch past Offshoot: they say that they are up to date, since what
//! they are to have is published, and a cluster that follows the branch runs something else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::Status;
use serde_json::Value;

use super::items;
use crate::client::{Client, VARIANTS, collection};
use crate::exit::ExitFailure;

/// How many variants are named for one reason.
const NAMED: usize = 5;

/// A line for each reason; nothing where no package has left what was published, or where the caller may not list variants.
///
/// # Errors
/// The server cannot be reached.
pub(super) async fn of_set(client: &Client, set: &str) -> Result<String, ExitFailure> {
    let path = collection(VARIANTS, &client.namespace, &[]);
    let (code, list) = client.ask(http::Method::GET, &path, None).await?;
    Ok(match code {
        200 => lines(&list, set),
        _ => String::new(),
    })
}

fn lines(list: &Value, set: &str) -> String {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for variant in items(list, "/items") {
        let meta = api::read_meta(variant);
        let owner = meta.controller();
        if !owner.is_some_and(|o| o.kind == "PackageVariantSet" && o.name == set) {
            continue;
        }
        let status = api::read_variant_status(variant);
        let said = ["DownstreamDiverged", "BranchChanged"].into_iter();
        let mut said = said.filter_map(|kind| status.condition(kind));
        // A tag that is missing is told as what waits for a person.
        let drift = said.find(|c| c.status == Status::True && c.reason != model::NOT_TAGGED);
        if let Some(condition) = drift {
            let name = api::str_at(variant, &["metadata", "name"]).unwrap_or_default();
            let names = reasons.entry(condition.reason.clone()).or_default();
            names.push(name);
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut out = "changed on the branch, past Offshoot:\n".to_owned();
    for (reason, names) in reasons {
        let rest = if names.len() > NAMED { ", …" } else { "" };
        let first: Vec<&str> = names.iter().take(NAMED).copied().collect();
        // Writing to a String cannot fail.
        _ = writeln!(
            out,
            "- {} ({reason}): {}{rest}\n  hint: offshoot why pvar/{}",
            names.len(),
            first.join(", "),
            first.first().copied().unwrap_or_default()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_left_the_published_content_is_told_by_its_reason() {
        let variant = |name: &str, set: &str, reason: &str| {
            json!({
                "metadata": { "name": name, "ownerReferences": [
                    { "apiVersion": "config.porch.kpt.dev/v1alpha2", "kind": "PackageVariantSet", "name": set, "uid": "u", "controller": true },
                ] },
                "status": { "conditions": [{ "type": "BranchChanged", "status": "True", "reason": reason, "message": "" }] },
            })
        };
        let list = json!({ "items": [
            variant("a", "web", "ChangedSincePublished"),
            variant("b", "web", "Removed"),
            variant("c", "web", "NotTagged"),
            variant("d", "other", "Removed"),
            variant("e", "web", "Removed"),
        ] });
        assert_eq!(
            lines(&list, "web"),
            "changed on the branch, past Offshoot:\n\
             - 1 (ChangedSincePublished): a\n  hint: offshoot why pvar/a\n\
             - 2 (Removed): b, e\n  hint: offshoot why pvar/b\n"
        );
        assert_eq!(lines(&list, "none"), "");
    }
}
