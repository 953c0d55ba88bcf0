//! Both ways to settle conflicts, for a person who looks at them in the files (M21): nothing is decided here.

use model::{Conflict, ConflictValue, Decision, File, Files};
use yaml::{Edit, Limits, Stream, Value};

use super::lines::Lines;
use super::node::{document, find, parsed};
use super::open;
use super::place::{is_file, subpackage};
use crate::place::{FieldPath, PathStep};

/// A package with its open conflicts settled in the one way, and in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways<'c> {
    /// With every local value.
    pub local: Files,
    /// With every value of upstream.
    pub upstream: Files,
    /// What cannot be shown in a file: values of Secrets, places, whole subpackages, what is too long.
    pub left_out: Vec<&'c Conflict>,
}

/// Both ways to settle the open conflicts of a package that holds what was decided about them.
pub fn both_ways<'c>(files: &Files, conflicts: &'c [Conflict]) -> Ways<'c> {
    let mut ways = Ways {
        local: files.clone(),
        upstream: files.clone(),
        left_out: Vec::new(),
    };
    for conflict in open(conflicts) {
        let (side, value) = match conflict.decision {
            Decision::Upstream => (&mut ways.local, &conflict.local),
            Decision::Local => (&mut ways.upstream, &conflict.upstream),
        };
        match with_value(side, conflict, value) {
            Some(other) => *side = other,
            None => ways.left_out.push(conflict),
        }
    }
    ways
}

/// A package with another value at the place of a conflict.
fn with_value(files: &Files, conflict: &Conflict, value: &ConflictValue) -> Option<Files> {
    if let Some(lines) = Lines::of(conflict) {
        return lines.decided(files, conflict, value);
    }
    let value = match value {
        ConflictValue::Absent => None,
        ConflictValue::Json(json) => Some(serde_json::from_str::<serde_json::Value>(json).ok()?),
        ConflictValue::Hash(_) => return None,
    };
    let steps = FieldPath::parse(&conflict.path)?.0;
    let mark = |step: &PathStep| {
        matches!(
            step,
            PathStep::Comment | PathStep::Order | PathStep::File | PathStep::Lines
        )
    };
    if steps.iter().any(mark) || subpackage(conflict).is_some() {
        return None;
    }
    let mut files = files.clone();
    let file = files.remove(&conflict.file);
    let written = match value {
        None if is_file(conflict) => Written::Gone,
        Some(text) if is_file(conflict) => Written::Text(text.as_str()?.to_owned()),
        value => in_document(file.as_ref(), conflict, &steps, value.map(Value::from))?,
    };
    if let Written::Text(text) = written {
        let new = match file {
            Some(file) => file.with_bytes(text.into_bytes()),
            None => File::text(text),
        };
        files.insert(conflict.file.clone(), new);
    }
    Some(files)
}

/// What becomes of a file.
enum Written {
    Text(String),
    Gone,
}

/// A file with another value in one of its resources; `None` where it cannot be written.
fn in_document(
    file: Option<&File>,
    conflict: &Conflict,
    steps: &[PathStep],
    value: Option<Value>,
) -> Option<Written> {
    let whole = |value: &Value| {
        Some(
            Stream::from_value(value, &Limits::default())
                .ok()?
                .text()
                .to_owned(),
        )
    };
    let Some(stream) = file.map(|file| parsed(file).ok_or(())).transpose().ok()? else {
        return match value {
            Some(value) if steps.is_empty() => whole(&value).map(Written::Text),
            _ => None,
        };
    };
    let own = document(&stream, conflict);
    let edited = match (own, steps.split_last(), value) {
        (None, None, Some(value)) => stream.append_document(&whole(&value)?),
        (Some(own), None, Some(value)) => stream.replace_document(own.index(), &whole(&value)?),
        (Some(_), None, None) if stream.len() == 1 => return Some(Written::Gone),
        (Some(own), None, None) => stream.remove_document(own.index()),
        (Some(own), Some((last, above)), value) => {
            let edit = match (find(own.root(), steps), value) {
                (Some(node), Some(value)) => Edit::Set {
                    path: node.path(),
                    value,
                },
                (Some(node), None) => Edit::Remove { path: node.path() },
                (None, Some(value)) => {
                    let path = find(own.root(), above)?.path();
                    match last {
                        PathStep::Field(key) => Edit::Set {
                            path: path.join(key.as_str()),
                            value,
                        },
                        _ => Edit::Append { path, value },
                    }
                }
                (None, None) => return Some(Written::Text(stream.text().to_owned())),
            };
            stream.apply(own.index(), &[edit])
        }
        (None, ..) => return None,
    };
    Some(Written::Text(edited.ok()?.text().to_owned()))
}

#[cfg(test)]
mod tests {
    use model::{ConflictPolicy, PackagePath, Strategy};

    use super::*;
    use crate::merge::{MergeOptions, merge};

    const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";
    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  ports:\n  - port: 80\n    name: http\n  type: ClusterIP\n";

    fn package(files: &[(&str, &str)]) -> Files {
        let all = files.iter().chain(&[("Kptfile", KPTFILE)]);
        all.map(|(path, text)| (PackagePath::parse(path).unwrap(), File::text(text)))
            .collect()
    }

    #[test]
    fn both_ways_are_what_a_merge_makes_under_either_policy() {
        let changed = |from: &str, to: &str| SERVICE.replace(from, to);
        let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: x}\n";
        let sides = |service: &str, config: Option<&str>, readme: Option<&str>| {
            let mut all = vec![("s.yaml", service)];
            all.extend(config.map(|text| ("c.yaml", text)));
            all.extend(readme.map(|text| ("README.md", text)));
            package(&all)
        };
        let mine = config.replace("a: x", "a: mine");
        let cases = [
            (
                changed("type: ClusterIP", "type: NodePort"),
                Some(mine.as_str()),
                Some("two\n"),
            ),
            (
                changed("  type: ClusterIP\n", ""),
                Some(mine.as_str()),
                None,
            ),
            (
                changed("port: 80", "port: 8080"),
                Some(mine.as_str()),
                Some("three\n"),
            ),
        ];
        let upstream = sides(
            &changed("type: ClusterIP", "type: LoadBalancer").replace("port: 80", "port: 81"),
            None,
            Some("one\n"),
        );
        let base = sides(SERVICE, Some(config), Some("a\n"));
        for (service, config, readme) in cases {
            let local = sides(&service, config, readme);
            let merged = |policy| {
                let options = MergeOptions::against_base(Strategy::ResourceMerge, policy);
                merge(&base, &local, &upstream, &options).unwrap()
            };
            let block = merged(ConflictPolicy::Block);
            assert!(block.conflicts.len() > 1, "{block:?}");
            let ways = both_ways(&block.files, &block.conflicts);
            let wanted = [ConflictPolicy::Local, ConflictPolicy::Upstream]
                .map(|policy| merged(policy).files);
            assert_eq!([ways.local, ways.upstream], wanted);
            assert_eq!(ways.left_out, Vec::<&Conflict>::new());
        }
    }
}
