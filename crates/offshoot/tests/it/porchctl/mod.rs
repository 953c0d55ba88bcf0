//! What the existing implementation's command line was seen to do, typed into ours: the same listings, files and
//! successes, and a failure where it failed.
//!
//! The transcripts stand in `../shared/observed/porchctl` beside the repository, or beside what `OFFSHOOT_OBSERVED`
//! names; without them the test says that it was skipped. A step that differs stands in [`known::KNOWN`] with the reason.
//! Texts of failures are ours to word: that there is one is compared, and who may not do what, where rights are missing.

mod base;
mod compare;
mod known;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use base::World;

use crate::recorded::Repositories;

/// How long a controller may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the transcripts are, if they are here.
fn transcripts() -> Option<PathBuf> {
    let porch = std::env::var_os("OFFSHOOT_OBSERVED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/observed/porch"),
        PathBuf::from,
    );
    let place = porch.parent()?.join("porchctl");
    place.is_dir().then_some(place)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typed_commands_do_what_was_seen() {
    let Some(place) = transcripts() else {
        println!("skipped: the transcripts of the other command line are not here");
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&place)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let mut told = Vec::new();
    let mut stale: BTreeSet<(&str, usize)> = known::KNOWN
        .iter()
        .map(|(file, at, _)| (*file, *at))
        .collect();
    let (mut equal, mut elsewhere) = (0, 0);
    let repositories = Repositories::new();
    for file in &files {
        let scenario: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let name = scenario["name"].as_str().unwrap().to_owned();
        if known::ELSEWHERE.iter().any(|(other, _)| *other == name) {
            elsewhere += 1;
            continue;
        }
        let mut world = World::new(&repositories, &scenario).await;
        for (at, step) in scenario["steps"].as_array().unwrap().iter().enumerate() {
            let Some(ran) = run(&mut world, step) else {
                world.act(step).await;
                continue;
            };
            let mut differs = compare::differences(&world, step, &ran);
            let known = known::KNOWN.iter().any(|(f, s, _)| *f == name && *s == at);
            // What is only read may not be there yet: controllers come by in their own time.
            let started = Instant::now();
            let reads = step["argv"][2] == "get" && !known;
            while reads && !differs.is_empty() && started.elapsed() < PATIENCE {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let Some(ran) = run(&mut world, step) else {
                    break;
                };
                differs = compare::differences(&world, step, &ran);
            }
            match (differs.is_empty(), known) {
                (true, false) => equal += 1,
                (false, true) => stale.retain(|(f, s)| !(*f == name && *s == at)),
                (true, true) => {}
                (false, false) => told.push(format!(
                    "{name} #{at} {}:\n{}",
                    step["argv"],
                    differs.join("\n")
                )),
            }
        }
    }
    println!(
        "{equal} steps equal, {} differ with a reason, {elsewhere} elsewhere",
        known::KNOWN.len()
    );
    assert!(
        told.is_empty(),
        "{} steps differ:\n{}",
        told.len(),
        told.join("\n\n")
    );
    assert!(stale.is_empty(), "listed, but equal: {stale:?}");
}

/// What a command did.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs a step; `None` for one that is no command.
fn run(world: &mut World, step: &Value) -> Option<Ran> {
    let argv = step.get("argv")?.as_array()?;
    world.put_files(step);
    let mut command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
    command
        .args(
            argv.iter()
                .skip(1)
                .filter_map(Value::as_str)
                .map(|word| world.ours(word)),
        )
        .current_dir(world.checkout())
        .env("HOME", world.home())
        .env("KUBECONFIG", world.kubeconfig(step))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (key, value) in step
        .get("env")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        command.env(key, value.as_str().unwrap());
    }
    let mut child = command.spawn().unwrap();
    let input = step
        .get("stdin")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let input = world.with_version(&world.ours(input));
    // A command that does not read its input may be gone by now.
    drop(std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        input.as_bytes(),
    ));
    let output = child.wait_with_output().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    world.note_version(&ran.stdout);
    Some(ran)
}
