//! Packages as a whole: Kptfiles, subpackages, strategies (M5, M10, M15).

use super::*;

#[test]
fn m5_a_package_without_kptfile_names_the_side() {
    let (good, bad) = (with_kptfile(&[]), files(&[("a.yaml", CONFIG)]));
    let sides = [
        [&bad, &good, &good],
        [&good, &bad, &good],
        [&good, &good, &bad],
    ];
    for (strategy, (name, [base, local, upstream])) in
        Strategy::ALL.into_iter().flat_map(|strategy| {
            ["base", "local", "upstream"]
                .into_iter()
                .zip(sides)
                .map(move |s| (strategy, s))
        })
    {
        let options = MergeOptions {
            strategy,
            ..block()
        };
        let why = merge(base, local, upstream, &options).unwrap_err();
        assert_eq!(
            why.to_string(),
            format!("the {name} package has no readable Kptfile")
        );
    }
    let unreadable = files(&[("Kptfile", "kind: [\n")]);
    assert!(merge(&good, &unreadable, &good, &block()).is_err());
}

#[test]
fn m10_fast_forward_sees_bytes_but_no_marks() {
    let options = MergeOptions {
        strategy: Strategy::FastForward,
        ..block()
    };
    let upstream = with_kptfile(&[("a.yaml", "kind: B\nmetadata: {name: b}\n")]);
    let base = with_kptfile(&[
        ("a.yaml", "kind: A\nmetadata:\n  name: a\n"),
        ("b.txt", "b\n"),
    ]);
    let marked = "kind: A\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|A|default|a'\n";
    let local = with_kptfile(&[("a.yaml", marked), ("b.txt", "b\n")]);
    assert_eq!(
        merge(&base, &local, &upstream, &options).unwrap().files,
        upstream
    );
    let touched = with_kptfile(&[
        ("a.yaml", "kind: A # c\nmetadata:\n  name: a\n"),
        ("c.txt", ""),
    ]);
    let why = merge(&base, &touched, &upstream, &options).unwrap_err();
    assert_eq!(
        why.to_string(),
        "local package files have been modified: [a.yaml b.txt c.txt].\n  use a different update --strategy."
    );
}

#[test]
fn v5_a_subpackage_that_was_only_laid_out_anew_is_nobodys_question() {
    let sub = |text: &'static str| [("db/Kptfile", KPTFILE), ("db/a.yaml", text)];
    let (base, anew) = (sub("kind: A\nx: [a]\n"), sub("kind: A # c\nx:\n- a\n"));
    let merged = merge_files([&base, &anew, &[]], &block());
    assert_eq!(merged.files, with_kptfile(&anew));
    let states: Vec<ConflictState> = merged.conflicts.iter().map(|c| c.state).collect();
    assert_eq!(states, [ConflictState::Recorded]);
    let merged = merge_files([&base, &[], &anew], &block());
    assert_eq!(
        (merged.files, merged.conflicts),
        (with_kptfile(&[]), vec![])
    );
}

#[test]
fn m10_a_strategy_that_replaces_files_notes_what_a_person_made_and_no_mark() {
    let marked = "kind: A\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|A|default|a'\n";
    let base = [
        ("a.yaml", "kind: A\nmetadata:\n  name: a\n"),
        ("b.txt", "b\n"),
    ];
    let upstream = [
        ("a.yaml", "kind: A\nmetadata:\n  name: a\nx: 1\n"),
        ("b.txt", "c\n"),
    ];
    for strategy in [Strategy::ForceDeleteReplace, Strategy::CopyMerge] {
        let options = MergeOptions {
            strategy,
            ..block()
        };
        let merged = merge_files(
            [&base, &[("a.yaml", marked), ("b.txt", "mine\n")], &upstream],
            &options,
        );
        assert_eq!(merged.files, with_kptfile(&upstream));
        let noted: Vec<&str> = merged.conflicts.iter().map(|c| c.file.as_str()).collect();
        assert_eq!(noted, ["b.txt"]);
    }
}

