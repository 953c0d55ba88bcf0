//! `offshoot check`: looks a data directory over that no server uses, and git against the records; or the records of a cluster.
//!
//! It changes nothing but what opening the store repairs; what it finds it says, line by line.

mod cluster;
mod git;

use std::process::ExitCode;

use crate::cli::CheckArgs;
use crate::exit::ExitFailure;
use crate::up::DataDir;
use git::Mirrors;
use objectstore::Findings;

/// Checks the object store, then every record of a package revision against its repository, or against the mirror of one
/// that is elsewhere; of a cluster its records alone, against a copy of each repository.
///
/// # Errors
/// The directory is in use or cannot be read, the cluster cannot be asked; what is broken or could not be compared ends with
/// exit code 1.
pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, ExitFailure> {
    if let Some(kubeconfig) = &args.kubeconfig {
        let objects = super::wait(cluster::objects(kubeconfig))?;
        let failed = |e: std::io::Error| ExitFailure::of("make a directory for copies", &e);
        let copies = tempfile::tempdir().map_err(failed)?;
        let mirrors = Mirrors {
            path: copies.path(),
            fresh: true,
        };
        return report(args, &objects.problems, git::compare(&objects.all, mirrors));
    }
    if !args.at.data.join("objects.redb").is_file() {
        return Err(
            ExitFailure::new(format!("{} holds no object store", args.at.data.display())).hint(
                "name the data directory of `offshoot up` with --data, or a cluster's kubeconfig with --kubeconfig",
            ),
        );
    }
    let directory = DataDir::open(&args.at.data)?;
    let findings = Findings::of(directory.root())
        .map_err(|e| ExitFailure::of(&format!("check {}", args.at.data.display()), &e))?;
    super::say(&format!(
        "object store: {} objects, {} events, version {}",
        findings.objects.len(),
        findings.events,
        findings.rv
    ));
    let mirrors = Mirrors {
        path: &directory.git(),
        fresh: false,
    };
    let records = git::compare(&objects(&findings), mirrors);
    report(args, &findings.problems, records)
}

/// Says what was found.
fn report(
    args: &CheckArgs,
    problems: &[String],
    records: git::Compared,
) -> Result<ExitCode, ExitFailure> {
    for line in records.notes.iter().chain(&records.uncompared) {
        super::say(line);
    }
    let problems: Vec<&String> = problems.iter().chain(&records.problems).collect();
    let mut out = String::new();
    for problem in &problems {
        out.push_str(problem);
        out.push('\n');
    }
    super::write_out(&out)?;
    super::say(&format!(
        "git: {} records compared in {} repositories",
        records.compared, records.repositories
    ));
    if !problems.is_empty() {
        super::say(&format!("{} problems", problems.len()));
        return Ok(ExitCode::FAILURE);
    }
    if records.uncompared.is_empty() {
        super::say("everything holds");
        return Ok(ExitCode::SUCCESS);
    }
    super::say(&format!(
        "what was compared holds; {} repositories were not (--skip-uncompared accepts that)",
        records.uncompared.len()
    ));
    Ok(match args.skip_uncompared {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The objects of our kinds, by resource.
fn objects(findings: &Findings) -> Vec<(&str, serde_json::Value)> {
    let ours = |resource: &str| {
        resource == "packagerevisions.porch.kpt.dev"
            || resource == "repositories.config.porch.kpt.dev"
    };
    let all = findings.objects.iter();
    all.filter(|(resource, _, _)| ours(resource))
        .map(|(resource, _, object)| (resource.as_ref(), object.value()))
        .collect()
}
