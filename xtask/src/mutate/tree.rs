//! A copy of the sources in which every rule is broken behind a switch, and its test binaries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Rule;
use super::switches::{self, Numbered};

/// A binary of tests.
#[derive(Debug, Clone)]
pub(super) struct Binary {
    /// Its crate.
    pub(super) krate: String,
    /// What it is of the crate: the crate's own name for tests beside the code, or `it`.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
}

/// The copy.
#[derive(Debug)]
pub(super) struct Tree {
    /// Where the sources are.
    root: PathBuf,
    /// Where the copy is.
    pub(super) dir: PathBuf,
    /// Each rule by its number.
    pub(super) rules: BTreeMap<usize, Rule>,
    /// Rules that are not broken here, and why.
    pub(super) left: BTreeMap<usize, String>,
}

impl Tree {
    /// A copy in a directory, which is new or had one before.
    pub(super) fn new(root: &Path, dir: &Path, rules: Vec<Rule>) -> Self {
        Self {
            root: root.to_owned(),
            dir: dir.to_owned(),
            rules: (1..).zip(rules).collect(),
            left: BTreeMap::new(),
        }
    }

    /// Writes and builds it, without the rules that do not compile when they are broken.
    pub(super) fn build(&mut self) -> Result<Vec<Binary>, String> {
        loop {
            let texts = self.write()?;
            let built = self.cargo()?;
            if built.errors.is_empty() {
                return Ok(built.binaries);
            }
            let before = self.left.len();
            for error in &built.errors {
                for rule in blamed(error, &texts) {
                    let why = error["message"].as_str().unwrap_or_default();
                    crate::say(&format!("rule {rule} is left out: {why}"));
                    self.left.insert(rule, format!("does not compile: {why}"));
                }
            }
            if self.left.len() == before {
                let rendered = built.errors.iter().find_map(|e| e["rendered"].as_str());
                return Err(format!(
                    "the copy does not compile:\n{}",
                    rendered.unwrap_or("for no reason that is told")
                ));
            }
        }
    }

    /// Writes what is not there yet, and answers the texts that have switches.
    fn write(&mut self) -> Result<BTreeMap<PathBuf, String>, String> {
        let mut texts = self.switched()?;
        let crates: BTreeSet<PathBuf> = self
            .rules
            .values()
            .map(|r| r.file.iter().take(2).collect())
            .collect();
        for krate in crates {
            let path = krate.join("src/lib.rs");
            let text = match texts.remove(&path) {
                Some(text) => text,
                None => read(&self.root.join(&path))?,
            };
            texts.insert(path, text + switches::ASKED);
        }
        for path in self.listed()? {
            let to = self.dir.join(&path);
            match texts.get(&path) {
                Some(text) => put(&to, text.as_bytes())?,
                None => copy(&self.root.join(&path), &to)?,
            }
        }
        Ok(texts)
    }

    /// The files that hold rules, with switches.
    fn switched(&mut self) -> Result<BTreeMap<PathBuf, String>, String> {
        let mut files: BTreeMap<&PathBuf, Vec<Numbered<'_>>> = BTreeMap::new();
        for (number, rule) in &self.rules {
            if self.left.contains_key(number) {
                continue;
            }
            files.entry(&rule.file).or_default().push((*number, rule));
        }
        let mut texts = BTreeMap::new();
        let mut left = Vec::new();
        for (path, rules) in files {
            if path.extension().is_none_or(|kind| kind != "rs") {
                let why = "it is no code";
                left.extend(rules.iter().map(|(n, _)| (*n, why.to_owned())));
                continue;
            }
            let text = read(&self.root.join(path))?;
            let (text, without) = switches::switch(&text, &rules)
                .map_err(|why| format!("{}: {why}", path.display()))?;
            left.extend(without);
            texts.insert(path.clone(), text);
        }
        self.left.extend(left);
        Ok(texts)
    }

    /// What git knows of, and what it would.
    fn listed(&self) -> Result<Vec<PathBuf>, String> {
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others"])
            .arg("--exclude-standard")
            .current_dir(&self.root)
            .output()
            .map_err(|e| format!("run git: {e}"))?;
        let names = String::from_utf8_lossy(&listed.stdout);
        let paths = names.split('\0').filter(|name| !name.is_empty());
        let there = |path: &PathBuf| self.root.join(path).symlink_metadata().is_ok();
        Ok(paths.map(PathBuf::from).filter(there).collect())
    }

    /// Builds all tests but those of tools, with everybody's features, so that no library is built for this alone.
    fn cargo(&self) -> Result<Built, String> {
        let ran = Command::new("cargo")
            .args([
                "build",
                "--workspace",
                "--exclude=xtask",
                "--exclude=fuzz",
                "--tests",
                "--locked",
                "--keep-going",
            ])
            .arg("--message-format=json")
            .current_dir(&self.dir)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| format!("run cargo: {e}"))?;
        let mut built = Built::default();
        for line in String::from_utf8_lossy(&ran.stdout).lines() {
            if let Ok(told) = serde_json::from_str(line) {
                built.hear(&told);
            }
        }
        if built.errors.is_empty() && !ran.status.success() {
            return Err("cargo failed, and told no error".to_owned());
        }
        Ok(built)
    }
}

/// What a build told.
#[derive(Debug, Default)]
struct Built {
    errors: Vec<Value>,
    binaries: Vec<Binary>,
}

