//! What a package holds that is no file and is carried along by its id: links, submodules, names that nobody reads, and what is
//! beyond the limits. Each entry is one value, so that it merges by its path; it is never followed.

use std::collections::{BTreeMap, BTreeSet};

use model::Files;
use package::merge::Occupied;
use store::Opaque;

/// What goes on in a draft.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// By path.
    pub(crate) stays: Vec<Opaque>,
    /// What came, and has no place beside what stays.
    pub(crate) left_out: Vec<Opaque>,
}

/// Three ways: what nobody changed in the draft since `base` is as it is in `now`.
pub(crate) fn merged_opaque(base: &[Opaque], local: &[Opaque], now: &[Opaque]) -> Carried {
    let [base, local, now] = [base, local, now].map(by_path);
    let (mut stays, mut came) = (Vec::new(), Vec::new());
    let paths: BTreeSet<&[u8]> = local.keys().chain(now.keys()).copied().collect();
    for path in paths {
        let [was, here, there] = [&base, &local, &now].map(|side| side.get(path).copied());
        match here == was && here != there {
            true => came.extend(there.cloned()),
            false => stays.extend(here.cloned()),
        }
    }
    let room = occupied(&stays);
    let (fits, left_out) = came
        .into_iter()
        .partition(|o| room.leaves_room_at(&path(o)));
    let mut fits: Vec<Opaque> = fits;
    stays.append(&mut fits);
    stays.sort_by(|a, b| a.path.cmp(&b.path));
    Carried { stays, left_out }
}

/// Whether both hold the same.
pub(crate) fn are_equal(one: &[Opaque], other: &[Opaque]) -> bool {
    by_path(one) == by_path(other)
}

/// Where no file has a place, since something stands there that is none.
pub(crate) fn occupied(opaque: &[Opaque]) -> Occupied {
    Occupied::new(opaque.iter().map(path))
}

/// Those that leave room for each of these files.
pub(crate) fn with_room(opaque: &[Opaque], files: &Files) -> Vec<Opaque> {
    if opaque.is_empty() {
        return Vec::new();
    }
    let taken = Occupied::new(files.keys().map(ToString::to_string));
    let stands = |o: &&Opaque| taken.leaves_room_at(&path(o));
    opaque.iter().filter(stands).cloned().collect()
}

fn by_path(list: &[Opaque]) -> BTreeMap<&[u8], &Opaque> {
    list.iter().map(|o| (o.path.as_slice(), o)).collect()
}

fn path(opaque: &Opaque) -> String {
    String::from_utf8_lossy(&opaque.path).into_owned()
}
