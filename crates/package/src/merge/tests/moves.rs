//! Moves (M23): resources to other files, files and directories under new names.

use super::*;

fn map(name: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  # what it says\n  a: {data}\n  b: stays\n"
    )
}

fn names(files: &Files) -> Vec<&str> {
    files
        .keys()
        .map(PackagePath::as_str)
        .filter(|path| *path != "Kptfile")
        .collect()
}

fn text<'f>(merged: &'f Merged, path: &str) -> &'f str {
    merged.files[path].as_text().unwrap()
}

#[test]
fn m23_a_local_edit_follows_a_resource_into_another_file() {
    let (one, two) = (map("one", "x"), map("two", "x"));
    let both = format!("{one}---\n{two}");
    let mine = both.replace("a: x", "a: mine");
    for (theirs, more) in [
        (
            vec![("one.yaml", one.clone()), ("two.yaml", two.clone())],
            "",
        ),
        (
            vec![
                ("all.yaml", one.clone()),
                ("two.yaml", two.replace("stays", "new")),
            ],
            "new",
        ),
    ] {
        let theirs: Vec<(&str, &str)> = theirs.iter().map(|(p, t)| (*p, t.as_str())).collect();
        let merged = merge_files(
            [&[("all.yaml", &both)], &[("all.yaml", &mine)], &theirs],
            &block(),
        );
        assert_eq!(merged.conflicts, [], "{merged:?}");
        assert_eq!(
            names(&merged.files),
            theirs.iter().map(|(p, _)| *p).collect::<Vec<_>>()
        );
        for (path, _) in theirs {
            assert!(text(&merged, path).contains("a: mine"), "{merged:?}");
        }
        assert!(text(&merged, "two.yaml").contains(more));
        // And where a person moved it, upstream's changes do.
        let upstream = [("all.yaml", both.replace("b: stays", "b: theirs"))];
        let upstream: Vec<(&str, &str)> = upstream.iter().map(|(p, t)| (*p, t.as_str())).collect();
        let local = [
            ("one.yaml", one.replace("a: x", "a: mine")),
            ("two.yaml", two.clone()),
        ];
        let local: Vec<(&str, &str)> = local.iter().map(|(p, t)| (*p, t.as_str())).collect();
        let merged = merge_files([&[("all.yaml", &both)], &local, &upstream], &block());
        assert_eq!(
            (merged.conflicts.len(), names(&merged.files)),
            (0, vec!["one.yaml", "two.yaml"])
        );
        assert_eq!(
            text(&merged, "one.yaml"),
            map("one", "mine").replace("stays", "theirs")
        );
        assert_eq!(
            text(&merged, "two.yaml"),
            map("two", "x").replace("stays", "theirs")
        );
    }
}

#[test]
fn m23_a_conflict_names_the_new_place() {
    let base = map("one", "x");
    let (local, upstream) = (map("one", "mine"), map("one", "theirs"));
    let merged = merge_files(
        [
            &[("old.yaml", &base)],
            &[("old.yaml", &local)],
            &[("new.yaml", &upstream)],
        ],
        &block(),
    );
    assert_eq!(names(&merged.files), ["new.yaml"]);
    let places: Vec<String> = merged
        .conflicts
        .iter()
        .map(|c| format!("{} {}", c.file, c.path))
        .collect();
    assert_eq!(places, ["new.yaml data.a"]);
}

#[test]
fn m23_what_was_deleted_here_does_not_come_back_because_it_moved_there() {
    let (one, two) = (map("one", "x"), map("two", "x"));
    let both = format!("{one}---\n{two}");
    let merged = merge_files(
        [
            &[("all.yaml", &both)],
            &[("all.yaml", &one)],
            &[("all.yaml", &one), ("two.yaml", &two)],
        ],
        &block(),
    );
    assert_eq!(
        (names(&merged.files), merged.conflicts.len()),
        (vec!["all.yaml"], 0)
    );
}

#[test]
fn m23_a_renamed_file_takes_local_edits_along() {
    let readme = "# shop\n\nA shop.\n\nMore.\n";
    let local = readme.replace("A shop.", "Our shop.");
    let merged = merge_files(
        [
            &[("README.md", readme)],
            &[("README.md", &local)],
            &[("docs/shop.md", readme)],
        ],
        &block(),
    );
    assert_eq!(merged.files, with_kptfile(&[("docs/shop.md", &local)]));
    assert_eq!(merged.conflicts, []);
    // A copy is no move, and neither is a file whose bytes stand at two new places.
    for theirs in [
        vec![("README.md", readme), ("copy.md", readme)],
        vec![("a.md", readme), ("b.md", readme)],
    ] {
        let merged = merge_files(
            [&[("README.md", readme)], &[("README.md", &local)], &theirs],
            &block(),
        );
        assert_eq!(text(&merged, "README.md"), local);
    }
}

