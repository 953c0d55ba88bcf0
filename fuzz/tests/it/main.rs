//! Every found input again, and a fixed share of a run for each target: a broken law is a panic.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::path::PathBuf;

use fuzz::{Run, TARGETS};

/// Inputs of each target: a minute's share of a run, all targets together, in a debug build.
const SHARE: usize = 3_000;

/// A server that is asked over and over takes longer than a function.
fn share(name: &str) -> usize {
    match name.starts_with("api-") {
        true => SHARE / 15,
        false => SHARE,
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

#[test]
fn what_was_found_stays_fixed() {
    for target in TARGETS {
        for input in corpus(target.name) {
            (target.run)(&input);
        }
    }
}

#[test]
fn a_share_of_every_target_holds_its_laws() {
    std::thread::scope(|scope| {
        for target in TARGETS {
            scope.spawn(move || {
                let mut run = Run::new(target, 7, corpus(target.name));
                for _ in 0..share(target.name) {
                    let input = run.input();
                    run.feed(input);
                }
                let least = share(target.name).min(1_050) / 50;
                assert!(
                    run.signatures() >= least,
                    "{} does the same all the time",
                    target.name
                );
            });
        }
    });
}

#[test]
fn a_run_can_be_repeated() {
    let inputs = |number| {
        let mut run = Run::new(&TARGETS[0], number, Vec::new());
        let mut all = Vec::new();
        for _ in 0..50 {
            let input = run.input();
            all.push(input.clone());
            run.feed(input);
        }
        all
    };
    assert_eq!(inputs(3), inputs(3));
    assert_ne!(inputs(3), inputs(4));
}
