//! The package context: the ConfigMap `kptfile.kpt.dev` that tells functions where they are (V13).

use model::{File, Files, PackageName, PackagePath, Pairs};
use yaml::{Edit, Limits, Path, Stream};

use crate::documents::Parsed;
use crate::kptfile;

/// The ConfigMap's name.
pub const NAME: &str = "kptfile.kpt.dev";

/// The file that a new context goes into.
pub const FILE_NAME: &str = "package-context.yaml";

/// Why a package context could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} cannot be edited")]
pub struct ContextError {
    /// The file.
    pub file: PackagePath,
    /// Why.
    #[source]
    pub source: yaml::Error,
}

/// Where a package's own context is: file and document. The usual file goes before others, and those
/// of subpackages are theirs.
pub fn find(files: &Files) -> Option<(PackagePath, usize)> {
    find_parsed(files, &Parsed::default()).map(|(path, index, _)| (path, index))
}

/// The same with the file as it was parsed.
fn find_parsed(files: &Files, parsed: &Parsed) -> Option<(PackagePath, usize, Stream)> {
    let roots: Vec<&str> = files
        .keys()
        .filter(|path| path.file_name() == kptfile::FILE_NAME && !path.dir().is_empty())
        .map(|path| path.dir())
        .collect();
    let own = |path: &PackagePath| {
        let inside = |dir: &&str| {
            path.as_str()
                .strip_prefix(*dir)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        !roots.iter().any(inside)
    };
    let mut paths: Vec<&PackagePath> = files.keys().filter(|path| own(path)).collect();
    paths.sort_by_key(|path| path.as_str() != FILE_NAME);
    paths.into_iter().find_map(|path| {
        let name = path.file_name();
        if !name.ends_with(".yaml") && !name.ends_with(".yml") {
            return None;
        }
        let file = files.get(path)?;
        let text = file.as_text().filter(|text| text.contains(NAME))?;
        let stream = match parsed.stream(path, file) {
            Some(stream) => stream.clone(),
            None => Stream::parse(text, &Limits::default()).ok()?,
        };
        let index = stream.documents().position(|document| {
            let root = document.root();
            let text = |path: Path| root.find(&path).and_then(|node| node.as_str());
            text(Path::keys(["kind"])) == Some("ConfigMap")
                && text(Path::keys(["apiVersion"])) == Some("v1")
                && text(Path::keys(["metadata", "name"])) == Some(NAME)
        })?;
        Some((path.clone(), index, stream))
    })
}

/// What a package's context says, by key; a context that cannot be read says nothing.
pub fn data(package: &Files) -> Pairs {
    data_of(package, &Parsed::default())
}

/// The same of a package of which something was parsed already.
pub(crate) fn data_of(package: &Files, parsed: &Parsed) -> Pairs {
    let Some((_, index, stream)) = find_parsed(package, parsed) else {
        return Pairs::new();
    };
    let data = stream
        .document(index)
        .and_then(|document| document.root().get("data"));
    let entries = data.into_iter().flat_map(|data| data.entries());
    entries
        .filter_map(|entry| {
            Some((
                entry.key.key_text()?.to_owned(),
                entry.value.scalar()?.to_owned(),
            ))
        })
        .collect()
}

/// The files with `name` and `package-path` of a deployment package in its context; other keys and
/// comments stay, a missing context is made.
pub fn named(files: &Files, package: &PackageName) -> Result<Files, ContextError> {
    let mut files = files.clone();
    name(&mut files, package)?;
    Ok(files)
}

/// The same in place; the context as it is then, parsed.
pub(crate) fn name(
    files: &mut Files,
    package: &PackageName,
) -> Result<Option<(PackagePath, Stream)>, ContextError> {
    let (path, index, stream) = match find_parsed(files, &Parsed::default()) {
        Some(place) => place,
        None => {
            let Ok(path) = PackagePath::parse(FILE_NAME) else {
                return Ok(None);
            };
            files.insert(path.clone(), File::text(EMPTY));
            let stream = Stream::parse(EMPTY, &Limits::default());
            let stream = stream.map_err(|source| ContextError {
                file: path.clone(),
                source,
            })?;
            (path, 0, stream)
        }
    };
    let Some(file) = files.get(&path).cloned() else {
        return Ok(None);
    };
    let set = |key: &str| Edit::set(Path::keys(["data", key]), package.as_str());
    let stream = stream.apply(index, &[set("name"), set("package-path")]);
    let stream = stream.map_err(|source| ContextError {
        file: path.clone(),
        source,
    })?;
    files.insert(path.clone(), file.with_bytes(stream.text().as_bytes()));
    Ok(Some((path, stream)))
}

/// A context that says nothing yet.
const EMPTY: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: \"true\"
";
