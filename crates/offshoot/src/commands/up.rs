//! `offshoot up`: runs the embedded server until it is told to stop.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{LogFormat, UpArgs};
use crate::exit::ExitFailure;
use crate::shell::quoted;
use crate::up::{self, Options};

/// Serves until SIGINT or SIGTERM, then drains; a second signal ends it at once.
///
/// # Errors
/// It could not start.
pub(super) async fn run(args: &UpArgs, log: LogFormat) -> Result<ExitCode, ExitFailure> {
    let failed = |e: std::io::Error| ExitFailure::of("listen for signals", &e);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let server = tokio::select! {
        started = up::start(Options::of(args)?) => started?,
        _ = terminate.recv() => return Ok(ExitCode::FAILURE),
        _ = interrupt.recv() => return Ok(ExitCode::FAILURE),
    };
    let address = server.address();
    say(log, &format!("offshoot serves at https://{address}"));
    super::write_out(&format!(
        "export KUBECONFIG={}\n",
        quoted(&server.kubeconfig().to_string_lossy())
    ))?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let stopping = "stopping: open requests are finished, everything answered is durable";
    say(log, stopping);
    tokio::select! {
        () = server.stop() => Ok(ExitCode::SUCCESS),
        _ = terminate.recv() => Ok(ExitCode::FAILURE),
        _ = interrupt.recv() => Ok(ExitCode::FAILURE),
    }
}

/// A line for people; one of the log where programs read it.
fn say(log: LogFormat, line: &str) {
    match log {
        LogFormat::Json => tracing::info!("{line}"),
        LogFormat::Text => super::say(line),
    }
}
