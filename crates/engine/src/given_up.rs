//! Which numbers of a package are gone since somebody approved that: the record of its branch tells them. A tag that is gone
//! without that was taken away past us, and what it published is still wanted.

use std::fmt;

use model::marks::DELETED;
use model::{Revision, RevisionNumber};

/// Numbers, as ranges in order: packages whose revisions are deleted one after another need one.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct GivenUp(Vec<(i64, i64)>);

impl GivenUp {
    /// What the record of a branch tells.
    pub(crate) fn of(branch: &Revision) -> Self {
        let mut all = Self::default();
        if let Some(text) = branch.meta.annotations.get(DELETED) {
            all.read(text);
        }
        all
    }

    /// Whether a number is among them.
    pub(crate) fn has(&self, number: i64) -> bool {
        let within = |(first, last): &(i64, i64)| (*first..=*last).contains(&number);
        self.0.iter().any(within)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The highest of them.
    pub(crate) fn highest(&self) -> Option<RevisionNumber> {
        self.0.last().map(|(_, last)| RevisionNumber(*last))
    }

    /// Adds all that another one has.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
        self.0.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (first, last) in self.0.drain(..) {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => joined.push((first, last)),
            }
        }
        self.0 = joined;
    }

    fn add(&mut self, number: RevisionNumber) {
        if number.is_numbered() {
            self.extend(&Self(vec![(number.0, number.0)]));
        }
    }

    /// Reads `1-3,5`; what is no number is left out.
    fn read(&mut self, text: &str) {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<i64>().ok().filter(|n| *n > 0);
            Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last)
        };
        self.extend(&Self(text.split(',').filter_map(range).collect()));
    }
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// Notes on the record of a branch that somebody approved the deletion of these.
pub(crate) fn note(branch: &mut Revision, numbers: impl IntoIterator<Item = RevisionNumber>) {
    let mut all = GivenUp::of(branch);
    for number in numbers {
        all.add(number);
    }
    if !all.is_empty() {
        let annotations = &mut branch.meta.annotations;
        annotations.insert(DELETED.to_owned(), all.to_string());
    }
}

/// What two notes tell together.
pub(crate) fn join(one: &str, other: &str) -> String {
    let mut all = GivenUp::default();
    all.read(one);
    all.read(other);
    all.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_as_ranges_and_are_read_back() {
        let mut all = GivenUp::default();
        for number in [5, 1, 3, 2, 9, 0, 2] {
            all.add(RevisionNumber(number));
        }
        assert_eq!(all.to_string(), "1-3,5,9");
        let mut read = GivenUp::default();
        read.read("9, 5,1-3,x,7-4,-1,0");
        assert_eq!(read, all);
        let has: Vec<i64> = (0..12).filter(|n| read.has(*n)).collect();
        assert_eq!(has, [1, 2, 3, 5, 9]);
        all.extend(&read);
        assert_eq!(all, read);
        assert_eq!(all.highest(), Some(RevisionNumber(9)));
        assert_eq!(GivenUp::default().highest(), None);
    }

    #[test]
    fn two_notes_tell_what_either_tells() {
        assert_eq!(join("1,4", "2-3,7"), "1-4,7");
        assert_eq!(join("", "2"), "2");
    }
}
