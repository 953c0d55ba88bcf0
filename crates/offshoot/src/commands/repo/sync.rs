//! `repo sync`: have repositories read again at a time.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::client::{Client, REPOSITORIES, collection, object};
use crate::exit::ExitFailure;

pub(super) async fn run(
    client: &Client,
    names: &[String],
    all: bool,
    all_namespaces: bool,
    when: Option<&str>,
) -> Result<String, ExitFailure> {
    if names.is_empty() && !all {
        return Err(ExitFailure::usage(
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
    for (namespace, name) in targets {
        match ask(client, &object(REPOSITORIES, &namespace, &name), &at).await {
            Ok(at) => _ = writeln!(out, "Scheduled one-time sync for {name:?} at {at}"),
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
    Err(ExitFailure::new(format!(
        "{failed} repositories could not be scheduled"
    )))
}

/// Asks for a look at a time; answers which.
async fn ask(client: &Client, place: &str, at: &str) -> Result<String, ExitFailure> {
    let known = client.get(place).await?;
    let known = api::str_at(&known, &["spec", "sync", "runOnceAt"]);
    let at = after(at, known.unwrap_or_default());
    let patch = json!({ "spec": { "sync": { "runOnceAt": at } } });
    client.patch(place, &patch).await.map(|_| at)
}

/// The time, or a second later than what was asked for just before: a time has whole seconds, and the same one again would
/// ask for nothing, whatever was pushed in between.
fn after(at: &str, known: &str) -> String {
    let parsed = [at, known].map(|text| text.parse::<jiff::Timestamp>());
    let [Ok(wanted), Ok(asked)] = parsed else {
        return at.to_owned();
    };
    let ahead = asked.as_second().saturating_sub(wanted.as_second());
    let next = asked.checked_add(jiff::SignedDuration::from_secs(1));
    match next {
        Ok(next) if (0..JUST).contains(&ahead) => written(next),
        _ => at.to_owned(),
    }
}

/// In how many seconds somebody may have asked time and again.
const JUST: i64 = 30;

fn written(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `10m`, `90s`, `1h30m`, or an RFC 3339 time; a time that has passed means now.
fn time(text: &str) -> Result<String, ExitFailure> {
    let now = jiff::Timestamp::now();
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(written(at.max(now)));
    }
    let wrong = || {
        ExitFailure::usage("invalid --run-once value")
            .hint("write 10m, 1h30m or 2030-01-31T12:00:00Z")
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
    Ok(written(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_twice_in_a_second_is_heard_twice() {
        let at = "2030-01-31T12:00:59Z";
        assert_eq!(after(at, ""), at);
        assert_eq!(after(at, "2030-01-31T12:00:58Z"), at);
        assert_eq!(after(at, at), "2030-01-31T12:01:00Z");
        assert_eq!(after(at, "2030-01-31T12:01:00Z"), "2030-01-31T12:01:01Z");
        // What was asked for much later is brought forward.
        assert_eq!(after(at, "2030-01-31T13:00:00Z"), at);
    }
}
