//! Where new entries of a mapping stand, each beside neighbours that are named: found for thousands of them in one pass.

use std::collections::BTreeMap;

/// A new entry of a mapping.
pub(super) struct Insertion<T> {
    pub(super) key: String,
    /// The key that it follows.
    pub(super) after: Option<String>,
    /// The key that it precedes, where there is none that it follows.
    pub(super) before: Option<String>,
    /// The value.
    pub(super) with: T,
}

/// Entries, each with its neighbours; the first place is that before all of them.
struct Chain {
    next: Vec<Option<usize>>,
    previous: Vec<usize>,
    last: usize,
}

impl Chain {
    fn put(&mut self, after: usize) -> usize {
        let new = self.next.len();
        let behind = self.next.get(after).copied().flatten();
        self.next.push(behind);
        self.previous.push(after);
        if let Some(next) = self.next.get_mut(after) {
            *next = Some(new);
        }
        match behind.and_then(|behind| self.previous.get_mut(behind)) {
            Some(previous) => *previous = new,
            None => self.last = new,
        }
        new
    }
}

/// New entries in the order in which they stand in the end, each with its position once those before it are in. An entry names
/// its neighbours among the keys and the entries before it in the list; one that finds none goes to the end.
pub(super) fn placed<T>(keys: &[String], new: Vec<Insertion<T>>) -> Vec<(usize, Insertion<T>)> {
    let mut chain = Chain {
        next: vec![None],
        previous: vec![0],
        last: 0,
    };
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for key in keys {
        let place = chain.put(chain.last);
        known.entry(key.clone()).or_insert(place);
    }
    for entry in &new {
        let find = |key: &Option<String>| known.get(key.as_ref()?).copied();
        let before = || chain.previous.get(find(&entry.before)?).copied();
        let after = find(&entry.after).or_else(before);
        let place = chain.put(after.unwrap_or(chain.last));
        known.entry(entry.key.clone()).or_insert(place);
    }
    let mut new: Vec<Option<Insertion<T>>> = new.into_iter().map(Some).collect();
    let mut placed = Vec::with_capacity(new.len());
    let mut at = chain.next.first().copied().flatten();
    let mut index = 0;
    while let Some(place) = at {
        // The first place, then the keys, then what is new, as they were put in.
        let entry = place.checked_sub(keys.len() + 1);
        if let Some(entry) = entry.and_then(|entry| new.get_mut(entry)?.take()) {
            placed.push((index, entry));
        }
        index += 1;
        at = chain.next.get(place).copied().flatten();
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(key: &str, after: Option<&str>, before: Option<&str>) -> Insertion<()> {
        Insertion {
            key: key.to_owned(),
            after: after.map(str::to_owned),
            before: before.map(str::to_owned),
            with: (),
        }
    }

    #[test]
    fn new_entries_stand_beside_the_neighbours_that_they_name() {
        let keys = ["a", "b", "b", "c"].map(str::to_owned);
        let entries = vec![
            new("x", Some("b"), None),
            new("y", Some("x"), Some("a")),
            new("z", None, Some("a")),
            new("w", Some("gone"), Some("c")),
            new("v", None, None),
            new("u", Some("a"), None),
        ];
        let found: Vec<(usize, String)> = placed(&keys, entries)
            .into_iter()
            .map(|(index, entry)| (index, entry.key))
            .collect();
        // z a u b x y b w c v
        let wanted = [("z", 0), ("u", 2), ("x", 4), ("y", 5), ("w", 7), ("v", 9)];
        let wanted = wanted.map(|(key, index)| (index, key.to_owned()));
        assert_eq!(found, wanted);
        assert!(placed::<()>(&keys, Vec::new()).is_empty());
    }
}
