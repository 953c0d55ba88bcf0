//! This crate against what the existing implementation recorded, and its laws.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "tests may reach the world, the crate may not"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops where it cannot go on"
)]

#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/evals.rs"]
mod evals;
#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/known.rs"]
mod known;
#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/kptfile.rs"]
mod kptfile;
#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/merge_lab/mod.rs"]
mod merge_lab;
#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/render.rs"]
mod vectors;

mod aside;
mod bad;
mod derive;
mod generated;
mod histories;
mod history;
mod laws;
mod lists;
mod merge;
mod mutate;
mod oracle;
mod render;
mod render_aliases;
mod render_functions;
mod render_refused;

use std::path::PathBuf;
use std::sync::Arc;

use model::{BlobId, File, FileMode, Files, PackagePath};

/// A resource that waits for the content of an object.
const POINT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: site
  annotations:
    kpt.dev/config-injection: required
data:
  region: none
";

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

/// A recorded set: the one beside this checkout, else the project's own copy.
fn recorded(set: &str) -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("OFFSHOOT_VECTORS").map(PathBuf::from);
    let root = named
        .unwrap_or_else(|| here.join("../../../shared/vectors"))
        .join(set);
    if root.is_dir() {
        return root;
    }
    here.join(format!("../../testdata/vectors/{set}.jsonl"))
}

/// Those of its folders that exist; a copy is one file.
fn places(set: &str, below: &[&str]) -> Vec<PathBuf> {
    let root = recorded(set);
    let below = below
        .iter()
        .map(|name| root.join(name))
        .filter(|path| path.is_dir());
    [root.clone()].into_iter().chain(below).collect()
}

/// Holds a set against what is known to differ.
fn check(set: &str, checked: &[known::Checked]) {
    assert!(!checked.is_empty(), "no case of {set} was found");
    let failures = known::failures(set, checked);
    assert!(
        failures.is_empty(),
        "{} of {}\n{}",
        failures.len(),
        checked.len(),
        failures.concat()
    );
}

#[test]
fn kptfiles_read_as_kpt_reads_them() {
    // The recorded inputs of this set are the project's own, so it is here too.
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/kptfile");
    let root = Some(recorded("kptfile")).filter(|root| root.is_dir());
    let cases = kptfile::read(&root.unwrap_or(here)).unwrap();
    check(
        "kptfile",
        &cases.iter().map(kptfile::check).collect::<Vec<_>>(),
    );
}

#[test]
fn renders_agree_with_the_recorded_ones() {
    let places = places("render", &["upstream"]).into_iter();
    let cases = places.flat_map(|place| vectors::read(&place).unwrap());
    let cases = cases.filter(vectors::can_run);
    check(
        "render",
        &cases.map(|case| vectors::run(&case)).collect::<Vec<_>>(),
    );
}
