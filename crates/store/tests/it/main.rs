//! The suite on every implementation, and what only git can show.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

/// Every test twice: over HTTP of our own, and through the `git` program.
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod direct {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(store::GitOptions::default()).await;
                }
            )*
        }
        mod program {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let direct = false;
                    super::$name(store::GitOptions { direct, ..Default::default() }).await;
                }
            )*
        }
    };
}

mod announced;
mod between;
mod broken;
mod budget;
mod fetches;
mod git;
mod gone;
mod half;
mod hang;
mod heavy;
mod http;
mod kill;
mod limits;
mod links;
mod local;
mod memory;
mod mirror;
mod oracle;
mod push;
mod sim;
mod tls;
mod told;
mod worktrees;
