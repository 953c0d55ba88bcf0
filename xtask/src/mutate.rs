//! `cargo xtask mutate`: breaks rules on purpose and shows that tests notice.
//!
//! `xtask/rules.toml` names rules, where they stand and what breaks them. A run takes some of them, sampled by a
//! seed, breaks one after the other in place, runs the tests of its crate, and puts the text back. A rule that no test
//! misses is a failure. By hand only: it takes minutes, and nobody else may build in the same checkout meanwhile.
//!
//! With `--switched DIR` one build does for all of them: a copy of the sources in that directory breaks every rule behind a switch,
//! each run turns one, and nothing is touched here. What cannot be switched is told, and is left to a run without.

mod runs;
mod switches;
mod tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::Deserialize;

use self::runs::Runs;
use self::tree::Tree;
use crate::finding::Finding;

/// Flags of `mutate`.
#[derive(Debug, clap::Args)]
pub(crate) struct MutateArgs {
    /// Which rules are taken.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 20)]
    count: usize,
    /// Only rules whose name or file holds this.
    #[arg(long)]
    only: Option<String>,
    /// Break them all at once in a copy of the sources in this directory, each behind a switch.
    #[arg(long, value_name = "DIR")]
    switched: Option<PathBuf>,
}

/// Where the rules are.
const RULES: &str = "xtask/rules.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    rule: Vec<Rule>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
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
    let missed = match &args.switched {
        Some(dir) => switched(args, root, dir),
        None => in_place(args, root),
    };
    match missed {
        Err(why) => crate::fail(&why),
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
    }
}

/// Breaks one after the other where it stands; how many were not noticed.
fn in_place(args: &MutateArgs, root: &Path) -> Result<usize, String> {
    let rules = sampled(args, root)?;
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
    Ok(missed)
}

/// Turns one switch after the other; how many were not noticed.
fn switched(args: &MutateArgs, root: &Path, dir: &Path) -> Result<usize, String> {
    let mut tree = Tree::new(root, dir, read(root)?.rule);
    let binaries = tree.build()?;
    let names: BTreeSet<String> = sampled(args, root)?.into_iter().map(|r| r.name).collect();
    let mut runs = Runs::new(&tree, binaries);
    let (mut left, mut missed, mut ran) = (0, 0, 0);
    for (number, rule) in tree.rules.iter().filter(|(_, r)| names.contains(&r.name)) {
        let name = format!("{number}: {}", rule.name);
        if let Some(why) = tree.left.get(number) {
            left += 1;
            crate::say(&format!("not switched ({why}): {name}"));
            continue;
        }
        ran += 1;
        match runs.noticed(*number)? {
            Some(by) => crate::say(&format!("noticed by {by}: {name}")),
            None => {
                missed += 1;
                crate::say(&format!("NOT noticed: {name}"));
            }
        }
    }
    crate::say(&format!(
        "{ran} rules broken, {missed} not noticed; {left} not switched"
    ));
    Ok(missed)
}

fn read(root: &Path) -> Result<List, String> {
    let text = std::fs::read_to_string(root.join(RULES)).map_err(|e| format!("{RULES}: {e}"))?;
    toml::from_str(&text).map_err(|e| format!("{RULES}: {e}"))
}

/// What of the list cannot be run any more: both the list and the code that it quotes are edited by many.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let list = match read(root) {
        Ok(list) => list,
        Err(why) => return vec![Finding::new(RULES, why)],
    };
    let mut names = BTreeSet::new();
    let mut findings = Vec::new();
    for rule in &list.rule {
        let text = std::fs::read_to_string(root.join(&rule.file)).unwrap_or_default();
        let found = text.matches(&rule.find).count();
        let place = rule.file.display();
        let wrong = match found {
            _ if !names.insert(&rule.name) => "another rule has this name".to_owned(),
            _ if rule.find == rule.with => "it replaces its text by itself".to_owned(),
            1 => continue,
            0 => format!("its text does not stand in {place}: quote it as it is now"),
            n => format!("its text stands {n} times in {place}: quote more of it"),
        };
        findings.push(Finding::new(RULES, format!("{}: {wrong}", rule.name)));
    }
    findings
}

/// Some of the rules, in an order that the seed decides.
fn sampled(args: &MutateArgs, root: &Path) -> Result<Vec<Rule>, String> {
    let list = read(root)?;
    let wanted = |rule: &Rule| {
        let only = args.only.as_ref();
        let file = rule.file.to_string_lossy();
        only.is_none_or(|part| rule.name.contains(part.as_str()) || file.contains(part.as_str()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(rules: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("xtask")).unwrap();
        std::fs::write(root.path().join(RULES), rules).unwrap();
        std::fs::write(root.path().join("a.rs"), "one < two; one > two; three == 3").unwrap();
        let findings = check(root.path());
        findings.into_iter().map(|f| f.what).collect()
    }

    fn rule(name: &str, find: &str) -> String {
        format!("[[rule]]\nname = {name:?}\nfile = \"a.rs\"\nfind = {find:?}\nwith = \"x\"\n")
    }

    #[test]
    fn a_rule_quotes_what_stands_once_in_its_file() {
        let fine = rule("fine", "one < two");
        assert_eq!(told(&fine), Vec::<String>::new());
        for (list, why) in [
            (
                rule("gone", "four"),
                "gone: its text does not stand in a.rs",
            ),
            (
                rule("twice", "two"),
                "twice: its text stands 2 times in a.rs",
            ),
            (rule("same", "x"), "same: it replaces its text by itself"),
            (rule("fine", "three"), "fine: another rule has this name"),
        ] {
            let told = told(&format!("{fine}{list}"));
            assert!(
                matches!(&told[..], [only] if only.starts_with(why)),
                "{told:?}"
            );
        }
    }

    #[test]
    fn a_merge_that_lost_a_line_is_seen() {
        let whole = rule("one", "one <") + &rule("two", "one >");
        for (number, _) in whole.lines().enumerate() {
            // Without its first line a list begins with what belongs to nothing.
            let left: Vec<&str> = whole
                .lines()
                .enumerate()
                .filter(|(n, _)| *n != number)
                .map(|(_, l)| l)
                .collect();
            assert_eq!(told(&left.join("\n")).len(), 1, "without line {number}");
        }
    }
}
