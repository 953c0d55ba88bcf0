//! Whether the rules that somebody holds cover rules that are wanted.
//!
//! A rule stands for every combination of its verbs, groups, resources and names, which a few kilobytes make billions of;
//! they are never written out. What is held is indexed by value. A list that is wanted is split into classes of values that
//! the same held rules cover, so that the next list is looked at once a class. The work is counted, and what is beyond
//! [`STEPS`] is not judged.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Rule;

/// What one comparison may cost: looks at a value of a list, or at a held rule.
pub(crate) const STEPS: usize = 1_000_000;
/// The lines, and the bytes of them, that a refusal tells.
const LINES: usize = 1_000;
const TOLD: usize = 64 << 10;

/// Positions of held rules, ascending.
type Rules = Vec<u32>;

/// The held rules by the values of one of their lists.
#[derive(Debug, Default)]
struct Side<'a> {
    by: HashMap<&'a str, Rules>,
    /// Those that say nothing about it, or `*`.
    any: Rules,
}

impl<'a> Side<'a> {
    fn take(&mut self, rule: u32, list: &'a [String]) {
        for value in list {
            let rules = match value.as_str() {
                "*" => &mut self.any,
                value => self.by.entry(value).or_default(),
            };
            note(rules, rule);
        }
    }

    fn of(&self, value: &str) -> &[u32] {
        self.by.get(value).map_or(&[], Vec::as_slice)
    }
}

fn note(rules: &mut Rules, rule: u32) {
    if rules.last() != Some(&rule) {
        rules.push(rule);
    }
}

/// The lists of a rule that are wanted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Verbs,
    Groups,
    Resources,
    Names,
    Urls,
}

impl List {
    fn of(self, rule: &Rule) -> &[String] {
        match self {
            Self::Verbs => &rule.verbs,
            Self::Groups => &rule.groups,
            Self::Resources => &rule.resources,
            Self::Names => &rule.names,
            Self::Urls => &rule.urls,
        }
    }
}

/// The comparison would cost more than [`STEPS`].
struct TooMuch;

/// The rules that somebody holds, ready to be compared with.
#[derive(Debug)]
pub(crate) struct Cover<'a> {
    verbs: Side<'a>,
    groups: Side<'a>,
    resources: Side<'a>,
    names: Side<'a>,
    urls: Side<'a>,
    /// Patterns of paths without their `*`, by length.
    stems: BTreeMap<usize, HashMap<&'a str, Rules>>,
    left: usize,
}

/// What is not covered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// One rule a line, in order; the first ones that were found if there are many.
    pub(crate) lines: Vec<String>,
    /// There is more that is not covered.
    pub(crate) more: bool,
    /// The comparison broke off: it would cost more than [`STEPS`].
    pub(crate) unknown: bool,
}

impl Missing {
    /// Whether everything is covered.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.more && !self.unknown
    }
}

impl<'a> Cover<'a> {
    /// Takes in what is held.
    pub(crate) fn of(held: &'a [Rule]) -> Self {
        let mut cover = Self {
            verbs: Side::default(),
            groups: Side::default(),
            resources: Side::default(),
            names: Side::default(),
            urls: Side::default(),
            stems: BTreeMap::new(),
            left: STEPS,
        };
        for (rule, at) in held.iter().zip(0_u32..) {
            cover.verbs.take(at, &rule.verbs);
            cover.groups.take(at, &rule.groups);
            cover.resources.take(at, &rule.resources);
            for name in &rule.names {
                note(cover.names.by.entry(name).or_default(), at);
            }
            if rule.names.is_empty() {
                note(&mut cover.names.any, at);
            }
            for url in &rule.urls {
                let Some(stem) = url.strip_suffix('*') else {
                    note(cover.urls.by.entry(url).or_default(), at);
                    continue;
                };
                let stem = stem.trim_end_matches('*');
                let stems = cover.stems.entry(stem.len()).or_default();
                note(stems.entry(stem).or_default(), at);
            }
        }
        cover
    }

    /// What of `wanted` is not covered.
    pub(crate) fn missing(&mut self, wanted: &[Rule]) -> Missing {
        let mut told = Told::new(LINES);
        let mut unknown = false;
        for rule in wanted {
            unknown = self.compare(rule, &mut told).is_err();
            if unknown || told.full {
                break;
            }
        }
        Missing {
            unknown,
            more: told.full,
            lines: told.lines(),
        }
    }

    /// Whether all of a rule is covered; not so if that would cost too much.
    pub(crate) fn covers(&mut self, wanted: &Rule) -> bool {
        let mut told = Told::new(0);
        self.compare(wanted, &mut told).is_ok() && !told.full
    }

    /// What the comparisons cost up to now.
    #[cfg(test)]
    pub(crate) fn cost(&self) -> usize {
        STEPS - self.left
    }

