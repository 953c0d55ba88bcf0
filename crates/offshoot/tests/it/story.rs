//! The demo is a test: it asserts every claim that it prints, and its text is golden.

use std::process::Command;

#[test]
fn the_demo_tells_the_same_story_every_time() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.txt");
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["demo", "--quiet"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(golden).unwrap());
}
