//! The resources of a package while its pipeline runs, and their way back into files.

mod aliases;
mod kptfile;
mod places;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Files, PackagePath};
use yaml::owned::Value;

use crate::documents::{Documents, DocumentsError, Parsed};
use crate::ignore::Ignore;
use crate::krm::not_krm;

use super::config::short_name;
use super::entry::{Entry, Origin};
use super::plan::{Plan, Task, within};
use super::resource::{
    checked, default_path, full, is_resource_file, is_same_resource, list_items,
};
use super::select;
use super::{Item, Options};
use places::Places;

/// All resources that any function sees.
#[derive(Debug, Clone, Default)]
pub(super) struct Resources {
    entries: Vec<Entry>,
    parsed_files: BTreeMap<PackagePath, Documents>,
    next: u32,
    packages: Vec<Arc<str>>,
    places: Places,
    /// How many bytes all resources may be.
    most: Option<u64>,
    /// How many bytes functions may still be handed.
    left: u64,
    /// Files that no function sees and that are no YAML: they are carried as they are.
    pub(super) unread: Vec<String>,
}

/// How often functions may be handed a package as large as one may be.
const LOOKS: u64 = 128;

/// Why a function's output is not taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// Something in it breaks a rule.
    Output(String),
    /// Something in it is no resource at all: the function is to blame, as if it had failed.
    NoResource(String),
}

/// The function that works on the package that runs it alone: what it would find below has the same names and paths (M26).
const OF_ITS_PACKAGE: &str = "gen-pkg-context";

/// Whether a resource is of a package or of one below it.
fn is_inside(package: &str, entry: &Entry) -> bool {
    *entry.package == *package || within(package, &entry.package).is_some()
}

/// Whether a function sees a resource of its package or below.
fn sees(task: &Task, entry: &Entry) -> bool {
    let image = task.function.image.as_deref();
    let alone = image.is_some_and(|image| short_name(image) == OF_ITS_PACKAGE);
    (!alone || entry.package == task.package) && select::sees(&task.function, &entry.value)
}

impl Resources {
    pub(super) fn read(
        files: &Files,
        plan: &Plan,
        options: Options,
        known: &Parsed,
    ) -> Result<Self, DocumentsError> {
        let mut resources = Self {
            packages: plan.packages.clone(),
            ..Self::default()
        };
        let everything = options.strict || options.read_all;
        let ignore = Ignore::of(files);
        for (path, file) in files.iter().filter(|(path, _)| is_resource_file(path)) {
            let Some(package) = plan.package_of(path.as_str()) else {
                continue;
            };
            if ignore.matches(path) {
                continue;
            }
            if everything || plan.is_seen(package) {
                let parsed = match plan.kptfiles.get(path) {
                    Some(stream) => Documents::of(path, stream.clone())?,
                    None => known.documents(path, file)?,
                };
                if options.strict {
                    parsed.no_key_twice(None)?;
                }
                resources.take(path, parsed, package);
            } else if options.tell_unread
                && let Err(error) = known.documents(path, file)
            {
                resources.unread.push(error.to_string());
            }
        }
        resources.places = Places::of(files, ignore, &resources.parsed_files);
        Ok(resources)
    }

    /// Bounds what the resources grow to.
    pub(super) fn bound(&mut self, most: Option<u64>) {
        self.most = most;
        self.left = most.map_or(u64::MAX, |most| most.saturating_mul(LOOKS));
    }

    fn weight(&self) -> u64 {
        self.entries.iter().map(|entry| entry.weight).sum()
    }

    /// Pays for a look of a function at the package.
    pub(super) fn look(&mut self) -> Result<(), String> {
        if self.most.is_none() {
            return Ok(());
        }
        let left = self.left.checked_sub(self.weight());
        self.left = left.ok_or_else(|| {
            let most = self.most.unwrap_or_default();
            format!("the steps of all pipelines together look at more than {LOOKS} times {most} bytes; use fewer of them")
        })?;
        Ok(())
    }

    /// Refuses what would make the package too large.
    fn grow(&self, task: &Task, before: u64, after: u64) -> Result<(), Refused> {
        let whole = self.weight().saturating_sub(before).saturating_add(after);
        match self.most {
            Some(most) if whole > most && after > before => Err(Refused::Output(format!(
                "function {:?} makes the package's resources larger than {most} bytes",
                super::status::label(&task.function)
            ))),
            _ => Ok(()),
        }
    }

