//! The kubeconfig that is written at each start, and never over somebody else's.

use std::path::Path;

use serde_json::Value;

use crate::exit::Failure;

/// What cluster and context are called in the files that we write.
pub(super) const NAME: &str = "offshoot";

/// Looks whether a kubeconfig may be written here: nothing is there, or one that we wrote before.
///
/// Tools with a flag of this name add their entry to the file; ours replaces it as a whole, so that a file with other
/// clusters would lose them, and their credentials.
///
/// # Errors
/// The file holds something else, or cannot be read.
pub(crate) fn may_replace(path: &Path) -> Result<(), Failure> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => String::from("?"),
        read => read.map_err(|e| Failure::of(&format!("read {}", path.display()), &e))?,
    };
    if text.trim().is_empty() || is_ours(&text) {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::new(format!(
        "{shown} holds something that offshoot did not write, and would be replaced as a whole"
    ))
    .hint(format!(
        "name a file of its own, and use both: KUBECONFIG={shown}:OTHER, or kubectl config view --flatten makes one of them"
    )))
}

/// Whether it holds our cluster, our context and its user, and no others.
fn is_ours(text: &str) -> bool {
    let limits = yaml::Limits::default();
    let Ok(file) = yaml::first_document_json(text, yaml::Reader::V3, false, &limits) else {
        return false;
    };
    let only = |list: &str| match file.get(list).and_then(Value::as_array) {
        Some(all) if all.len() == 1 => all.first().and_then(|one| api::str_at(one, &["name"])),
        _ => None,
    };
    only("clusters") == Some(NAME) && only("contexts") == Some(NAME) && only("users").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_we_wrote_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("config");
        assert!(may_replace(&path).is_ok(), "nothing is there");
        let file = |clusters: &[&str]| {
            let all = |list: &str| {
                let all: String = clusters
                    .iter()
                    .map(|name| format!("- name: {name}\n"))
                    .collect();
                format!("{list}:\n{all}")
            };
            let lists = ["clusters", "contexts", "users"].map(all).concat();
            format!("apiVersion: v1\nkind: Config\n{lists}")
        };
        for (text, may) in [
            (String::new(), true),
            (file(&["offshoot"]), true),
            (file(&["production"]), false),
            (file(&["offshoot", "production"]), false),
            ("not: [yaml".to_owned(), false),
            ("apiVersion: v1\nkind: Config\n".to_owned(), false),
        ] {
            std::fs::write(&path, &text).unwrap();
            assert_eq!(may_replace(&path).is_ok(), may, "{text}");
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        let why = may_replace(&path).unwrap_err().text();
        assert!(why.contains("config") && why.contains("hint: "), "{why}");
    }
}
