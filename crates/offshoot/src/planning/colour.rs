//! Colours for a terminal: by the sign that a line begins with, so that nothing else depends on them.

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

/// A page or a diff with its lines coloured.
pub(crate) fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let (bare, end) = match line.strip_suffix('\n') {
            Some(bare) => (bare, "\n"),
            None => (line, ""),
        };
        match colour(bare) {
            Some(colour) => {
                out.push_str(colour);
                out.push_str(bare);
                out.push_str(PLAIN);
            }
            None => out.push_str(bare),
        }
        out.push_str(end);
    }
    out
}

fn colour(line: &str) -> Option<&'static str> {
    let start = line.trim_start();
    match (line.len() - start.len(), start.chars().next()?) {
        (0, 'x') if start.starts_with("x ") => Some(RED),
        (0, '!') => Some(YELLOW),
        (0, 's' | 'p') if start.starts_with("set ") || start.starts_with("plan ") => Some(BOLD),
        (0, '@') => Some(CYAN),
        (0 | 2, '+') => Some(GREEN),
        (0 | 2, '-') => Some(RED),
        (2, '~') => Some(YELLOW),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_coloured_by_their_sign_and_nothing_is_lost() {
        let page = "set a: b\n\nA 5f02  1 upgrade\n  web.yaml\n  ~ image  1 → 2\n  - paused  false\nxyz\n+ last";
        let shown = coloured(page);
        assert!(
            shown.contains("\x1b[33m  ~ image  1 → 2\x1b[0m\n"),
            "{shown:?}"
        );
        assert!(shown.ends_with("\x1b[32m+ last\x1b[0m"), "{shown:?}");
        assert!(
            shown.contains("\nxyz\n") && shown.contains("\n  web.yaml\n"),
            "{shown:?}"
        );
        let mut bare = shown;
        for code in [RED, GREEN, YELLOW, CYAN, BOLD, PLAIN] {
            bare = bare.replace(code, "");
        }
        assert_eq!(bare, page);
    }
}
