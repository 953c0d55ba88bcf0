//! Taking a side of a conflict, whatever it is about.

use super::*;

/// Every side of every open conflict can be taken, also where a file holds no resource.
#[test]
fn f4_a_file_without_a_resource_takes_what_a_side_has() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n";
    let package = |text: Option<&str>| -> model::Files {
        let all = [("Kptfile", Some(kptfile)), ("values.yaml", text)];
        let held = all.iter().filter_map(|(path, text)| {
            Some((PackagePath::parse(path).ok()?, model::File::text((*text)?)))
        });
        held.collect()
    };
    let base = "# values\nimage: {tag: a}\nhosts: [a]\n";
    let config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    let mine = "# values\nimage: {tag: b}\nhosts: [b]\n";
    let theirs = "# values\nimage: {tag: c} # new\nhosts: [c]\n";
    let twice = |tag: &str| format!("a: 1\na: 2\ntag: {tag}\n");
    let (t, u, v) = (twice("a"), twice("b"), twice("c"));
    let beside = |text: &str| format!("{text}{config}");
    let (d, e, f) = (beside(base), beside(mine), beside(theirs));
    // Too long for a record, as a map, as one text, and as a text on one side alone.
    let long = |text: &str, of: &str| format!("{text}long: {}\n", of.repeat(5_000));
    let (g, h, i) = (long(base, "a"), long(mine, "b"), long(theirs, "c"));
    let text = |of: &str| format!("{}\n", of.repeat(5_000));
    let (j, k) = (text("a"), text("b"));
    for [base, local, upstream] in [
        [Some(base), Some(mine), Some(theirs)],
        [Some(base), Some(mine), None],
        [Some(base), None, Some(theirs)],
        [None, Some(mine), Some(theirs)],
        [Some(&*t), Some(&*u), Some(&*v)],
        [Some("- a\n"), Some("- b\n"), Some("- c\n")],
        [Some("a\n"), Some("b\n"), Some("c\n")],
        [Some(base), Some("- b\n"), Some("c\n")],
        [Some(&*d), Some(&*e), Some(config)],
        [Some(&*d), Some(config), Some(&*f)],
        [Some(&*d), Some(&*e), Some(&*f)],
        [Some(&*d), Some(&*e), None],
        [Some(&*g), Some(&*h), Some(&*i)],
        [Some(&*g), Some(&*h), None],
        [Some(base), Some(&*h), Some(theirs)],
        [Some(&*j), Some(&*k), Some("c\n")],
        [Some(&*t), Some(&*g), Some(&*v)],
    ] {
        let sides = [base, local, upstream].map(package);
        for policy in [ConflictPolicy::Block, ConflictPolicy::Local] {
            let options =
                crate::merge::MergeOptions::against_base(model::Strategy::ResourceMerge, policy);
            let [b, l, u] = sides.each_ref();
            let merged = crate::merge::merge(b, l, u, &options).unwrap();
            assert!(!merged.conflicts.is_empty(), "{local:?} {upstream:?}");
            for conflict in merged
                .conflicts
                .iter()
                .filter(|c| !c.path.ends_with("#comment"))
            {
                let mut held = false;
                for side in model::ConflictSide::ALL {
                    let from = match side {
                        model::ConflictSide::Base => b,
                        model::ConflictSide::Local => l,
                        model::ConflictSide::Upstream => u,
                    };
                    let mut files = merged.files.clone();
                    let done = holds_side(&files, conflict, side)
                        || put_side(&mut files, from, conflict, side);
                    assert!(done, "{side} of {conflict:?}");
                    assert!(holds_side(&files, conflict, side), "{side} of {conflict:?}");
                    held |= holds_side(&merged.files, conflict, side);
                }
                assert!(held, "{conflict:?} is decided as nobody has it: {merged:?}");
            }
        }
    }
}

/// What a record says of one side has an end, whatever stands there, and still tells whether it does.
#[test]
fn a_record_holds_no_more_of_a_value_than_it_has_room_for() {
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n";
    let package = |text: &str| -> model::Files {
        let config =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  a: {text}\n");
        let all = [("Kptfile", kptfile.to_owned()), ("c.yaml", config)];
        let file = |(path, text)| (PackagePath::parse(path).unwrap(), model::File::text(text));
        all.map(file).into()
    };
    for (bytes, beside, hashed) in [
        (4_094, 2_000, false),
        (4_095, 2_000, true),
        (4_095, 1_000, true),
    ] {
        let sides = [
            package("a"),
            package(&"b".repeat(bytes)),
            package(&"c".repeat(beside)),
        ];
        let [base, local, upstream] = &sides;
        let options = crate::merge::MergeOptions::against_base(
            model::Strategy::ResourceMerge,
            ConflictPolicy::Block,
        );
        let merged = crate::merge::merge(base, local, upstream, &options).unwrap();
        let [conflict] = &*merged.conflicts else {
            panic!("{:?}", merged.conflicts)
        };
        let told = format!("a text of {} bytes", bytes + 2);
        assert_eq!(conflict.local.abridged(), hashed.then_some(&*told));
        assert_eq!(
            conflict.upstream.abridged().is_some(),
            hashed && beside > 1_022
        );
        assert_eq!(conflict.base, ConflictValue::Json("\"a\"".to_owned()));
        assert_eq!(conflict.to_string().contains(&told), hashed);
        for (files, side) in sides.iter().zip([
            model::ConflictSide::Base,
            model::ConflictSide::Local,
            model::ConflictSide::Upstream,
        ]) {
            assert!(holds_side(files, conflict, side), "{side}");
            let others = sides.iter().filter(|other| *other != files);
            assert!(
                others
                    .clone()
                    .all(|other| !holds_side(other, conflict, side))
            );
        }
    }
}

/// Upstream moves on after a person answered in the draft: the question is about what the draft holds, not about what was published.
#[test]
fn v18_a_question_that_comes_again_is_about_what_the_draft_holds() {
    let mut answered = of_draft("7", "5");
    answered.state = ConflictState::Resolved;
    let again = of_draft("7", "3");
    let carried = |machine: u8, tip: u8, again: &Conflict| {
        let (machine, tip) = (super::package(machine, 0), super::package(tip, 0));
        carry(
            std::slice::from_ref(&answered),
            vec![again.clone()],
            Vec::new(),
            &draft(&machine, &tip),
        )
    };
    let asked = carried(7, 5, &again);
    assert_eq!(told(&asked), [("1 5 3".to_owned(), ConflictState::Open)]);
    assert_eq!(asked[0].id, of_draft("5", "3").id);
    let agreed = Conflict {
        state: ConflictState::Resolved,
        ..again.clone()
    };
    assert_eq!(
        carried(7, 3, &again),
        std::slice::from_ref(&agreed),
        "it holds upstream's value"
    );
    assert_eq!(carried(7, 7, &again), std::slice::from_ref(&again));
    let recorded = Conflict {
        state: ConflictState::Recorded,
        ..again
    };
    assert_eq!(
        carried(7, 5, &recorded),
        std::slice::from_ref(&recorded),
        "nobody is asked"
    );
}
