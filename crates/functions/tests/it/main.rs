//! What the built-ins do, against what the catalog's functions did.

#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/functions.rs"]
mod vectors;

use std::path::PathBuf;

/// The recorded cases, where this checkout has them.
fn recorded() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors/functions");
    let named =
        std::env::var_os("OFFSHOOT_VECTORS").map(|root| PathBuf::from(root).join("functions"));
    named.or(Some(root)).filter(|root| root.is_dir())
}

#[test]
fn built_ins_agree_with_the_catalog() {
    let Some(root) = recorded() else {
        eprintln!("skipped: no recorded vectors here");
        return;
    };
    let mut unexplained = Vec::new();
    let mut count = 0;
    for function in functions::builtins() {
        let folder = root.join(function.name);
        if !folder.is_dir() {
            continue;
        }
        for case in vectors::read(&folder).unwrap() {
            count += 1;
            let known = vectors::known(&case.name).is_some();
            let difference = vectors::run(&case);
            if known && difference.is_none() {
                unexplained.push(format!("{}: known to differ, but does not\n", case.name));
            }
            if let Some(difference) = difference.filter(|_| !known) {
                unexplained.push(format!("{}:\n{difference}\n", case.name));
            }
        }
    }
    assert!(count > 0, "no case was found");
    assert!(
        unexplained.is_empty(),
        "{} of {count}\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
}
