//! What a run came to: how much was compared, what was explained, and each kind of difference that was not, once.

use std::collections::BTreeMap;
use std::time::Duration;

use super::known::Known;
use super::play::Found;
use super::step::Step;

/// One kind of difference as it is told.
pub(super) struct Shown {
    text: String,
    repeats: bool,
}

impl Shown {
    /// Writes the steps so that `--replay` reads them.
    pub(super) fn new(
        number: u64,
        theme: &str,
        steps: &[Step],
        found: &Found,
        repeats: bool,
    ) -> Self {
        let mut text = format!("--- sequence {number} ({theme})");
        text += if repeats { "\n" } else { ": not seen again\n" };
        for step in steps {
            text += &serde_json::to_string(step).unwrap_or_default();
            text += "\n";
        }
        for difference in found.differences.iter().take(12) {
            text += &format!(
                "  {}\n    ours: {}\n    real: {}\n",
                difference.at, difference.ours, difference.peer
            );
        }
        Self { text, repeats }
    }

    pub(super) fn print(&self) {
        crate::say(&self.text);
    }
}

/// Counts.
#[derive(Default)]
pub(super) struct Report {
    themes: BTreeMap<&'static str, (u64, u64)>,
    explained: BTreeMap<String, u64>,
    counts: BTreeMap<String, u64>,
    kept: BTreeMap<String, Shown>,
}

impl Report {
    /// Counts a sequence.
    pub(super) fn add(
        &mut self,
        theme: &'static str,
        steps: u64,
        explained: &BTreeMap<String, u64>,
    ) {
        let (sequences, all) = self.themes.entry(theme).or_default();
        (*sequences, *all) = (*sequences + 1, *all + steps);
        for (name, count) in explained {
            *self.explained.entry(name.clone()).or_default() += count;
        }
    }

    /// Counts a difference; whether it is the first of its kind.
    pub(super) fn first(&mut self, signature: &str) -> bool {
        let count = self.counts.entry(signature.to_owned()).or_default();
        *count += 1;
        *count == 1
    }

    /// Keeps what is told of a kind.
    pub(super) fn keep(&mut self, signature: String, shown: Shown) {
        self.kept.insert(signature, shown);
    }

    /// How many kinds of differences came again.
    pub(super) fn unexplained(&self) -> usize {
        self.kept.values().filter(|shown| shown.repeats).count()
    }

    /// Prints the sums.
    pub(super) fn print(&self, seed: u64, steps: u64, took: Duration, known: &Known) {
        let sequences: u64 = self.themes.values().map(|(sequences, _)| sequences).sum();
        crate::say(&format!(
            "seed {seed}: {steps} steps in {sequences} sequences, {} s",
            took.as_secs()
        ));
        for (theme, (sequences, steps)) in &self.themes {
            crate::say(&format!(
                "  {theme}: {steps} steps in {sequences} sequences"
            ));
        }
        for (name, count) in &self.explained {
            crate::say(&format!("  explained by {name}: {count}"));
        }
        for name in known.unused(&self.explained) {
            crate::say(&format!("  not met: {name}"));
        }
        let mut counts: Vec<_> = self.counts.iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (signature, count) in counts {
            let again = self.kept.get(signature).is_some_and(|shown| shown.repeats);
            let again = if again { "" } else { " (not seen again)" };
            crate::say(&format!("  differs {count} times{again}: {signature}"));
        }
        crate::say(&format!(
            "{} kinds of differences are not explained",
            self.unexplained()
        ));
    }
}
