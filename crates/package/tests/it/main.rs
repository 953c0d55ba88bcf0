//! This room against what the existing implementation recorded, and its laws.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where it cannot go on"
)]

#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/kptfile.rs"]
mod kptfile;
#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/render.rs"]
mod vectors;

mod bad;
mod cook;
mod history;
mod laws;
mod merge;
mod mutate;
mod oracle;
mod render;

use std::path::PathBuf;
use std::sync::Arc;

use model::{BlobId, File, FileMode, Files, PackagePath};

/// A package as a snapshot has it: every file kept by git.
fn kept(texts: &[(&str, &str)]) -> Files {
    let file = |at: usize, text: &str| File::Kept {
        id: BlobId::from_bytes(&[u8::try_from(at).unwrap(); 20]).unwrap(),
        mode: FileMode::Regular,
        bytes: Arc::from(text.as_bytes()),
    };
    let path = |path: &str| PackagePath::parse(path).unwrap();
    texts
        .iter()
        .enumerate()
        .map(|(at, (p, text))| (path(p), file(at, text)))
        .collect()
}

fn text<'f>(files: &'f Files, path: &str) -> &'f str {
    files[path].as_text().unwrap()
}

/// The paths of the files that a step made or changed.
fn changed(files: &Files) -> Vec<&str> {
    files
        .iter()
        .filter(|(_, file)| file.id().is_none())
        .map(|(path, _)| path.as_str())
        .collect()
}

/// A recorded set, where this checkout has it.
fn recorded(set: &str) -> Option<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let root = std::env::var_os("OFFSHOOT_VECTORS")
        .map_or(here, PathBuf::from)
        .join(set);
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("skipped: no recorded vectors of `{set}` here");
    None
}

/// Holds the differences of a set against those that are known.
fn check(results: Vec<(String, Option<&'static str>, Option<String>)>) {
    let mut unexplained = Vec::new();
    let (total, mut different) = (results.len(), 0);
    for (name, known, difference) in results {
        different += usize::from(difference.is_some());
        match (known, difference) {
            (None, Some(difference)) => unexplained.push(format!("{name}:\n{difference}\n")),
            (Some(decision), None) => {
                unexplained.push(format!(
                    "{name}: known by {decision} to differ, but does not\n"
                ));
            }
            _ => {}
        }
    }
    println!(
        "{total} cases, {different} differ, {} unexplained",
        unexplained.len()
    );
    assert!(unexplained.is_empty(), "{}", unexplained.concat());
}

#[test]
fn kptfiles_read_as_kpt_reads_them() {
    // The recorded inputs of this set are the project's own, so it is here too.
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/kptfile");
    let root = recorded("kptfile").unwrap_or(here);
    let cases = kptfile::read(&root).unwrap();
    check(
        cases
            .iter()
            .map(|case| (case.name.clone(), kptfile::known(case), kptfile::run(case)))
            .collect(),
    );
}

#[test]
fn renders_agree_with_the_recorded_ones() {
    let Some(root) = recorded("render") else {
        return;
    };
    let mut cases = vectors::read(&root).unwrap();
    cases.extend(vectors::read(&root.join("upstream")).unwrap());
    let cases = cases.iter().filter(|case| vectors::can_run(case));
    check(
        cases
            .map(|case| {
                (
                    case.name.clone(),
                    vectors::known(&case.name),
                    vectors::run(case),
                )
            })
            .collect(),
    );
}
