//! The files of a revision, for whoever reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Files, ObjectKey, PackagePath, Revision};

use crate::{Engine, Error, Result, held, opening};

/// The files of a revision, as far as they can be shown.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The revision.
    pub revision: Arc<Revision>,
    /// Its files.
    pub files: Files,
    /// The files that are beyond the limits, each with the reason.
    pub left_out: BTreeMap<PackagePath, String>,
    /// What is carried along unread, each with what it is: symlinks, submodules, names that no package may hold, and
    /// such as differ from another one in case alone.
    pub carried: BTreeMap<String, &'static str>,
    /// What is not among the files, by its path: git's mode and id of it.
    pub ids: BTreeMap<String, (u32, String)>,
}

/// The files of a revision, as its record names them.
///
/// # Errors
/// There is no such revision; git cannot be read.
pub(crate) async fn resources(engine: &Engine, key: &ObjectKey) -> Result<(Arc<Revision>, Files)> {
    let revision = held::revision(engine, key).await?;
    let open = opening::here(engine, &key.namespace, &revision.repository).await?;
    let snapshot = open.repo.snapshot(revision.tree);
    let snapshot = snapshot.map_err(|source| Error::Store {
        attempt: "read the package",
        source,
    })?;
    Ok((revision, snapshot.files.clone()))
}

/// As [`resources`], without the files that are beyond the limits: somebody else made the package, and
/// one of them must not hide the rest. Each that is left out comes with the reason.
///
/// # Errors
/// There is no such revision; git cannot be read.
pub(crate) async fn resources_within(engine: &Engine, key: &ObjectKey) -> Result<Shown> {
    let revision = held::revision(engine, key).await?;
    let open = opening::here(engine, &key.namespace, &revision.repository).await?;
    let (snapshot, beyond) = open.snapshot_within(revision.tree)?;
    let carried = snapshot.opaque.iter().filter(|o| !o.is_hidden());
    let path = |o: &store::Opaque| String::from_utf8_lossy(&o.path).into_owned();
    Ok(Shown {
        revision,
        files: snapshot.files.clone(),
        left_out: beyond.into_iter().map(|b| (b.path, b.why)).collect(),
        carried: carried.map(|o| (path(o), o.what())).collect(),
        ids: snapshot
            .opaque
            .iter()
            .map(|o| (path(o), (o.mode, o.id())))
            .collect(),
    })
}