    fn pay(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    fn compare<'w>(&mut self, wanted: &'w Rule, told: &mut Told<'w>) -> Result<(), TooMuch> {
        self.pay(1)?;
        told.rule += 1;
        let urls = vec![List::Verbs, List::Urls];
        let mut objects = vec![List::Verbs, List::Groups, List::Resources];
        // Who may do something to all objects may do it to each, and nobody else may do it to all.
        let unnamed = self.names.any.clone();
        let all = wanted.names.is_empty().then_some(unnamed.as_slice());
        if all.is_none() {
            objects.push(List::Names);
        }
        for (paths, mut lists, held) in [(true, urls, None), (false, objects, all)] {
            if lists.iter().any(|list| list.of(wanted).is_empty()) {
                continue;
            }
            let mut sizes = Vec::new();
            for list in &lists {
                sizes.push((*list, self.size(wanted, *list)?));
            }
            // What fewest held rules speak of leaves the fewest to look at.
            lists.sort_by_key(|list| sizes.iter().find(|(of, _)| of == list).map(|s| s.1));
            let mut place = RulePart {
                wanted,
                paths,
                chosen: Vec::new(),
            };
            self.walk(&mut place, &lists, held, told)?;
        }
        Ok(())
    }

    /// How many held rules speak of the values of a list.
    fn size(&mut self, wanted: &Rule, list: List) -> Result<usize, TooMuch> {
        let mut size = 0;
        for value in list.of(wanted) {
            size += self
                .speak(list, value)?
                .iter()
                .map(|r| r.len())
                .sum::<usize>();
        }
        Ok(size)
    }

