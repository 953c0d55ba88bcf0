//! What runs in which order: packages depth first, mutators, then validators.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Files, Function, MOST_FUNCTIONS, PackagePath, join_problems};

use crate::documents::Parsed;
use crate::kptfile::{FILE_NAME, Kptfile};

const BFS: &str = "kpt.dev/bfs-rendering";
const KEEP: &str = "kpt.dev/save-on-render-failure";

/// One function of one package.
#[derive(Debug, Clone)]
pub(super) struct Task {
    /// The package's directory; empty for the root.
    pub(super) package: Arc<str>,
    pub(super) function: Function,
    pub(super) validator: bool,
    /// Its place in its list.
    pub(super) index: usize,
    /// Whether nothing of this package ran before.
    pub(super) first: bool,
}

/// Everything that is to run.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// The directories of all packages.
    pub(super) packages: Vec<Arc<str>>,
    /// Whether the root's Kptfile asks to keep partial results.
    pub(super) keep_on_failure: bool,
    /// The Kptfiles that were read, so that nobody parses them again.
    pub(super) kptfiles: BTreeMap<PackagePath, yaml::Stream>,
    /// What the Kptfiles hold that nobody knows.
    pub(super) strange: Vec<String>,
}

impl Plan {
    pub(super) fn read(files: &Files, strict: bool, parsed: &Parsed) -> Result<Self, String> {
        let mut dirs: Vec<(Arc<str>, Kptfile)> = Vec::new();
        let mut kptfiles = BTreeMap::new();
        let mut strange = Vec::new();
        for (path, file) in files
            .iter()
            .filter(|(path, _)| path.file_name() == "Kptfile")
        {
            let dir: Arc<str> = path.dir().into();
            let place = if dir.is_empty() { "." } else { &*dir };
            let kptfile = match parsed.stream(path, file) {
                Some(stream) => Kptfile::of(stream.clone()),
                None => Kptfile::of_file(file),
            };
            let kptfile = kptfile.map_err(|error| {
                format!("error reading Kptfile at {place:?}: {}", chain(&error))
            })?;
            let package = Some((files, &*dir));
            let problems = if strict {
                let strangers = kptfile.strangers();
                if !strangers.is_empty() {
                    let what = join_problems(&strangers);
                    return Err(format!("error reading Kptfile at {place:?}: {what}"));
                }
                kptfile.validate_strictly(package)
            } else {
                kptfile.validate(package)
            };
            if !problems.is_empty() {
                return Err(join_problems(&problems));
            }
            let unknown = kptfile.warnings().iter();
            strange.extend(unknown.map(|problem| format!("{path}: {}", problem.what)));
            kptfiles.insert(path.clone(), kptfile.stream().clone());
            dirs.push((dir, kptfile));
        }
        if !dirs.iter().any(|(dir, _)| dir.is_empty()) {
            return Err("error reading Kptfile at \".\": package has no Kptfile".to_owned());
        }
        dirs.sort_by(|(a, _), (b, _)| a.cmp(b));
        let root = dirs.iter().find(|(dir, _)| dir.is_empty());
        let asks = |key: &str| {
            let value = root.and_then(|(_, kptfile)| kptfile.fields().annotations.get(key));
            value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
        };
        let (bfs, keep_on_failure) = (asks(BFS), asks(KEEP));
        let packages = dirs.iter().map(|(dir, _)| dir.clone()).collect();
        let tasks = order(dirs, bfs)
            .into_iter()
            .flat_map(|(dir, kptfile)| tasks(&dir, &kptfile));
        let tasks: Vec<Task> = tasks.collect();
        if tasks.len() > MOST_FUNCTIONS {
            return Err(format!(
                "the pipelines of the package and of those within it have {} functions; {MOST_FUNCTIONS} may run",
                tasks.len()
            ));
        }
        Ok(Self {
            tasks,
            packages,
            keep_on_failure,
            kptfiles,
            strange,
        })
    }

