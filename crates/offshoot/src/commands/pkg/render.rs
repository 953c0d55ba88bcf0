//! `pkg render`: runs the pipelines of a package.

use std::fmt::Write as _;
use std::process::ExitCode;

use model::{Files, RenderStatus, Severity};
use package::kptfile::{FILE_NAME, Kptfile};
use package::render::Options;

use crate::cli::local::RenderArgs;
use crate::commands::{say_plain, wait};
use crate::exit::ExitFailure;
use crate::{folder, runtimes};

/// Renders a directory; on a failure nothing but the Kptfile's status changes.
pub(super) fn run(args: &RenderArgs) -> Result<ExitCode, ExitFailure> {
    let files = folder::read(&args.directory)?;
    if args.output.as_ref().is_some_and(|output| output.exists()) {
        return Err(ExitFailure::new("the output directory exists already")
            .hint("name a directory that does not exist, or render in place without --output"));
    }
    let options = Options {
        without_status: args.no_status,
        read_all: true,
        strict: args.strict,
        ..Options::default()
    };
    let known = warnings(&files);
    say_plain(&known);
    let runner = runtimes::of(&args.runtimes)?;
    let limits = args.runtimes.limits();
    let rendered =
        wait(async { Ok(engine::render_alone(&runner, &limits, files.clone(), options).await) })?;
    say_plain(&told(&rendered.status));
    // What the files held before was told before.
    for warning in rendered.warnings.iter().filter(|w| !known.contains(*w)) {
        say_plain(&format!("Warning: {warning}\n"));
    }
    match &args.output {
        Some(output) if rendered.status.succeeded() => {
            folder::write(output, &Files::new(), &rendered.files)?;
        }
        Some(_) => {}
        None => drop(folder::write(&args.directory, &files, &rendered.files)?),
    }
    match &rendered.status.error {
        None => Ok(ExitCode::SUCCESS),
        Some(why) => Err(refused(args, rendered.unreadable, why)),
    }
}

/// Why nothing was rendered; before any function ran, it is a file that cannot be read.
fn refused(args: &RenderArgs, unreadable: bool, why: &str) -> ExitFailure {
    let failure = ExitFailure::new(format!("cannot render {}: {why}", args.directory.display()));
    if unreadable {
        return failure.hint("mend the file; one that is no resource can be listed in .krmignore");
    }
    failure
}

/// What was kept in Kptfiles but not understood.
fn warnings(files: &Files) -> String {
    let kptfiles = files
        .iter()
        .filter(|(path, _)| path.file_name() == FILE_NAME);
    let read = kptfiles.filter_map(|(path, file)| Some((path, Kptfile::of_file(file).ok()?)));
    read.flat_map(|(path, kptfile)| {
        let warnings = kptfile.warnings().iter();
        warnings
            .map(|problem| format!("warning: {path}: {}\n", problem.what))
            .collect::<Vec<_>>()
    })
    .collect()
}

/// What each step said, in the words of kpt.
fn told(status: &RenderStatus) -> String {
    let mut out = String::new();
    for step in &status.steps {
        let label = step.image.as_ref().or(step.exec.as_ref());
        let label = label.map_or(step.name.as_str(), String::as_str);
        let verdict = if step.exit_code == 0 { "PASS" } else { "FAIL" };
        // Writing to a String cannot fail.
        _ = writeln!(out, "[{verdict}] {label:?}");
        for result in &step.results {
            let field = result.field.as_deref().unwrap_or_default();
            let place = match (&result.resource, field) {
                (Some(resource), field) => format!(
                    " {}/{}/{} {field}",
                    resource.api_version, resource.kind, resource.name
                ),
                (None, "") => String::new(),
                (None, field) => format!(" {field}"),
            };
            let severity = match result.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            _ = writeln!(
                out,
                "  [{severity}]{}: {}",
                place.trim_end(),
                result.message
            );
        }
        for line in step.stderr.lines().filter(|line| !line.trim().is_empty()) {
            _ = writeln!(out, "  {line}");
        }
    }
    out
}
