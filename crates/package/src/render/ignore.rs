//! `.krmignore`: files that rendering leaves alone, in gitignore's language.
//!
//! Each package has its own; it neither reaches into subpackages nor hides one
//! (packages-and-functions.md §3.3).

use regex::Regex;

/// The rules of one package.
#[derive(Debug, Clone, Default)]
pub(super) struct Ignore {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Regex,
    keep: bool,
    directory: bool,
}

impl Ignore {
    /// Reads the rules; lines that are none are left out.
    pub(super) fn parse(text: &str) -> Self {
        Self { rules: text.lines().filter_map(rule).collect() }
    }

    /// Whether a file, by its path relative to the package, is left alone.
    pub(super) fn ignores(&self, path: &str) -> bool {
        let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        let inside = ends.iter().any(|end| self.decide(&path[..*end], true) == Some(true));
        inside || self.decide(path, false) == Some(true)
    }

    fn decide(&self, path: &str, directory: bool) -> Option<bool> {
        let fits = |rule: &&Rule| (directory || !rule.directory) && rule.pattern.is_match(path);
        self.rules.iter().rev().find(fits).map(|rule| !rule.keep)
    }
}

fn rule(line: &str) -> Option<Rule> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (keep, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let line = line.strip_prefix('\\').unwrap_or(line);
    let (directory, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let anchored = line.contains('/');
    let line = line.strip_prefix('/').unwrap_or(line);
    let start = if anchored { "^" } else { "^(?:.*/)?" };
    Regex::new(&format!("{start}{}$", glob(line))).ok().map(|pattern| Rule { pattern, keep, directory })
}

fn glob(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = if rest.starts_with("**/") {
            ("(?:.*/)?".to_owned(), 3)
        } else if rest.starts_with("**") {
            (".*".to_owned(), 2)
        } else {
            match (c, rest.find(']')) {
                ('*', _) => ("[^/]*".to_owned(), 1),
                ('?', _) => ("[^/]".to_owned(), 1),
                ('[', Some(end)) if end > 1 => {
                    (rest[..=end].replacen("[!", "[^", 1), end + 1)
                }
                ('\\', _) => {
                    let next: String = rest.chars().skip(1).take(1).collect();
                    (regex::escape(&next), 1 + next.len())
                }
                (c, _) => (regex::escape(&c.to_string()), c.len_utf8()),
            }
        };
        out.push_str(&piece);
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_gitignores() {
        let ignore = Ignore::parse("# comment\n*.tmp.yaml\n/only-root.yaml\ndocs/\n!docs.yaml\na/**/z.yaml\n!keep.tmp.yaml\n");
        for (path, wanted) in [
            ("x.tmp.yaml", true),
            ("d/x.tmp.yaml", true),
            ("keep.tmp.yaml", false),
            ("only-root.yaml", true),
            ("d/only-root.yaml", false),
            ("docs/a.yaml", true),
            ("d/docs/a.yaml", true),
            ("docs", false),
            ("a/z.yaml", true),
            ("a/b/c/z.yaml", true),
            ("b/z.yaml", false),
        ] {
            assert_eq!(ignore.ignores(path), wanted, "{path}");
        }
    }
}
