//! Open conflicts in the files of a pulled package: both sides between markers, which no package may hold (M21).

use model::{Conflict, File, Files, PackagePath};
use package::conflicts::both_ways;

use crate::commands::markers::Markers;
use crate::exit::ExitFailure;

/// How the markers of `pull` look, so that `push` knows them again.
const MARKERS: Markers<'static> = Markers {
    size: 7,
    local: "local",
    upstream: "upstream",
};

/// The files with both sides of each open conflict between markers, and a line for each conflict that cannot be shown so.
pub(super) fn shown(
    files: Vec<(String, String)>,
    conflicts: &[Conflict],
) -> (Vec<(String, String)>, Vec<String>) {
    let package =
        |(path, text): &(String, String)| Some((PackagePath::parse(path).ok()?, File::text(text)));
    let package: Files = files.iter().filter_map(package).collect();
    let ways = both_ways(&package, conflicts);
    let told = ways.left_out.iter().map(|conflict| {
        let command = "spec.resolvedConflicts accepts it, an edit answers it";
        format!("Warning: not shown between markers: {conflict}; {command}")
    });
    let text = |files: &Files, path: &str| {
        let file = files.get(path).and_then(File::as_text);
        file.unwrap_or_default().to_owned()
    };
    let mut all: Vec<(String, String)> = files;
    let paths = ways
        .local
        .keys()
        .chain(ways.upstream.keys())
        .map(PackagePath::as_str);
    for path in paths {
        if !all.iter().any(|(known, _)| known == path) {
            all.push((path.to_owned(), String::new()));
        }
    }
    for (path, own) in &mut all {
        let (local, upstream) = (text(&ways.local, path), text(&ways.upstream, path));
        if local != upstream {
            *own = MARKERS.between(&local, &upstream);
        }
    }
    (all, told.collect())
}

/// A package never holds markers: what `pull --markers` wrote has to be decided before a push.
pub(super) fn refuse(files: &[(String, String)]) -> Result<(), ExitFailure> {
    let left = files.iter().filter(|(_, text)| {
        let lines: Vec<&str> = text.lines().collect();
        lines.contains(&"<<<<<<< local") && lines.contains(&">>>>>>> upstream")
    });
    let left: Vec<&str> = left.map(|(path, _)| path.as_str()).collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(ExitFailure::new(format!("there are conflict markers in {}", left.join(", "))).hint(
        "decide what shall stand between `<<<<<<< local` and `>>>>>>> upstream`, and take these lines and `=======` away",
    ))
}

#[cfg(test)]
mod tests {
    use model::{ConflictPolicy, Strategy};
    use package::merge::{MergeOptions, merge};

    use super::*;

    fn package(text: &str) -> Files {
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\n";
        let files = [
            ("Kptfile", kptfile),
            ("a.yaml", text),
            ("s.yaml", &text.replace("ConfigMap", "Secret")),
        ];
        let file =
            |(path, text): (&str, &str)| (PackagePath::parse(path).unwrap(), File::text(text));
        files.into_iter().map(file).collect()
    }

    #[test]
    fn open_conflicts_stand_between_markers_and_no_push_takes_them() {
        let base = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  tier: gold\n  run: |\n    set -e\n\n    run\n    done\n";
        let local = base
            .replace("gold", "mine")
            .replace("    run\n", "    run --mine\n");
        let upstream = base
            .replace("gold", "theirs")
            .replace("    run\n", "    run --theirs\n");
        let options = MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block);
        let merged = merge(
            &package(base),
            &package(&local),
            &package(&upstream),
            &options,
        )
        .unwrap();
        let pulled = merged
            .files
            .iter()
            .map(|(p, f)| (p.to_string(), f.as_text().unwrap().to_owned()));
        let pulled: Vec<_> = pulled.collect();
        assert!(refuse(&pulled).is_ok());
        let (files, told) = shown(pulled, &merged.conflicts);
        let text = |name: &str| &files.iter().find(|(path, _)| path == name).unwrap().1;
        let between = |mine: &str, theirs: &str| {
            format!("<<<<<<< local\n{mine}=======\n{theirs}>>>>>>> upstream\n")
        };
        let wanted = base
            .replace(
                "  tier: gold\n",
                &between("  tier: mine\n", "  tier: theirs\n"),
            )
            .replace(
                "    run\n",
                &between("    run --mine\n", "    run --theirs\n"),
            );
        assert_eq!(*text("a.yaml"), wanted);
        // What a Secret holds is not told, and so not shown.
        assert!(!text("s.yaml").contains("<<<"));
        assert_eq!(told.len(), 2, "{told:?}");
        let why = refuse(&files).unwrap_err().to_string();
        assert!(why.contains("conflict markers in a.yaml"), "{why}");
    }
}
