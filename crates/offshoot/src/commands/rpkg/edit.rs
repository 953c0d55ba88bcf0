//! `rpkg edit`: the files of a draft in the user's editor, then pushed. Whatever goes wrong, what was edited stays where
//! it is, and where that is is said.

use std::path::{Path, PathBuf};
use std::process::Command;

use model::Lifecycle;

use super::{directory, files, text};
use crate::client::{Client, PACKAGES, lifecycle, object};
use crate::exit::ExitFailure;

/// How many files an editor is given unless they are named.
const MOST: usize = 20;

/// Edits a draft; what is to be printed.
///
/// # Errors
/// It is no draft, the editor failed, or the push was refused.
pub(super) async fn run(
    client: &Client,
    name: &str,
    only: &[String],
) -> Result<String, ExitFailure> {
    let revision = client
        .get(&object(PACKAGES, &client.namespace, name))
        .await?;
    let now = lifecycle(&revision);
    if now != Some(Lifecycle::Draft) {
        let word = text(&revision, &["spec", "lifecycle"]).unwrap_or_default();
        let hint = match now {
            Some(Lifecycle::Proposed) => {
                format!("offshoot rpkg reject {name} takes it back into draft")
            }
            _ => format!("offshoot rpkg copy {name} --workspace NAME makes a draft of it"),
        };
        return Err(
            ExitFailure::new(format!("{name} is {word}: only drafts are edited")).hint(hint),
        );
    }
    let editor = editor()?;
    let place = tempfile::Builder::new().prefix("offshoot-edit-").tempdir();
    // From here on it stays until all is well.
    let place = place
        .map_err(|e| ExitFailure::of("make a directory", &e))?
        .keep();
    let directory = place.join(name);
    let edited = edit(client, name, &directory, &editor, only).await;
    if edited.is_ok() {
        // What is left of it holds nothing that the draft does not.
        drop(std::fs::remove_dir_all(&place));
    }
    edited
}

/// Pulls, runs the editor, and pushes what it changed.
async fn edit(
    client: &Client,
    name: &str,
    directory: &Path,
    editor: &str,
    only: &[String],
) -> Result<String, ExitFailure> {
    files::pull(client, name, Some(directory), files::How::Plain).await?;
    let before = directory::read_directory(directory)?;
    let opened = opened(&before, only)?;
    let kept = |failure: ExitFailure| {
        failure.hint(format!(
            "what you edited is kept in {dir}; `offshoot rpkg push {name} {dir}` pushes it; where {name} has changed since, `offshoot rpkg pull {name} {dir} --update` brings the directory up to date before",
            dir = directory.display()
        ))
    };
    open(editor, directory, &opened).map_err(kept)?;
    remove_copies(directory, &before).map_err(kept)?;
    let after = directory::read_directory(directory).map_err(kept)?;
    if after == before {
        return Ok(format!("{name} not changed\n"));
    }
    files::push(client, name, Some(directory))
        .await
        .map_err(kept)
}

/// The editor's command line, as git and kubectl find it.
fn editor() -> Result<String, ExitFailure> {
    let set = |name: &str| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    };
    let found = ["OFFSHOOT_EDITOR", "VISUAL", "EDITOR"]
        .into_iter()
        .find_map(set);
    let found = found.ok_or_else(|| {
        ExitFailure::usage("no editor is named")
            .hint("set EDITOR to the one you use, such as vi, nano or `code --wait`")
    })?;
    let here = std::env::current_dir();
    Ok(located(
        &found,
        &here.map_err(|e| ExitFailure::of("find the current directory", &e))?,
    ))
}

/// The editor's command line as it is run in another directory: a program that is named from here stays the one meant.
fn located(editor: &str, here: &Path) -> String {
    let editor = editor.trim_start();
    if !editor.starts_with("./") && !editor.starts_with("../") {
        return editor.to_owned();
    }
    // Quoted for the shell that reads the line; what follows is the user's own words.
    let here = here.display().to_string().replace('\'', r"'\''");
    format!("'{here}'/{editor}")
}

