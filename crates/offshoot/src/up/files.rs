//! How many files this process may have open: sockets, git's packs and pipes to what is started are all files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than this is of no use, and some programs that are started look at every number up to it.
const MOST: u64 = 16_384;

/// With fewer there are few connections, and it is said.
const FEW: u64 = 512;

/// Raises the limit of open files to what the system lets this process have; answers what it is then.
pub(super) fn raise() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(u64::MAX);
    let wanted = limit.maximum.unwrap_or(u64::MAX).min(MOST);
    let mut files = now;
    if now < wanted {
        let raised = Rlimit {
            current: Some(wanted),
            ..limit
        };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => files = wanted,
            Err(error) => {
                tracing::warn!(%error, now, wanted, "the limit of open files cannot be raised")
            }
        }
    }
    if files < FEW {
        tracing::warn!(
            files,
            "few files may be open, so few connections: raise the limit (ulimit -n)"
        );
    }
    usize::try_from(files).unwrap_or(usize::MAX)
}
