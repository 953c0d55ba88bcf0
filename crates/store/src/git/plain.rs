//! Files of git's that others may have put there: read only if they are files, and only up to a size. A pipe would
//! keep its reader for ever, and a file that is nearly all holes is gigabytes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::git::local::{Fence, OBJECTS};

/// Bytes of a configuration, or of a list of alternates.
pub(crate) const TEXT: u64 = 1 << 20;
/// Directories of objects that one repository may borrow from.
const ALTERNATES: usize = 64;

/// What is under a name, opened without waiting for anybody.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    // What is no file (a socket) may not even be opened.
    let file = options.read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => no_file(),
        _ => error,
    })?;
    match file.metadata()? {
        found if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        found if found.is_file() => Ok(file),
        _ => Err(no_file()),
    }
}

fn no_file() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "it is a pipe, a socket or a device, and no file",
    )
}

/// The bytes of a file, if there are no more than that.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let beyond = |size: u64| {
        let why = format!("it has {size} bytes, more than the {most} that are read of it");
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    let size = file.metadata()?.len();
    if size > most {
        return Err(beyond(size));
    }
    let mut bytes = Vec::new();
    // It may have grown since.
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        size if size > most => Err(beyond(size)),
        _ => Ok(bytes),
    }
}

/// The text of a small file of git's; `None` if it is not there.
pub(crate) fn text(path: &Path) -> Result<Option<String>> {
    match read(path, TEXT) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(format!("read {}", path.display()), e)),
    }
}

/// Refuses what would keep whoever opens it: what is there and is no file.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(no_file()),
        Err(e) => Err(e),
    }
}

/// Looks at the files of a directory of objects that are opened by name, and at those of the directories that it borrows
/// from. All these directories, itself first.
pub(crate) fn check_objects(objects: &Path, fence: &Fence) -> Result<Vec<PathBuf>> {
    let (mut left, mut seen) = (vec![objects.to_owned()], Vec::new());
    while let Some(dir) = left.pop() {
        if seen.len() >= ALTERNATES {
            return Err(Error::TooLarge {
                what: format!("number of alternates of {}", objects.display()),
                limit: ALTERNATES as u64,
                found: seen.len() as u64 + 1,
            });
        }
        fence.check(OBJECTS, &dir)?;
        fence.check_links(OBJECTS, &dir, ["pack", "info", "info/alternates"])?;
        check_packs(&dir.join("pack"), fence)?;
        left.extend(lenders(objects, &dir)?);
        seen.push(dir);
    }
    Ok(seen)
}

/// Looks at a file of a directory of objects that holds one of them, before it is opened by name.
pub(crate) fn check_loose(objects: &Path, name: &str, fence: &Fence) -> Result<()> {
    let (dir, file) = name.split_at(2);
    let dir = objects.join(dir);
    let path = dir.join(file);
    let failed = |e| Error::io(format!("read {}", path.display()), e);
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => fence.check_links(OBJECTS, objects, [dir]),
        Ok(found) if found.is_symlink() => {
            fence.check_links(OBJECTS, objects, [&dir, &path])?;
            check(&path).map_err(failed)
        }
        Ok(_) => Err(failed(no_file())),
        Err(e) if is_absent(&e) => Ok(()),
        Err(e) => Err(failed(e)),
    }
}

/// The directories of objects that one of them borrows from. Relative ones are read from where the first list lies.
pub(crate) fn lenders(first: &Path, objects: &Path) -> Result<Vec<PathBuf>> {
    let list = objects.join("info/alternates");
    let text = match read(&list, TEXT) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(format!("read {}", list.display()), e)),
    };
    let text = String::from_utf8_lossy(&text);
    let named = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let named = named.map(|line| first.join(PathBuf::from(line.trim_matches('"'))));
    Ok(named.collect())
}

/// Looks at the files of a directory of packs: what stands under their names may be links, pipes or devices.
pub(crate) fn check_packs(dir: &Path, fence: &Fence) -> Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if is_absent(&e) => return Ok(()),
        Err(e) => return Err(Error::io(format!("read {}", dir.display()), e)),
    };
    for entry in entries.flatten() {
        if entry
            .file_type()
            .is_ok_and(|kind| kind.is_file() || kind.is_dir())
        {
            continue;
        }
        let path = entry.path();
        fence.check_links(OBJECTS, dir, [&path])?;
        check(&path).map_err(|e| Error::io(format!("read {}", path.display()), e))?;
    }
    Ok(())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_holes_and_devices_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        fs::write(at("file"), "four").unwrap();
        File::create(at("holes")).unwrap().set_len(4 << 30).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("device")).unwrap();
        assert_eq!(read(&at("file"), 4).unwrap(), b"four");
        for (name, told) in [
            ("file", "4 bytes, more than the 3"),
            ("holes", "4294967296 bytes"),
            ("pipe", "no file"),
            ("device", "no file"),
        ] {
            let error = read(&at(name), 3).unwrap_err();
            assert!(error.to_string().contains(told), "{name}: {error}");
        }
        assert!(check(&at("pipe")).is_err() && check(&at("file")).is_ok());
        assert!(check(&at("nothing")).is_ok());
        fs::create_dir_all(at("objects/pack")).unwrap();
        fs::create_dir_all(at("objects/info")).unwrap();
        fs::rename(at("pipe"), at("objects/pack/pack-1.idx")).unwrap();
        fs::create_dir_all(at("other/info")).unwrap();
        fs::write(
            at("other/info/alternates"),
            format!("{}\n", at("objects").display()),
        )
        .unwrap();
        let all = Fence::default();
        assert!(check_objects(&at("objects"), &all).is_err());
        assert!(check_objects(&at("other"), &all).is_err());
        fs::remove_file(at("objects/pack/pack-1.idx")).unwrap();
        check_objects(&at("other"), &all).unwrap();
        // What may be opened is judged of what it borrows from, too.
        let only = crate::git::local::Local {
            below: Some(vec![at("other")]),
            ..crate::git::local::Local::default()
        };
        let only = Fence(Some(("file:///x".to_owned(), only)));
        let error = check_objects(&at("other"), &only).unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("it takes objects from") && told.contains("lie below"),
            "{told}"
        );
    }
}
