//! `offshoot status [-w]`: the fleet on one screen, counted from what variants and sets say about themselves.

mod bar;
mod drift;
mod fleet;
mod settled;

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::Value;

use self::bar::Look;
use self::fleet::{By, Fleet};
use crate::cli::fleet::StatusArgs;
use crate::client::follow::{self, Change, Changes};
use crate::client::{Client, PACKAGES, REPOSITORIES, ResourcePath, SETS, VARIANTS, collection};
use crate::exit::ExitFailure;
pub(in crate::commands) use settled::behind;

/// How long is paused before it is asked again what is waited for.
const PAUSE: Duration = Duration::from_secs(1);

/// How long changes are gathered before the screen is drawn again.
const GATHER: Duration = Duration::from_millis(500);

/// Clears the terminal, and goes to its first line.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";

/// Prints the fleet; goes on with `-w` until it is ended.
///
/// # Errors
/// The server cannot be reached, or refuses.
pub(super) async fn run(args: &StatusArgs) -> Result<(), ExitFailure> {
    let client = Client::connect(&args.connect).await?;
    let namespace = if args.all_namespaces {
        ""
    } else {
        client.namespace.as_str()
    };
    let screen = Screen {
        by: By::parse(&args.by),
        namespaces: args.all_namespaces,
        json: args.output.is_some(),
    };
    settled::check(&client, namespace, &args.sets).await?;
    if !args.watch {
        let waited = match args.wait {
            true => wait(&client, namespace, args).await,
            false => Ok(()),
        };
        let (fleet, _) = load(&client, namespace, &args.sets).await?;
        fleet.check(&screen.by)?;
        let left = match screen.json {
            true => String::new(),
            false => left(&client, namespace).await?,
        };
        super::write_out(&(screen.text(&fleet) + &left))?;
        return waited;
    }
    loop {
        let (fleet, versions) = load(&client, namespace, &args.sets).await?;
        fleet.check(&screen.by)?;
        let changes = follow::open(&client, namespace, &versions).await?;
        watch(&screen, fleet, changes).await?;
    }
}

/// Returns once nothing is behind.
///
/// # Errors
/// The time is over before, and what is missing; or the server cannot be reached.
async fn wait(client: &Client, namespace: &str, args: &StatusArgs) -> Result<(), ExitFailure> {
    let time = Duration::from_secs(args.timeout);
    let asked = async {
        let start = tokio::time::Instant::now();
        loop {
            let behind = behind(client, namespace, &args.sets).await?;
            let spent = start.elapsed();
            if behind.is_settled() || spent >= time {
                return Ok::<_, ExitFailure>(behind);
            }
            tokio::time::sleep(PAUSE.min(time.saturating_sub(spent))).await;
        }
    };
    let behind = super::waiting::waited("waits for the variants", asked).await?;
    if behind.is_settled() {
        return Ok(());
    }
    let text = format!("after {} s {}", args.timeout, behind.words());
    Err(ExitFailure::new(text).hint(behind.hint()))
}

/// How many packages wait for somebody to approve their deletion whose variants are gone: they are in no row. Nothing where
/// none does, or where the caller may not list revisions.
async fn left(client: &Client, namespace: &str) -> Result<String, ExitFailure> {
    let query = [("fieldSelector", "spec.lifecycle=DeletionProposed")];
    let path = collection(PACKAGES, namespace, &query);
    let (code, list) = client.ask(http::Method::GET, &path, None).await?;
    if code != 200 {
        return Ok(String::new());
    }
    let owners = |object: &&Value| {
        let owners = object.pointer("/metadata/ownerReferences");
        owners.and_then(Value::as_array).map_or(0, Vec::len)
    };
    let all = list.get("items").and_then(Value::as_array);
    let count = all.into_iter().flatten().filter(|r| owners(r) == 0).count();
    let waits = match count {
        0 => return Ok(String::new()),
        1 => "1 package revision that no variant has any more waits".to_owned(),
        more => format!("{more} package revisions that no variant has any more wait"),
    };
    // No command for all of them: others may be proposed for deletion, too.
    Ok(format!(
        "{waits} to be deleted: offshoot rpkg get --field-selector spec.lifecycle=DeletionProposed; rpkg del NAME carries one out, rpkg reject NAME keeps it\n"
    ))
}

/// How it is shown.
struct Screen {
    by: By,
    namespaces: bool,
    json: bool,
}

impl Screen {
    fn text(&self, fleet: &Fleet) -> String {
        match self.json {
            true => format!("{}\n", fleet.json(&self.by, self.namespaces)),
            false => fleet.text(&self.by, self.namespaces, Look::of_terminal()),
        }
    }
}

/// The fleet as it is, or these sets of it, with the version of each listing.
async fn load(
    client: &Client,
    namespace: &str,
    only: &[String],
) -> Result<(Fleet, Vec<(ResourcePath, String)>), ExitFailure> {
    let mut fleet = Fleet::of(only);
    let mut versions = Vec::new();
    for kind in [VARIANTS, SETS, REPOSITORIES] {
        let list = client.get(&collection(kind, namespace, &[])).await?;
        let items = list.get("items").and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            if kind == VARIANTS {
                fleet.put_variant(item);
            } else if kind == SETS {
                fleet.put_set(item);
            } else {
                fleet.put_repository(item);
            }
        }
        let version = api::str_at(&list, &["metadata", "resourceVersion"]);
        versions.push((kind, version.unwrap_or_default().to_owned()));
    }
    Ok((fleet, versions))
}

/// Draws, and draws again whenever what is seen differs, until a watch ends.
async fn watch(screen: &Screen, mut fleet: Fleet, mut changes: Changes) -> Result<(), ExitFailure> {
    let clear = std::io::stdout().is_terminal();
    let mut drawn = String::new();
    let mut open = true;
    while open {
        let text = screen.text(&fleet);
        if text != drawn {
            let before = match (clear, drawn.is_empty(), screen.json) {
                (true, ..) => CLEAR,
                (false, false, false) => "\n",
                _ => "",
            };
            super::write_out(&format!("{before}{text}"))?;
            drawn = text;
        }
        match changes.next().await? {
            Some(change) => take(&mut fleet, &change),
            None => return Ok(()),
        }
        let until = tokio::time::Instant::now() + GATHER;
        while let Ok(next) = tokio::time::timeout_at(until, changes.next()).await {
            match next? {
                Some(change) => take(&mut fleet, &change),
                None => {
                    open = false;
                    break;
                }
            }
        }
    }
    Ok(())
}

fn take(fleet: &mut Fleet, change: &Change) {
    let object = &change.object;
    match (change.kind, change.gone) {
        (VARIANTS, false) => fleet.put_variant(object),
        (VARIANTS, true) => fleet.drop_variant(object),
        (SETS, false) => fleet.put_set(object),
        (SETS, true) => fleet.drop_set(object),
        (_, false) => fleet.put_repository(object),
        (_, true) => fleet.drop_repository(object),
    }
}