#[test]
fn m25_a_fast_forward_drops_the_render_report_and_no_other_condition() {
    let kptfile = |conditions: &str| format!("{KPTFILE}status:\n  conditions:\n{conditions}");
    let (own, point) = (
        "    - type: approved\n      status: \"False\"\n",
        "    - type: config.injection.A.a\n      status: \"True\"\n",
    );
    let run = "    - type: Rendered\n      status: \"True\"\n  renderStatus:\n    mutationSteps:\n      - image: set-labels:v1\n        exitCode: 0\n";
    let options = MergeOptions {
        strategy: Strategy::FastForward,
        ..block()
    };
    let base = kptfile(own);
    let sides = [&base, &kptfile(&format!("{own}{point}{run}")), &base]
        .map(|text| files(&[("Kptfile", text)]));
    let [base, local, mut upstream] = sides;
    upstream.extend(files(&[("a.yaml", CONFIG)]));
    let merged = merge(&base, &local, &upstream, &options).unwrap();
    let wanted = kptfile(&format!("{own}{point}"));
    let kptfile = merged.files["Kptfile"].as_text().unwrap();
    assert_eq!(kptfile, wanted);
    assert!(merged.files.contains_key("a.yaml"));
    assert_eq!(merged.conflicts, []);
}

#[test]
fn m15_pipelines_merge_by_identity_and_in_order() {
    let kptfile = |functions: &str| format!("{KPTFILE}pipeline:\n  mutators:\n{functions}");
    let (ns, set) = (
        "  - image: set-namespace:v1\n    configMap: {namespace: a}\n",
        "  - image: apply-setters:v1\n    configPath: s.yaml\n",
    );
    let own = "  # ours\n  - image: set-labels:v1\n    name: PackageVariant.v.l.0\n    configMap: {team: x}\n";
    let new = "  - image: search-replace:v1\n    configMap: {by-value: a}\n";
    let base = kptfile(&format!("{ns}{set}"));
    let local = kptfile(&format!("{own}{ns}{set}"));
    let upstream = kptfile(&format!("{}{new}{set}", ns.replace("v1", "v2")));
    let merged = merge(
        &files(&[("Kptfile", &base)]),
        &files(&[("Kptfile", &local)]),
        &files(&[("Kptfile", &upstream)]),
        &block(),
    )
    .unwrap();
    let wanted = kptfile(&format!("{own}{}{new}{set}", ns.replace("v1", "v2")));
    assert_eq!(merged.files["Kptfile"].as_text().unwrap(), wanted);
    assert_eq!(merged.conflicts, []);
    // Upstream's new order is taken where nobody ordered anything locally.
    let swapped = kptfile(&format!("{set}{ns}"));
    let merged = merge(
        &files(&[("Kptfile", &base)]),
        &files(&[("Kptfile", &local)]),
        &files(&[("Kptfile", &swapped)]),
        &block(),
    )
    .unwrap();
    assert_eq!(
        merged.files["Kptfile"].as_text().unwrap(),
        kptfile(&format!("{own}{set}{ns}"))
    );
}

#[test]
fn a_subpackage_goes_only_if_nobody_touched_it() {
    let sub = |text: &'static str| [("db/Kptfile", KPTFILE), ("db/a.yaml", text)];
    let merged = merge_files([&sub(CONFIG), &sub(CONFIG), &[]], &block());
    assert_eq!(merged.files, with_kptfile(&[]));
    let merged = merge_files([&sub(CONFIG), &sub("kind: A\n"), &[]], &block());
    assert_eq!(merged.files, with_kptfile(&sub("kind: A\n")));
    assert_eq!(merged.conflicts[0].file.as_str(), "db/Kptfile");
    // Deleted locally, it stays away, whatever upstream adds to it.
    let grown = [
        ("db/Kptfile", KPTFILE),
        ("db/a.yaml", CONFIG),
        ("db/new.yaml", "kind: N\n"),
    ];
    let merged = merge_files([&sub(CONFIG), &[], &grown], &block());
    assert_eq!(merged.files, with_kptfile(&[]));
    let gates = merged.conflicts.iter().filter(|c| c.blocks());
    assert_eq!(gates.count(), 1);
}