#[test]
fn m23_a_renamed_directory_takes_along_what_was_edited_and_added_there() {
    let script = "#!/bin/sh\nset -e\n\nrun\n";
    let base = [
        ("conf/a.txt", "a\n"),
        ("conf/run.sh", script),
        ("conf/sub/b.txt", "b\n"),
    ];
    let edited = script.replace("set -e", "set -eu");
    let local = [
        base[0],
        ("conf/run.sh", &edited),
        base[2],
        ("conf/mine.txt", "mine\n"),
    ];
    let longer = script.replace("run\n", "run --now\n");
    let upstream = [
        ("etc/a.txt", "a\n"),
        ("etc/run.sh", &longer),
        ("etc/sub/b.txt", "b\n"),
    ];
    let merged = merge_files([&base, &local, &upstream], &block());
    assert_eq!(
        names(&merged.files),
        ["etc/a.txt", "etc/mine.txt", "etc/run.sh", "etc/sub/b.txt"]
    );
    assert_eq!(
        text(&merged, "etc/run.sh"),
        longer.replace("set -e", "set -eu")
    );
    assert_eq!(merged.conflicts, []);
}

#[test]
fn m23_a_renamed_subpackage_keeps_what_people_did_in_it() {
    let kptfile = |name: &str| KPTFILE.replace("shop", name);
    let config = CONFIG.replace("kpt-merge: /x", "kpt");
    let local = replaced(&config, &[("c: three", "c: mine")]);
    let merged = merge_files(
        [
            &[
                ("db/Kptfile", &kptfile("db")),
                ("db/a.yaml", &config),
                ("db/x.md", "x\n"),
            ],
            &[
                ("db/Kptfile", &kptfile("db")),
                ("db/a.yaml", &local),
                ("db/x.md", "x\n"),
            ],
            &[
                ("store/Kptfile", &kptfile("store")),
                ("store/a.yaml", &config),
                ("store/x.md", "x\n"),
            ],
        ],
        &block(),
    );
    assert_eq!(merged.conflicts, []);
    assert_eq!(
        names(&merged.files),
        ["store/Kptfile", "store/a.yaml", "store/x.md"]
    );
    assert_eq!(text(&merged, "store/a.yaml"), local);
}

#[test]
fn m23_moved_to_different_places_is_a_conflict() {
    let base = map("one", "x");
    for (policy, wanted, state) in [
        (ConflictPolicy::Block, "mine.yaml", ConflictState::Open),
        (ConflictPolicy::Local, "mine.yaml", ConflictState::Recorded),
        (
            ConflictPolicy::Upstream,
            "theirs.yaml",
            ConflictState::Recorded,
        ),
    ] {
        let options = MergeOptions { policy, ..block() };
        let local = map("one", "mine");
        let upstream = base.replace("stays", "theirs");
        let merged = merge_files(
            [
                &[("old.yaml", &base)],
                &[("mine.yaml", &local)],
                &[("theirs.yaml", &upstream)],
            ],
            &options,
        );
        assert_eq!(names(&merged.files), [wanted]);
        assert_eq!(text(&merged, wanted), local.replace("stays", "theirs"));
        let told: Vec<_> = merged
            .conflicts
            .iter()
            .map(|c| (c.file.as_str(), c.path.as_str(), c.state))
            .collect();
        assert_eq!(told, [(wanted, "#file", state)]);
        // The draft holds it there until somebody moves it.
        let there = crate::conflicts::value_at(&merged.files, &merged.conflicts[0]);
        assert_eq!(there, ConflictValue::Json(format!("\"{wanted}\"")));
    }
}

#[test]
fn m16_one_resource_that_both_added_alike_in_different_files_is_no_question() {
    let (mine, theirs) = (
        map("one", "x"),
        map("one", "\"x\"").replace("  # what it says\n", ""),
    );
    let sides: [&[(&str, &str)]; 3] = [&[], &[("mine.yaml", &mine)], &[("theirs.yaml", &theirs)]];
    let merged = merge_files(sides, &block());
    assert_eq!(names(&merged.files), ["mine.yaml"]);
    assert_eq!(text(&merged, "mine.yaml"), mine);
    let told = merged.conflicts.iter().map(|c| (c.path.as_str(), c.state));
    let told: Vec<_> = told.collect();
    assert_eq!(told, [("#file", ConflictState::Recorded)]);
}

