//! `--delete` and `--upstream`, as the server is asked.

use std::path::Path;

use base64::Engine as _;
use model::{File, FileMode, PackagePath};
use serde_json::{Map, Value, json};

use crate::exit::ExitFailure;
use crate::folder;

/// `KIND/NAME`
pub(super) fn deleted(text: &str) -> Result<Value, ExitFailure> {
    let (kind, name) = text
        .split_once('/')
        .filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
        .ok_or_else(|| ExitFailure::usage(format!("--delete {text:?} is not KIND/NAME")))?;
    if is_revision(kind) {
        let why = format!(
            "--delete {text:?}: what becomes of package revisions that are deleted by hand is not planned"
        );
        return Err(ExitFailure::usage(why).hint(format!(
            "offshoot why pkgrev/{name} says whose it is; a variant that follows it as its upstream fails once it is gone (kubectl get pvar)"
        )));
    }
    Ok(json!({"kind": kind, "name": name}))
}

/// Whether a kind is that of package revisions, however it is written.
fn is_revision(kind: &str) -> bool {
    let kind = kind.to_lowercase();
    let plain = kind.split('.').next().unwrap_or_default();
    matches!(plain.trim_end_matches('s'), "packagerevision" | "pkgrev")
}

/// An upstream that is supposed.
pub(super) struct Upstream {
    /// As the server is asked.
    pub(super) asked: Value,
    /// The directory that holds it; `None` where a ref does.
    pub(super) folder: Option<Folder>,
}

/// A directory of which a plan is made, as far as people are told of it.
pub(super) struct Folder {
    /// Its name.
    pub(super) name: String,
    /// What is in it and was not read: links, pipes, sockets.
    pub(super) left_out: Vec<String>,
    /// Its largest file, and how many bytes that and all have.
    pub(super) largest: Option<(String, usize, usize)>,
}

impl Folder {
    /// What is not told by a plan of it; `None` where that is nothing.
    pub(super) fn unknown(&self) -> Option<(String, String)> {
        let first = self.left_out.first()?;
        let more = match self.left_out.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let what = format!("links of directory {}", self.name);
        let why = format!(
            "{first}{more}: what is no plain file is not read, and the plan is of what is left"
        );
        Some((what, why))
    }

    /// Which file makes it too large.
    pub(super) fn too_large(&self) -> Option<String> {
        let (path, size, all) = self.largest.as_ref()?;
        let kib = |bytes: usize| bytes.div_ceil(1 << 10);
        Some(format!(
            "{path} is the largest file of {}, {} of {} KiB: keep what is no configuration out of the package",
            self.name,
            kib(*size),
            kib(*all)
        ))
    }
}

/// `REPO/PACKAGE@REVISION=DIR|GITREF`: what names a directory is one.
pub(super) fn upstream(text: &str) -> Result<Upstream, ExitFailure> {
    let wrong = || {
        ExitFailure::usage(format!("--upstream {text:?} is not REPO/PACKAGE@REVISION=DIR|GITREF"))
            .hint("such as blueprints/web@v2=./web, or blueprints/web@v2=next for a branch of the repository")
    };
    let (named, content) = text.split_once('=').ok_or_else(wrong)?;
    let (package, revision) = named.rsplit_once('@').ok_or_else(wrong)?;
    let (repository, package) = package.split_once('/').ok_or_else(wrong)?;
    if [repository, package, revision, content].contains(&"") {
        return Err(wrong());
    }
    let mut upstream = json!({
        "repository": repository, "package": package, "revision": revision,
    });
    if is_path(content) && !Path::new(content).is_dir() {
        let why = format!("--upstream {text:?}: there is no directory {content}");
        return Err(ExitFailure::usage(why)
            .hint("a branch, tag or commit of the repository is named without ./ and /"));
    }
    let mut folder = None;
    if Path::new(content).is_dir() {
        no_package(text, content)?;
        let decode = base64::engine::general_purpose::STANDARD;
        let folder::Folder {
            files: read,
            left_out,
        } = folder::read_all(Path::new(content))?;
        let size = |(_, file): &(&PackagePath, &File)| file.bytes().len();
        let largest = read.iter().max_by_key(size);
        let all = read.iter().map(|one| size(&one)).sum();
        folder = Some(Folder {
            name: content.to_owned(),
            left_out,
            largest: largest.map(|(path, file)| (path.to_string(), file.bytes().len(), all)),
        });
        let encoded = |(path, file): (&PackagePath, &File)| {
            (path.to_string(), decode.encode(file.bytes()).into())
        };
        let files: Map<String, Value> = read.iter().map(encoded).collect();
        let executable = read
            .iter()
            .filter(|(_, f)| f.mode() == FileMode::Executable);
        let executable: Vec<&str> = executable.map(|(path, _)| path.as_str()).collect();
        upstream["files"] = files.into();
        upstream["executable"] = executable.into();
    } else {
        upstream["ref"] = content.into();
    }
    Ok(Upstream {
        asked: upstream,
        folder,
    })
}

