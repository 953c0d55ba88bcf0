//! Logs: text on a terminal, JSON on request; never anything of a Secret.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Starts logging to standard error. `OFFSHOOT_LOG` filters as `tracing` does.
pub(crate) fn start(format: LogFormat, default: &str) {
    let filter =
        EnvFilter::try_from_env("OFFSHOOT_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // A second start in one process (tests) keeps the first.
    let started = match format {
        LogFormat::Json => {
            // What a panic says is read by programs, too.
            std::panic::set_hook(Box::new(|info| tracing::error!("{info}")));
            builder.json().try_init()
        }
        LogFormat::Text => builder.with_ansi(colours).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logging was started already");
    }
}
