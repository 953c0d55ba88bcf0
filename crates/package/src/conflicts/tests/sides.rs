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
