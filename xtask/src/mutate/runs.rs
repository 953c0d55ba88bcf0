//! Which test notices that a rule is broken, in a copy that has a switch for each.
//!
//! A binary of tests runs once as it is, and tells which rules its tests come to. Those tests alone run with the switch turned, or
//! all of them where a rule is reached on a thread that is no test's; the first one that fails ends it. It counts if it fails
//! again alone, and passes alone as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::tree::{Binary, Tree};

/// How long a run may take, or twice as long as the binary takes as it is.
const LIMIT: Duration = Duration::from_secs(180);
/// How long a binary may take as it is.
const PLAIN: Duration = Duration::from_secs(1_500);

/// The simulation, and the seeds that it runs: few at first, since it tells what it saw at the end.
const SIM: &str = "sim::nothing_is_lost_and_everything_comes_to_rest_whatever_strikes";
const SEEDS: [&str; 3] = ["0..30", "30..120", "120..300"];
const ALL_SEEDS: &str = "0..300";

/// Crates whose tests use what others do, each after what is quicker.
const USERS: [&str; 3] = ["engine", "apiserver", "offshoot"];

/// What runs as it is showed.
#[derive(Debug, Default)]
struct Plain {
    took: Duration,
    /// The threads on which each rule was asked about.
    reached: BTreeMap<usize, BTreeSet<String>>,
    /// All tests.
    tests: BTreeSet<String>,
}

/// Runs of one copy.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    tree: &'a Tree,
    binaries: Vec<Binary>,
    plain: BTreeMap<PathBuf, Plain>,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    /// The first test that failed.
    Failed(String),
    /// It ended before it told how, as one does whose stack is too small.
    Died,
    Late,
}

impl<'a> Runs<'a> {
    pub(super) fn new(tree: &'a Tree, binaries: Vec<Binary>) -> Self {
        Self {
            tree,
            binaries,
            plain: BTreeMap::new(),
        }
    }

    /// The first test that notices that a rule is broken.
    pub(super) fn noticed(&mut self, number: usize) -> Result<Option<String>, String> {
        let file = self.tree.rules.get(&number).map(|rule| &rule.file);
        let krate = file.and_then(|f| f.iter().nth(1)).unwrap_or_default();
        let krate = krate.to_string_lossy().into_owned();
        let of = |wanted: &str| {
            let mut found: Vec<Binary> = self.binaries.clone();
            found.retain(|b| b.krate == wanted);
            found.sort_by_key(|b| b.name == "it");
            found
        };
        let users = USERS.iter().filter(|user| **user != krate);
        let (own, users): (_, Vec<Binary>) = (of(&krate), users.flat_map(|u| of(u)).collect());
        let sim = of("testkit").into_iter().filter(|b| b.name == "it");
        for (binary, simulates) in own
            .into_iter()
            .map(|b| (b, false))
            .chain(sim.map(|b| (b, true)))
            .chain(users.into_iter().map(|b| (b, false)))
        {
            if let Some(test) = self.noticed_by(&binary, number, simulates)? {
                return Ok(Some(format!("{}::{} {test}", binary.krate, binary.name)));
            }
        }
        Ok(None)
    }

    fn noticed_by(
        &mut self,
        binary: &Binary,
        number: usize,
        simulates: bool,
    ) -> Result<Option<String>, String> {
        let plain = self.plain(binary, simulates)?;
        let Some(threads) = plain.reached.get(&number) else {
            return Ok(None);
        };
        let limit = LIMIT.max(plain.took * 2);
        if simulates {
            for seeds in SEEDS {
                let env = [("OFFSHOOT_SIM_SEEDS", seeds)];
                let ended = self.run(binary, &[SIM.to_owned()], Some(number), &env, limit)?;
                if ended != Ended::Passed {
                    return Ok(Some(format!("seeds {seeds}")));
                }
            }
            return Ok(None);
        }
        let named: Vec<String> = threads.intersection(&plain.tests).cloned().collect();
        let elsewhere = threads.iter().any(|name| !plain.tests.contains(name));
        if !named.is_empty()
            && let Some(test) = self.failing(binary, &named, number, limit)?
        {
            return Ok(Some(test));
        }
        if elsewhere {
            return self.failing(binary, &[], number, limit);
        }
        Ok(None)
    }

    /// A test that fails with the rule broken whenever it is asked, and passes as it is.
    fn failing(
        &self,
        binary: &Binary,
        tests: &[String],
        number: usize,
        limit: Duration,
    ) -> Result<Option<String>, String> {
        let test = match self.run(binary, tests, Some(number), &[], limit)? {
            Ended::Passed => return Ok(None),
            Ended::Late => return Ok(Some("by not ending".to_owned())),
            Ended::Died => return Ok(Some("by dying".to_owned())),
            Ended::Failed(test) => test,
        };
        let alone = [test];
        let again = self.run(binary, &alone, Some(number), &[], LIMIT)?;
        let whole = self.run(binary, &alone, None, &[], LIMIT)?;
        let [test] = alone;
        if again == Ended::Passed || whole != Ended::Passed {
            crate::say(&format!("{number}: {test} fails by chance"));
            let others = tests.iter().filter(|t| **t != test).cloned();
            let others: Vec<String> = others.collect();
            if others.is_empty() {
                return Ok(None);
            }
            return self.failing(binary, &others, number, limit);
        }
        Ok(Some(test))
    }

