//! The name that somebody meant who wrote one that does not exist.

/// The candidate that a word is a misspelling of, if there is one: it differs in case alone, or in few letters for its
/// length. Of several the nearest, of equally near ones the first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        let most = (word.len().max(letters.len()) / 3).clamp(1, 3);
        // Whoever writes a text of any length gets an answer of bounded cost.
        if word.len().abs_diff(letters.len()) > most {
            continue;
        }
        let apart = distance(&word, &letters);
        if apart <= most && best.is_none_or(|(least, _)| apart < least) {
            best = Some((apart, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How many letters have to be put in, left out, replaced or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let mut least = (at(&last, j).saturating_add(usize::from(x != y)))
                .min(at(&last, j + 1).saturating_add(1))
                .min(at(&row, j).saturating_add(1));
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(at(&before, j - 1).saturating_add(1));
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_understood_and_other_words_are_not() {
        let fields = ["matchLabels", "matchExpressions", "packageNames", "kind"];
        for (word, meant) in [
            ("matchLabel", Some("matchLabels")),
            ("matchlabels", Some("matchLabels")),
            ("matchExpressons", Some("matchExpressions")),
            ("kidn", Some("kind")),
            ("kin", Some("kind")),
            ("packages", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, fields), meant, "{word}");
        }
        assert_eq!(nearest("ab", ["ax", "ab"]), Some("ab"));
    }
}
