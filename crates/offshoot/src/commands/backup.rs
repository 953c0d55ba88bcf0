//! `offshoot backup`: a logical copy of all objects while the server runs, and a data directory made from one.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;

use model::Class;
use objectstore::{Copy, files};

use crate::cli::BackupArgs;
use crate::client::Client;
use crate::exit::ExitFailure;
use crate::up::DataDir;

/// Copies or restores.
///
/// # Errors
/// The server cannot be reached, the file cannot be written, or the copy is damaged.
pub(super) fn run(args: &BackupArgs) -> Result<ExitCode, ExitFailure> {
    match &args.data {
        Some(data) if args.restore => restore(&args.file, data),
        _ if args.restore => Err(ExitFailure::usage(
            "--restore needs the --data directory to fill",
        )),
        _ => super::wait(copy(args)),
    }
}

/// Writes the copy beside its place, checks it, and only then puts it there.
async fn copy(args: &BackupArgs) -> Result<ExitCode, ExitFailure> {
    let path = &args.file;
    let failed = |e: std::io::Error| ExitFailure::of(&format!("write {}", path.display()), &e);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let client = Client::connect(&args.connect).await?;
    let mut file = files::create(&draft).map_err(failed)?;
    let got = client.download("/backup", &mut file).await;
    let got = got.map_err(elsewhere);
    let done = got.and_then(|()| {
        file.flush()
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        let copy = read(&draft)?;
        std::fs::rename(&draft, path).map_err(failed)?;
        Ok(copy)
    });
    if done.is_err() {
        // The draft is of no use; whether it goes is no matter.
        drop(std::fs::remove_file(&draft));
    }
    let copy = done?;
    super::say(&format!(
        "{}: {} objects at version {}",
        path.display(),
        copy.objects.len(),
        copy.rv
    ));
    Ok(ExitCode::SUCCESS)
}

/// Says where the objects of a cluster are copied: its API server has no such path.
fn elsewhere(failure: ExitFailure) -> ExitFailure {
    let is_none = matches!(failure.class(), Some(Class::NotFound | Class::Denied));
    if failure.is_hinted() || !is_none {
        return failure;
    }
    failure.hint(
        "only `offshoot up` copies its objects, to its administrators; on a cluster, back up etcd and clone the \
         repositories (docs/cluster.md, Backup)",
    )
}

fn read(path: &Path) -> Result<Copy, ExitFailure> {
    let attempt = format!("read {}", path.display());
    let file = File::open(path).map_err(|e| ExitFailure::of(&attempt, &e))?;
    Copy::read(BufReader::new(file)).map_err(|e| ExitFailure::of(&attempt, &e))
}

fn restore(file: &Path, data: &Path) -> Result<ExitCode, ExitFailure> {
    let copy = read(file)?;
    let directory = DataDir::open(data)?;
    copy.restore(directory.root()).map_err(|e| {
        ExitFailure::of(&format!("restore into {}", data.display()), &e)
            .hint("name a directory that does not exist yet with --data")
    })?;
    super::say(&format!(
        "{} objects restored: start with `offshoot up --data {}`; certificates and tokens are not among them: `offshoot user` makes new ones, or pki/ of the former data directory goes there first",
        copy.objects.len(),
        data.display()
    ));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_no_copy_is_told_with_the_way_out() {
        for class in [Class::NotFound, Class::Denied] {
            let failure = elsewhere(ExitFailure::new("it says no").of_class(class));
            assert!(
                failure.text().contains("on a cluster, back up etcd"),
                "{class}"
            );
        }
        assert!(!elsewhere(ExitFailure::new("it broke off")).is_hinted());
        let hinted = ExitFailure::new("gone")
            .of_class(Class::NotFound)
            .hint("start it");
        assert!(elsewhere(hinted).text().contains("start it"));
    }
}