    /// What is known of a binary as it is.
    fn plain(&mut self, binary: &Binary, simulates: bool) -> Result<&Plain, String> {
        if !self.plain.contains_key(&binary.path) {
            let plain = self.look(binary, simulates)?;
            self.plain.insert(binary.path.clone(), plain);
        }
        let plain = self.plain.get(&binary.path);
        plain.ok_or_else(|| "a run was forgotten".to_owned())
    }

    /// Runs a binary as it is, unless an earlier look told of it.
    fn look(&self, binary: &Binary, simulates: bool) -> Result<Plain, String> {
        let kept = self.tree.dir.join("reached");
        std::fs::create_dir_all(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
        let name = binary.path.file_name().unwrap_or_default();
        let (done, path) = (kept.join(name).with_extension("took"), kept.join(name));
        let known = std::fs::read_to_string(&done).ok();
        let took = match known.and_then(|text| text.parse().ok()) {
            Some(seconds) => Duration::from_secs(seconds),
            None => {
                drop(std::fs::remove_file(&path));
                let started = Instant::now();
                let reached = path.to_string_lossy();
                let env = [
                    ("OFFSHOOT_REACHED", &*reached),
                    ("OFFSHOOT_SIM_SEEDS", ALL_SEEDS),
                ];
                let tests = if simulates {
                    &[SIM.to_owned()][..]
                } else {
                    &[]
                };
                let ended = self.run(binary, tests, None, &env, PLAIN)?;
                if ended != Ended::Passed {
                    return Err(format!("{}: as it is: {ended:?}", binary.path.display()));
                }
                let took = started.elapsed();
                drop(std::fs::write(&done, took.as_secs().to_string()));
                crate::say(&format!("{} passes as it is in {took:.0?}", path.display()));
                took
            }
        };
        let mut plain = Plain {
            took,
            ..Plain::default()
        };
        for line in std::fs::read_to_string(&path).unwrap_or_default().lines() {
            if let Some((rule, thread)) = line.split_once(' ')
                && let Ok(rule) = rule.parse()
            {
                plain
                    .reached
                    .entry(rule)
                    .or_default()
                    .insert(thread.to_owned());
            }
        }
        let listed = self.command(binary).arg("--list").output();
        let listed = listed.map_err(|e| format!("run a test: {e}"))?;
        let tests = String::from_utf8_lossy(&listed.stdout);
        let tests = tests.lines().filter_map(|l| l.strip_suffix(": test"));
        plain.tests = tests.map(str::to_owned).collect();
        Ok(plain)
    }

    /// A binary as Cargo would run it.
    fn command(&self, binary: &Binary) -> Command {
        let home = self.tree.dir.join("crates").join(&binary.krate);
        let mut command = Command::new(&binary.path);
        command
            .current_dir(&home)
            .env("CARGO_MANIFEST_DIR", &home)
            // As `.cargo/config.toml` says.
            .env("PROPTEST_RNG_SEED", "4")
            // A function that stands there many times has as many variables.
            .env("RUST_MIN_STACK", (16 << 20).to_string());
        command
    }

    /// Runs these tests, or all, until the first of them fails.
    fn run(
        &self,
        binary: &Binary,
        tests: &[String],
        broken: Option<usize>,
        env: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Ended, String> {
        let mut command = self.command(binary);
        if !tests.is_empty() {
            command.arg("--exact").args(tests);
        }
        if let Some(number) = broken {
            command.env("OFFSHOOT_BROKEN", number.to_string());
        }
        let child = command
            .envs(env.iter().copied())
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        watch(child.map_err(|e| format!("run a test: {e}"))?, limit)
    }
}

/// Waits for a run of tests, and ends it with all that it started.
fn watch(mut child: Child, limit: Duration) -> Result<Ended, String> {
    let out = child.stdout.take().ok_or("no output")?;
    let (tell, told) = mpsc::channel();
    // It ends with the last process that holds the pipe.
    std::thread::spawn(move || {
        let lines = BufReader::new(out).lines().map_while(Result::ok);
        lines.for_each(|line| drop(tell.send(line)));
    });
    let end = Instant::now() + limit;
    let ended = loop {
        match told.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let name = line.strip_prefix("test ").and_then(|l| {
                    let name = l.strip_suffix("... FAILED")?.trim_end();
                    Some(name.strip_suffix(" - should panic").unwrap_or(name))
                });
                if let Some(name) = name {
                    break Ended::Failed(name.to_owned());
                }
                if line.starts_with("test result: ok") {
                    break Ended::Passed;
                }
            }
            Err(RecvTimeoutError::Timeout) => break Ended::Late,
            Err(RecvTimeoutError::Disconnected) => break Ended::Died,
        }
    };
    let group = format!("-{}", child.id());
    let mut kill = Command::new("kill");
    let kill = kill.args(["-KILL", "--", &group]).stderr(Stdio::null());
    drop(kill.status());
    drop(child.wait());
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> Ended {
        let child = Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn();
        watch(child.unwrap(), Duration::from_millis(500)).unwrap()
    }

    #[test]
    fn a_run_ends_at_the_first_test_that_fails() {
        assert_eq!(
            ended("echo 'test a::b ... ok'; echo 'test a::c - should panic ... FAILED'; sleep 60"),
            Ended::Failed("a::c".to_owned())
        );
        assert_eq!(
            ended("echo 'test a::b ... ok'; echo 'test result: ok. 1 passed'"),
            Ended::Passed
        );
        assert_eq!(ended("echo 'test a::b ... ok'"), Ended::Died);
        assert_eq!(ended("echo 'running 1 test'; sleep 60"), Ended::Late);
    }
}
