//! The files of a revision as far as a server shows them, and whether two revisions may differ in what it does not show.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{ConflictValue, File, FileMode, Files, PackagePath};
use package::merge::Difference;
use serde_json::Value;

use super::text;
use crate::client::{Client, RESOURCES, object};
use crate::exit::ExitFailure;

/// The annotations that list what an object of files does not hold.
const HIDDEN: [&str; 3] = [api::BINARY_FILES, api::OVERSIZED_FILES, api::UNREAD_FILES];

/// What a comparison that may miss something says.
pub(in crate::commands) const NOT_COMPARED: &str =
    "what is not shown (links, and files that are binary or too large) is not compared";

/// The texts of a revision.
#[derive(Debug, Clone, Default)]
pub(in crate::commands) struct Contents {
    pub(in crate::commands) files: Files,
    /// Whether they are all of it: links, and files that are binary or too large, are not among them.
    pub(in crate::commands) complete: bool,
    /// Stands for the rest, where a server tells it.
    unshown: Option<String>,
}

impl Contents {
    /// What a revision that is not there holds.
    pub(in crate::commands) fn none() -> Self {
        Self {
            files: Files::new(),
            complete: true,
            unshown: None,
        }
    }

    /// Whether two revisions hold the same beside their texts, as far as that is known.
    pub(in crate::commands) fn same_unshown(&self, other: &Self) -> bool {
        let equal = self.unshown.is_some() && self.unshown == other.unshown;
        equal || (self.complete && other.complete)
    }
}

/// Fetches the texts of a revision.
///
/// # Errors
/// The server's own message, or a path that is none.
pub(in crate::commands) async fn contents(
    client: &Client,
    name: &str,
) -> Result<Contents, ExitFailure> {
    let path = object(RESOURCES, &client.namespace, name);
    read(&client.get(&path).await?)
}

fn read(resources: &Value) -> Result<Contents, ExitFailure> {
    let noted = |key: &str| text(resources, &["metadata", "annotations", key]).unwrap_or_default();
    let complete = HIDDEN.iter().all(|key| noted(key).is_empty());
    // A server that does not know the annotation shows no modes.
    let executable: BTreeSet<String> =
        serde_json::from_str(&noted(api::EXECUTABLE_FILES)).unwrap_or_default();
    let mut files = Files::new();
    let texts = api::object_at(resources, &["spec", "resources"]);
    for (name, text) in texts.into_iter().flatten() {
        let path = PackagePath::parse(name).map_err(|e| ExitFailure::of("read the package", &e))?;
        let mode = match executable.contains(name) {
            true => FileMode::Executable,
            false => FileMode::Regular,
        };
        let bytes: Arc<[u8]> = text.as_str().unwrap_or_default().as_bytes().into();
        files.insert(path, File::New { mode, bytes });
    }
    let unshown = Some(noted(api::UNSHOWN_DIGEST)).filter(|digest| !digest.is_empty());
    Ok(Contents {
        files,
        complete,
        unshown,
    })
}

/// All differences of the texts, and of the modes of files that both have.
pub(in crate::commands) fn differences(before: &Files, after: &Files) -> Vec<Difference> {
    let mut all = package::merge::diff(before, after);
    let octal = |file: &File| match file.mode() {
        FileMode::Regular => ConflictValue::Json("\"0644\"".to_owned()),
        FileMode::Executable => ConflictValue::Json("\"0755\"".to_owned()),
    };
    for (path, new) in after {
        if let Some(old) = before.get(path).filter(|old| old.mode() != new.mode()) {
            // Of a file that differs in its mode alone, a difference of its form would say less.
            let alone = old.bytes() == new.bytes();
            all.retain(|known| !(alone && known.file == *path && known.is_form()));
            all.push(Difference {
                file: path.clone(),
                resource: String::new(),
                path: "(mode)".to_owned(),
                before: octal(old),
                after: octal(new),
                twice: None,
            });
        }
    }
    all
}

/// Whether two revisions may differ in what is not shown. Their trees, where both are known, say whether they are one;
/// where the trees differ and the texts do not, something else does.
pub(in crate::commands) fn may_hide(
    [before, after]: [&Contents; 2],
    trees: [Option<&str>; 2],
) -> bool {
    let known = trees.map(|tree| tree.filter(|tree| !tree.is_empty()));
    match known {
        [Some(one), Some(other)] if one == other => false,
        [Some(_), Some(_)] if same(&before.files, &after.files) => true,
        _ => !before.same_unshown(after),
    }
}

fn same(one: &Files, other: &Files) -> bool {
    let equal = |(a, b): ((&PackagePath, &File), (&PackagePath, &File))| {
        a.0 == b.0 && a.1.mode() == b.1.mode() && a.1.bytes() == b.1.bytes()
    };
    one.len() == other.len() && one.iter().zip(other).all(equal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(annotations: &Value, text: &str) -> Contents {
        read(&json!({
            "metadata": { "annotations": annotations },
            "spec": { "resources": { "run.sh": text } },
        }))
        .unwrap()
    }

    #[test]
    fn links_and_what_is_not_shown_make_a_comparison_incomplete() {
        let plain = of(&json!({}), "a");
        assert!(plain.complete);
        for key in HIDDEN {
            let hiding = of(&json!({ key: "{\"evil\":\"symlink\"}" }), "a");
            assert!(!hiding.complete, "{key}");
            assert!(may_hide([&plain, &hiding], [Some("1"), Some("2")]), "{key}");
            assert!(may_hide([&plain, &hiding], [None, Some("2")]), "{key}");
            assert!(
                !may_hide([&hiding, &hiding], [Some("1"), Some("1")]),
                "{key}"
            );
        }
        // What is not shown is the same, and what is shown is not; or the other way round.
        let logo = |digest: &str, text: &str| {
            let noted = json!({ api::BINARY_FILES: "[\"logo.png\"]", api::UNSHOWN_DIGEST: digest });
            of(&noted, text)
        };
        let trees = [Some("1"), Some("2")];
        assert!(!may_hide([&logo("x", "a"), &logo("x", "b")], trees));
        assert!(may_hide([&logo("x", "a"), &logo("y", "b")], trees));
        assert!(may_hide([&logo("x", "a"), &logo("y", "a")], trees));
        assert!(may_hide([&logo("x", "a"), &plain], trees));
        let changed = of(&json!({}), "b");
        assert!(!may_hide([&plain, &changed], [Some("1"), Some("2")]));
        // A server that does not tell modes, and a mode that differs.
        assert!(may_hide([&plain, &plain], [Some("1"), Some("2")]));
        assert!(!may_hide([&plain, &plain], [None, Some("2")]));
    }

    #[test]
    fn a_mode_that_differs_is_a_difference() {
        let plain = of(&json!({}), "a");
        let script = of(&json!({ api::EXECUTABLE_FILES: "[\"run.sh\"]" }), "a");
        let found = differences(&script.files, &plain.files);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].file.as_str(), found[0].path.as_str()),
            ("run.sh", "(mode)")
        );
        assert!(!may_hide([&script, &plain], [Some("1"), Some("2")]));
        assert!(differences(&script.files, &script.files).is_empty());
    }
}
