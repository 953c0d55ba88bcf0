//! Conflict markers as git writes them: around the lines that differ between the two ways to settle a conflict.

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// How markers look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Markers<'a> {
    /// How many signs each begins with (git's `%L`).
    pub(super) size: usize,
    /// What the local side is called.
    pub(super) local: &'a str,
    /// What the other side is called.
    pub(super) upstream: &'a str,
}

impl Markers<'_> {
    /// One text with both, each difference between markers; what they agree on stands once.
    pub(super) fn between(&self, local: &str, upstream: &str) -> String {
        let end = if local.contains("\r\n") { "\r\n" } else { "\n" };
        let line = |sign: &str, name: &str| {
            let name = if name.is_empty() {
                String::new()
            } else {
                format!(" {name}")
            };
            format!("{}{name}{end}", sign.repeat(self.size))
        };
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (
            local.split_inclusive('\n').collect(),
            upstream.split_inclusive('\n').collect(),
        );
        let side = |lines: Option<&[&str]>| {
            let mut text = lines.unwrap_or_default().concat();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push_str(end);
            }
            text
        };
        let mut out = String::new();
        for op in capture_diff_slices(Algorithm::Myers, &ours, &theirs) {
            let (mine, other) = (ours.get(op.old_range()), theirs.get(op.new_range()));
            if op.tag() == DiffTag::Equal {
                out.push_str(&mine.unwrap_or_default().concat());
                continue;
            }
            out.push_str(&line("<", self.local));
            out.push_str(&side(mine));
            out.push_str(&line("=", ""));
            out.push_str(&side(other));
            out.push_str(&line(">", self.upstream));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Markers;

    const MARKERS: Markers<'_> = Markers {
        size: 3,
        local: "ours",
        upstream: "theirs",
    };

    #[test]
    fn only_lines_that_differ_are_marked() {
        let text = MARKERS.between("a\nb\nc\n", "a\nx\ny\nc\n");
        assert_eq!(text, "a\n<<< ours\nb\n===\nx\ny\n>>> theirs\nc\n");
        assert_eq!(
            MARKERS.between("a\n", "a\nb\n"),
            "a\n<<< ours\n===\nb\n>>> theirs\n"
        );
        assert_eq!(MARKERS.between("a\n", "a\n"), "a\n");
    }

    #[test]
    fn markers_stand_on_lines_of_their_own() {
        assert_eq!(
            MARKERS.between("a\r\nb", "a\r\nc"),
            "a\r\n<<< ours\r\nb\r\n===\r\nc\r\n>>> theirs\r\n"
        );
    }
}
