//! Case folders: `testdata/<kind>/<case>/world.yaml` beside `expect.txt`. `BLESS=1` writes what is
//! answered now; the change is reviewed in the diff.

use std::path::{Path, PathBuf};

use crate::wire::Json;

/// Runs every folder of a kind through `answer` and compares, or blesses.
pub(crate) fn run(kind: &str, answer: impl Fn(&Json) -> String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(kind);
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&root)
        .expect("the cases")
        .map(|entry| entry.expect("a case").path())
        .collect();
    folders.sort();
    assert!(!folders.is_empty(), "no cases in {}", root.display());
    let bless = std::env::var_os("BLESS").is_some();
    let mut different = Vec::new();
    for folder in folders {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let world = std::fs::read_to_string(folder.join("world.yaml")).expect("a world");
        let world =
            yaml::first_document_json(&world, yaml::Reader::V3, true, &yaml::Limits::default())
                .unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let got = answer(&Json(world));
        let expect = folder.join("expect.txt");
        if bless {
            std::fs::write(&expect, &got).expect("blessed");
        } else if std::fs::read_to_string(&expect).unwrap_or_default() != got {
            different.push(format!("== {name}\n{got}"));
        }
    }
    assert!(
        different.is_empty(),
        "{} differ (BLESS=1 writes them):\n{}",
        different.len(),
        different.join("\n")
    );
}
