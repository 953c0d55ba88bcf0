//! `cargo xtask merge-lab`: generated three-way merges by the thousand, each judged from its texts alone.
//!
//! Counts beside it what `git merge-file` merges cleanly and a person has to look at here, by the kind of the conflict.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use model::{Conflict, ConflictState, ConflictValue, Files};
use testkit::merge_lab::{Case, Judged};

/// Flags of `merge-lab`.
#[derive(Debug, clap::Args)]
pub(crate) struct MergeLabArgs {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many merges.
    #[arg(long, default_value_t = 1000)]
    cases: u64,
    /// Rename files too, and move resources between them.
    #[arg(long)]
    moves: bool,
    /// How many faults of a rule are told in full.
    #[arg(long, default_value_t = 1)]
    show: usize,
    /// Write the files of the first seed below this directory, and its result.
    #[arg(long)]
    keep: Option<std::path::PathBuf>,
}

/// What all merges came to.
#[derive(Debug, Default)]
struct Sum {
    faults: BTreeMap<&'static str, Vec<String>>,
    /// Files that all sides hold and both changed.
    files: usize,
    clean: usize,
    blocked: usize,
    kinds: BTreeMap<String, usize>,
    comments: usize,
}

/// Runs it.
pub(crate) fn run(args: &MergeLabArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) => code,
        Err(why) => crate::fail(&why),
    }
}

fn try_run(args: &MergeLabArgs) -> Result<ExitCode, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let started = Instant::now();
    let mut sum = Sum::default();
    for seed in args.seed..args.seed.saturating_add(args.cases) {
        let case = Case::of(seed, args.moves);
        let judged = case.judge();
        if let Some(keep) = args.keep.as_deref().filter(|_| seed == args.seed) {
            kept(keep, &case, &judged)?;
        }
        let recorded = conflicts(&judged).iter();
        sum.comments += recorded.filter(|c| c.path.ends_with("#comment")).count();
        for fault in &judged.faults {
            let story = case.story.join("\n    ");
            let told = format!("seed {seed}: {}\n    {story}", fault.what);
            sum.faults.entry(fault.rule).or_default().push(told);
        }
        beside_git(&case, &judged, directory.path(), &mut sum)?;
    }
    report(args, &sum, started.elapsed().as_secs());
    Ok(if sum.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn report(args: &MergeLabArgs, sum: &Sum, seconds: u64) {
    crate::say(&format!(
        "{} merges from seed {} in {seconds} s; {} comments that both changed or that found no place were recorded",
        args.cases, args.seed, sum.comments
    ));
    for (rule, told) in &sum.faults {
        crate::say(&format!("{} × {rule}", told.len()));
        for told in told.iter().take(args.show) {
            crate::say(&format!("  {told}"));
        }
    }
    let share = |part: usize| part as f64 * 100.0 / sum.files.max(1) as f64;
    crate::say(&format!(
        "{} files that both changed: git merges {} cleanly, of these {} wait for a person here ({:.1} %)",
        sum.files,
        sum.clean,
        sum.blocked,
        share(sum.blocked)
    ));
    let mut kinds: Vec<(&String, &usize)> = sum.kinds.iter().collect();
    kinds.sort_by_key(|(kind, count)| (std::cmp::Reverse(**count), *kind));
    for (kind, count) in kinds {
        crate::say(&format!("  {count:6} {kind}"));
    }
}

fn conflicts(judged: &Judged) -> &[Conflict] {
    judged
        .merged
        .as_ref()
        .map_or(&[], |merged| &merged.conflicts)
}

/// What a conflict is, without names.
fn kind(conflict: &Conflict) -> String {
    let there = |value: &ConflictValue| !matches!(value, ConflictValue::Absent);
    let shape = match [&conflict.base, &conflict.local, &conflict.upstream].map(there) {
        [true, true, true] => "both changed",
        [true, true, false] => "changed here, deleted upstream",
        [true, false, true] => "deleted here, changed upstream",
        [false, ..] => "both added",
        [true, false, false] => "both deleted",
    };
    let field = conflict.path.rsplit('.').next().unwrap_or_default();
    let field = field.split('[').next().unwrap_or_default();
    let field = match (conflict.resource.is_empty(), field) {
        (true, "") => "a whole file",
        (false, "") => "a whole resource",
        (_, field) if field.contains(|c: char| c.is_ascii_digit()) => "a new field",
        (_, field) => field,
    };
    let element = if conflict.path.ends_with(']') {
        " (an element)"
    } else {
        ""
    };
    format!("{shape}: {field}{element}")
}

/// Merges by git what both sides changed.
fn beside_git(case: &Case, judged: &Judged, directory: &Path, sum: &mut Sum) -> Result<(), String> {
    let [base, local, upstream] = &case.sides;
    for (path, old) in base {
        let (Some(mine), Some(theirs)) = (local.get(path), upstream.get(path)) else {
            continue;
        };
        if mine == old || theirs == old || mine == theirs {
            continue;
        }
        sum.files += 1;
        let names = ["local", "base", "upstream"];
        for (name, file) in names.into_iter().zip([mine, old, theirs]) {
            std::fs::write(directory.join(name), file.bytes()).map_err(|e| e.to_string())?;
        }
        let status = Command::new("git")
            .args(["merge-file", "-p", "-q"])
            .args(names)
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|error| format!("git cannot be started: {error}"))?;
        if !status.success() {
            continue;
        }
        sum.clean += 1;
        let open = conflicts(judged)
            .iter()
            .filter(|c| c.state == ConflictState::Open);
        let blocked: Vec<String> = open.filter(|c| c.file == *path).map(kind).collect();
        if !blocked.is_empty() {
            sum.blocked += 1;
        }
        for kind in blocked {
            *sum.kinds.entry(kind).or_default() += 1;
        }
    }
    Ok(())
}

/// Writes the sides of a merge and its result, to look at.
fn kept(directory: &Path, case: &Case, judged: &Judged) -> Result<(), String> {
    let [base, local, upstream] = &case.sides;
    let result = judged.merged.as_ref().map(|merged| &merged.files);
    let sides: [(&str, Option<&Files>); 4] = [
        ("base", Some(base)),
        ("local", Some(local)),
        ("upstream", Some(upstream)),
        ("result", result),
    ];
    for (name, files) in sides {
        for (path, file) in files.into_iter().flatten() {
            let to = directory.join(name).join(path.as_str());
            let parent = to.parent().unwrap_or(directory);
            std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
            std::fs::write(&to, file.bytes()).map_err(|error| error.to_string())?;
        }
    }
    let conflicts = judged.merged.iter().flat_map(|merged| &merged.conflicts);
    let told: Vec<String> = conflicts
        .map(|conflict| format!("{conflict:#?}\n"))
        .collect();
    std::fs::write(directory.join("conflicts.txt"), told.concat())
        .map_err(|error| error.to_string())
}
