//! Merges against what kpt and Porch recorded.

#[expect(unreachable_pub, reason = "the module is shared with testkit")]
#[path = "../../../testkit/src/vectors/merge.rs"]
mod vectors;

use super::{check, recorded};

fn cases() -> Vec<vectors::Case> {
    let Some(root) = recorded("merge") else {
        return Vec::new();
    };
    let mut cases = vectors::read(&root).unwrap();
    for folder in ["porch-flow", "upstream"] {
        cases.extend(vectors::read(&root.join(folder)).unwrap());
    }
    cases
}

#[test]
fn merges_agree_with_kpt() {
    let cases = cases();
    let checked = cases.iter().map(|case| {
        let ours = vectors::run(case);
        let digest = vectors::digest(&ours);
        let difference = vectors::difference(case, &ours);
        // A known case must still come out as it did when it was looked at.
        let known = vectors::known(&case.name).filter(|(_, known)| *known == digest);
        let difference = difference.map(|text| format!("{text}digest {digest} {}\n", case.name));
        (
            case.name.clone(),
            known.map(|(decision, _)| decision),
            difference,
        )
    });
    check(checked.collect());
}
