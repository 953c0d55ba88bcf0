//! Whether a selection that names a set takes all of it: while variants are on their way, it is a part, and looks like the whole.

use crate::client::Client;
use crate::commands::{say, status};

/// The label that tells of which set a revision is.
const SET: &str = "offshoot.dev/set";

/// Says how many variants of the set that a selector names have not got to where they are to be; nothing to whoever may not list
/// them.
pub(super) async fn tell(client: &Client, selector: &str) {
    let Some(set) = set(selector) else {
        return;
    };
    let behind = status::behind(client, &client.namespace, &[set.to_owned()]).await;
    if let Ok(behind) = behind
        && !behind.is_settled()
    {
        say(&format!(
            "Warning: {}; their drafts come later (offshoot status {set} --wait, then the same command again)",
            behind.words()
        ));
    }
}

/// The set that a selector names.
fn set(selector: &str) -> Option<&str> {
    let mut parts = selector.split(',').filter_map(|part| {
        let (key, value) = part.split_once('=')?;
        (key.trim() == SET).then(|| value.trim_start_matches('=').trim())
    });
    parts.next().filter(|set| !set.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_from_a_selector_that_names_one() {
        for (selector, wanted) in [
            ("offshoot.dev/set=web", Some("web")),
            ("tier=edge, offshoot.dev/set == web", Some("web")),
            ("offshoot.dev/set!=web", None),
            ("offshoot.dev/set in (web,dns)", None),
            ("offshoot.dev/set", None),
            ("tier=edge", None),
            ("", None),
        ] {
            assert_eq!(set(selector), wanted, "{selector}");
        }
    }
}