impl Built {
    fn hear(&mut self, told: &Value) {
        let message = &told["message"];
        if message["level"] == "error" && message["spans"].as_array().is_some_and(|s| !s.is_empty())
        {
            self.errors.push(message.clone());
        }
        let (Some(path), Some(manifest)) = (
            told["executable"].as_str(),
            told["manifest_path"].as_str().map(Path::new),
        ) else {
            return;
        };
        let krate = manifest.parent().and_then(Path::file_name);
        if told["profile"]["test"] == true {
            self.binaries.push(Binary {
                krate: krate.unwrap_or_default().to_string_lossy().into_owned(),
                name: told["target"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                path: path.into(),
            });
        }
    }
}

/// The rules that a compiler's error is about. Where it points to code that is as it was, what it points to besides decides: two
/// bodies that answer different types. If nothing does, every rule of that function is to blame.
fn blamed(error: &Value, texts: &BTreeMap<PathBuf, String>) -> Vec<usize> {
    let spans = error["spans"].as_array().cloned().unwrap_or_default();
    let rules = |span: &Value| {
        let text = span["file_name"]
            .as_str()
            .and_then(|f| texts.get(Path::new(f)));
        let line = span["line_start"].as_u64().and_then(|l| l.try_into().ok());
        match (text, line) {
            (Some(text), Some(line)) => switches::rules_at(text, line),
            _ => Vec::new(),
        }
    };
    let (first, others): (Vec<&Value>, Vec<&Value>) =
        spans.iter().partition(|s| s["is_primary"] == true);
    let all: Vec<Vec<usize>> = first.into_iter().chain(others).map(rules).collect();
    let one = all.iter().find(|rules| rules.len() == 1);
    let any = one.or_else(|| all.iter().find(|rules| !rules.is_empty()));
    any.cloned().unwrap_or_default()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// Writes a file unless it is like that: Cargo goes by the time of the last write.
fn put(to: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", to.display());
    if std::fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(above) = to.parent() {
        std::fs::create_dir_all(above).map_err(failed)?;
    }
    std::fs::write(to, bytes).map_err(failed)
}

/// Copies a file or a link.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", from.display());
    let found = from.symlink_metadata().map_err(failed)?;
    if found.is_symlink() {
        if to.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(above) = to.parent() {
            std::fs::create_dir_all(above).map_err(failed)?;
        }
        let leads = std::fs::read_link(from).map_err(failed)?;
        return std::os::unix::fs::symlink(leads, to).map_err(failed);
    }
    put(to, &std::fs::read(from).map_err(failed)?)?;
    std::fs::set_permissions(to, found.permissions()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> BTreeMap<PathBuf, String> {
        let text = "//: 1 2\nif\n//: 1\n{ a }\nelse if\n//: 2\n{ b }\nelse\n//: 1 2\n{ c }\n//: \n";
        BTreeMap::from([(PathBuf::from("x.rs"), text.to_owned())])
    }

    fn error(spans: &[(u64, bool)]) -> Value {
        let spans = spans.iter().map(|(line, primary)| {
            serde_json::json!({"file_name": "x.rs", "line_start": line, "is_primary": primary})
        });
        serde_json::json!({"spans": spans.collect::<Vec<_>>()})
    }

    #[test]
    fn an_error_is_the_fault_of_the_rule_that_it_points_to() {
        let texts = texts();
        assert_eq!(blamed(&error(&[(7, true)]), &texts), [2]);
        assert_eq!(
            blamed(&error(&[(10, true), (4, false)]), &texts),
            [1],
            "two types"
        );
        assert_eq!(blamed(&error(&[(2, true)]), &texts), [1, 2], "the question");
        assert_eq!(blamed(&error(&[(11, true)]), &texts), Vec::<usize>::new());
    }

    #[test]
    fn the_copy_has_switches_and_is_written_only_where_it_changes() {
        let (root, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let src = root.path().join("crates/x/src");
        std::fs::create_dir_all(&src).unwrap();
        std::fs::write(src.join("lib.rs"), "mod y;\n").unwrap();
        std::fs::write(src.join("y.rs"), "fn f() -> bool { 1 < 2 }\n").unwrap();
        std::fs::write(src.join("y.yaml"), "a: b\n").unwrap();
        std::os::unix::fs::symlink("y.yaml", src.join("link")).unwrap();
        let made = Command::new("git")
            .args(["init", "-q"])
            .current_dir(&root)
            .status();
        assert!(made.unwrap().success());
        let rule = |file: &str, find: &str| Rule {
            name: find.to_owned(),
            file: Path::new("crates/x/src").join(file),
            find: find.to_owned(),
            with: "3 < 2".to_owned(),
        };
        let rules = vec![rule("y.rs", "1 < 2"), rule("y.yaml", "b")];
        let mut tree = Tree::new(root.path(), dir.path(), rules);
        tree.write().unwrap();
        assert_eq!(tree.left.keys().copied().collect::<Vec<_>>(), [2]);
        let there = dir.path().join("crates/x/src");
        assert!(read(&there.join("y.rs")).unwrap().contains("{ 3 < 2 }"));
        assert!(read(&there.join("lib.rs")).unwrap().contains("fn switched"));
        assert_eq!(read(&there.join("link")).unwrap(), "a: b\n");
        let written = || {
            let found = there.join("y.rs").metadata().unwrap();
            found.modified().unwrap()
        };
        let before = written();
        tree.write().unwrap();
        assert_eq!(written(), before);
    }
}