/// Whether it can only be a directory: no ref of git is called so.
fn is_path(content: &str) -> bool {
    let path = Path::new(content);
    path.is_absolute()
        || content.ends_with('/')
        || content.starts_with("./")
        || content.starts_with("../")
        || matches!(content, "." | "..")
}

/// A directory that holds no package was hardly meant: there is one that is called as a branch.
fn no_package(text: &str, content: &str) -> Result<(), ExitFailure> {
    if Path::new(content)
        .join(package::kptfile::FILE_NAME)
        .is_file()
    {
        return Ok(());
    }
    let why = format!(
        "--upstream {text:?}: the directory {content} holds no package: there is no Kptfile in it"
    );
    let hint = match is_path(content) {
        true => "name the package's own directory".to_owned(),
        false => format!(
            "if the branch or tag is meant, write refs/heads/{content} or refs/tags/{content}"
        ),
    };
    Err(ExitFailure::usage(why).hint(hint))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_may_be_executed_is_said() {
        let place = tempfile::tempdir().unwrap();
        for (name, mode) in [("Kptfile", 0o644), ("run.sh", 0o755)] {
            let file = place.path().join(name);
            std::fs::write(&file, "x").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::os::unix::fs::symlink("run.sh", place.path().join("link.sh")).unwrap();
        let read = upstream(&format!("a/web@v2={}", place.path().display())).unwrap();
        let folder = read.folder.unwrap();
        let (_, why) = folder.unknown().unwrap();
        assert!(why.starts_with("link.sh: what is no plain file"), "{why}");
        let told = folder.too_large().unwrap();
        assert!(told.contains("is the largest file of "), "{told}");
        let read = read.asked;
        assert_eq!(read["executable"], json!(["run.sh"]));
        assert_eq!(read["files"], json!({"Kptfile": "eA==", "run.sh": "eA=="}));
    }

    #[test]
    fn what_is_supposed_is_read_or_said_to_be_wrong() {
        let read = upstream("blueprints/team/web@v2=next").unwrap().asked;
        assert_eq!(read["repository"], "blueprints");
        assert_eq!(read["package"], "team/web");
        assert_eq!(
            (&read["revision"], &read["ref"]),
            (&json!("v2"), &json!("next"))
        );
        for wrong in [
            "",
            "web",
            "blueprints/web@v2",
            "blueprints/web=x",
            "/web@v2=x",
            "a/b@=x",
            "a/b@v1=",
        ] {
            assert!(upstream(wrong).is_err(), "{wrong}");
        }
        assert!(deleted("web").is_err() && deleted("pvset/").is_err());
        for kind in [
            "pkgrev",
            "PackageRevision",
            "packagerevisions.porch.kpt.dev",
        ] {
            let why = deleted(&format!("{kind}/cat.web.v2")).unwrap_err().text();
            assert!(
                why.contains("is not planned") && why.contains("hint: "),
                "{why}"
            );
        }
        assert!(deleted("packagerevisionset/stack").is_ok());
        assert_eq!(
            deleted("pvset/web").unwrap(),
            json!({"kind": "pvset", "name": "web"})
        );
    }
}
