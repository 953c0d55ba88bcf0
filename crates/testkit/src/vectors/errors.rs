//! Comparing errors by what they say of the package: what kpt names on the way to it is left out, and lists are sorted.

/// How two errors differ; nothing if they say the same.
pub(super) fn differ(theirs: &str, ours: &str) -> Option<String> {
    let (a, b) = (normal(theirs), normal(ours));
    (a != b).then(|| format!("\n  peer error {a}\n  our error {b}"))
}

/// What an error says, without the calls that it came through, and with the files of its list sorted (M9).
fn normal(error: &str) -> String {
    let mut text = error.replace("\n\t", " ");
    const CALLS: [&str; 4] = [
        "update.Update: pkg <local>: ",
        "update.updatePackage: ",
        "update.mergePackage: ",
        "update.checkForLocalChanges: ",
    ];
    for call in CALLS {
        if let Some(rest) = text.strip_prefix(call) {
            text = rest.to_owned();
        }
    }
    let list = text.split_once('[').and_then(|(before, rest)| {
        let (list, after) = rest.split_once(']')?;
        let mut names: Vec<&str> = list.split(' ').collect();
        names.sort_unstable();
        Some(format!("{before}[{}]{after}", names.join(" ")))
    });
    list.unwrap_or(text)
}
