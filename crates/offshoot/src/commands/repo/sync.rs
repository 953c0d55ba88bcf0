//! `repo sync`: have repositories read again at a time.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::client::{Client, REPOSITORIES, collection, object};
use crate::exit::Failure;

pub(super) async fn run(
    client: &Client,
    names: &[String],
    all: bool,
    all_namespaces: bool,
    when: Option<&str>,
) -> Result<String, Failure> {
    if names.is_empty() && !all {
        return Err(Failure::usage(
            "repository name(s) required unless --all is set",
        ));
    }
    let namespace = client.scope(names, all_namespaces)?;
    let at = time(when.unwrap_or("0s"))?;
    let mut targets = Vec::new();
    let mut failed = 0;
    if all {
        let list = client
            .get(&collection(REPOSITORIES, namespace, &[]))
            .await?;
        for item in list
            .get("items")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let part = |key: &str| {
                api::str_at(item, &["metadata", key])
                    .unwrap_or_default()
                    .to_owned()
            };
            targets.push((part("namespace"), part("name")));
        }
    } else {
        targets.extend(names.iter().map(|n| (client.namespace.clone(), n.clone())));
    }
    let mut out = String::new();
    let patch = json!({ "spec": { "sync": { "runOnceAt": at } } });
    for (namespace, name) in targets {
        match client
            .patch(&object(REPOSITORIES, &namespace, &name), &patch)
            .await
        {
            Ok(_) => _ = writeln!(out, "Scheduled one-time sync for {name:?} at {at}"),
            Err(why) => {
                failed += 1;
                crate::commands::say(&format!(
                    "Error fetching repository {name:?}: {}",
                    why.message()
                ));
            }
        }
    }
    if failed == 0 {
        return Ok(out);
    }
    crate::commands::write_out(&out)?;
    Err(Failure::new(format!(
        "{failed} repositories could not be scheduled"
    )))
}

/// `10m`, `90s`, `1h30m`, or an RFC 3339 time; a time that has passed means now.
fn time(text: &str) -> Result<String, Failure> {
    let now = jiff::Timestamp::now();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(at.max(now).strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    let wrong = || {
        Failure::usage("invalid --run-once value").hint("write 10m, 1h30m or 2030-01-31T12:00:00Z")
    };
    let mut seconds: i64 = 0;
    let mut number = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let amount: i64 = number.parse().map_err(|_| wrong())?;
        number.clear();
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            _ => return Err(wrong()),
        };
        seconds = amount
            .checked_mul(unit)
            .and_then(|s| s.checked_add(seconds))
            .ok_or_else(wrong)?;
    }
    if !number.is_empty() || text.is_empty() {
        return Err(wrong());
    }
    let at = now
        .checked_add(jiff::SignedDuration::from_secs(seconds))
        .map_err(|_| wrong())?;
    Ok(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
