//! Every conversation with a remote ends: by itself, when its time is up, or when the process is to end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::watch;

use crate::disk::Who;
use crate::error::{Error, Result};
use crate::git::fetches::{Fetches, KeptPlace};

/// Why a conversation was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Its time was up.
    Late,
    /// The process is to end.
    Ended,
}

impl Cut {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Late => "it took too long",
            Self::Ended => {
                "the server is being stopped; what was begun is completed when it runs again"
            }
        }
    }
}

/// How long conversations may take, and whether there are to be any more.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// For a conversation as a whole.
    pub(crate) whole: Duration,
    /// Without a byte in either direction.
    pub(crate) silence: Duration,
    /// Refs that a remote may tell of, and bytes in which it may do so.
    pub(crate) refs: (usize, u64),
    /// How many fetches run beside each other.
    pub(crate) fetches: Arc<Fetches>,
    /// Whether everything is to end.
    pub(crate) ended: watch::Receiver<bool>,
}

impl Bounds {
    /// Waits for one conversation, as long as it may take.
    pub(crate) async fn keep<T>(&self, conversation: impl Future<Output = T>) -> Result<T, Cut> {
        let mut ended = self.ended.clone();
        let over = async {
            // Nobody is left to say so: a repository may outlive its store.
            if ended.wait_for(|ended| *ended).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = over => Err(Cut::Ended),
            done = tokio::time::timeout(self.whole, conversation) => done.map_err(|_| Cut::Late),
        }
    }

    /// Waits until a fetch from here for these credentials' owner may begin, as long as a conversation may take; the place is
    /// its own as long as what is answered is held.
    pub(crate) fn turn(
        &self,
        url: &str,
        who: &Who,
    ) -> impl Future<Output = Result<KeptPlace>> + Send + use<> {
        let (bounds, tenant, url) = (self.clone(), who.tenant(), Arc::<str>::from(url));
        async move {
            let kept = Arc::clone(&bounds.fetches).keep(tenant, Arc::clone(&url));
            bounds.keep(kept).await.map_err(|_| Error::Busy {
                url: url.to_string(),
            })
        }
    }

    /// Why a remote that tells of more refs than that is not read.
    pub(crate) fn too_many_refs(&self) -> String {
        let (refs, bytes) = self.refs;
        format!(
            "it tells of more than {refs} refs or {bytes} bytes of them, which is the limit; delete refs there that nobody needs, \
             or keep packages in a repository of their own"
        )
    }

    /// Whether nothing may be begun any more.
    pub(crate) fn are_over(&self) -> bool {
        *self.ended.borrow()
    }
}

/// How long a program may take to remove its locks and temporary files.
const LAST_WORDS: Duration = Duration::from_millis(1_000);

/// Ends a program that leads a process group, with everything that it started.
pub(crate) async fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let Some(group) = id.and_then(Pid::from_raw) else {
        return;
    };
    // Asked first: git takes its locks with it then.
    _ = kill_process_group(group, Signal::TERM);
    drop(tokio::time::timeout(LAST_WORDS, child.wait()).await);
    // The leader may be gone and leave others behind, who wait for a remote.
    _ = kill_process_group(group, Signal::KILL);
    drop(tokio::time::timeout(LAST_WORDS, child.wait()).await);
}
