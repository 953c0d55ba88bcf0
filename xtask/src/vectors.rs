//! `cargo xtask vectors DIR…`: the recorded results of real implementations, held against ours.
//!
//! The sets that crates can be asked in this process are run case by case and held against `vectors-known.toml`; the sets of
//! `expr` and `apiserver` are run by those crates' own tests. A folder without sets, a failing case, a listed case that
//! does not differ, and a set of which too many differ on purpose are failures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};
use testkit::vectors::known::{self, Verdict};
use testkit::vectors::{self, Ran};

/// The sets that a crate's own tests run, and the crate.
const TESTED: [(&str, &str); 2] = [("cel", "expr"), ("apiserver", "apiserver")];
/// The share of a set that may differ on purpose, in percent; of `merge` as many cases may as its decisions explain. Of
/// `render` it is 11 since a result may say no less than the exit code (M26).
const SHARES: [(&str, usize); 6] = [
    ("yaml-scalars", 0),
    ("yaml-edit", 0),
    ("kptfile", 0),
    ("merge", 100),
    ("functions", 10),
    ("render", 11),
];

/// Flags of `vectors`.
#[derive(Debug, clap::Args)]
pub(crate) struct VectorsArgs {
    /// Folders of sets, or single sets.
    #[arg(required = true)]
    directories: Vec<PathBuf>,
    /// Only this set.
    #[arg(long)]
    set: Option<String>,
    /// Write every case's outcome into this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Hold the runner of the set `apiserver` against this server instead of ours: a real kube-apiserver must score 100 %.
    #[arg(long, value_name = "URL", requires = "kubeconfig")]
    server: Option<String>,
    /// The server's kubeconfig, with the contexts admin, alice and anonymous (`tests/peer/run` makes one).
    #[arg(long, value_name = "FILE", requires = "server")]
    kubeconfig: Option<PathBuf>,
}

impl VectorsArgs {
    /// What the crate's own tests are told of another server.
    fn peer(&self) -> Result<Vec<(&'static str, String)>, String> {
        let (Some(server), Some(kubeconfig)) = (&self.server, &self.kubeconfig) else {
            return Ok(Vec::new());
        };
        let path = kubeconfig.canonicalize();
        let path = path.map_err(|e| format!("{}: {e}", kubeconfig.display()))?;
        Ok(vec![
            ("OFFSHOOT_PEER", path.display().to_string()),
            ("OFFSHOOT_PEER_SERVER", server.clone()),
        ])
    }
}

/// Runs every set of the directories.
pub(crate) fn run(args: &VectorsArgs) -> ExitCode {
    let text = match std::fs::read_to_string(crate::root().join("vectors-known.toml")) {
        Ok(text) => text,
        Err(error) => return crate::fail(&format!("vectors-known.toml: {error}")),
    };
    let peer = match args.peer() {
        Ok(peer) => peer,
        Err(why) => return crate::fail(&why),
    };
    let only = match (&args.set, peer.is_empty()) {
        (None, false) => Some("apiserver"),
        (set, _) => set.as_deref(),
    };
    let mut report = Vec::new();
    let mut failed = 0;
    for directory in &args.directories {
        match sets(directory, only) {
            Ok(sets) => {
                for (set, folder) in sets {
                    failed += match TESTED.iter().find(|(tested, _)| *tested == set) {
                        Some((_, member)) => tested(&set, member, &folder, &peer),
                        None => one(&set, &folder, &text, &mut report),
                    };
                }
            }
            Err(why) => {
                crate::say(&format!("{}: {why}", directory.display()));
                failed += 1;
            }
        }
    }
    if let Some(path) = &args.json {
        let report = serde_json::to_string_pretty(&report).unwrap_or_default();
        if let Err(error) = std::fs::write(path, report) {
            return crate::fail(&format!("{}: {error}", path.display()));
        }
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        crate::fail(&format!("{failed} failures"))
    }
}

/// The sets of a directory, or the one that it is.
fn sets(directory: &Path, only: Option<&str>) -> Result<Vec<(String, PathBuf)>, String> {
    let directory = directory
        .canonicalize()
        .map_err(|error| error.to_string())?;
    let known: Vec<&str> = vectors::SETS
        .into_iter()
        .chain(TESTED.map(|(set, _)| set))
        .collect();
    let own = directory
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if known.contains(&own) {
        return Ok(vec![(own.to_owned(), directory)]);
    }
    let wanted = known
        .into_iter()
        .filter(|set| only.is_none_or(|only| only == *set));
    let found: Vec<_> = wanted
        .map(|set| (set.to_owned(), directory.join(set)))
        .filter(|(_, folder)| folder.is_dir())
        .collect();
    if found.is_empty() {
        return Err("holds no set that is known".to_owned());
    }
    Ok(found)
}

