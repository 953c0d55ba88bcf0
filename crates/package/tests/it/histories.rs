//! Histories of packages as they happen: what upstream released, what people had changed, and the result that a careful
//! engineer would make of both (testdata/histories, whose README says how they are written).

use std::collections::BTreeSet;

use model::{ConflictPolicy, ConflictState, Decision, File, Files, PackagePath, Strategy};
use package::merge::{MergeOptions, merge};

/// The Kptfile of every side that says nothing of one.
const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n";

/// One history: the three sides, and what is wanted of them.
#[derive(Debug, Default)]
struct History {
    base: Files,
    local: Files,
    upstream: Files,
    result: Files,
    conflicts: BTreeSet<String>,
}

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).unwrap()
}

fn read(name: &str, text: &str) -> History {
    let mut history = History::default();
    history.base.insert(path("Kptfile"), File::text(KPTFILE));
    let mut sections = text.split("\n==== ").skip(1).peekable();
    while let Some(section) = sections.next_if(|section| section.starts_with("base ")) {
        let (head, body) = head(section);
        history
            .base
            .insert(path(head.trim_start_matches("base ")), File::text(body));
    }
    [
        &mut history.local,
        &mut history.upstream,
        &mut history.result,
    ]
    .into_iter()
    .for_each(|side| side.clone_from(&history.base));
    for section in sections {
        let (head, body) = head(section);
        let (side, place) = head.split_once(' ').unwrap_or((head, ""));
        let side = match side {
            "local" => &mut history.local,
            "upstream" => &mut history.upstream,
            "result" => &mut history.result,
            "conflicts" => {
                history.conflicts = body.lines().map(str::to_owned).collect();
                continue;
            }
            other => panic!("{name}: no side {other:?}"),
        };
        change(name, side, place, &body);
    }
    history
}

fn head(section: &str) -> (&str, String) {
    let (head, body) = section.split_once('\n').unwrap_or((section, ""));
    let body = body.trim_end_matches('\n');
    (
        head,
        if body.is_empty() {
            String::new()
        } else {
            format!("{body}\n")
        },
    )
}

/// Makes of the base's files what a section says.
fn change(name: &str, side: &mut Files, place: &str, body: &str) {
    if let Some(gone) = place.strip_suffix(" gone") {
        side.remove(&path(gone)).unwrap();
        return;
    }
    let (from, to) = place.split_once(" -> ").unwrap_or((place, place));
    let text = match side.remove(&path(from)) {
        None => body.to_owned(),
        Some(file) => {
            let text = file.as_text().unwrap().to_owned();
            body.split("@@\n")
                .filter(|hunk| !hunk.is_empty())
                .fold(text, |text, hunk| {
                    let lines = |signs: [char; 2]| -> String {
                        let own = hunk
                            .lines()
                            .filter(|line| line.starts_with(signs) || line.is_empty());
                        own.map(|line| format!("{}\n", line.get(1..).unwrap_or_default()))
                            .collect()
                    };
                    let (old, new) = (lines([' ', '-']), lines([' ', '+']));
                    let found = format!("\n{text}").matches(&format!("\n{old}")).count();
                    assert_eq!(found, 1, "{name}: {place} holds {found} times\n{old}");
                    format!("\n{text}").replacen(&format!("\n{old}"), &format!("\n{new}"), 1)[1..]
                        .to_owned()
                })
        }
    };
    side.insert(path(to), File::text(text));
}

fn told(conflict: &model::Conflict) -> String {
    let state = match conflict.state {
        ConflictState::Open => "open",
        _ => "recorded",
    };
    let taken = match conflict.decision {
        Decision::Local => "local",
        Decision::Upstream => "upstream",
    };
    let place = [conflict.file.as_str(), &conflict.resource, &conflict.path];
    let place: Vec<&str> = place.into_iter().filter(|word| !word.is_empty()).collect();
    format!("{state}, {taken}: {}", place.join(" "))
}

fn shown(files: &Files) -> String {
    let text = |file: &File| file.as_text().unwrap_or_default().to_owned();
    files
        .iter()
        .map(|(path, file)| format!("==== {path}\n{}", text(file)))
        .collect()
}

#[test]
fn histories_end_as_a_careful_engineer_would_have_it() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/histories");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "txt"));
    files.sort();
    assert!(files.len() >= 30, "{} histories", files.len());
    let options = MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block);
    let mut wrong = String::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let history = read(&name, &std::fs::read_to_string(&file).unwrap());
        let merged = merge(&history.base, &history.local, &history.upstream, &options).unwrap();
        let conflicts: BTreeSet<String> = merged.conflicts.iter().map(told).collect();
        if conflicts != history.conflicts {
            wrong += &format!(
                "{name}: conflicts {conflicts:#?} instead of {:#?}\n",
                history.conflicts
            );
        }
        if merged.files != history.result {
            let (wanted, is) = (shown(&history.result), shown(&merged.files));
            let diff = similar::TextDiff::from_lines(&wanted, &is);
            wrong += &format!("{name}:\n{}", diff.unified_diff().header("wanted", "is"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
