//! Keeps the fleet as the server tells it: one listing and one watch of each kind, whatever pages are open.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Board;
use super::fleet::name;
use crate::client::follow;
use crate::client::{PACKAGES, REPOSITORIES, ResourcePath, SETS, VARIANTS, collection};
use crate::commands::rpkg::items;
use crate::exit::ExitFailure;

/// What is followed.
const KINDS: [ResourcePath; 4] = [REPOSITORIES, SETS, VARIANTS, PACKAGES];
/// How long changes are gathered before pages hear of them.
const GATHER: Duration = Duration::from_millis(150);
/// How long nothing is asked after a failure.
const AGAIN: Duration = Duration::from_secs(2);

/// Follows the fleet for as long as the board is there.
pub(super) async fn run(board: Arc<Board>) {
    loop {
        let ended = once(&board).await;
        let trouble = ended.err().map(|why| plain(why.message()));
        let failed = trouble.is_some();
        board.change(|fleet| fleet.trouble = trouble.unwrap_or_default());
        if failed {
            tokio::time::sleep(AGAIN).await;
            // Its token or its port may be others by now. What cannot be read is as it was, and told with the next failure.
            drop(board.client.renew(&board.connect).await);
        }
    }
}

/// What of a failure is for whoever looks at a page: of a connection that broke off, a library tells where its own manual is.
fn plain(message: &str) -> String {
    match message.split_once("peer closed connection") {
        Some((before, _)) => format!("{before}the server closed the connection"),
        None => message.to_owned(),
    }
}

/// Lists everything, and follows it until a watch ends.
async fn once(board: &Board) -> Result<(), ExitFailure> {
    let namespace = &board.client.namespace;
    let mut from = Vec::new();
    for kind in KINDS {
        let list = board.client.get(&collection(kind, namespace, &[])).await?;
        let version = api::str_at(&list, &["metadata", "resourceVersion"]);
        from.push((kind, version.unwrap_or_default().to_owned()));
        let names: BTreeSet<String> = items(&list).iter().map(|o| name(o).to_owned()).collect();
        board.fleet_mut(|fleet| {
            for object in items(&list) {
                fleet.take(kind, object, false);
            }
            fleet.keep(kind, &names);
        });
    }
    let mut changes = follow::open(&board.client, namespace, &from).await?;
    board.change(|fleet| {
        fleet.listed = true;
        fleet.trouble.clear();
    });
    while let Some(change) = changes.next().await? {
        let take = |change: &follow::Change| {
            board.fleet_mut(|fleet| fleet.take(change.kind, &change.object, change.gone));
        };
        take(&change);
        let until = tokio::time::Instant::now() + GATHER;
        let mut ended = false;
        while let Ok(next) = tokio::time::timeout_at(until, changes.next()).await {
            match next? {
                Some(change) => take(&change),
                None => {
                    ended = true;
                    break;
                }
            }
        }
        board.tell();
        if ended {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_broke_off_is_told_in_words_of_our_own() {
        let told = "cannot reach the server https://127.0.0.1:6443/: peer closed connection without sending TLS close_notify: \
                    https://example.test/manual.html#unexpected-eof";
        assert_eq!(
            plain(told),
            "cannot reach the server https://127.0.0.1:6443/: the server closed the connection"
        );
        assert_eq!(plain("forbidden"), "forbidden");
    }
}
