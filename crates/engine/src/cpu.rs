//! Where deriving runs: on a few threads, or right here so that a simulation stays deterministic.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{Error, Result};

/// Workers for what takes CPU.
#[derive(Debug, Clone)]
pub enum Cpu {
    /// In the caller's own task: deterministic, one at a time.
    Inline,
    /// On as many blocking threads of tokio's as there are permits.
    Threads(Arc<Semaphore>),
}

impl Cpu {
    /// This many threads.
    pub fn threads(count: usize) -> Self {
        Self::Threads(Arc::new(Semaphore::new(count.max(1))))
    }

    /// Runs something that takes CPU and never waits.
    ///
    /// # Errors
    /// It panicked, or the process is on its way out.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Inline => Ok(work()),
            Self::Threads(permits) => {
                let permit = Arc::clone(permits)
                    .acquire_owned()
                    .await
                    .map_err(|_| Error::Stopped)?;
                let done = tokio::task::spawn_blocking(move || {
                    let result = work();
                    drop(permit);
                    result
                });
                done.await.map_err(|e| Error::Contents {
                    attempt: "derive a package",
                    class: model::Class::Bug,
                    message: e.to_string(),
                })
            }
        }
    }
}
