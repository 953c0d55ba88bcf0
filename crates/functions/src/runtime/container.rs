//! Functions as container images, through podman, docker or nerdctl; off unless somebody enables them (X2).
//!
//! An image's name comes from a package, so it is never read as a flag.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use super::{FunctionCall, FunctionOutcome, Limits, RunError, Runner, filter, process};

/// Processes and threads of one function.
const PROCESSES: &str = "256";
/// What a function may write to; it counts as its memory.
const SCRATCH: &str = "/tmp:rw,nosuid,nodev,size=64m";

/// Runs images: no network, no privileges, nobody's user, nothing to write to but `/tmp`, bounds on memory and
/// processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The command and its own flags, as in `podman --cgroup-manager cgroupfs`.
    pub command: Vec<String>,
    /// Further flags of its `run`.
    pub flags: Vec<String>,
    /// When images are fetched: `missing`, `never` or `always`.
    pub pull: String,
}

impl Container {
    /// A command line such as `podman`, and further flags of `run`.
    ///
    /// # Errors
    /// A quote that is not closed, or no command.
    pub fn new(command: &str, flags: &str) -> Result<Self, RunError> {
        let split = |line: &str| {
            super::exec::words(line).ok_or_else(|| RunError::Start {
                function: line.to_owned(),
                why: "no command line".to_owned(),
            })
        };
        Ok(Self {
            command: split(command)?,
            flags: if flags.trim().is_empty() {
                Vec::new()
            } else {
                split(flags)?
            },
            pull: "missing".to_owned(),
        })
    }

    fn argv(&self, name: &str, image: &str, limits: &Limits) -> Vec<String> {
        let mut argv = self.command.clone();
        let memory = format!("{}b", limits.memory);
        // Holds also where whoever would remove the container is gone.
        let seconds = process::processor_seconds(limits);
        let processors = format!("cpu={seconds}:{seconds}");
        let fixed = [
            "run",
            "--rm",
            "-i",
            "--name",
            name,
            "--network",
            "none",
            "--user",
            "65534:65534",
            "--security-opt=no-new-privileges",
            "--cap-drop=ALL",
            "--pull",
            &self.pull,
            "--memory",
            &memory,
            "--ulimit",
            &processors,
            "--pids-limit",
            PROCESSES,
            "--read-only",
            "--tmpfs",
            SCRATCH,
        ];
        argv.extend(fixed.map(str::to_owned));
        argv.extend_from_slice(&self.flags);
        argv.extend(["--", image].map(str::to_owned));
        argv
    }
}

#[async_trait]
impl Runner for Container {
    async fn run(&self, call: FunctionCall, limits: &Limits) -> Result<FunctionOutcome, RunError> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let image = call.function.image.clone().unwrap_or_default();
        check(&image)?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("offshoot-fn-{}-{number}", std::process::id());
        let answer = filter(&image, &self.argv(&name, &image, limits), &call, limits).await;
        if matches!(answer, Err(RunError::Limit { .. })) {
            // Ending the client ends no container.
            let mut argv = self.command.clone();
            argv.extend(["rm", "--force", &name].map(str::to_owned));
            if let Err(error) = process::run(&image, &argv, String::new(), &Limits::default()).await
            {
                tracing::warn!(%error, container = name, "could not remove a container");
            }
        }
        answer
    }
}

/// Refuses what is no name of an image, before a program reads it.
fn check(image: &str) -> Result<(), RunError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@+".contains(c);
    if image.starts_with(|c: char| c.is_ascii_alphanumeric()) && image.chars().all(fine) {
        return Ok(());
    }
    Err(RunError::Start {
        function: image.to_owned(),
        why: "it is no name of an image: write it as in ghcr.io/owner/name:tag".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_never_read_as_a_flag() {
        for image in [
            "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2",
            "localhost:5000/a_b/c--d@sha256:0123",
            "set-labels",
        ] {
            assert!(check(image).is_ok(), "{image}");
        }
        for image in [
            "",
            "-v/:/host",
            "--privileged",
            " a",
            "a b",
            "a\n--privileged",
            ".a",
        ] {
            assert!(check(image).is_err(), "{image:?}");
        }
        let container = Container::new("podman --cgroup-manager cgroupfs", "--env A=b").unwrap();
        let argv = container.argv("name", "image:v1", &Limits::default());
        let line = argv.join(" ");
        assert!(
            line.starts_with("podman --cgroup-manager cgroupfs run --rm "),
            "{line}"
        );
        assert!(line.ends_with(" --env A=b -- image:v1"), "{line}");
        for flag in [
            "--network none",
            "--user 65534:65534",
            "--security-opt=no-new-privileges",
            "--cap-drop=ALL",
            "--ulimit cpu=",
            "--pids-limit 256",
            "--read-only",
            "--tmpfs /tmp:",
        ] {
            assert!(line.contains(flag), "{flag}: {line}");
        }
    }
}
