//! The vectors of `merge`: three-way merges, clones and upgrades against what kpt and Porch did.
//!
//! Parsed values are authoritative: per file, per document, maps unordered, lists ordered; files that
//! are no YAML by bytes. Kptfiles compare by what they say, since kpt turns every scalar of them into
//! text. Which cases differ by decision is said by the caller.

use std::collections::BTreeMap;
use std::path::Path;

use model::{
    CommitId, Conflict, ConflictPolicy, File, Files, GitLock, GitUpstream, PackageName,
    PackagePath, Strategy,
};
use package::clone::{CloneSpec, clone, mark, normal_lock, normal_upstream};
use package::kptfile::{Edit, Kptfile};
use package::merge::{MergeOptions, Merged, merge};
use serde_json::Value;

use super::known::{self, Checked};
use values::{contents_differ, documents, lines};

#[path = "errors.rs"]
mod errors;
#[path = "values.rs"]
mod values;

/// One case, read.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, unique in the set.
    pub name: String,
    /// What is done.
    pub operation: Operation,
    /// The trees, by side.
    pub trees: BTreeMap<String, BTreeMap<String, String>>,
    /// The resulting tree, or the error.
    pub expected: Result<BTreeMap<String, String>, String>,
    /// The clone's target, or an upgrade's new upstream.
    target: Value,
}

/// What a case does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// One of kpt's updaters.
    Update {
        /// The strategy, as written.
        strategy: String,
        /// Whether `kpt-merge` comments are added first (the command does so, the library does not).
        cli: bool,
        /// Whether the package is a root.
        root: bool,
    },
    /// Porch's clone.
    Clone {
        /// The new name; empty keeps the old one.
        package: String,
        /// Whether a package context is made.
        deployment: bool,
    },
    /// Porch's upgrade.
    Upgrade {
        /// The strategy, as written.
        strategy: String,
    },
}

/// Reads the cases of a folder (own cases, those of `porch-flow/`, or the tables of `upstream/`), or of one file with a
/// case on each line.
///
/// # Errors
/// A file cannot be read, or is no case.
pub fn read(place: &Path) -> std::io::Result<Vec<Case>> {
    Ok(known::cases(place)?.iter().map(case).collect())
}

fn case(value: &Value) -> Case {
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let flag = |key: &str, or: bool| value.get(key).and_then(Value::as_bool).unwrap_or(or);
    let operation = match text("op").as_str() {
        "clone" => Operation::Clone {
            package: text("package_name"),
            deployment: flag("deployment", false),
        },
        "upgrade" => Operation::Upgrade {
            strategy: text("strategy"),
        },
        _ => Operation::Update {
            strategy: text("strategy"),
            cli: text("mode") == "cli",
            root: flag("isRoot", !flag("updateUpstream", false)),
        },
    };
    // The tables hold the texts of one file.
    let file = match text("op").as_str() {
        "kyaml-merge3" => Some("f.yaml"),
        "kptfile-merge" | "kptfile-update" => Some("Kptfile"),
        _ => None,
    };
    let tree = |value: &Value| match (file, value.as_str()) {
        (Some(file), Some(text)) => BTreeMap::from([(file.to_owned(), text.to_owned())]),
        _ => tree(value),
    };
    let outcome = value.get("kpt_resource_merge").unwrap_or(value);
    let sides = ["base", "local", "upstream"];
    let trees = sides
        .iter()
        .filter_map(|side| Some(((*side).to_owned(), tree(value.get(*side)?))));
    Case {
        name: text("name"),
        operation,
        trees: trees.collect(),
        expected: match (outcome.get("expected"), outcome.get("error")) {
            // Tables of Porch's own tests end some texts with the tabs of their source file.
            (Some(Value::String(text)), _) => {
                Ok(tree(&Value::String(text.trim_end_matches('\t').to_owned())))
            }
            (Some(expected), _) => Ok(tree(expected)),
            (None, error) => Err(error.and_then(Value::as_str).unwrap_or_default().to_owned()),
        },
        target: value.get("target").cloned().unwrap_or_default(),
    }
}

fn tree(value: &Value) -> BTreeMap<String, String> {
    let files = value.as_object().into_iter().flatten();
    let files = files.filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())));
    files.collect()
}

