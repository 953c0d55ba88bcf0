//! A certificate in files that somebody else writes: a volume of a Secret, filled by cert-manager.
//!
//! The files of such a volume change all at once, by one link; a moment at which key and certificate do not fit together is a
//! failure that the next look finds repaired.

use std::path::{Path, PathBuf};
use std::time::Duration;

use apiserver::Issued;

use super::{Given, ServingError};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(10);

/// Files `tls.crt`, `tls.key` and perhaps `ca.crt`.
#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn place(&self) -> String {
        self.0.display().to_string()
    }

    pub(super) fn read(&self) -> Result<Given, ServingError> {
        let authority = match read(&self.0.join("ca.crt")) {
            Ok(text) => Some(text),
            Err(ServingError::File { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Given {
            leaf: Issued {
                certificate: read(&self.0.join("tls.crt"))?,
                key: read(&self.0.join("tls.key"))?,
            },
            authority,
        })
    }

    pub(super) fn changes(&self) -> Changes {
        Changes {
            directory: Self(self.0.clone()),
            // What changed before anybody looked counts, too.
            seen: Vec::new(),
        }
    }

    /// Something that is another one once a file was written.
    fn stamp(&self) -> Vec<Option<String>> {
        let names = ["tls.crt", "tls.key", "ca.crt"];
        names.map(|name| read(&self.0.join(name)).ok()).to_vec()
    }
}

/// Looks at the files from time to time.
pub(super) struct Changes {
    directory: Directory,
    seen: Vec<Option<String>>,
}

impl Changes {
    pub(super) async fn next(&mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.directory.stamp();
            if now != self.seen {
                self.seen = now;
                return;
            }
        }
    }
}

fn read(path: &Path) -> Result<String, ServingError> {
    std::fs::read_to_string(path).map_err(|source| ServingError::File {
        path: path.to_owned(),
        source,
    })
}
