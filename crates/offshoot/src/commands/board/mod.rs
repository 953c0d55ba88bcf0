//! `offshoot board`: the fleet in a browser, by a proxy on this machine that asks with the user's own kubeconfig.
//!
//! The server has no login of its own, and gets none: whoever may open the board is decided by [`guard`], what they may do
//! by the server that the kubeconfig names. Pages are made from one picture of the fleet that watches keep. Nothing is
//! stored, and nothing is asked of any other host.

mod actions;
mod classes;
mod decide;
mod feed;
mod fleet;
mod guard;
mod pages;
mod rights;
mod server;
mod steer;
mod steps;

use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use self::classes::Classes;
use self::fleet::Fleet;
use self::guard::Guard;
use crate::cli::board::BoardArgs;
use crate::cli::remote::Connect;
use crate::client::Client;
use crate::commands::say;
use crate::exit::ExitFailure;

/// A running board.
struct Board {
    client: Client,
    /// How the server is reached; always by the context that was chosen when the board began.
    connect: Connect,
    /// The flags of a command that does what a page does, ahead of which a space stands: those that the board was given.
    flags: String,
    /// The user's name, as the server knows it.
    user: String,
    guard: Guard,
    rights: rights::Known,
    classes: Classes,
    fleet: RwLock<Fleet>,
    /// The version of the fleet that pages were told of last.
    changed: watch::Sender<u64>,
}

impl Board {
    /// Looks at the fleet.
    fn fleet<T>(&self, look: impl FnOnce(&Fleet) -> T) -> T {
        look(&self.fleet.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the fleet; pages do not hear of it yet.
    fn fleet_mut(&self, change: impl FnOnce(&mut Fleet)) {
        change(&mut self.fleet.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Changes the fleet, and tells pages.
    fn change(&self, change: impl FnOnce(&mut Fleet)) {
        self.fleet_mut(|fleet| {
            fleet.version += 1;
            change(fleet);
        });
        self.tell();
    }

    /// Tells pages that there is something new.
    fn tell(&self) {
        self.fleet_mut(Fleet::place);
        let version = self.fleet(|fleet| fleet.version);
        self.changed.send_replace(version);
    }
}

/// Runs the board until it is ended.
///
/// # Errors
/// The server refuses, or the port is taken.
pub(super) async fn run(args: &BoardArgs) -> Result<ExitCode, ExitFailure> {
    let connect = Client::pinned(&args.connect)?;
    let client = Client::connect(&connect).await?;
    // Whoever may not look at the fleet hears it here, and not in a browser.
    let first = crate::client::collection(
        crate::client::VARIANTS,
        &client.namespace,
        &[("limit", "1")],
    );
    client.get(&first).await?;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", args.port)).await;
    let listener = listener.map_err(|e| {
        ExitFailure::of(&format!("listen on 127.0.0.1:{}", args.port), &e)
            .hint("name another port with --port, or none for a free one")
    })?;
    let address = listener
        .local_addr()
        .map_err(|e| ExitFailure::of("listen", &e))?;
    let board = Arc::new(Board {
        user: rights::who(&client).await,
        flags: args.connect.typed(&client.namespace),
        client,
        connect,
        guard: Guard::new(address.to_string()),
        rights: rights::Known::default(),
        classes: Classes::default(),
        fleet: RwLock::default(),
        changed: watch::Sender::new(0),
    });
    let feed = tokio::spawn(feed::run(Arc::clone(&board)));
    let compare = tokio::spawn(classes::run(Arc::clone(&board)));
    super::write_out(&format!("{}\n", board.guard.address()))?;
    say("This address opens the board once, within a minute. Ctrl-C ends it.");
    let served = axum::serve(listener, server::router(Arc::clone(&board)));
    let done = tokio::select! {
        done = served.into_future() => done.map_err(|e| ExitFailure::of("serve the board", &e)),
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    feed.abort();
    compare.abort();
    done.map(|()| ExitCode::SUCCESS)
}