/// The files to open.
///
/// # Errors
/// One that was named is not in the package; or there are too many, and none was named.
fn opened(files: &[(String, String)], only: &[String]) -> Result<Vec<PathBuf>, ExitFailure> {
    let there: Vec<&str> = files
        .iter()
        .map(|(path, _)| path.as_str())
        .filter(|path| *path != directory::METADATA)
        .collect();
    if let Some(missing) = only.iter().find(|path| !there.contains(&path.as_str())) {
        let near = model::nearest(missing, there.iter().copied());
        let hint = near.map_or_else(
            || format!("it has {}", there.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        return Err(ExitFailure::usage(format!("the package has no file {missing:?}")).hint(hint));
    }
    let chosen: Vec<PathBuf> = match only.is_empty() {
        true => there.iter().map(PathBuf::from).collect(),
        false => only.iter().map(PathBuf::from).collect(),
    };
    if chosen.len() > MOST && only.is_empty() {
        return Err(
            ExitFailure::usage(format!("the package has {} files", chosen.len()))
                .hint("name those to edit: offshoot rpkg edit NAME FILE…"),
        );
    }
    Ok(chosen)
}

/// Runs the editor in the directory, with its own arguments as a shell reads them.
fn open(editor: &str, directory: &Path, files: &[PathBuf]) -> Result<(), ExitFailure> {
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(editor)
        .args(files)
        .current_dir(directory)
        .status();
    let status = status.map_err(|e| ExitFailure::of(&format!("run the editor {editor:?}"), &e))?;
    match status.success() {
        true => Ok(()),
        false => Err(ExitFailure::new(format!(
            "the editor {editor:?} ended with {status}; nothing was pushed"
        ))),
    }
}

/// Removes what editors leave beside a file of the package: copies of what it was, and their own notes.
fn remove_copies(directory: &Path, before: &[(String, String)]) -> Result<(), ExitFailure> {
    for (path, _) in before {
        let path = Path::new(path);
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        for copy in [
            format!("{name}~"),
            format!(".{name}.swp"),
            format!(".{name}.swo"),
            format!("#{name}#"),
            format!(".#{name}"),
        ] {
            let copy = path.with_file_name(copy);
            if before.iter().any(|(known, _)| Path::new(known) == copy) {
                continue;
            }
            let place = directory.join(copy);
            match std::fs::remove_file(&place) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(ExitFailure::of(&format!("remove {}", place.display()), &e));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(names: &[&str]) -> Vec<(String, String)> {
        names
            .iter()
            .map(|n| ((*n).to_owned(), String::new()))
            .collect()
    }

    #[test]
    fn the_editor_is_given_the_files_of_the_package_and_no_others() {
        let files = package(&[directory::METADATA, "Kptfile", "cm.yaml"]);
        assert_eq!(
            opened(&files, &[]).unwrap(),
            ["Kptfile", "cm.yaml"].map(PathBuf::from)
        );
        let one = ["cm.yaml".to_owned()];
        assert_eq!(opened(&files, &one).unwrap(), [PathBuf::from("cm.yaml")]);
        let wrong = opened(&files, &["cm.yml".to_owned()]).unwrap_err();
        assert!(
            wrong.text().contains("did you mean cm.yaml?"),
            "{}",
            wrong.text()
        );
        let many: Vec<String> = (0..=MOST).map(|n| format!("f{n}.yaml")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(opened(&package(&many), &[]).is_err());
    }

    #[test]
    fn an_editor_may_have_arguments_of_its_own_and_may_fail() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a b.yaml");
        std::fs::write(&file, "x\n").unwrap();
        let editor = "sed -i s/x/y/";
        open(editor, place.path(), &[PathBuf::from("a b.yaml")]).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "y\n");
        assert!(open("false", place.path(), &[]).is_err());
    }

    #[test]
    fn copies_that_an_editor_leaves_are_no_part_of_the_package() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        let before = [("d/cm.yaml", "x"), ("mine", "x"), ("mine~", "x")];
        let all = [
            "d/cm.yaml",
            "mine",
            "mine~",
            "d/cm.yaml~",
            "d/#cm.yaml#",
            "d/new~",
            "new.yaml",
        ];
        for name in all {
            std::fs::write(at(name), "x").unwrap();
        }
        std::fs::write(at("d/.cm.yaml.swp"), [0xff]).unwrap();
        std::os::unix::fs::symlink("nowhere", at("d/.#cm.yaml")).unwrap();
        let before = before.map(|(name, text)| (name.to_owned(), text.to_owned()));
        remove_copies(place.path(), &before).unwrap();
        let left = directory::read_directory(place.path()).unwrap();
        let left: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
        // What is no copy of a file of the package may be meant; it is the package's own where it was there before.
        assert_eq!(left, ["d/cm.yaml", "d/new~", "mine", "mine~", "new.yaml"]);
    }

    #[test]
    fn an_editor_that_is_named_from_here_is_found_in_the_package_too() {
        let here = tempfile::Builder::new().prefix("it's here ").tempdir();
        let (here, package) = (here.unwrap(), tempfile::tempdir().unwrap());
        let script = "#!/bin/sh\nprintf '%s' \"$1\" > \"$2\"\n";
        std::fs::write(here.path().join("mine"), script).unwrap();
        let editor = located("./mine said", here.path());
        // Run by the shell, so that no other test's child holds the script open while it is executed.
        let editor = format!("sh {editor}");
        open(&editor, package.path(), &[PathBuf::from("cm.yaml")]).unwrap();
        let text = std::fs::read_to_string(package.path().join("cm.yaml"));
        assert_eq!(text.unwrap(), "said");
        assert_eq!(located("vi -n", here.path()), "vi -n");
    }
}