    /// One function for everything there is.
    pub(super) fn one(files: &Files, function: Function) -> Self {
        let kptfiles = files.keys().filter(|path| path.file_name() == "Kptfile");
        let below = kptfiles.map(|path| Arc::from(path.dir()));
        let mut packages: Vec<Arc<str>> = below.chain([Arc::from("")]).collect();
        packages.sort();
        packages.dedup();
        let task = Task {
            package: "".into(),
            function,
            validator: false,
            index: 0,
            first: true,
        };
        Self {
            tasks: vec![task],
            packages,
            keep_on_failure: false,
            kptfiles: BTreeMap::new(),
            strange: Vec::new(),
        }
    }

    /// The innermost package that a file belongs to.
    pub(super) fn package_of(&self, path: &str) -> Option<&Arc<str>> {
        let inside = self
            .packages
            .iter()
            .filter(|dir| within(dir, path).is_some());
        inside.max_by_key(|dir| dir.len())
    }

    /// The packages whose own pipeline runs nothing.
    pub(super) fn idle(&self) -> impl Iterator<Item = &Arc<str>> {
        let runs = |dir: &&Arc<str>| self.tasks.iter().any(|task| task.package == **dir);
        self.packages.iter().filter(move |dir| !runs(dir))
    }

    /// Whether any function sees the files of a package.
    pub(super) fn is_seen(&self, package: &str) -> bool {
        self.tasks.iter().any(|task| {
            task.package.as_ref() == package || within(&task.package, package).is_some()
        })
    }
}

/// The path relative to a package's directory; `None` for a path outside it.
pub(super) fn within<'p>(dir: &str, path: &'p str) -> Option<&'p str> {
    if dir.is_empty() {
        return Some(path);
    }
    path.strip_prefix(dir)?.strip_prefix('/')
}

/// The files of the root package alone.
pub(super) fn own_files(files: &Files) -> Files {
    let subpackages: Vec<&str> = files
        .keys()
        .filter(|path| path.file_name() == FILE_NAME && !path.dir().is_empty())
        .map(PackagePath::dir)
        .collect();
    let below = |path: &PackagePath| {
        let inside = |dir: &&str| {
            path.as_str()
                .strip_prefix(*dir)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        subpackages.iter().any(inside)
    };
    let own = files.iter().filter(|(path, _)| !below(path));
    own.map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

/// Children before their parents, siblings by name; or (`bfs`) parents first, level by level.
fn order(mut dirs: Vec<(Arc<str>, Kptfile)>, bfs: bool) -> Vec<(Arc<str>, Kptfile)> {
    if bfs {
        let level = |dirs: &[Arc<str>], dir: &Arc<str>| {
            dirs.iter()
                .filter(|other| other != &dir && within(other, dir).is_some())
                .count()
        };
        let names: Vec<Arc<str>> = dirs.iter().map(|(dir, _)| dir.clone()).collect();
        dirs.sort_by_key(|(dir, _)| (level(&names, dir), dir.clone()));
        return dirs;
    }
    // A parent's key ends where its children's go on: `~` sorts it behind all of them.
    let key = |dir: &str| {
        if dir.is_empty() {
            "\u{10ffff}".to_owned()
        } else {
            format!("{dir}/\u{10ffff}")
        }
    };
    dirs.sort_by_key(|(dir, _)| key(dir));
    dirs
}

fn tasks(dir: &Arc<str>, kptfile: &Kptfile) -> Vec<Task> {
    let pipeline = &kptfile.fields().pipeline;
    let lists = [(&pipeline.mutators, false), (&pipeline.validators, true)];
    let mut tasks: Vec<Task> = Vec::new();
    for (functions, validator) in lists {
        for (index, function) in functions.iter().enumerate() {
            let first = tasks.is_empty();
            let (package, function) = (dir.clone(), function.clone());
            tasks.push(Task {
                package,
                function,
                validator,
                index,
                first,
            });
        }
    }
    tasks
}

/// An error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}
