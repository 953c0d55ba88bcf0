//! What a recipe states outright: written again after each merge, never a conflict (V17).

use std::collections::BTreeSet;

use model::{
    Conflict, ConflictId, ConflictState, ConflictValue, Decision, Files, GitLock, GitUpstream,
    PackagePath, Recipe,
};
use yaml::{Limits, Stream};

use crate::conflicts::value_at;
use crate::mutate::{INJECTED, INJECTED_NAME, injection_points, is_own_function};
use crate::place::{FieldPath, PathStep, identify};
use crate::values::identity;
use crate::{context, kptfile};

/// A place that the recipe states: a field and everything below it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StatedPlace {
    file: PackagePath,
    resource: String,
    path: FieldPath,
}

/// All places that a recipe states in a package that it was applied to.
pub(super) fn places(files: &Files, recipe: &Recipe) -> BTreeSet<StatedPlace> {
    let mut places = BTreeSet::new();
    if let Some((file, index)) = context::find(files) {
        let resource = resource(files, &file, index);
        let stated = recipe.context.keys().chain(&recipe.remove_keys);
        places.extend(stated.map(|key| StatedPlace {
            file: file.clone(),
            resource: resource.clone(),
            path: fields(&["data", key]),
        }));
    }
    kptfile_places(files, recipe, &mut places);
    for point in injection_points(files).unwrap_or_default() {
        let resource = resource(files, &point.file, point.index);
        let mut add = |path| {
            places.insert(StatedPlace {
                file: point.file.clone(),
                resource: resource.clone(),
                path,
            });
        };
        let annotation = |key| fields(&["metadata", "annotations", key]);
        if holds(files, &point, INJECTED_NAME) {
            add(fields(&[point.field()]));
            add(annotation(INJECTED_NAME));
            add(annotation(INJECTED));
        }
    }
    places
}

/// The lock, the wanted upstream, and our own functions.
fn kptfile_places(files: &Files, recipe: &Recipe, places: &mut BTreeSet<StatedPlace>) {
    let Ok(kptfile) = kptfile::Kptfile::of_files(files) else {
        return;
    };
    let file = kptfile::path();
    let resource = resource(files, &file, 0);
    let pipeline = &kptfile.fields().pipeline;
    let lists = [
        ("mutators", &pipeline.mutators),
        ("validators", &pipeline.validators),
    ];
    let functions = lists.into_iter().flat_map(|(list, functions)| {
        let own = functions
            .iter()
            .filter(|f| is_own_function(&recipe.variant, &f.name));
        own.map(move |f| {
            let name = ("name".to_owned(), f.name.clone());
            fields(&["pipeline", list]).join(PathStep::Element(vec![name]))
        })
    });
    let identity = [fields(&["upstream"]), fields(&["upstreamLock"])];
    places.extend(
        identity
            .into_iter()
            .chain(functions)
            .map(|path| StatedPlace {
                file: file.clone(),
                resource: resource.clone(),
                path,
            }),
    );
}

fn holds(files: &Files, point: &crate::mutate::InjectionPoint, annotation: &str) -> bool {
    let text = files.get(&point.file).and_then(|file| file.as_text());
    text.is_some_and(|text| text.contains(annotation))
}

fn fields(names: &[&str]) -> FieldPath {
    FieldPath(
        names
            .iter()
            .map(|name| PathStep::Field((*name).to_owned()))
            .collect(),
    )
}

fn resource(files: &Files, file: &PackagePath, index: usize) -> String {
    let text = files
        .get(file)
        .and_then(|file| file.as_text())
        .unwrap_or_default();
    let Ok(stream) = Stream::parse(text, &Limits::default()) else {
        return String::new();
    };
    let mut documents = stream.documents().filter(|document| !document.is_empty());
    documents
        .nth(index)
        .map(|document| identity(document.root()).record())
        .unwrap_or_default()
}

impl StatedPlace {
    pub(super) fn covers(&self, conflict: &Conflict) -> bool {
        let below = || {
            FieldPath::parse(&conflict.path).is_some_and(|path| path.0.starts_with(&self.path.0))
        };
        self.file == conflict.file && self.resource == conflict.resource && below()
    }

    fn probe(&self) -> Conflict {
        Conflict {
            id: ConflictId(String::new()),
            file: self.file.clone(),
            resource: self.resource.clone(),
            path: self.path.to_string(),
            base: ConflictValue::Absent,
            local: ConflictValue::Absent,
            upstream: ConflictValue::Absent,
            decision: Decision::Upstream,
            state: ConflictState::Recorded,
            derived_from: None,
        }
    }
}

/// The conflicts of a merge, those at stated places replaced by a record of what a person had there.
///
/// Where the base is not the machine's own output, what it lacks may well be the machine's.
pub(super) fn settle(
    conflicts: Vec<Conflict>,
    places: &BTreeSet<StatedPlace>,
    sides: (&Files, &Files, &Files),
    base_is_ours: bool,
) -> Vec<Conflict> {
    let (base, local, stated) = sides;
    let open = |conflict: &Conflict| !places.iter().any(|place| place.covers(conflict));
    let mut all: Vec<Conflict> = conflicts.into_iter().filter(open).collect();
    for place in places {
        // Nobody edited anything where the whole file is as it was.
        if base.get(&place.file) == local.get(&place.file) {
            continue;
        }
        let mut record = place.probe();
        record.base = value_at(base, &record);
        record.local = value_at(local, &record);
        record.upstream = value_at(stated, &record);
        let edited = record.local != record.base && record.local != record.upstream;
        if edited && (base_is_ours || record.base != ConflictValue::Absent) {
            identify(&mut record);
            all.push(record);
        }
    }
    crate::place::sort(&mut all);
    all
}

/// The Kptfile's upstream and lock, whatever a merge made of them.
pub(super) fn locked(
    files: &Files,
    upstream: &GitUpstream,
    lock: &GitLock,
) -> Result<Files, crate::kptfile::EditError> {
    let Ok(kptfile) = kptfile::Kptfile::of_files(files) else {
        return Ok(files.clone());
    };
    let (upstream, lock) = (
        crate::clone::normal_upstream(upstream),
        crate::clone::normal_lock(lock),
    );
    let fields = kptfile.fields();
    let mut edits = Vec::new();
    if fields
        .upstream
        .as_ref()
        .and_then(|known| known.git.as_ref())
        != Some(&upstream)
    {
        edits.push(kptfile::Edit::SetUpstream(upstream));
    }
    if fields
        .upstream_lock
        .as_ref()
        .and_then(|known| known.git.as_ref())
        != Some(&lock)
    {
        edits.push(kptfile::Edit::SetLock(lock));
    }
    let mut files = files.clone();
    if !edits.is_empty() {
        kptfile.edit_into(&edits, &mut files)?;
    }
    Ok(files)
}