/// A tree as a package's files.
pub fn files(tree: &BTreeMap<String, String>) -> Files {
    let files = tree.iter().filter_map(|(path, text)| {
        PackagePath::parse(path)
            .ok()
            .map(|path| (path, File::text(text)))
    });
    files.collect()
}

/// What we make of a case.
#[derive(Debug, Clone)]
pub struct Ours {
    /// The resulting tree, or the error.
    pub result: Result<BTreeMap<String, String>, String>,
    /// The conflicts that were recorded.
    pub conflicts: Vec<Conflict>,
}

/// Runs a case.
pub fn run(case: &Case) -> Ours {
    let side = |name: &str| case.trees.get(name).map(files).unwrap_or_default();
    let result = match &case.operation {
        Operation::Update {
            strategy,
            cli,
            root,
        } => {
            let mut sides = ["base", "local", "upstream"].map(side);
            if *cli {
                sides = sides.map(|files| mark_resources(&files));
            }
            if !root {
                sides = sides.map(|files| nested(&files));
            }
            let [base, local, upstream] = sides;
            merge(&base, &local, &upstream, &options(strategy))
                .map_err(chain)
                .map(|mut merged| {
                    if *cli {
                        merged.files = mark_resources(&merged.files);
                    }
                    if !root {
                        merged.files = lifted(&merged.files);
                    }
                    merged
                })
        }
        Operation::Clone {
            package,
            deployment,
        } => run_clone(&side("upstream"), package, *deployment, &case.target),
        Operation::Upgrade { strategy } => {
            let options = options(strategy);
            let merged = merge(&side("base"), &side("local"), &side("upstream"), &options);
            merged
                .map_err(chain)
                .and_then(|merged| finish_upgrade(merged, &case.target))
        }
    };
    match result {
        Ok(merged) => Ours {
            result: Ok(texts(&merged.files)),
            conflicts: merged.conflicts,
        },
        Err(error) => Ours {
            result: Err(error),
            conflicts: Vec::new(),
        },
    }
}

/// The command marks resources, not Kptfiles.
fn mark_resources(files: &Files) -> Files {
    let marked = mark(files).files;
    let kept = marked
        .into_iter()
        .map(|(path, file)| match files.get(&path) {
            Some(old) if path.file_name() == "Kptfile" => (path, old.clone()),
            _ => (path, file),
        });
    kept.collect()
}

/// A package that is no root, as a subpackage of one that nobody changes.
fn nested(files: &Files) -> Files {
    let inside = files.iter().filter_map(|(path, file)| {
        PackagePath::parse(&format!("nested/{path}"))
            .ok()
            .map(|path| (path, file.clone()))
    });
    inside.collect()
}

fn lifted(files: &Files) -> Files {
    let outside = files.iter().filter_map(|(path, file)| {
        let path = PackagePath::parse(path.as_str().strip_prefix("nested/")?).ok()?;
        Some((path, file.clone()))
    });
    outside.collect()
}

fn options(strategy: &str) -> MergeOptions {
    // The library takes every word that it does not know for a resource merge.
    let strategy = Strategy::parse(strategy).unwrap_or_default();
    MergeOptions {
        need_kptfile: false,
        ..MergeOptions::upgrade(strategy, ConflictPolicy::Block)
    }
}