    /// Takes the resources of a file.
    fn take(&mut self, path: &PackagePath, parsed: Documents, package: &Arc<str>) {
        let mut index = 0;
        for (document, read) in parsed.documents().iter().enumerate() {
            let values: Vec<(Option<usize>, Arc<Value>)> = match list_items(&read.value) {
                Some(items) => {
                    let items = items.iter().enumerate();
                    items
                        .map(|(at, item)| (Some(at), Arc::new(item.clone())))
                        .collect()
                }
                None => vec![(None, read.value.clone())],
            };
            for (item, value) in values {
                self.entries.push(Entry {
                    id: self.next,
                    weight: value.weight().0,
                    read: Some(value.clone()),
                    value,
                    package: package.clone(),
                    path: path.as_str().to_owned(),
                    index: Some(index),
                    origin: Some(Origin {
                        path: path.clone(),
                        document,
                        item,
                    }),
                });
                self.next += 1;
                index += 1;
            }
        }
        self.parsed_files.insert(path.clone(), parsed);
    }

    /// The resources of a package and below: its own first, by file and position.
    fn scope(&self, package: &str) -> Vec<&Entry> {
        let inside = |entry: &&Entry| is_inside(package, entry);
        let mut seen: Vec<&Entry> = self.entries.iter().filter(inside).collect();
        seen.sort_by_key(|entry| {
            (
                *entry.package != *package,
                &entry.path,
                entry.index,
                entry.id,
            )
        });
        seen
    }

    /// What a function is handed.
    pub(super) fn seen(&self, task: &Task) -> Vec<Item> {
        let scope = self.scope(&task.package).into_iter();
        scope
            .filter(|entry| sees(task, entry))
            .map(|entry| Item {
                id: Some(entry.id),
                value: entry.value.clone(),
                path: within(&entry.package, &entry.path).map(str::to_owned),
                index: entry.index,
            })
            .collect()
    }

    /// Whether a validator can judge what it is handed: of a key that stands twice it sees one value, and a cluster may take the
    /// other (Y3).
    pub(super) fn decided(&self, task: &Task) -> Result<(), String> {
        let scope = self.scope(&task.package).into_iter();
        let mut read = scope
            .filter(|entry| sees(task, entry))
            .filter_map(|entry| entry.origin.as_ref());
        read.try_for_each(|origin| match self.parsed_files.get(&origin.path) {
            Some(parsed) => parsed.no_key_twice(Some(origin.document)),
            None => Ok(()),
        })
        .map_err(|error| error.to_string())
    }

    /// The numbers of what a function was handed.
    fn handed(&self, task: &Task) -> BTreeSet<u32> {
        let inside = |entry: &&Entry| is_inside(&task.package, entry);
        let seen = self.entries.iter().filter(inside);
        seen.filter(|entry| sees(task, entry))
            .map(|entry| entry.id)
            .collect()
    }

    /// The configuration at a path of a package itself, as functions have left it.
    pub(super) fn config(&self, package: &str, path: &str) -> Option<Arc<Value>> {
        let path = full(package, &crate::kptfile::clean_config_path(path).ok()?);
        // A list is one configuration, though functions see its items.
        let whole = |entry: &Entry| entry.origin.as_ref().is_none_or(|at| at.item.is_none());
        let of = |entry: &&Entry| *entry.package == *package && entry.path == path && whole(entry);
        self.entries
            .iter()
            .filter(of)
            .min_by_key(|entry| entry.index)
            .map(|entry| entry.value.clone())
    }

    /// The same as it was read: a function may have dropped it meanwhile.
    pub(super) fn config_as_read(&self, package: &str, path: &str) -> Option<Arc<Value>> {
        let path = full(package, &crate::kptfile::clean_config_path(path).ok()?);
        let parsed = self.parsed_files.get(path.as_str())?;
        parsed
            .documents()
            .first()
            .map(|document| document.value.clone())
    }

    /// Whether everything in a package and below is a resource.
    pub(super) fn check_krm(&self, package: &str) -> Result<(), String> {
        self.scope(package).into_iter().try_for_each(|entry| {
            let place = within(package, &entry.path).unwrap_or(&entry.path);
            not_krm(place, &entry.value).map_or(Ok(()), |why| {
                Err(format!(
                    "input resource list must contain only KRM resources: {place}: {why}"
                ))
            })
        })
    }

    /// Whether a mutator's output differs in any value from what it was handed.
    pub(super) fn would_change(&self, task: &Task, items: &[Item]) -> bool {
        let handed = self.seen(task);
        handed.len() != items.len()
            || handed.iter().zip(items).any(|(a, b)| {
                a.id != b.id
                    || a.path != b.path
                    || !(Arc::ptr_eq(&a.value, &b.value) || a.value.same(&b.value))
            })
    }

