//! One program as a filter, within bounds: what it reads, prints and takes.
//!
//! Nothing here knows what a function is; it starts a program, feeds it, and ends it when a bound is exceeded, with
//! everything that it started.

use std::ffi::OsStr;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::{Limits, RunError};

/// How much of an error stream is kept.
const STDERR: u64 = 64 << 10;
/// What a program sees of the environment: nothing that could be a credential.
const ENVIRONMENT: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR"];

/// What a program left behind.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// 0, or how it failed; 128 and more for a signal.
    pub(super) code: i32,
}

/// Runs a program.
///
/// # Errors
/// It cannot be started, or exceeds the limits of time or output; it has then been ended.
pub(super) async fn run(
    label: &str,
    argv: &[String],
    input: String,
    limits: &Limits,
) -> Result<Printed, RunError> {
    let failed = |why: &str| RunError::Start {
        function: label.to_owned(),
        why: why.to_owned(),
    };
    let (program, arguments) = argv.split_first().ok_or_else(|| failed("no command"))?;
    let mut command = Command::new(program);
    command
        .args(arguments.iter().map(OsStr::new))
        .env_clear()
        .envs(
            ENVIRONMENT
                .iter()
                .filter_map(|key| Some((key, std::env::var_os(key)?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| failed(&format!("{program}: {error}")))?;
    let work = converse(label, &mut child, input, limits);
    let answer = match tokio::time::timeout(limits.time, work).await {
        Ok(answer) => answer,
        Err(_) => Err(RunError::Limit {
            function: label.to_owned(),
            limit: format!("{} s", limits.time.as_secs_f64()),
        }),
    };
    if answer.is_err() {
        end(&mut child).await;
    }
    answer
}

/// The same with bounds on memory and on time of all processors, which the program inherits and cannot raise: they hold also where
/// whoever would end it is gone.
pub(super) fn bounded(argv: &[String], limits: &Limits) -> Vec<String> {
    let script = "ulimit -d \"$0\" && ulimit -t \"$1\" && ulimit -c 0 && shift && exec \"$@\"";
    let kilobytes = (limits.memory >> 10).to_string();
    let shell = ["/bin/sh", "-c", script].map(str::to_owned);
    let bounds = [kilobytes, processor_seconds(limits).to_string()];
    let mut all: Vec<String> = shell.into_iter().chain(bounds).collect();
    all.extend_from_slice(argv);
    all
}

/// What a program can use of all processors within its time.
pub(super) fn processor_seconds(limits: &Limits) -> u64 {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let seconds = limits.time.as_secs().saturating_add(1);
    seconds.saturating_mul(processors).min(u64::from(u32::MAX))
}

async fn converse(
    label: &str,
    child: &mut Child,
    input: String,
    limits: &Limits,
) -> Result<Printed, RunError> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A function may end without having read all: its answer counts.
            drop(stdin.write_all(input.as_bytes()).await);
        }
        Ok(())
    };
    let read = async {
        let bytes = up_to(stdout, limits.output as u64 + 1).await;
        if bytes.len() > limits.output {
            return Err(RunError::Limit {
                function: label.to_owned(),
                limit: format!("{} bytes of output", limits.output),
            });
        }
        String::from_utf8(bytes).map_err(|error| RunError::Output {
            function: label.to_owned(),
            why: format!("byte {} is no UTF-8", error.utf8_error().valid_up_to()),
            stderr: String::new(),
        })
    };
    let complain = async {
        let mut stderr = stderr;
        let kept = up_to(stderr.as_mut(), STDERR).await;
        if let Some(mut rest) = stderr {
            drop(tokio::io::copy(&mut rest, &mut tokio::io::sink()).await);
        }
        Ok(String::from_utf8_lossy(&kept).into_owned())
    };
    let ((), stdout, mut stderr) = tokio::try_join!(feed, read, complain)?;
    let status = child.wait().await.map_err(|error| RunError::Start {
        function: label.to_owned(),
        why: error.to_string(),
    })?;
    if let Some(signal) = signal(status) {
        stderr.push_str(&format!(
            "ended by signal {signal}; it may use {} MiB of memory\n",
            limits.memory >> 20
        ));
    }
    Ok(Printed {
        stdout,
        stderr,
        code: status
            .code()
            .unwrap_or_else(|| 128 + signal(status).unwrap_or_default()),
    })
}

fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

async fn up_to(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What could be read before an error is what the program printed.
        drop(stream.take(limit).read_to_end(&mut bytes).await);
    }
    bytes
}

/// Ends a program and everything that it started.
async fn end(child: &mut Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself meanwhile.
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill().await);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Nobody ends it, and it ends.
    #[test]
    fn a_program_that_is_left_alone_ends_with_its_time() {
        let limits = Limits {
            time: Duration::from_millis(10),
            ..Limits::default()
        };
        let turning = ["/bin/sh", "-c", "while :; do :; done"].map(str::to_owned);
        let argv = bounded(&turning, &limits);
        let (program, arguments) = argv.split_first().unwrap();
        let mut command = std::process::Command::new(program);
        let status = command.args(arguments).status().unwrap();
        assert!(signal(status).is_some(), "{status}");
        let quick = bounded(&["true".to_owned()], &Limits::NONE);
        let (program, arguments) = quick.split_first().unwrap();
        let status = std::process::Command::new(program).args(arguments).status();
        assert!(status.unwrap().success());
    }
}
