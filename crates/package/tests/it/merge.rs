//! Merges against what kpt and Porch recorded.

#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/merge.rs"]
mod vectors;

use super::{check, known, oracle, places};

fn cases() -> Vec<vectors::Case> {
    let places = places("merge", &["porch-flow", "upstream"]).into_iter();
    places
        .flat_map(|place| vectors::read(&place).unwrap())
        .collect()
}

#[test]
fn merges_agree_with_kpt() {
    check(
        "merge",
        &cases().iter().map(vectors::check).collect::<Vec<_>>(),
    );
}

#[test]
fn a_lost_record_fails_a_case_whose_values_agree() {
    let checked = |result: &str, more| known::Checked {
        name: "case".to_owned(),
        difference: None,
        result: result.to_owned(),
        more,
    };
    let listed = known::read("[agree.merge]\ncase = \"with\"\n", "merge").unwrap();
    assert_eq!(
        known::judge(&checked("with", true), &listed),
        known::Verdict::Passed
    );
    for (result, more) in [("other", true), ("without", false)] {
        let verdict = known::judge(&checked(result, more), &listed);
        assert!(matches!(verdict, known::Verdict::Failed(_)), "{verdict:?}");
    }
    let unlisted = known::judge(&checked("new", true), &known::Listed::default());
    assert!(
        matches!(unlisted, known::Verdict::Failed(_)),
        "{unlisted:?}"
    );
}

#[test]
fn an_error_that_says_something_else_is_a_difference() {
    let case = cases()
        .into_iter()
        .find(|case| case.name == "merge-fast-forward-both-edit");
    let case = case.unwrap();
    let mut ours = vectors::run(&case);
    assert_eq!(vectors::difference(&case, &ours), None);
    ours.result = Err("something failed".to_owned());
    assert!(vectors::difference(&case, &ours).is_some());
}

use std::collections::BTreeSet;

use model::{ConflictPolicy, Files, Strategy};
use package::merge::{MergeOptions, Merged, merge};

fn options() -> MergeOptions {
    MergeOptions {
        need_kptfile: false,
        ..MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block)
    }
}

/// The trees of the recorded resource merges.
fn trees() -> Vec<(String, [Files; 3])> {
    let cases = cases().into_iter().filter(|case| case.trees.len() == 3);
    let sides = |case: &vectors::Case| {
        ["base", "local", "upstream"].map(|side| vectors::files(&case.trees[side]))
    };
    cases
        .map(|case| (case.name.clone(), sides(&case)))
        .collect()
}

#[test]
fn what_one_side_changed_arrives_byte_for_byte() {
    for (name, [base, local, upstream]) in trees() {
        let laws = [
            ([&base, &base, &upstream], &upstream),
            ([&base, &local, &base], &local),
            ([&base, &upstream, &upstream], &upstream),
        ];
        for ([base, local, upstream], wanted) in laws {
            // A Kptfile that nobody can read is an error, nothing else is.
            let Ok(Merged { files, conflicts }) = merge(base, local, upstream, &options()) else {
                assert!(name.contains("kptfile"), "{name}");
                continue;
            };
            assert_eq!(files, *wanted, "{name}");
            assert_eq!(conflicts, [], "{name}");
        }
    }
}

#[test]
fn no_line_is_invented() {
    let mut invented = Vec::new();
    let bare = |line: &str| -> String {
        let line = line.trim().trim_start_matches("- ");
        line.chars()
            .filter(|c| !matches!(c, ' ' | '\'' | '"'))
            .collect()
    };
    for (name, [base, local, upstream]) in trees() {
        let Ok(merged) = merge(&base, &local, &upstream, &options()) else {
            continue;
        };
        for (path, file) in &merged.files {
            // What moved has lines of its old place.
            let sides = [&base, &local, &upstream];
            let texts = sides
                .into_iter()
                .flat_map(|files| files.values())
                .filter_map(|file| file.as_text());
            let known: BTreeSet<String> = texts.flat_map(str::lines).map(bare).collect();
            let lines = file.as_text().unwrap_or_default().lines();
            // Two edits inside one pair of brackets share a line.
            let whole = lines.filter(|line| !line.contains(['{', '[']) && *line != "---");
            // What stands in an alias's place is what it stood for (M1).
            let alias = |line: &str| {
                let key = bare(line)
                    .split_once(':')
                    .map(|(key, _)| format!("{key}:*"));
                key.is_some_and(|key| {
                    known
                        .range(key.clone()..)
                        .next()
                        .is_some_and(|l| l.starts_with(&key))
                })
            };
            let new = whole.filter(|line| !known.contains(&bare(line)) && !alias(line));
            invented.extend(new.map(|line| format!("{name} {path}: {line}\n")));
        }
    }
    assert!(invented.is_empty(), "{}", invented.concat());
}

