//! The server that tests share, and the upstream repository that it serves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::process::{Process, copy, git};

/// Ends with the last test that holds it.
static WORLD: Mutex<Weak<World>> = Mutex::const_new(Weak::new());

/// A running server over a directory of repositories.
pub(super) struct World {
    _process: Process,
    directory: TempDir,
}

impl World {
    /// The one that other tests use now, or a new one.
    pub(super) async fn shared(inputs: &Path) -> Arc<Self> {
        let mut place = WORLD.lock().await;
        if let Some(world) = place.upgrade() {
            return world;
        }
        let directory = tempfile::tempdir().unwrap();
        upstream(directory.path(), &inputs.join("packages"));
        let process = Process::start(directory.path(), &[]).await;
        let world = Arc::new(Self {
            _process: process,
            directory,
        });
        *place = Arc::downgrade(&world);
        world
    }

    pub(super) fn root(&self) -> &Path {
        self.directory.path()
    }
}

/// Where the record is, if it is here.
pub(super) fn observed() -> Option<PathBuf> {
    let place = std::env::var_os("OFFSHOOT_OBSERVED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/observed/porch"),
        PathBuf::from,
    );
    place.join("inputs/packages").is_dir().then_some(place)
}

/// `blueprints.git` as the record's README says: v1 of every package, then v2, on `main`.
fn upstream(root: &Path, packages: &Path) {
    let bare = root.join("blueprints.git");
    let checkout = root.join("upstream");
    git(root, &["init", "--quiet", "--bare", "blueprints.git"]);
    git(root, &["init", "--quiet", "upstream"]);
    for version in ["v1", "v2"] {
        for package in ["app", "both", "demo", "site"] {
            let from = packages.join(format!("{package}-{version}"));
            copy(&from, &checkout.join(package));
            git(&checkout, &["add", "--all"]);
            let subject = format!("{package} {version}");
            git(&checkout, &["commit", "--quiet", "--message", &subject]);
            git(&checkout, &["tag", &format!("{package}/{version}")]);
        }
    }
    let to = bare.display().to_string();
    git(&checkout, &["push", "--quiet", "--tags", &to, "HEAD:main"]);
}