#[test]
fn m23_one_resource_that_both_added_in_different_files_stands_once() {
    let base = map("one", "x");
    let (mine, theirs) = (map("new", "mine"), map("new", "theirs"));
    let merged = merge_files(
        [
            &[("one.yaml", &base)],
            &[("one.yaml", &base), ("mine.yaml", &mine)],
            &[("one.yaml", &base), ("theirs.yaml", &theirs)],
        ],
        &block(),
    );
    assert_eq!(names(&merged.files), ["mine.yaml", "one.yaml"]);
    let told: Vec<&str> = merged.conflicts.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(told, ["#file", "data.a"]);
}

#[test]
fn m23_an_identity_that_the_result_alone_holds_twice_is_an_open_conflict() {
    // The clone's comment says who the resource was before a person gave it another name.
    let marked = |name: &str| map(name, "x").replace("metadata:", "metadata: # kpt-merge: /one");
    let new = map("two", "theirs");
    let merged = merge_files(
        [
            &[("one.yaml", &marked("one"))],
            &[("one.yaml", &marked("two"))],
            &[("one.yaml", &marked("one")), ("new.yaml", &new)],
        ],
        &block(),
    );
    assert_eq!(names(&merged.files), ["new.yaml", "one.yaml"]);
    let told: Vec<_> = merged
        .conflicts
        .iter()
        .map(|c| (c.file.as_str(), c.resource.as_str(), c.state))
        .collect();
    assert_eq!(told, [("new.yaml", "/ConfigMap//two", ConflictState::Open)]);
    // In two packages it is nothing to speak of.
    let [own, other] = ["a/Kptfile", "b/Kptfile"].map(|path| (path, KPTFILE));
    let context = map("kptfile.kpt.dev", "x");
    let merged = merge_files(
        [
            &[],
            &[own, ("a/context.yaml", &context)],
            &[other, ("b/context.yaml", &context)],
        ],
        &block(),
    );
    assert_eq!(merged.conflicts, []);
}

#[test]
fn m23_what_moved_on_one_side_alone_is_that_sides_byte_for_byte() {
    let (one, two) = (map("one", "x"), map("two", "x"));
    let both = format!("# head\n{one}---\n# second\n{two}");
    let base = with_kptfile(&[("all.yaml", &both), ("run.sh", "run\n")]);
    let side = with_kptfile(&[
        ("all.yaml", &two),
        ("one.yaml", &format!("# other\n{one}")),
        ("bin/run.sh", "run\n"),
    ]);
    for [local, upstream] in [[&base, &side], [&side, &base], [&side, &side]] {
        let merged = merge(&base, local, upstream, &block()).unwrap();
        assert_eq!((merged.files, merged.conflicts.len()), (side.clone(), 0));
    }
}

/// Attacked: who a resource is was read off its lines, and only block style says it there.
#[test]
fn m23_a_resource_is_the_same_however_its_name_is_written() {
    let plain = map("one", "x");
    for form in [
        plain.replace("metadata:\n  name: one", "metadata: {name: one}"),
        plain.replace("metadata:\n  name:", "\"metadata\":\n  \"name\":"),
        plain.replace("name: one", "name: &n one"),
        plain.replace("name: one", "name: >-\n    one"),
        plain.replace("name: one", "name: !!str one"),
        plain.replace("kind: ConfigMap", "kind : ConfigMap"),
        plain.lines().map(|line| format!("  {line}\n")).collect(),
    ] {
        let mine = form.replace("a: x", "a: mine");
        let theirs = form.replace("b: stays", "b: theirs");
        let merged = merge_files(
            [
                &[("all.yaml", &form)],
                &[("mine.yaml", &mine)],
                &[("theirs.yaml", &theirs)],
            ],
            &block(),
        );
        assert_eq!(names(&merged.files).len(), 1, "{form}{merged:?}");
        assert!(!merged.conflicts.is_empty(), "{form}");
        let merged = merge_files(
            [
                &[("all.yaml", &form)],
                &[("all.yaml", &mine)],
                &[("theirs.yaml", &theirs)],
            ],
            &block(),
        );
        assert_eq!(names(&merged.files), ["theirs.yaml"], "{form}{merged:?}");
        assert!(
            text(&merged, "theirs.yaml").contains("a: mine"),
            "{form}{merged:?}"
        );
    }
}

const SUB: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n";

