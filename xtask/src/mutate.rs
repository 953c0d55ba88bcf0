//! `cargo xtask mutate`: breaks rules on purpose and shows that tests notice.
//!
//! `xtask/rules.toml` names rules, where they stand and what breaks them. A run takes some of them, sampled by a
//! seed, breaks one after the other in place, runs the tests of its crate, and puts the text back. A rule that no test
//! misses is a failure. By hand only: it takes minutes, and nobody else may build in the same checkout meanwhile.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::Deserialize;

/// Flags of `mutate`.
#[derive(Debug, clap::Args)]
pub(crate) struct MutateArgs {
    /// Which rules are taken.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 20)]
    count: usize,
    /// Only rules whose name holds this.
    #[arg(long)]
    only: Option<String>,
}

#[derive(Debug, Deserialize)]
struct List {
    rule: Vec<Rule>,
}

#[derive(Debug, Clone, Deserialize)]
struct Rule {
    name: String,
    file: PathBuf,
    find: String,
    with: String,
}

/// A file with a broken rule; what stood there before comes back, whatever happens.
struct Broken {
    path: PathBuf,
    before: String,
}

impl Broken {
    fn of(root: &Path, rule: &Rule) -> Result<Self, String> {
        let path = root.join(&rule.file);
        let failed = |e: std::io::Error| format!("{}: {e}", rule.file.display());
        let before = std::fs::read_to_string(&path).map_err(failed)?;
        if before.matches(&rule.find).count() != 1 {
            return Err(format!(
                "{}: the rule stands there no more, or twice: mend rules.toml",
                rule.name
            ));
        }
        let after = before.replace(&rule.find, &rule.with);
        std::fs::write(&path, after).map_err(failed)?;
        Ok(Self { path, before })
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(&self.path, &self.before) {
            crate::say(&format!(
                "{}: {error}: git checkout it",
                self.path.display()
            ));
        }
    }
}

/// Runs the sample.
pub(crate) fn run(args: &MutateArgs, root: &Path) -> ExitCode {
    match sampled(args, root) {
        Err(why) => crate::fail(&why),
        Ok(rules) => {
            let mut missed = 0;
            for rule in &rules {
                match noticed(root, rule) {
                    Ok(by) => crate::say(&format!("noticed by {by}: {}", rule.name)),
                    Err(why) => {
                        missed += 1;
                        crate::say(&format!("{why}: {}", rule.name));
                    }
                }
            }
            crate::say(&format!(
                "{} rules broken (seed {}), {missed} not noticed",
                rules.len(),
                args.seed
            ));
            if missed == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// Some of the rules, in an order that the seed decides.
fn sampled(args: &MutateArgs, root: &Path) -> Result<Vec<Rule>, String> {
    let text = std::fs::read_to_string(root.join("xtask/rules.toml"));
    let text = text.map_err(|e| format!("xtask/rules.toml: {e}"))?;
    let list: List = toml::from_str(&text).map_err(|e| format!("xtask/rules.toml: {e}"))?;
    let wanted = |rule: &Rule| {
        let only = args.only.as_ref();
        only.is_none_or(|part| rule.name.contains(part.as_str()))
    };
    let mut rules: Vec<Rule> = list.rule.into_iter().filter(|r| wanted(r)).collect();
    let mut state = args.seed;
    let mut order: Vec<(u64, Rule)> = rules.drain(..).map(|r| (next(&mut state), r)).collect();
    order.sort_by_key(|(key, _)| *key);
    Ok(order.into_iter().map(|(_, r)| r).take(args.count).collect())
}

/// SplitMix64: enough to shuffle a list, the same everywhere.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The first test that notices that a rule is broken.
fn noticed(root: &Path, rule: &Rule) -> Result<String, String> {
    let broken = Broken::of(root, rule)?;
    let krate = rule.file.components().nth(1);
    let krate = krate.map(|c| c.as_os_str().to_string_lossy().into_owned());
    let krate = krate.ok_or_else(|| "its file is in no crate".to_owned())?;
    // With everybody's features, so that nothing else is built again.
    let test = |run: &[&str]| {
        let base = [
            "test",
            "--quiet",
            "--locked",
            "--package",
            &krate,
            "--tests",
        ];
        let command = Command::new("cargo")
            .args(base)
            .args(run)
            .current_dir(root)
            .output();
        command.map_err(|e| format!("run cargo: {e}"))
    };
    let built = test(&["--no-run"])?;
    if !built.status.success() {
        return Err("does not compile when broken".to_owned());
    }
    let ran = test(&[])?;
    drop(broken);
    if ran.status.success() {
        return Err("NOT noticed".to_owned());
    }
    let text = String::from_utf8_lossy(&ran.stdout);
    let failed = text
        .lines()
        .skip_while(|l| *l != "failures:")
        .find(|l| l.starts_with("---- "));
    let name = failed.and_then(|l| l.strip_prefix("---- ")?.split(' ').next());
    Ok(format!("{krate}::{}", name.unwrap_or("its tests")))
}