fn chain(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

fn target(target: &Value) -> (GitUpstream, GitLock) {
    let text = |key: &str| {
        target
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let upstream = GitUpstream {
        repo: text("repo"),
        directory: text("directory"),
        git_ref: text("ref"),
    };
    let lock = GitLock {
        repo: text("repo"),
        directory: text("directory"),
        git_ref: text("ref"),
        commit: CommitId::parse(&text("commit")),
    };
    (upstream, lock)
}

fn run_clone(
    upstream: &Files,
    package: &str,
    deployment: bool,
    to: &Value,
) -> Result<Merged, String> {
    let kept = Kptfile::of_files(upstream).map(|kptfile| kptfile.fields().name.clone());
    let name = if package.is_empty() {
        kept.unwrap_or_default()
    } else {
        package.to_owned()
    };
    let package = PackageName::parse(&name).map_err(chain)?;
    let (wanted, lock) = target(to);
    let spec = CloneSpec {
        package,
        upstream: wanted,
        lock,
        deployment,
    };
    let cloned = clone(upstream, &spec).map_err(chain)?;
    Ok(Merged {
        files: cloned.files,
        conflicts: Vec::new(),
    })
}

fn finish_upgrade(merged: Merged, to: &Value) -> Result<Merged, String> {
    let (upstream, lock) = target(to);
    let kptfile = Kptfile::of_files(&merged.files).map_err(chain)?;
    let edits = [
        Edit::SetUpstream(normal_upstream(&upstream)),
        Edit::SetLock(normal_lock(&lock)),
    ];
    let mut files = merged.files;
    kptfile.edit(&edits).map_err(chain)?.put(&mut files);
    Ok(Merged {
        files: mark(&files).files,
        conflicts: merged.conflicts,
    })
}

fn texts(files: &Files) -> BTreeMap<String, String> {
    let text = |file: &File| String::from_utf8_lossy(file.bytes()).into_owned();
    files
        .iter()
        .map(|(path, file)| (path.to_string(), text(file)))
        .collect()
}

/// Runs a case and holds it against the recorded result.
pub fn check(case: &Case) -> Checked {
    let ours = run(case);
    Checked {
        name: case.name.clone(),
        difference: difference(case, &ours),
        result: digest(&ours),
        more: !ours.conflicts.is_empty() || !remarks(&ours).is_empty(),
    }
}

/// Where comments of the result stand.
fn remarks(ours: &Ours) -> Vec<String> {
    let files = ours.result.iter().flatten();
    let files = files.filter(|(path, _)| is_yaml(path));
    files
        .flat_map(|(_, text)| crate::merge_lab::remarks(text))
        .collect()
}

fn is_yaml(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "Kptfile" || name.ends_with(".yaml") || name.ends_with(".yml")
}

/// A record of a conflict, whole.
fn record(conflict: &Conflict) -> String {
    format!("{conflict:?}")
}

/// A digest of what a result means: values where a file is YAML, bytes where it is not; where its comments stand, and
/// what was recorded.
pub fn digest(ours: &Ours) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut add = |text: &str| said.push(text.to_owned());
    match &ours.result {
        Err(error) => add(error),
        Ok(tree) => {
            for (path, text) in tree {
                let kptfile = path.rsplit('/').next() == Some("Kptfile");
                let values = documents(text, kptfile).filter(|_| is_yaml(path));
                add(path);
                add(&values.map_or_else(|| text.clone(), |values| lines(&values)));
            }
        }
    }
    said.extend(remarks(ours));
    said.extend(ours.conflicts.iter().map(record));
    known::digest(said.iter().map(String::as_str))
}

/// What differs between our result and the recorded one; nothing if they mean the same.
///
/// A package without a Kptfile gains none (M5): that one of Porch's inventions is not compared.
pub fn difference(case: &Case, ours: &Ours) -> Option<String> {
    let expected = match (&case.expected, &ours.result) {
        (Err(theirs), Err(ours)) => return errors::differ(theirs, ours),
        (Err(theirs), Ok(_)) => return Some(format!("the other side fails: {theirs}")),
        (Ok(_), Err(ours)) => return Some(format!("we fail: {ours}")),
        (Ok(expected), Ok(_)) => expected,
    };
    let found = ours.result.as_ref().ok()?;
    let invented = |path: &str| {
        path == "Kptfile"
            && case
                .trees
                .values()
                .all(|tree| !tree.contains_key("Kptfile"))
    };
    let paths: std::collections::BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let mut all = String::new();
    for path in paths {
        let difference = match (expected.get(path), found.get(path)) {
            (Some(_), None) if invented(path) => None,
            (Some(_), None) => Some("missing".to_owned()),
            (None, Some(_)) => Some("must not exist".to_owned()),
            (Some(theirs), Some(ours)) => contents_differ(path, theirs, ours),
            (None, None) => None,
        };
        if let Some(difference) = difference {
            all.push_str(&format!("{path}: {difference}\n"));
        }
    }
    (!all.is_empty()).then_some(all)
}