#[test]
fn a_raw_upstream_leaves_a_downstream_its_identity() {
    let kptfile = |name: &str, reference: &str, about: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\nupstream:\n  type: git\n  git: {{ref: {reference}}}\ninfo:\n  description: {about}\n"
        )
    };
    let side = |text: String| files(&[("Kptfile", &text)]);
    let (base, local, upstream) = (
        kptfile("app", "up/v1", "one"),
        kptfile("mine", "app/v1", "one"),
        kptfile("app2", "up/v2", "two"),
    );
    let options = MergeOptions::upgrade(Strategy::ResourceMerge, ConflictPolicy::Block);
    let merged = merge(&side(base), &side(local), &side(upstream), &options).unwrap();
    assert_eq!(
        merged.files["Kptfile"].as_text().unwrap(),
        kptfile("mine", "app/v1", "two")
    );
    assert_eq!(merged.conflicts, []);
}

#[test]
fn v8_what_a_run_left_is_no_edit() {
    let run = "info:\n  readinessGates:\n  - conditionType: mine.example.com/a\n  - conditionType: offshoot.dev/Conflicts\nstatus:\n  conditions:\n  - type: mine.example.com/a\n    status: \"True\"\n  - type: Rendered\n    status: \"True\"\n  - type: offshoot.dev/Conflicts\n    status: \"False\"\n  renderStatus:\n    errorSummary: x\n";
    let bare = "info:\n  readinessGates:\n  - conditionType: mine.example.com/a\nstatus:\n  conditions:\n  - type: mine.example.com/a\n    status: \"True\"\n";
    let side = |text: &str| files(&[("Kptfile", &format!("{KPTFILE}{text}"))]);
    assert_eq!(without_runtime(&side(run), &[]).unwrap(), side(bare));
    assert_eq!(without_runtime(&side(bare), &[]).unwrap(), side(bare));
    let kinds = ["mine.example.com/a".to_owned()];
    let stripped = without_runtime(&side(bare), &kinds).unwrap();
    assert!(
        !stripped["Kptfile"].as_text().unwrap().contains("status"),
        "{stripped:?}"
    );
}

/// A Kptfile in which a run left this.
fn ran(summary: &str, injected: &str, settled: &str, about: &str) -> model::Files {
    let text = format!(
        "{KPTFILE}info:\n  description: {about}\n  readinessGates:\n  - conditionType: offshoot.dev/Conflicts\nstatus:\n  conditions:\n  - type: Rendered\n    status: \"{settled}\"\n    message: {summary}\n  - type: config.injection.ConfigMap.x\n    status: \"{injected}\"\n  - type: offshoot.dev/Conflicts\n    status: \"{settled}\"\n  - type: theirs.example.com/a\n    status: \"{injected}\"\n  renderStatus:\n    errorSummary: {summary}\n"
    );
    files(&[("Kptfile", &text), ("sub/Kptfile", &text)])
}

#[test]
fn v8_no_merge_compares_what_runs_left() {
    let (base, local, upstream) = (
        ran("first", "True", "True", "one"),
        ran("second", "True", "False", "one"),
        ran("third", "False", "True", "two"),
    );
    let policy = ConflictPolicy::Block;
    let all = [
        MergeOptions::against_base(Strategy::ResourceMerge, policy),
        MergeOptions::in_draft(policy),
        MergeOptions::upgrade(Strategy::ResourceMerge, policy),
    ];
    for options in all {
        let merged = merge(&base, &local, &upstream, &options).unwrap();
        assert_eq!(merged.conflicts, []);
        for path in ["Kptfile", "sub/Kptfile"] {
            // The author's own condition merges, like the description.
            let wanted = local[path].as_text().unwrap().replace("one", "two");
            let wanted = wanted.replace(
                "theirs.example.com/a\n    status: \"True\"",
                "theirs.example.com/a\n    status: \"False\"",
            );
            assert_eq!(merged.files[path].as_text().unwrap(), wanted);
        }
    }
    let fast = MergeOptions::upgrade(Strategy::FastForward, policy);
    assert!(
        merge(
            &base,
            &ran("second", "True", "False", "one"),
            &upstream,
            &fast
        )
        .is_ok()
    );
}