    /// Looks at the lists one after the other, with the held rules that cover what is chosen of those before.
    fn walk<'w>(
        &mut self,
        place: &mut RulePart<'w>,
        lists: &[List],
        held: Option<&[u32]>,
        told: &mut Told<'w>,
    ) -> Result<(), TooMuch> {
        let Some((list, rest)) = lists.split_first() else {
            return Ok(());
        };
        let mut classes: HashMap<Rules, Vec<usize>> = HashMap::new();
        for (at, value) in list.of(place.wanted).iter().enumerate() {
            let covering = self.narrow(*list, value, held)?;
            classes.entry(covering).or_default().push(at);
        }
        let mut classes: Vec<(Rules, Vec<usize>)> = classes.into_iter().collect();
        classes.sort_by(|a, b| a.1.cmp(&b.1));
        for (covering, values) in classes {
            place.chosen.push((*list, values));
            if covering.is_empty() {
                self.pay(told.add(place))?;
            } else {
                self.walk(place, rest, Some(&covering), told)?;
            }
            place.chosen.pop();
            if told.full {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The rules of `held` (of all, if that is nothing) that cover a value.
    fn narrow(&mut self, list: List, value: &str, held: Option<&[u32]>) -> Result<Rules, TooMuch> {
        let (found, cost) = {
            let lists = self.speak(list, value)?;
            let total: usize = lists.iter().map(|rules| rules.len()).sum();
            // The shorter side is walked, and looked up in the other: a long list of names costs no more than what is held.
            match held {
                Some(held) if held.len() <= total => {
                    let speaks = |rule: &&u32| lists.iter().any(|l| l.binary_search(rule).is_ok());
                    (held.iter().filter(speaks).copied().collect(), held.len())
                }
                _ => {
                    let mut all = lists.concat();
                    all.sort_unstable();
                    all.dedup();
                    all.retain(|rule| held.is_none_or(|held| held.binary_search(rule).is_ok()));
                    (all, total)
                }
            }
        };
        self.pay(cost)?;
        Ok(found)
    }

    /// The held rules that cover a value of a list, in several lists.
    fn speak(&mut self, list: List, value: &str) -> Result<Vec<&[u32]>, TooMuch> {
        self.pay(1 + value.len() / 64)?;
        if list == List::Urls {
            let lengths: Vec<usize> = self.stems.range(..=value.len()).map(|s| *s.0).collect();
            self.pay(lengths.iter().map(|length| 1 + length / 64).sum())?;
        }
        let side = match list {
            List::Verbs => &self.verbs,
            List::Groups => &self.groups,
            List::Resources => &self.resources,
            List::Names => &self.names,
            List::Urls => &self.urls,
        };
        let mut lists = vec![side.any.as_slice(), side.of(value)];
        if list == List::Resources
            && let Some((of, sub)) = value.split_once('/')
            && of != "*"
        {
            lists.push(side.of(&format!("*/{sub}")));
        }
        if list == List::Urls {
            let stems = self.stems.range(..=value.len());
            let found = stems.filter_map(|(length, by)| by.get(value.get(..*length)?));
            lists.extend(found.map(Vec::as_slice));
        }
        Ok(lists)
    }
}

/// What of a wanted rule is looked at: positions of values, list by list; all of those that are not named.
struct RulePart<'w> {
    wanted: &'w Rule,
    paths: bool,
    chosen: Vec<(List, Vec<usize>)>,
}

impl<'w> RulePart<'w> {
    /// The values of a list, each once, with their positions.
    fn values(&self, list: List) -> Vec<(usize, &'w str)> {
        let all = list.of(self.wanted);
        let chosen = self.chosen.iter().find(|(of, _)| *of == list);
        let positions: Vec<usize> = match chosen {
            Some((_, positions)) => positions.clone(),
            None => (0..all.len()).collect(),
        };
        let mut seen = HashSet::new();
        let values = positions
            .into_iter()
            .filter_map(|at| Some((at, all.get(at)?.as_str())));
        values.filter(|(_, value)| seen.insert(*value)).collect()
    }
}

/// Verbs by the rule and the position that they were wanted in.
type Verbs<'w> = BTreeMap<(usize, usize), &'w str>;

/// The first of what is not covered: what differs in its verb only is told as one.
struct Told<'w> {
    objects: BTreeMap<(&'w str, &'w str, Option<&'w str>), Verbs<'w>>,
    paths: BTreeSet<(&'w str, &'w str)>,
    /// The rule that is looked at.
    rule: usize,
    most: usize,
    bytes: usize,
    full: bool,
}

impl<'w> Told<'w> {
    fn new(most: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            paths: BTreeSet::new(),
            rule: 0,
            most,
            bytes: 0,
            full: false,
        }
    }

    /// Whether no further line has room, or these bytes have not. The first line has, however long it is.
    fn is_full(&mut self, line: bool, bytes: usize) -> bool {
        let lines = self.objects.len() + self.paths.len();
        self.bytes += bytes;
        self.full = (line && lines >= self.most) || (lines > 0 && self.bytes > TOLD);
        self.full
    }

    /// Takes in all combinations of what was looked at, while there is room. Answers what that cost.
    fn add(&mut self, place: &RulePart<'w>) -> usize {
        let verbs = place.values(List::Verbs);
        let mut cost = verbs.len();
        if place.paths {
            let urls = place.values(List::Urls);
            cost += urls.len();
            for (verb, url) in verbs.iter().flat_map(|v| urls.iter().map(|u| (v.1, u.1))) {
                cost += 1;
                if self.paths.contains(&(url, verb)) {
                    continue;
                }
                if self.is_full(true, url.len() + verb.len()) {
                    return cost;
                }
                self.paths.insert((url, verb));
            }
            return cost;
        }
        let (groups, resources) = (place.values(List::Groups), place.values(List::Resources));
        let named = place.values(List::Names).into_iter().map(|n| Some(n.1));
        let mut names: Vec<Option<&str>> = named.collect();
        if names.is_empty() {
            names.push(None);
        }
        cost += groups.len() + resources.len() + names.len();
        for (group, resource) in groups
            .iter()
            .flat_map(|g| resources.iter().map(|r| (g.1, r.1)))
        {
            for name in &names {
                cost += verbs.len();
                if !self.line((group, resource, *name), &verbs) {
                    return cost;
                }
            }
        }
        cost
    }

    /// Takes in what is wanted of one resource; `false` once there is no room.
    fn line(
        &mut self,
        key: (&'w str, &'w str, Option<&'w str>),
        verbs: &[(usize, &'w str)],
    ) -> bool {
        let bytes = key.0.len() + key.1.len() + key.2.map_or(0, str::len);
        if !self.objects.contains_key(&key) && self.is_full(true, bytes) {
            return false;
        }
        self.objects.entry(key).or_default();
        for (at, verb) in verbs {
            if self.is_full(false, verb.len()) {
                return false;
            }
            let line = self.objects.entry(key).or_default();
            line.insert((self.rule, *at), verb);
        }
        true
    }

    fn lines(self) -> Vec<String> {
        let text = |value: &str| vec![value.to_owned()];
        let mut lines = BTreeSet::new();
        for ((group, resource, name), verbs) in self.objects {
            let mut seen = HashSet::new();
            let verbs = verbs.into_values().filter(|verb| seen.insert(*verb));
            let rule = Rule {
                verbs: verbs.map(str::to_owned).collect(),
                groups: text(group),
                resources: text(resource),
                names: name.map(text).unwrap_or_default(),
                ..Rule::default()
            };
            lines.insert(rule.told());
        }
        for (url, verb) in self.paths {
            let rule = Rule {
                verbs: text(verb),
                urls: text(url),
                ..Rule::default()
            };
            lines.insert(rule.told());
        }
        lines.into_iter().collect()
    }
}