/// Runs one set; how many failures there are.
fn one(set: &str, folder: &Path, list: &str, report: &mut Vec<Value>) -> usize {
    let listed = match known::read(list, set) {
        Ok(listed) => listed,
        Err(error) => {
            crate::say(&format!("{set}: {error}"));
            return 1;
        }
    };
    let Ran { checked, elsewhere } = match vectors::run(set, folder) {
        Ok(ran) => ran,
        Err(error) => {
            crate::say(&format!("{set}: {error}"));
            return 1;
        }
    };
    let (mut passed, mut differ, mut failed) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    for case in &checked {
        let verdict = known::judge(case, &listed);
        report.push(json!({
            "set": set,
            "case": case.name,
            "result": case.result,
            "verdict": match &verdict {
                Verdict::Passed => "passed".to_owned(),
                Verdict::Known(decision) => decision.clone(),
                Verdict::Failed(_) => "failed".to_owned(),
            },
            "more": case.more,
            "difference": case.difference,
        }));
        match verdict {
            Verdict::Passed => passed += 1,
            Verdict::Known(decision) => *differ.entry(decision).or_default() += 1,
            Verdict::Failed(why) => failed.push(format!("  {}: {}", case.name, first(&why))),
        }
    }
    let share: usize = differ.values().sum();
    let mut line = format!("{set}: {} passed, {} failed", passed + share, failed.len());
    if share > 0 {
        let by: Vec<String> = differ
            .iter()
            .map(|(decision, count)| format!("{decision} {count}"))
            .collect();
        line += &format!(
            "; {share} of {} differ by decision ({})",
            checked.len(),
            by.join(", ")
        );
    }
    if !elsewhere.is_empty() {
        line += &format!(
            "; {} need what is not here (a container, a network, another command)",
            elsewhere.len()
        );
    }
    crate::say(&line);
    failed.iter().for_each(|line| crate::say(line));
    let limit = SHARES.iter().find(|(name, _)| *name == set);
    let limit = limit.map_or(0, |(_, limit)| *limit);
    let too_many = share * 100 > checked.len() * limit;
    if too_many {
        crate::say(&format!("  more than {limit} % differ by decision"));
    }
    failed.len() + usize::from(checked.is_empty()) + usize::from(too_many)
}

/// The first difference, in a few lines.
fn first(why: &str) -> String {
    why.lines().take(6).collect::<Vec<_>>().join("\n    ")
}

/// The crate's tests, as the whole workspace builds them: with the crate alone Cargo would choose other features, and
/// build half of the dependencies once more.
fn built(member: &str) -> Result<PathBuf, String> {
    let output = Command::new("cargo")
        .args([
            "test",
            "--workspace",
            "--locked",
            "--no-run",
            "--test",
            "it",
        ])
        .arg("--message-format=json")
        .current_dir(crate::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("run cargo: {e}"))?;
    let home = crate::root().join("crates").join(member).join("Cargo.toml");
    let lines = output.stdout.split(|b| *b == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let of_room = |m: &Value| m["manifest_path"].as_str() == home.to_str();
    let mut tests = messages
        .filter(of_room)
        .filter(|m| m["target"]["name"] == "it")
        .filter_map(|m| m["executable"].as_str().map(PathBuf::from));
    let built = tests.next();
    built.ok_or_else(|| format!("the tests of {member} do not build"))
}

/// Runs the crate's own comparison with these vectors.
fn tested(set: &str, member: &str, folder: &Path, peer: &[(&'static str, String)]) -> usize {
    let root = folder.parent().unwrap_or(folder);
    let tests = match built(member) {
        Ok(tests) => tests,
        Err(why) => {
            crate::say(&format!("{set}: {why}"));
            return 1;
        }
    };
    // Of another server only the recordings can be asked, one kind after the other.
    let only: &[&str] = match peer {
        [] => &[],
        _ => &["--test-threads=1", "recorded"],
    };
    let output = Command::new(&tests)
        .arg("--nocapture")
        .args(only)
        .envs(peer.iter().cloned())
        .env("OFFSHOOT_VECTORS", root)
        .current_dir(crate::root().join("crates").join(member))
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            crate::say(&format!("{set}: run {}: {error}", tests.display()));
            return 1;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let skipped = text.lines().any(|line| line.starts_with("skipped"));
    let verdict = match (output.status.success(), skipped) {
        (true, false) => "agrees, or differs by a decision that its test names",
        (true, true) => "was skipped",
        (false, _) => "differs",
    };
    crate::say(&format!("{set}: {verdict}"));
    let scores = text.lines().filter(|l| l.contains(" scenarios equal"));
    scores.for_each(|line| crate::say(&format!("  {line}")));
    if output.status.success() && !skipped {
        return 0;
    }
    crate::say(&text);
    1
}