#[test]
fn m4_marks_of_a_clone_are_no_edit_of_what_upstream_deletes() {
    let base = "kind: A\nmetadata:\n  name: a\nx: [1, 2]\n";
    let marked = "kind: A\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|A|default|a'\nx: [1, 2]\n";
    let merge =
        |local: &str| merge_files([&[("a.yaml", base)], &[("a.yaml", local)], &[]], &block());
    assert!(!merge(marked).files.contains_key("a.yaml"));
    // Marked and written otherwise: it stays, and nobody is asked.
    let merged = merge(&replaced(marked, &[("[1, 2]", "\n- 1\n- 2")]));
    assert!(merged.files.contains_key("a.yaml"));
    let states: Vec<_> = merged.conflicts.iter().map(|c| c.state).collect();
    assert_eq!(states, [ConflictState::Recorded]);
    // Deleted here, and only marked there: it stays deleted.
    let merged = merge_files([&[("a.yaml", base)], &[], &[("a.yaml", marked)]], &block());
    assert_eq!(
        (merged.files.contains_key("a.yaml"), merged.conflicts),
        (false, vec![])
    );
}

#[test]
fn m24_a_deleted_subpackage_is_one_decision_told_field_by_field() {
    let sub = |text: &'static str| [("db/Kptfile", KPTFILE), ("db/a.yaml", text)];
    let changed = "kind: A\nmetadata: {name: a}\nx: 1\ny: 2\n";
    let base = "kind: A\nmetadata: {name: a}\nx: 1\ny: 1\n";
    let places = |merged: &Merged| -> Vec<String> {
        let place = |c: &Conflict| format!("{} {} {}", c.file, c.resource, c.path);
        merged.conflicts.iter().map(place).collect()
    };
    let told = ["db/Kptfile  ", "db/a.yaml /A//a y"];
    let upstreams = MergeOptions {
        policy: ConflictPolicy::Upstream,
        ..block()
    };
    // Deleted upstream, changed here: it stays under Block, and goes where upstream wins.
    for (options, stays) in [(block(), true), (upstreams, false)] {
        let merged = merge_files([&sub(base), &sub(changed), &[]], &options);
        assert_eq!(places(&merged), told);
        assert_eq!(merged.files.contains_key("db/a.yaml"), stays);
        let [whole, field] = merged.conflicts.as_slice() else {
            panic!("{:?}", merged.conflicts)
        };
        assert_eq!(field.derived_from.as_ref(), Some(&whole.id));
        assert_eq!((whole.blocks(), field.blocks()), (stays, false));
        let json = |text: &str| ConflictValue::Json(text.to_owned());
        assert_eq!(field.base, json("1"));
        assert_eq!(field.local, json("2"));
        assert_eq!(field.upstream, ConflictValue::Absent);
    }
    // The other way round.
    for (options, comes) in [(block(), false), (upstreams, true)] {
        let merged = merge_files([&sub(base), &[], &sub(changed)], &options);
        assert_eq!(places(&merged), told);
        assert_eq!(merged.files.contains_key("db/a.yaml"), comes);
    }
    // What upstream only marked stays deleted, and nobody is asked.
    let marked = "kind: A\nmetadata: {name: a} # kpt-merge: /a\nx: 1\ny: 1\n";
    let merged = merge_files([&sub(base), &[], &sub(marked)], &block());
    assert_eq!(
        (merged.files, merged.conflicts),
        (with_kptfile(&[]), vec![])
    );
}

/// A file that comes back since upstream changed it, and then has no place, was told twice, with both decisions.
#[test]
fn m16_a_file_where_a_directory_stands_is_told_once() {
    let merged = merge_files(
        [
            &[("conf", "base\n")],
            &[("conf/x.txt", "mine\n")],
            &[("conf", "theirs\n")],
        ],
        &block(),
    );
    assert_eq!(merged.files, with_kptfile(&[("conf/x.txt", "mine\n")]));
    let told: Vec<_> = merged
        .conflicts
        .iter()
        .map(|c| (c.file.as_str(), c.decision, c.state))
        .collect();
    assert_eq!(told, [("conf", Decision::Local, ConflictState::Open)]);
}

