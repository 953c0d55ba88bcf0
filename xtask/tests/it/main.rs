//! The toolbox as it is run: `cargo test` builds its program, too, so that whoever has tested has it.

use std::path::Path;
use std::process::Command;

/// Files, functions, orders of modules, public items, words, decisions and quotes are as the house has them.
#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tidy = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("tidy")
        .current_dir(root)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&tidy.stderr);
    let said = String::from_utf8_lossy(&tidy.stdout);
    assert!(tidy.status.success(), "{said}{told}");
}
