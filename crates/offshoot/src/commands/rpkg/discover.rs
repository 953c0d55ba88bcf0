//! `rpkg upgrade --discover`: what could be upgraded.

use serde_json::Value;

use super::upgrade::{find, number, upstream_of};
use super::{items, text};
use crate::cli::remote::Discover;
use crate::client::{Client, PACKAGES, align, collection};
use crate::exit::ExitFailure;

pub(super) async fn run(
    client: &Client,
    names: &[String],
    way: Discover,
) -> Result<String, ExitFailure> {
    let list = client
        .get(&collection(PACKAGES, &client.namespace, &[]))
        .await?;
    let all = items(&list);
    let mut asked = Vec::new();
    for name in names {
        let found = find(all, name);
        asked.push(
            found.ok_or_else(|| {
                ExitFailure::new(format!("could not find package revision {name}"))
            })?,
        );
    }
    if names.is_empty() {
        asked.extend(all);
    }
    Ok(match way {
        Discover::Upstream => upstream(all, &asked),
        Discover::Downstream => downstream(all, &asked),
    })
}

fn name(object: &Value) -> String {
    text(object, &["metadata", "name"]).unwrap_or_default()
}

fn part(object: &Value, key: &str) -> String {
    text(object, &["spec", key]).unwrap_or_default()
}

/// Later published revisions of the same package.
fn later<'a>(all: &'a [Value], old: &Value) -> Vec<&'a Value> {
    let same = |r: &Value| {
        part(r, "packageName") == part(old, "packageName")
            && part(r, "repository") == part(old, "repository")
    };
    let mut found: Vec<_> = all
        .iter()
        .filter(|r| same(r) && number(r) > number(old))
        .collect();
    found.sort_by_key(|r| number(r));
    found
}

fn upstream(all: &[Value], asked: &[&Value]) -> String {
    let header = [
        "PACKAGE REVISION",
        "UPSTREAM REPOSITORY",
        "UPSTREAM UPDATES",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for revision in asked {
        let old = upstream_of(all, revision).ok();
        let updates: Vec<_> = old
            .map(|old| {
                later(all, old)
                    .iter()
                    .map(|r| format!("v{}", number(r)))
                    .collect()
            })
            .unwrap_or_default();
        rows.push(vec![
            name(revision),
            old.map(|o| part(o, "repository")).unwrap_or_default(),
            if updates.is_empty() {
                "No update available".to_owned()
            } else {
                updates.join(", ")
            },
        ]);
    }
    align(&rows)
}

fn downstream(all: &[Value], asked: &[&Value]) -> String {
    let header = [
        "PACKAGE REVISION",
        "DOWNSTREAM PACKAGE",
        "DOWNSTREAM UPDATE",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for local in all {
        let Ok(old) = upstream_of(all, local) else {
            continue;
        };
        for new in later(all, old) {
            if asked.iter().any(|r| name(r) == name(new)) {
                rows.push(vec![
                    name(new),
                    name(local),
                    format!("v{}->v{}", number(old), number(new)),
                ]);
            }
        }
    }
    if rows.len() == 1 {
        return "All downstream packages are up to date.\n".to_owned();
    }
    align(&rows)
}
