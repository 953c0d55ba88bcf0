//! Keys that stand twice in one mapping of a file: each reader takes another of the two, and some none.

use yaml::{Limits, Stream};

use crate::exit::ExitFailure;

/// How many places are named.
const NAMED: usize = 5;

/// Refuses files with a key that stands twice, by file and line. What was pulled so and not edited is not the push's to mend:
/// `pulled` tells.
///
/// # Errors
/// There are such keys.
pub(super) fn refuse(
    files: &[(String, String)],
    pulled: &dyn Fn(&str, &str) -> bool,
) -> Result<(), ExitFailure> {
    let edited = files.iter().filter(|(path, text)| !pulled(path, text));
    let mut found: Vec<String> = edited.flat_map(|(path, text)| places(path, text)).collect();
    if found.is_empty() {
        return Ok(());
    }
    let more = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    let failure = ExitFailure::new(format!("nothing is pushed: {}", found.join("; ")));
    Err(failure.hint("keep one of the two: which one counts depends on who reads the file"))
}

/// Each key of a file that stands twice, with its lines. What is no YAML is told by the render.
fn places(path: &str, text: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_yaml = name == "Kptfile" || name.ends_with(".yaml") || name.ends_with(".yml");
    let Some(stream) = is_yaml
        .then(|| Stream::parse(text, &Limits::default()).ok())
        .flatten()
    else {
        return Vec::new();
    };
    let all = stream.documents().flat_map(|d| d.root().repeated_keys());
    all.map(|[before, again]| {
        let key = again.key_text().unwrap_or_default();
        format!(
            "{path} line {}: the key {key:?} stands there already in line {}",
            again.line(),
            before.line()
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_refused_by_file_and_line() {
        let files = |text: &str| vec![("web/deployment.yaml".to_owned(), text.to_owned())];
        let twice = "kind: A\n---\nkind: B\nspec:\n  list:\n  - a: 1\n    b: 2\n    a: 3\n";
        let no = |_: &str, _: &str| false;
        let why = refuse(&files(twice), &no).unwrap_err().text();
        let wanted = "web/deployment.yaml line 8: the key \"a\" stands there already in line 6";
        assert!(
            why.contains(wanted) && why.contains("hint: keep one"),
            "{why}"
        );
        assert!(
            refuse(&files(twice), &|_, _| true).is_ok(),
            "it was pulled so"
        );
        for text in [
            "a: {b: 1}\nc: {b: 1}\n",
            "a: &x {b: 1}\nc: *x\n",
            "no: [yaml",
            "",
        ] {
            assert!(refuse(&files(text), &no).is_ok(), "{text}");
        }
        let readme = vec![("README.md".to_owned(), "a: 1\na: 2\n".to_owned())];
        assert!(refuse(&readme, &no).is_ok());
        let many: String = (0..9).map(|n| format!("k{n}: 1\nk{n}: 2\n")).collect();
        let why = refuse(&files(&many), &no).unwrap_err().text();
        assert!(
            why.contains("line 10: the key \"k4\"") && why.contains("; and 4 more"),
            "{why}"
        );
    }
}
