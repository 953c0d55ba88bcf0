//! One file a command.

mod backup;
mod blame;
mod board;
mod check;
mod crds;
mod function;
mod markers;
mod pkg;
mod plan;
mod release;
mod repo;
mod resolve;
mod rollout;
mod rpkg;
mod serve;
mod status;
mod template;
mod up;
mod user;
mod waiting;
mod why;

use std::io::Write as _;
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::remote::Rpkg;
use crate::cli::{Cli, Command, LogFormat};
use crate::client::Client;
use crate::exit::ExitFailure;
pub(crate) use crate::say::{say, say_plain};
use crate::{demo, logging};

/// Runs what was asked for.
///
/// # Errors
/// It failed, and why.
pub(crate) fn run(cli: &Cli) -> Result<ExitCode, ExitFailure> {
    // What a client library logs, the command says itself.
    logging::start(cli.log, level(&cli.command));
    match &cli.command {
        Command::Crds => print(&crds::text()),
        Command::Completion { shell } => {
            let mut out = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "offshoot", &mut out);
            print(&String::from_utf8_lossy(&out))
        }
        Command::Version => print(&format!("offshoot {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Backup(args) => backup::run(args),
        Command::Check(args) => check::run(args),
        Command::Rpkg(args) => match &args.verb {
            Rpkg::Diff(diff) => wait(rpkg::diff(&args.connect, diff)),
            _ => print(&wait(rpkg::run(args))?),
        },
        Command::Repo(args) => print(&wait(repo::run(args))?),
        Command::Pkg(args) => pkg::run(args),
        Command::Fn(args) => function::run(args),
        Command::Resolve(args) => print(&wait(resolve::run(args))?),
        Command::Rollout(args) => print(&wait(rollout::run(args))?),
        Command::Blame(args) => print(&wait(blame::run(args))?),
        Command::Board(args) => serve(board::run(args)),
        Command::Status(args) => wait(status::run(args)).map(|()| ExitCode::SUCCESS),
        Command::Why(args) => print(&wait(why::run(args))?),
        Command::Plan(args) => {
            let (text, code) = wait(plan::run(args))?;
            write_out(&text).map(|()| code)
        }
        Command::Template(args) => template::run(args),
        Command::Demo(args) => serve(demo::run(args)),
        Command::Up(args) => {
            let done = serve(up::run(args, cli.log));
            match (done, cli.log) {
                (Err(failure), LogFormat::Json) => Ok(failure.log()),
                (done, _) => done,
            }
        }
        Command::Release(args) => wait(release::run(args)),
        Command::Serve(args) => {
            let done = serve(serve::run(args));
            match (done, cli.log) {
                (Err(failure), LogFormat::Json) => Ok(failure.log()),
                (done, _) => done,
            }
        }
        Command::User(args) => user::run(args),
    }
}

/// What is logged unless OFFSHOOT_LOG says otherwise: of a server who registered, drafted, proposed and published what.
fn level(command: &Command) -> &'static str {
    match command {
        Command::Up(_) | Command::Serve(_) => {
            "warn,engine=info,store=info,offshoot=info,kube_client=off"
        }
        // Without a server it is one itself: what that cannot see is listed as unknown.
        Command::Plan(_) => "error,kube_client=off",
        _ => "warn,kube_client=off",
    }
}

/// Threads for work that blocks, at most; they come and go with the work.
const BLOCKING: usize = 1_024;

/// Runs a future of a client command on this thread.
fn wait<T>(future: impl Future<Output = Result<T, ExitFailure>>) -> Result<T, ExitFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|e| ExitFailure::of("start", &e))?
        .block_on(future)
}

/// Runs a command that is a server, on all cores.
fn serve(
    future: impl Future<Output = Result<ExitCode, ExitFailure>>,
) -> Result<ExitCode, ExitFailure> {
    // Expressions of templates are parsed and run on these threads: `expr` bounds their nesting,
    // the stack is ours to give (memory is used only where it is touched).
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(crate::stack::SIZE)
        // Conversations with remotes that are silent hold a thread each.
        .max_blocking_threads(BLOCKING)
        .build();
    let runtime = runtime.map_err(|e| ExitFailure::of("start", &e))?;
    let code = runtime.block_on(future);
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    code
}

fn print(text: &str) -> Result<ExitCode, ExitFailure> {
    write_out(text).map(|()| ExitCode::SUCCESS)
}

/// Data goes to standard output; a reader that went away is no failure.
fn write_out(text: &str) -> Result<(), ExitFailure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(ExitFailure::of("write to standard output", &error))
        }
        _ => Ok(()),
    }
}

/// What the server warned about, as kubectl says it.
fn say_warnings(client: &Client) {
    for warning in client.take_warnings() {
        say(&format!("Warning: {warning}"));
    }
}
