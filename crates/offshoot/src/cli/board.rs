//! Flags of `board`.

use clap::Args;

use super::connect::Connect;

/// `board`: the fleet in a browser.
#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    #[command(flatten)]
    pub(crate) connect: Connect,
    /// The port on 127.0.0.1; a free one by default.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
}