#[test]
fn m23_a_deletion_meets_a_resource_that_went_into_a_subpackage_and_changed() {
    let one = map("one", "x");
    let changed = map("one", "theirs");
    let base = [("one.yaml", one.as_str())];
    let upstream = [("s/Kptfile", SUB), ("s/one.yaml", changed.as_str())];
    let merged = merge_files([&base, &[], &upstream], &block());
    let [conflict] = merged.conflicts.as_slice() else {
        panic!("{merged:?}");
    };
    assert_eq!(conflict.file.as_str(), "s/one.yaml");
    assert!(conflict.blocks(), "{conflict:?}");
    assert!(!merged.files.contains_key(&path("s/one.yaml")), "M4");
    // An edit follows it there.
    let mine = one.replace("b: stays", "b: mine");
    let local = [("one.yaml", mine.as_str())];
    let merged = merge_files([&base, &local, &upstream], &block());
    assert_eq!(merged.conflicts, [], "{merged:?}");
    let wanted = changed.replace("b: stays", "b: mine");
    assert_eq!(text(&merged, "s/one.yaml"), wanted);
    assert!(!merged.files.contains_key(&path("one.yaml")));
}

#[test]
fn m23_what_a_renamed_subpackage_holds_is_followed_though_each_file_changed() {
    let noted = |text: &str| text.replace("metadata:\n", "metadata:\n  annotations: {a: b}\n");
    let one = map("one", "x");
    let base = [("db/Kptfile", noted(SUB)), ("db/one.yaml", noted(&one))];
    let base: Vec<(&str, &str)> = base.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let mine = noted(&one).replace("b: stays", "b: mine");
    let local = [base[0], ("db/one.yaml", mine.as_str())];
    let upstream = [
        ("database/Kptfile", SUB),
        ("database/one.yaml", one.as_str()),
    ];
    let merged = merge_files([&base, &local, &upstream], &block());
    assert_eq!(
        names(&merged.files),
        ["database/Kptfile", "database/one.yaml"]
    );
    let wanted = one.replace("b: stays", "b: mine");
    assert_eq!(text(&merged, "database/one.yaml"), wanted);
    // Deleted here, it is asked for, and does not come back.
    let merged = merge_files([&base, &base[..1], &upstream], &block());
    assert!(
        !merged.files.contains_key(&path("database/one.yaml")),
        "{merged:?}"
    );
    let asked = merged.conflicts.iter().filter(|c| c.blocks());
    let asked: Vec<&str> = asked.map(|c| c.file.as_str()).collect();
    assert_eq!(asked, ["database/one.yaml"], "{merged:?}");
}

#[test]
fn m23_a_text_that_was_moved_and_edited_is_told_where_it_went() {
    let base = "one\ntwo\nthree\nfour\nfive\n";
    let mine = replaced(base, &[("four", "vier")]);
    let theirs = replaced(base, &[("one", "eins")]);
    let told = |sides: [&[(&str, &str)]; 3]| {
        let merged = merge_files(sides, &block());
        let conflicts = merged.conflicts.iter();
        let told = conflicts.map(|c| (c.file.to_string(), c.path.clone(), c.decision, c.state));
        let there = names(&merged.files)
            .iter()
            .map(|n| (*n).to_owned())
            .collect::<Vec<_>>();
        (there, told.collect::<Vec<_>>())
    };
    let open = |file: &str, path: &str, decision| {
        vec![(
            file.to_owned(),
            path.to_owned(),
            decision,
            ConflictState::Open,
        )]
    };
    let old: &[(&str, &str)] = &[("d/t.txt", base)];
    // Both sides, each to another place: each copy lacks what the other side wrote.
    let (there, conflicts) = told([old, &[("a/t.txt", &mine)], &[("b.txt", &theirs)]]);
    assert_eq!(there, ["a/t.txt", "b.txt"]);
    assert_eq!(conflicts, open("a/t.txt", "#file", Decision::Local));
    // One side alone edited it; the name that the other gave it is told.
    let (there, conflicts) = told([old, &[("a/t.txt", base)], &[("b.txt", &theirs)]]);
    assert_eq!(
        (there.as_slice(), conflicts),
        (
            ["b.txt".to_owned()].as_slice(),
            open("b.txt", "#file", Decision::Upstream)
        )
    );
    // Deleted on the other side: it stays, and is asked about.
    let (there, conflicts) = told([old, &[("a/t.txt", &mine)], &[]]);
    assert_eq!(
        (there.as_slice(), conflicts),
        (
            ["a/t.txt".to_owned()].as_slice(),
            open("a/t.txt", "", Decision::Local)
        )
    );
    let (there, conflicts) = told([old, &[], &[("b.txt", &theirs)]]);
    assert_eq!(
        (there.as_slice(), conflicts),
        (
            ["b.txt".to_owned()].as_slice(),
            open("b.txt", "", Decision::Upstream)
        )
    );
    // A new text that has little of it is a new text.
    let other = "one\ntwo\nother\nlines\nall\n";
    assert_eq!(told([old, &[("a/t.txt", other)], &[]]).1, []);
}