#[test]
fn every_edit_of_a_person_survives_or_is_recorded() {
    let (mut lost, mut count, mut unrecorded) = (Vec::new(), 0, 0);
    for case in cases() {
        let resource_merge = match &case.operation {
            vectors::Operation::Update {
                strategy,
                cli,
                root,
            } => strategy == "resource-merge" && !cli && *root,
            _ => false,
        };
        if !resource_merge {
            continue;
        }
        let ours = vectors::run(&case);
        let (Ok(tree), [base, local]) = (
            &ours.result,
            ["base", "local"].map(|side| vectors::files(&case.trees[side])),
        ) else {
            continue;
        };
        count += oracle::count(&base, &local);
        unrecorded += oracle::lost(&base, &local, &vectors::files(tree), &[]).len();
        let result = vectors::files(tree);
        let missing = oracle::lost(&base, &local, &result, &ours.conflicts);
        lost.extend(
            missing
                .into_iter()
                .map(|edit| format!("{}: {edit}\n", case.name)),
        );
    }
    println!("{count} edits, {unrecorded} of them only recorded");
    assert!(
        unrecorded > 20,
        "the oracle sees no difference without records"
    );
    assert!(lost.is_empty(), "{}", lost.concat());
}

#[test]
fn a_conflict_leads_back_to_what_each_side_holds() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, [base, local, upstream]) in trees() {
        let Ok(merged) = merge(&base, &local, &upstream, &options()) else {
            continue;
        };
        for conflict in &merged.conflicts {
            // A subpackage is recorded as a whole, by the hash of its files; a document without any
            // identity is as good as its file.
            let whole = conflict.resource.is_empty() && conflict.path.is_empty();
            if whole && conflict.file.file_name() == "Kptfile" || name == "kyaml-merge3-scalar-08" {
                continue;
            }
            count += 1;
            let sides = [
                (&base, &conflict.base),
                (&local, &conflict.local),
                (&upstream, &conflict.upstream),
            ];
            for (files, recorded) in sides {
                let found = package::conflicts::value_at(files, conflict);
                if found != *recorded {
                    wrong.push(format!(
                        "{name} {}: {found:?} but {recorded:?}\n",
                        conflict.path
                    ));
                }
            }
        }
    }
    assert!(count > 50, "{count} conflicts");
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// A manifest of a Secret that stands as a text in another resource is a Secret all the same, whole or by lines.
#[test]
fn what_a_text_holds_of_a_secret_is_recorded_as_a_hash() {
    let one = |password: &str| format!("'{{kind: Secret, data: {{p: {password}}}}}'");
    let lines = |password: &str| {
        format!("|\n    kind: Secret\n    data:\n      a: same\n      p: {password}\n")
    };
    let forms: [&dyn Fn(&str) -> String; 2] = [&one, &lines];
    for form in forms {
        let side = |password: &str| {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  one: {}\n",
                form(password)
            );
            let path = model::PackagePath::parse("cm.yaml").unwrap();
            Files::from([(path, model::File::text(&text))])
        };
        let [base, local, upstream] = ["hush-base", "hush-mine", "hush-theirs"].map(side);
        let merged = merge(&base, &local, &upstream, &options()).unwrap();
        assert_eq!(merged.conflicts.len(), 1, "{:?}", merged.conflicts);
        let told = format!("{:?}", merged.conflicts);
        assert!(!told.contains("hush"), "{told}");
    }
}
