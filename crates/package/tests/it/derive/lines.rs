//! Conflicts about lines of a text through the life of a draft (M21, V18).

use super::*;

const README: &str = "# web\n\nServes pages.\n\n## Use\n\nApply it.\n\n## Owners\n\nnobody\n";

/// An upstream whose README has these replacements.
fn with_readme(replace: &[(&str, &str)]) -> Files {
    let readme = replace.iter().fold(README.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?}");
        text.replace(from, to)
    });
    let mut files = upstream(&[]);
    let path = PackagePath::parse("README.md").unwrap();
    files.insert(path, model::File::text(readme));
    files
}

fn next(derived: &Derived, version: u8, upstream: Files, policy: ConflictPolicy) -> Derived {
    let mut wanted = recipe();
    wanted.conflict_policy = policy;
    let mut input = input(upstream, version, wanted);
    input.draft = Some(OpenDraft {
        occupied: Occupied::default(),
        machine: known(derived.m.clone()),
        tip: derived.tip.clone(),
        conflicts: derived.conflicts.clone(),
        acknowledged: Vec::new(),
    });
    derive(input)
}

const MINE: (&str, &str) = ("Apply it.", "Apply it twice.");
const THEIRS: (&str, &str) = ("Apply it.", "Do not apply it.");
const ELSEWHERE: (&str, &str) = ("nobody", "platform");

/// A draft in which a person and upstream wrote the same line of the README.
fn disagreed() -> Derived {
    let first = derive(input(with_readme(&[]), 1, recipe()));
    let tip = edited(&first.tip, "README.md", MINE.0, MINE.1);
    let drafted = worked_on(first, tip);
    let derived = next(&drafted, 2, with_readme(&[THEIRS]), ConflictPolicy::Block);
    let place = "README.md #lines".to_owned();
    assert_eq!(places(&derived.conflicts), [(place, ConflictState::Open)]);
    assert!(text(&derived.tip, "README.md").contains(MINE.1));
    derived
}

#[test]
fn m21_lines_that_nobody_answered_stay_open_while_the_rest_of_the_text_goes_on() {
    let derived = disagreed();
    let id = derived.conflicts[0].id.clone();
    let again = next(
        &derived,
        3,
        with_readme(&[THEIRS, ELSEWHERE]),
        ConflictPolicy::Block,
    );
    assert_eq!(again.conflicts.len(), 1);
    assert_eq!(
        (&again.conflicts[0].id, again.conflicts[0].state),
        (&id, ConflictState::Open)
    );
    let readme = text(&again.tip, "README.md");
    assert!(
        readme.contains(MINE.1) && readme.contains(ELSEWHERE.1),
        "{readme}"
    );
    // Upstream is back: nobody contradicts any more.
    let back = next(&again, 4, with_readme(&[ELSEWHERE]), ConflictPolicy::Block);
    assert_eq!(places(&back.conflicts), []);
    assert!(text(&back.tip, "README.md").contains(MINE.1));
    // Both say the same.
    let agreed = next(&again, 4, with_readme(&[MINE]), ConflictPolicy::Block);
    assert_eq!(places(&agreed.conflicts), []);
}

#[test]
fn m21_another_policy_takes_the_lines_of_upstream_and_nothing_else() {
    let derived = disagreed();
    let tip = edited(
        &derived.tip,
        "README.md",
        "Serves pages.",
        "Serves our pages.",
    );
    let derived = worked_on(derived, tip);
    let taken = next(
        &derived,
        3,
        with_readme(&[THEIRS]),
        ConflictPolicy::Upstream,
    );
    let readme = text(&taken.tip, "README.md");
    assert!(
        readme.contains(THEIRS.1) && readme.contains("Serves our pages."),
        "{readme}"
    );
    assert_eq!(
        places(&taken.conflicts),
        [("README.md #lines".to_owned(), ConflictState::Recorded)]
    );
}

#[test]
fn m21_only_an_edit_of_those_lines_resolves_the_conflict() {
    let derived = disagreed();
    let state = |tip: &Files| {
        let mut conflicts = derived.conflicts.clone();
        package::conflicts::resolved_by_edit(&mut conflicts, &derived.tip, tip);
        conflicts[0].state
    };
    let elsewhere = edited(&derived.tip, "README.md", "nobody", "us");
    assert_eq!(state(&elsewhere), ConflictState::Open);
    let there = edited(&derived.tip, "README.md", MINE.1, "Apply it once.");
    assert_eq!(state(&there), ConflictState::Resolved);
}