#[test]
fn m16_no_strategy_puts_a_file_where_a_directory_stays() {
    const REMOTE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\nupstream:\n  type: git\n  git:\n    repo: https://example.com/sub\n    directory: /\n    ref: v1\n";
    type Side = &'static [(&'static str, &'static str)];
    let cases: [(Strategy, [Side; 2]); 4] = [
        (
            Strategy::CopyMerge,
            [&[("conf/x.txt", "mine\n")], &[("conf", "theirs\n")]],
        ),
        (
            Strategy::CopyMerge,
            [&[("conf", "mine\n")], &[("conf/x.txt", "theirs\n")]],
        ),
        (
            Strategy::ForceDeleteReplace,
            [&[("sub/Kptfile", REMOTE)], &[("sub", "theirs\n")]],
        ),
        (
            Strategy::ResourceMerge,
            [&[("conf/x.txt", "mine\n")], &[("conf", "theirs\n")]],
        ),
    ];
    for (strategy, [mine, theirs]) in cases {
        let options = MergeOptions {
            strategy,
            ..block()
        };
        let merged = merge_files([&[], mine, theirs], &options);
        assert_eq!(merged.files, with_kptfile(mine), "{strategy:?}");
        let told: Vec<_> = merged
            .conflicts
            .iter()
            .map(|c| (c.file.as_str(), c.decision, c.state))
            .collect();
        assert_eq!(
            told,
            [(theirs[0].0, Decision::Local, ConflictState::Open)],
            "{strategy:?}"
        );
    }
}

/// Whether a document begins with `---` follows from what stands before it: who takes the first one away, or puts one there, has not
/// touched the next.
#[test]
fn v17_what_upstream_deletes_goes_wherever_it_stands_in_its_file() {
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
    let [a, b, c] = ["a", "b", "c"].map(map);
    let both = format!("{a}---\n{b}");
    let said = format!("{a}--- # b\n{b}");
    for (base, local, upstream, wanted) in [
        // The first document is gone here, the second one upstream.
        (&both, &b, &a, "<gone>".to_owned()),
        // Another one stands before it.
        (&a, &format!("{c}---\n{a}"), &String::new(), c.clone()),
        (
            &both,
            &format!("{c}---\n{both}"),
            &b,
            format!("{c}---\n{b}"),
        ),
        // The two changed places.
        (&both, &format!("{b}---\n{a}"), &a, a.clone()),
        (
            &format!("---\n{a}---\n{b}"),
            &format!("{b}---\n{a}"),
            &a,
            a.clone(),
        ),
        (&both.replace('\n', "\r\n"), &b, &a, "<gone>".to_owned()),
        // A comment behind the marker is somebody's.
        (&said, &said, &a, a.clone()),
    ] {
        let sides = [base, local, upstream].map(|text| vec![("a.yaml", text.as_str())]);
        let sides = sides.each_ref().map(|side| {
            if side[0].1.is_empty() {
                &[][..]
            } else {
                &side[..]
            }
        });
        let merged = merge_files(sides, &block());
        let text = merged
            .files
            .get("a.yaml")
            .and_then(File::as_text)
            .unwrap_or("<gone>");
        assert_eq!(text, wanted, "{base} | {local} | {upstream}");
        assert_eq!(merged.conflicts, [], "{base} | {local} | {upstream}");
    }
    let edited = b.replace("name: b\n", "name: b\n  labels: {x: y}\n");
    let (text, conflicts) = one(&both, &edited, &a, &block());
    assert_eq!((text, conflicts.len()), (edited, 1));
}

/// What is looked for in another side is found without going through all of it: with a walk for each part this takes minutes.
#[test]
fn x9_long_lists_and_files_of_many_documents_merge_in_time() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    env:\n";
    let item = |at: usize| format!("    - {{name: k{at}, value: v}}\n");
    let env: String = std::iter::once(pod.to_owned())
        .chain((0..5_000).map(item))
        .collect();
    let local = env.replace("k7, value: v", "k7, value: w");
    let upstream = env.replace("k9, value: v", "k9, value: w");
    let (text, conflicts) = one(&env, &local, &upstream, &block());
    assert_eq!(text, local.replace("k9, value: v", "k9, value: w"));
    assert_eq!(conflicts, []);
    let map = |at: usize| format!("apiVersion: v1\nkind: A\nmetadata: {{name: a{at}}}\nx: 0\n");
    let base = (0..5_000).map(map).collect::<Vec<_>>().join("---\n");
    let local = base.replacen("x: 0", "x: 1", 1);
    let upstream = format!("{}x: 2\n", &base[..base.len() - 5]);
    let (text, _) = one(&base, &local, &upstream, &block());
    assert_eq!(text, upstream.replacen("x: 0", "x: 1", 1));
}
