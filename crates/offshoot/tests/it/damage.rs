//! A data directory whose object store is spoilt or gone: the server says what it found and the ways out, and starts by none of
//! itself.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::edges::CORE;
use crate::process::Process;

/// Runs `offshoot up`, which is to refuse; what it said.
fn refused(root: &Path) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["up", "--data"])
        .arg(root.join("data"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // One that serves what it found ends by the signal, and so without a code.
    drop(child.kill());
    let output: Output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for way in ["--restore", "--rebuild"] {
        assert!(said.contains(way), "{way}: {said}");
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_spoilt_or_gone_is_told_with_the_ways_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut server = Process::start(root, &[]).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"k": "v"}});
    server.create(&format!("{CORE}/configmaps"), &map).await;
    let copy = root.join("copy.jsonl");
    let backup = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(["backup", "copy.jsonl"])
            .args(arguments)
            .current_dir(root)
            .env("KUBECONFIG", root.join("data/kubeconfig"))
            .output();
        let output = output.unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    backup(&[]);
    assert!(copy.exists());
    server.kill();
    let objects = root.join("data/objects.redb");
    let whole = std::fs::read(&objects).unwrap();
    let mut flipped = whole.clone();
    // Everything but the header: whatever of it is in use, its checksum no longer fits.
    flipped[4_096..].iter_mut().for_each(|byte| *byte ^= 1);
    for (bytes, found) in [
        (Vec::new(), "is empty"),
        (
            b"no store at all".to_vec(),
            "does not begin like an object store",
        ),
        (whole[..whole.len() / 2].to_vec(), "is damaged"),
        (flipped, "is damaged"),
    ] {
        std::fs::write(&objects, &bytes).unwrap();
        let said = refused(root);
        assert!(
            said.contains(found) && said.contains("objects.redb"),
            "{said}"
        );
    }
    std::fs::remove_file(&objects).unwrap();
    std::fs::create_dir(&objects).unwrap();
    assert!(refused(root).contains("it is a directory"));
    std::fs::remove_dir(&objects).unwrap();
    assert!(refused(root).contains("is missing"));
    assert!(!objects.exists(), "nothing was made in its place");
    // One way out: a copy, also into the directory itself.
    backup(&["--restore", "--data", "data"]);
    let mut server = Process::start(root, &[]).await;
    let kept = server.get(&format!("{CORE}/configmaps/kept")).await;
    assert_eq!(kept["data"], json!({"k": "v"}));
    server.kill();
    // The other: no objects, and what was found is kept.
    std::fs::write(&objects, "no store at all").unwrap();
    let server = Process::start(root, &["--rebuild"]).await;
    assert!(
        server
            .get(&format!("{CORE}/configmaps/kept"))
            .await
            .is_null()
    );
    let kept = std::fs::read_to_string(root.join("data/objects.redb.damaged"));
    assert_eq!(kept.unwrap(), "no store at all");
}