    /// Takes a mutator's output: changed, moved, new and missing resources. Of what is refused nothing is taken.
    pub(super) fn take_back(&mut self, task: &Task, items: Vec<Item>) -> Result<(), Refused> {
        if task.validator {
            return Ok(());
        }
        let before = (self.entries.clone(), self.next);
        let taken = self.take_all(task, items);
        if taken.is_err() {
            (self.entries, self.next) = before;
            return taken;
        }
        self.follow_aliases();
        Ok(())
    }

    fn take_all(&mut self, task: &Task, items: Vec<Item>) -> Result<(), Refused> {
        let handed = self.handed(task);
        let values: BTreeMap<u32, (Arc<Value>, u64)> = self
            .entries
            .iter()
            .map(|entry| (entry.id, (entry.value.clone(), entry.weight)))
            .collect();
        let of = |id: &u32| values.get(id).map_or(0, |(_, weight)| *weight);
        let (before, mut after) = (handed.iter().map(of).sum(), 0_u64);
        let mut kept = BTreeMap::new();
        let mut made = Vec::new();
        for item in items {
            let place = item
                .path
                .clone()
                .unwrap_or_else(|| default_path(&item.value));
            let was = item.id.and_then(|id| values.get(&id));
            let same = was.filter(|(was, _)| Arc::ptr_eq(was, &item.value));
            let weight = same.map_or_else(|| item.value.weight().0, |(_, weight)| *weight);
            after = after.saturating_add(weight);
            let same = same.is_some();
            if !same && let Some(why) = not_krm(&place, &item.value) {
                let has = |key: &&str| item.value.get(key).is_some();
                if !["apiVersion", "kind", "metadata"].iter().any(has) {
                    return Err(Refused::NoResource(format!(
                        "{place}: missing Resource metadata: {why}"
                    )));
                }
                let what = "output resource list must contain only KRM resources";
                return Err(Refused::Output(format!("{what}: {place}: {why}")));
            }
            match item.id.filter(|id| handed.contains(id)) {
                Some(id) if !kept.contains_key(&id) => {
                    kept.insert(id, (place, item, weight));
                }
                _ => made.push((place, item, weight)),
            }
        }
        self.grow(task, before, after)?;
        self.entries
            .retain(|entry| !handed.contains(&entry.id) || kept.contains_key(&entry.id));
        let packages = self.packages.clone();
        let mut placed = BTreeSet::new();
        for entry in &mut self.entries {
            let Some((place, item, weight)) = kept.remove(&entry.id) else {
                continue;
            };
            (entry.value, entry.weight) = (item.value, weight);
            if within(&entry.package, &entry.path) != Some(place.as_str()) {
                entry.path = checked(&entry.package, &place).map_err(Refused::Output)?;
                let read = self.places.is_read(&entry.path);
                read.map_err(Refused::Output)?;
                placed.insert(entry.path.clone());
                entry.package = owner(&packages, &entry.path);
                entry.index = item.index;
            }
        }
        made.into_iter()
            .try_for_each(|(place, item, weight)| {
                placed.insert(self.add(task, &place, item, weight)?);
                Ok(())
            })
            .and_then(|()| self.differ(&placed))
            .map_err(Refused::Output)
    }

    /// Adds a resource, and says where.
    fn add(&mut self, task: &Task, place: &str, item: Item, weight: u64) -> Result<String, String> {
        let path = checked(&task.package, place)?;
        self.places.is_read(&path)?;
        let wanted = item.index;
        let is_there = |entry: &Entry| entry.path == path && entry.index == wanted;
        if self.entries.iter().any(is_there) {
            let index = wanted.map(|index| index.to_string()).unwrap_or_default();
            let place = within(&task.package, &path).unwrap_or(place);
            return Err(format!(
                "resource at path {place:?} and index {index:?} already exists"
            ));
        }
        let package = owner(&self.packages, &path);
        // A function is not told in which subpackage a resource stands: what it names a place for may be there already.
        let below = package != task.package;
        let same = |entry: &&mut Entry| {
            below && entry.path == path && is_same_resource(&entry.value, &item.value)
        };
        if let Some(there) = self.entries.iter_mut().find(same) {
            (there.value, there.weight) = (item.value, weight);
            return Ok(path);
        }
        let (id, value, origin) = (self.next, item.value, None);
        self.entries.push(Entry {
            id,
            value,
            weight,
            read: None,
            package,
            path: path.clone(),
            index: wanted,
            origin,
        });
        self.next += 1;
        Ok(path)
    }
}

/// The innermost package of a path.
fn owner(packages: &[Arc<str>], path: &str) -> Arc<str> {
    let inside = packages.iter().filter(|dir| within(dir, path).is_some());
    inside
        .max_by_key(|dir| dir.len())
        .cloned()
        .unwrap_or_else(|| "".into())
}
