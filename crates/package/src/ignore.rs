//! `.krmignore`: which files of a package are no resources (gitignore syntax).
//!
//! Each package has its own file at its root, which does not reach into subpackages and cannot hide
//! one.

use model::{Files, PackagePath};
use regex::Regex;

/// The file's name.
const FILE_NAME: &str = ".krmignore";

/// The patterns of all packages of one side.
#[derive(Debug, Default)]
pub struct Ignore {
    /// By package directory, deepest last.
    packages: Vec<(String, Vec<Pattern>)>,
    roots: Vec<String>,
}

#[derive(Debug)]
struct Pattern {
    regex: Regex,
    negated: bool,
    directory: bool,
}

impl Ignore {
    /// Reads the `.krmignore` files of a package and its subpackages.
    pub fn of(files: &Files) -> Self {
        let mut ignore = Self::default();
        for (path, file) in files {
            if path.file_name() == FILE_NAME
                && let Some(text) = file.as_text()
            {
                let patterns = text.lines().filter_map(Pattern::parse).collect();
                ignore.packages.push((path.dir().to_owned(), patterns));
            }
        }
        if !ignore.packages.is_empty() {
            let roots = files.keys().filter(|path| path.file_name() == "Kptfile");
            ignore.roots = roots.map(|path| path.dir().to_owned()).collect();
        }
        ignore
    }

    /// Whether a file is ignored.
    pub fn matches(&self, path: &PackagePath) -> bool {
        let inside = |dir: &str| {
            dir.is_empty()
                || path
                    .as_str()
                    .strip_prefix(dir)
                    .is_some_and(|r| r.starts_with('/'))
        };
        let package = self
            .roots
            .iter()
            .filter(|dir| inside(dir))
            .max_by_key(|dir| dir.len());
        let package = package.map_or("", String::as_str);
        self.packages
            .iter()
            .filter(|(dir, _)| dir == package)
            .any(|(dir, patterns)| {
                let skip = if dir.is_empty() { 0 } else { dir.len() + 1 };
                ignored(path.as_str().get(skip..).unwrap_or_default(), patterns)
            })
    }
}

/// Whether a path or a directory above it matches; the last matching pattern decides, but nothing
/// below an ignored directory comes back.
fn ignored(path: &str, patterns: &[Pattern]) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| (at, true));
    ends.chain([(path.len(), false)]).any(|(end, directory)| {
        let part = path.get(..end).unwrap_or_default();
        let matching = patterns.iter().rev();
        let mut matching =
            matching.filter(|p| (directory || !p.directory) && p.regex.is_match(part));
        matching.next().is_some_and(|pattern| !pattern.negated)
    })
}

impl Pattern {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (negated, line) = line
            .strip_prefix('!')
            .map_or((false, line), |rest| (true, rest));
        let (directory, line) = line
            .strip_suffix('/')
            .map_or((false, line), |rest| (true, rest));
        let anchored = line.contains('/');
        let line = line.strip_prefix('/').unwrap_or(line);
        let mut regex = String::from(if anchored { "^" } else { "^(?:.*/)?" });
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '*' if chars.peek() == Some(&'*') => {
                    chars.next();
                    if chars.peek() == Some(&'/') {
                        chars.next();
                        regex.push_str("(?:.*/)?");
                    } else {
                        regex.push_str(".*");
                    }
                }
                '*' => regex.push_str("[^/]*"),
                '?' => regex.push_str("[^/]"),
                '\\' => regex.push_str(&regex::escape(&chars.next().map(String::from)?)),
                '[' => {
                    let class: String = chars.by_ref().take_while(|c| *c != ']').collect();
                    let class = class
                        .strip_prefix('!')
                        .map_or_else(|| class.clone(), |r| format!("^{r}"));
                    regex.push_str(&format!("[{class}]"));
                }
                c => regex.push_str(&regex::escape(&c.to_string())),
            }
        }
        regex.push('$');
        Some(Self {
            regex: Regex::new(&regex).ok()?,
            negated,
            directory,
        })
    }
}
