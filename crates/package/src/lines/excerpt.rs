//! Lines with those around them, and how a record tells them.
//!
//! ```text
//! @@
//!   two lines before
//!   that nobody changed
//! > the lines in question
//!   a line after
//! ```
//!
//! No line numbers: the same lines are the same conflict wherever they stand. A line that begins with `|` is no line of
//! the text: it says that there is `nothing`, that the text `begins` or `ends` there, or what was too long to be told.

use std::fmt::Write as _;
use std::ops::Range;

use crate::place::hex;
use sha2::{Digest, Sha256};

/// What begins an excerpt.
const HEAD: &str = "@@";
/// How many lines before and after are told, and how many at most where fewer stand at several places.
const AROUND: (usize, usize) = (3, 12);
/// The longest line that is told as one around others, in bytes.
const LONGEST: usize = 512;
/// How much is told of the lines themselves, in bytes.
const SHOWN: usize = 4096;

/// Some lines of a text, each with its break.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Excerpt {
    /// Lines before it that nobody changed.
    pub(super) before: Vec<String>,
    /// Whether the text begins there.
    pub(super) begins: bool,
    /// The lines, as far as they are told.
    pub(super) lines: Vec<String>,
    /// What is said of the rest, where there is more.
    pub(super) rest: Option<String>,
    /// Lines after it that nobody changed.
    pub(super) after: Vec<String>,
    /// Whether the text ends there.
    pub(super) ends: bool,
}

impl Excerpt {
    /// Lines between two unchanged ranges of a text, without the lines themselves.
    pub(super) fn around(text: &[&str], before: Range<usize>, after: Range<usize>) -> Self {
        let (begins, ends) = (before.is_empty(), after.is_empty());
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let count = |near: &Range<usize>, slice: &dyn Fn(usize) -> Range<usize>| {
            let told = |count: usize| text.get(slice(count)).unwrap_or_default();
            let short = |count: &usize| told(*count).iter().all(|line| line.len() <= LONGEST);
            let most = (1..=near.len().min(AROUND.1)).take_while(short).count();
            // As many lines as stand there once: with fewer the place would be found in the wrong one of several.
            let unique = |count: &usize| occurs(text, told(*count)) < 2;
            (most.min(AROUND.0)..=most).find(unique).unwrap_or(most)
        };
        let above = |count: usize| before.end - count..before.end;
        let below = |count: usize| after.start..after.start + count;
        let (above, below) = (above(count(&before, &above)), below(count(&after, &below)));
        Self {
            before: own(text.get(above).unwrap_or_default()),
            after: own(text.get(below).unwrap_or_default()),
            begins,
            ends,
            ..Self::default()
        }
    }

    /// The same place with these lines.
    pub(super) fn with<S: AsRef<str>>(&self, lines: &[S]) -> Self {
        let mut told = 0;
        let fits = |line: &&S| {
            told += "> ".len() + line.as_ref().len();
            told <= SHOWN
        };
        let shown: Vec<String> = lines
            .iter()
            .take_while(fits)
            .map(|line| line.as_ref().to_owned())
            .collect();
        let left = lines.len() - shown.len();
        let rest = (left > 0).then(|| {
            let mut hash = Sha256::new();
            lines.iter().for_each(|line| hash.update(line.as_ref()));
            format!("{left} more, sha256:{}", hex(&hash.finalize(), 32))
        });
        Self {
            lines: shown,
            rest,
            ..self.clone()
        }
    }

    /// The same place where it cannot be found in a text.
    pub(super) fn elsewhere(&self, text: &str) -> Self {
        let hash = hex(&Sha256::digest(text.as_bytes()), 32);
        Self {
            lines: Vec::new(),
            rest: Some(format!("not found, sha256:{hash}")),
            ..self.clone()
        }
    }

    /// All its lines, where they are told.
    pub(super) fn whole(&self) -> Option<&[String]> {
        self.rest.is_none().then_some(self.lines.as_slice())
    }
}

/// How often some lines stand in a text; twice is often enough.
fn occurs(text: &[&str], lines: &[&str]) -> usize {
    if lines.is_empty() {
        return 0;
    }
    text.windows(lines.len())
        .filter(|window| *window == lines)
        .take(2)
        .count()
}

/// Excerpts as a record tells them.
pub(crate) fn write<'e>(all: impl Iterator<Item = &'e Excerpt>) -> String {
    let mut out = String::new();
    for excerpt in all {
        out.push_str(HEAD);
        out.push('\n');
        if excerpt.begins {
            out.push_str("| begins\n");
        }
        put(&mut out, ' ', &excerpt.before);
        put(&mut out, '>', &excerpt.lines);
        match &excerpt.rest {
            // Writing to a String cannot fail.
            Some(rest) => _ = writeln!(out, "| {rest}"),
            None if excerpt.lines.is_empty() => out.push_str("| nothing\n"),
            None => {}
        }
        put(&mut out, ' ', &excerpt.after);
        if excerpt.ends {
            out.push_str("| ends\n");
        }
    }
    out
}

fn put(out: &mut String, sign: char, lines: &[String]) {
    for line in lines {
        let bare = line.strip_suffix('\n');
        // Writing to a String cannot fail.
        _ = writeln!(out, "{sign} {}", bare.unwrap_or(line));
        if bare.is_none() {
            out.push_str("\\\n");
        }
    }
}

/// Reads what [`write`] wrote; `None` if it is nothing of that kind.
pub(crate) fn read(text: &str) -> Option<Vec<Excerpt>> {
    let mut all: Vec<Excerpt> = Vec::new();
    // Whether the lines in question have been passed.
    let mut passed = false;
    for line in text.split_terminator('\n') {
        if line == HEAD {
            all.push(Excerpt::default());
            passed = false;
            continue;
        }
        let excerpt = all.last_mut()?;
        if line == "\\" {
            // The line before it has no break.
            let told = [&mut excerpt.after, &mut excerpt.lines, &mut excerpt.before];
            let last = told.into_iter().find_map(|lines| lines.last_mut())?;
            last.pop();
            continue;
        }
        let (sign, line) = line.split_at_checked(2)?;
        let own = format!("{line}\n");
        match (sign, line) {
            ("> ", _) => {
                excerpt.lines.push(own);
                passed = true;
            }
            ("  ", _) if passed => excerpt.after.push(own),
            ("  ", _) => excerpt.before.push(own),
            ("| ", "begins") => excerpt.begins = true,
            ("| ", "ends") => excerpt.ends = true,
            ("| ", "nothing") => passed = true,
            ("| ", rest) => {
                excerpt.rest = Some(rest.to_owned());
                passed = true;
            }
            _ => return None,
        }
    }
    (!all.is_empty()).then_some(all)
}
