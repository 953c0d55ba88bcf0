//! Which test runs the inputs of which file of the record, or why none does.

use super::world::observed;

/// The tests' sources: a test that is named here is one.
const SOURCES: &str = concat!(
    include_str!("failures.rs"),
    include_str!("first.rs"),
    include_str!("hand.rs"),
    include_str!("layout.rs"),
    include_str!("life.rs"),
    include_str!("objects.rs"),
    include_str!("sets.rs"),
    include_str!("tables.rs"),
);

/// Files, each with its tests.
const TESTED: &[(&str, &[&str])] = &[
    (
        "a-upstream-selection.yaml",
        &["a_revision_number_can_be_named"],
    ),
    (
        "b-pipeline-with-dots-in-the-name.txt",
        &["dots_in_a_variants_name_prepend_once"],
    ),
    (
        "c-api-client-behaviour.txt",
        &[
            "requests_by_hand_are_refused_as_recorded",
            "requests_by_hand_are_obeyed_as_recorded",
            "dry_run_creates_nothing",
            "a_duplicate_is_a_conflict",
        ],
    ),
    ("d-list.json", &["a_list_holds_what_the_record_holds"]),
    (
        "d-selectors-and-watch.txt",
        &[
            "unknown_field_selectors_are_refused",
            "watches_honour_selectors",
        ],
    ),
    (
        "e-0-upstream-demo-v1.txt",
        &["the_upstream_package_is_shown_as_recorded"],
    ),
    ("e-1-clone-app.txt", &["comments_survive_clone_and_upgrade"]),
    (
        "e-1-clone-context.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "e-1-clone-pipe.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "e-1-clone-plain.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "e-2-upgrade-app.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "e-2-upgrade-context.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "e-2-upgrade-pipe.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "e-2-upgrade-plain.txt",
        &["comments_survive_clone_and_upgrade"],
    ),
    (
        "f-upstream-changes-while-draft.yaml",
        &["a_draft_follows_its_upstream"],
    ),
    (
        "g-injection.txt",
        &["a_package_with_an_injection_point_comes_to_rest"],
    ),
    ("g-injection-unmet.txt", &["gates_stop_approval"]),
    (
        "h-deletion-policy.txt",
        &["deletion_policies", "retarget_and_back"],
    ),
    ("i-adoption.yaml", &["adoption"]),
    (
        "j-packagevariantset-cases.yaml",
        &[
            "set_cases",
            "a_target_that_fails_stops_no_other",
            "object_selector_by_name",
            "colliding_targets_are_reported",
        ],
    ),
    (
        "k-object-selector-scale.txt",
        &["a_set_follows_its_objects"],
    ),
    (
        "l-clone-render-failure.yaml",
        &["one_failing_render_backs_off"],
    ),
    (
        "l-packagevariant-failures.yaml",
        &["failing_statuses_of_variants"],
    ),
    (
        "l-two-variants-one-downstream.yaml",
        &["two_variants_one_downstream"],
    ),
    (
        "m-packagerev.yaml",
        &["resources_are_served_as_in_the_record"],
    ),
    (
        "m-packagerevision-draft.yaml",
        &["objects_hold_what_the_record_holds"],
    ),
    (
        "m-packagerevision-published.yaml",
        &["objects_hold_what_the_record_holds"],
    ),
    (
        "m-packagerevision-upstream.yaml",
        &["objects_hold_what_the_record_holds"],
    ),
    (
        "m-packagerevisionresources.yaml",
        &["objects_hold_what_the_record_holds"],
    ),
    (
        "m-packagevariant-ready.yaml",
        &["objects_hold_what_the_record_holds"],
    ),
    (
        "m-packagevariant-stalled.yaml",
        &["objects_that_stall_have_the_recorded_conditions"],
    ),
    (
        "m-packagevariantset-ready.yaml",
        &["objects_hold_what_the_record_holds"],
    ),
    (
        "m-packagevariantset-stalled.yaml",
        &["objects_that_stall_have_the_recorded_conditions"],
    ),
    ("m-repository.yaml", &["objects_hold_what_the_record_holds"]),
    (
        "m-table-after-publish.txt",
        &["the_table_after_an_approval_is_the_recorded_one"],
    ),
    (
        "m-tables.txt",
        &[
            "tables_show_what_the_record_shows",
            "descriptions_show_the_recorded_conditions",
            "resources_are_served_as_in_the_record",
        ],
    ),
    (
        "n-files-1-draft.txt",
        &["files_after_each_step_are_those_of_the_record"],
    ),
    (
        "n-files-4-upgrade-draft.txt",
        &["files_after_each_step_are_those_of_the_record"],
    ),
    ("n-git-layout.txt", &["git_layout_step_by_step"]),
    ("n-kptfile-1-draft.yaml", &["git_layout_step_by_step"]),
    (
        "n-kptfile-2-proposed.yaml",
        &["files_after_each_step_are_those_of_the_record"],
    ),
    (
        "n-kptfile-3-published.yaml",
        &["files_after_each_step_are_those_of_the_record"],
    ),
    (
        "n-kptfile-4-upgrade-draft.yaml",
        &["git_layout_step_by_step"],
    ),
    (
        "n-packagerevision-upgrade-draft.yaml",
        &["files_after_each_step_are_those_of_the_record"],
    ),
    (
        "o-db-cache-synced-revisions-unseen.txt",
        &["what_comes_from_git_is_told"],
    ),
];

/// Files that show no behaviour.
const TEXTS: [(&str, &str); 5] = [
    ("README.md", "says how the record was made"),
    (
        "figures.jsonl",
        "timings: `cargo xtask bench` holds ours against them",
    ),
    (
        "measured.md",
        "what was learned from the other files, and timings",
    ),
    ("inputs", "given to the tests"),
    ("suites.md", "what Porch's own suites found, run by hand"),
];

#[test]
fn every_file_of_the_record_has_its_test() {
    for (file, tests) in TESTED {
        for test in *tests {
            let is_there = SOURCES.contains(&format!("\nasync fn {test}() {{\n"));
            assert!(is_there, "{file}: no test is called {test}");
        }
    }
    let Some(observed) = observed() else {
        eprintln!("skipped: the record of the existing implementation is not here");
        return;
    };
    let mut files: Vec<String> = std::fs::read_dir(observed)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut known: Vec<&str> = TESTED.iter().map(|(file, _)| *file).collect();
    known.extend(TEXTS.iter().map(|(file, _)| *file));
    known.sort_unstable();
    assert_eq!(files, known);
}
