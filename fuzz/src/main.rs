//! Runs targets as long as told: `fuzz SECONDS [TARGET…] [--number N]`, seconds of CPU for each.
//!
//! The input under way stands in `target/fuzz/TARGET.input`, so that it can be found after a crash, a hang or an
//! exhausted stack; put it into `fuzz/corpus/TARGET` with its fix.

use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use fuzz::{Run, TARGETS, Target};

/// One input that takes longer than this is a hang.
const SLOWEST: f64 = 2.0;

/// More memory than this is too much for inputs of a few kilobytes.
const MOST_BYTES: u64 = 1 << 30;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody is left to tell if standard error is gone.
            drop(writeln!(std::io::stderr(), "error: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &[String]) -> Result<(), String> {
    let mut names = Vec::new();
    let mut number = 1;
    let mut seconds = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--number" {
            let text = arguments.next().ok_or("--number needs one")?;
            number = text.parse().map_err(|_| format!("{text:?} is no number"))?;
        } else if seconds.is_none() {
            seconds = Some(
                argument
                    .parse::<f64>()
                    .map_err(|_| format!("{argument:?} are no seconds"))?,
            );
        } else {
            names.push(fuzz::find(argument).ok_or_else(|| unknown(argument))?);
        }
    }
    let seconds = seconds.ok_or("say for how many seconds of CPU each target is to run")?;
    if names.is_empty() {
        names.extend(TARGETS);
    }
    names
        .into_iter()
        .try_for_each(|target| drive(target, number, seconds))
}

fn unknown(name: &str) -> String {
    let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    format!("there is no target {name:?}; there are {}", all.join(", "))
}

fn drive(target: &'static Target, number: u64, seconds: f64) -> Result<(), String> {
    let folder = root().join("target/fuzz");
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("make {}: {error}", folder.display()))?;
    let place = folder.join(format!("{}.input", target.name));
    let mut file = std::fs::File::create(&place)
        .map_err(|error| format!("make {}: {error}", place.display()))?;
    let mut run = Run::new(
        target,
        number,
        corpus(&root().join("fuzz/corpus").join(target.name)),
    );
    let clock = Instant::now();
    let begin = used(clock);
    let (mut count, mut slowest) = (0_u64, 0.0_f64);
    loop {
        let before = used(clock);
        if before - begin > seconds {
            break;
        }
        for _ in 0..16 {
            let input = run.input();
            keep(&mut file, &input)
                .map_err(|error| format!("write {}: {error}", place.display()))?;
            let start = used(clock);
            run.feed(input);
            let took = used(clock) - start;
            slowest = slowest.max(took);
            count += 1;
            if took > SLOWEST {
                return Err(format!(
                    "{}: {} took {took:.1} s",
                    target.name,
                    place.display()
                ));
            }
        }
        if memory() > MOST_BYTES {
            return Err(format!(
                "{}: more than {MOST_BYTES} bytes of memory",
                target.name
            ));
        }
    }
    let line = format!(
        "{}: {count} inputs in {:.0} s of CPU, {} signatures, slowest {:.0} ms, {} MiB at most",
        target.name,
        used(clock) - begin,
        run.signatures(),
        slowest * 1e3,
        peak() >> 20,
    );
    drop(writeln!(std::io::stdout(), "{line}"));
    Ok(())
}

fn keep(file: &mut std::fs::File, input: &[u8]) -> std::io::Result<()> {
    file.rewind()?;
    file.set_len(input.len() as u64)?;
    file.write_all(input)
}

/// The inputs that were found before.
fn corpus(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}

fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(PathBuf::from).unwrap_or(here)
}

/// Seconds of CPU that this process has used; the wall clock where the system does not say.
fn used(clock: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| clock.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// Bytes of memory in use; 0 where the system does not say.
fn memory() -> u64 {
    status("VmRSS:")
}

fn peak() -> u64 {
    status("VmHWM:")
}

fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}
