//! Functions as container images, through podman, docker or nerdctl; off unless somebody enables them (X2).

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use super::{Call, Limits, Outcome, RunError, Runner, filter, process};

/// Runs images: no network, no privileges, nobody's user, a bound on memory.
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
        ];
        argv.extend(fixed.map(str::to_owned));
        argv.extend_from_slice(&self.flags);
        argv.push(image.to_owned());
        argv
    }
}

#[async_trait]
impl Runner for Container {
    async fn run(&self, call: Call, limits: &Limits) -> Result<Outcome, RunError> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let image = call.function.image.clone().unwrap_or_default();
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
