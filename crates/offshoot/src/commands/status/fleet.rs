//! The fleet as counts: each variant stands in one place of one group. Nothing is asked here.

use std::collections::BTreeMap;

use model::{Condition, Pairs, RolloutState, RolloutStatus, SetStatus, Standing, Status};
use serde_json::{Value, json};

use super::bar::Look;
use super::drift::{self, Drift};
use crate::client;
use crate::exit::ExitFailure;

/// What groups are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    /// The set that a variant belongs to.
    Set,
    /// The repository that it writes to.
    Repository,
    /// The value of a label of that repository.
    Label(String),
}

impl By {
    /// `set`, `repository`, or the key of a label.
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "set" => Self::Set,
            "repository" | "repo" => Self::Repository,
            key => Self::Label(key.to_owned()),
        }
    }

    fn heading(&self) -> String {
        match self {
            Self::Set => "SET".to_owned(),
            Self::Repository => "REPOSITORY".to_owned(),
            Self::Label(key) => key.to_uppercase(),
        }
    }
}

/// Namespace and name.
type Key = (String, String);

/// What is known of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    set: Option<String>,
    repository: String,
    /// Where it says itself that it stands.
    standing: Standing,
    /// How the branch has left what was published, where somebody has to look.
    drift: Option<Drift>,
}

/// What is known of a set.
#[derive(Debug, Default)]
struct Set {
    /// What it says that no variant does.
    told: Vec<String>,
    /// The step of its rollout, in a few words.
    step: Option<String>,
    /// Its rollout.
    rollout: Option<RolloutStatus>,
}

/// All that the screen shows.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    /// Only these sets and their variants, if any are named.
    only: Vec<String>,
    members: BTreeMap<Key, Member>,
    sets: BTreeMap<Key, Set>,
    repositories: BTreeMap<Key, Pairs>,
}

/// What stands in a row, in this order.
const COLUMNS: [(&str, &str, Standing); 7] = [
    ("UPTODATE", "upToDate", Standing::UpToDate),
    ("STEP", "waitsForStep", Standing::Step),
    ("DRAFT", "draft", Standing::Draft),
    ("PROPOSED", "proposed", Standing::Proposed),
    ("CONFLICTS", "conflicts", Standing::Conflicts),
    ("GATES", "gates", Standing::Gates),
    ("FAILED", "failed", Standing::Failed),
];

/// Where the column of those that wait for their step is, behind the name, the count and those that are up to date.
const STEP: usize = 3;

impl Fleet {
    /// Nothing yet, of these sets or of everything.
    pub(super) fn of(only: &[String]) -> Self {
        Self {
            only: only.to_owned(),
            ..Self::default()
        }
    }

    fn leaves_out(&self, set: Option<&str>) -> bool {
        let named = |set| self.only.iter().any(|name| name == set);
        !self.only.is_empty() && !set.is_some_and(named)
    }

    /// Takes a variant as it is now.
    pub(super) fn put_variant(&mut self, object: &Value) {
        let meta = api::read_meta(object);
        let status = api::read_variant_status(object);
        let set = meta.controller().filter(|c| c.kind == "PackageVariantSet");
        if self.leaves_out(set.map(|set| set.name.as_str())) {
            return;
        }
        let repository = api::str_at(object, &["spec", "downstream", "repo"]);
        let member = Member {
            set: set.map(|set| set.name.clone()),
            repository: repository.unwrap_or_default().to_owned(),
            standing: Standing::of(&status, meta.generation),
            drift: Drift::of(&status),
        };
        self.members.insert(key(object), member);
    }

    /// Takes a set as it is now.
    pub(super) fn put_set(&mut self, object: &Value) {
        if self.leaves_out(api::str_at(object, &["metadata", "name"])) {
            return;
        }
        let status = api::read_set_status(object);
        let set = Set {
            told: attention(&status),
            step: status.rollout.as_ref().map(step),
            rollout: status.rollout,
        };
        self.sets.insert(key(object), set);
    }

    /// Takes a repository as it is now.
    pub(super) fn put_repository(&mut self, object: &Value) {
        let labels = api::read_meta(object).labels;
        self.repositories.insert(key(object), labels);
    }

    /// Forgets a variant.
    pub(super) fn drop_variant(&mut self, object: &Value) {
        self.members.remove(&key(object));
    }

    /// Forgets a set.
    pub(super) fn drop_set(&mut self, object: &Value) {
        self.sets.remove(&key(object));
    }

    /// Forgets a repository.
    pub(super) fn drop_repository(&mut self, object: &Value) {
        self.repositories.remove(&key(object));
    }

    /// Whether groups can be made so: of repositories that are there, one has the label.
    ///
    /// # Errors
    /// None has it, which tells of a typing error rather than of a fleet; the nearest label is named.
    pub(super) fn check(&self, by: &By) -> Result<(), ExitFailure> {
        let By::Label(wanted) = by else {
            return Ok(());
        };
        let labels = || self.repositories.values().flat_map(|labels| labels.iter());
        if self.repositories.is_empty() || labels().any(|(key, _)| key == wanted) {
            return Ok(());
        }
        let known = ["set", "repository"].into_iter();
        let known = known.chain(labels().map(|(key, _)| key.as_ref()));
        let known: std::collections::BTreeSet<&str> = known.collect();
        let hint = model::nearest(wanted, known.iter().copied()).map_or_else(
            || {
                let known: Vec<&str> = known.iter().copied().collect();
                format!("--by takes one of {}", known.join(", "))
            },
            |near| format!("did you mean --by {near}?"),
        );
        Err(ExitFailure::usage(format!("no repository has the label {wanted:?}")).hint(hint))
    }

    /// Where a variant stands: what the rollout of its set has not reached waits for its step, whatever it has published.
    fn standing(&self, (namespace, name): &Key, member: &Member) -> Standing {
        let set = member.set.as_ref();
        let set = set.and_then(|set| self.sets.get(&(namespace.clone(), set.clone())));
        let rollout = set.and_then(|set| set.rollout.as_ref());
        let waits = rollout.is_some_and(|r| plan::set::waits_for_step(r, name));
        member.standing.under_rollout(waits)
    }

    /// How many variants of each group stand where; a set without variants is a group, too.
    fn groups(&self, by: &By, namespaces: bool) -> BTreeMap<String, BTreeMap<Standing, usize>> {
        let mut groups: BTreeMap<String, BTreeMap<Standing, usize>> = BTreeMap::new();
        if *by == By::Set {
            let all = self.sets.keys();
            groups.extend(all.map(|set| (named(set, namespaces), BTreeMap::new())));
        }
        for (key, member) in &self.members {
            let (namespace, _) = key;
            let within = |name: &String| named(&(namespace.clone(), name.clone()), namespaces);
            let name = match by {
                By::Set => member.set.as_ref().map(within),
                By::Repository => Some(within(&member.repository)),
                By::Label(key) => {
                    let at = (namespace.clone(), member.repository.clone());
                    let labels = self.repositories.get(&at);
                    labels.and_then(|labels| labels.get(key)).cloned()
                }
            };
            let name = name.unwrap_or_else(|| "(none)".to_owned());
            *groups
                .entry(name)
                .or_default()
                .entry(self.standing(key, member))
                .or_default() += 1;
        }
        groups
    }

    /// The screen: a row for each group, and what sets say that no variant does. On a terminal a row has a bar, too, and that
    /// of a set the step of its rollout.
    pub(super) fn text(&self, by: &By, namespaces: bool, look: Option<Look>) -> String {
        let groups = self.groups(by, namespaces);
        if groups.is_empty() {
            return "No package variants found.\n".to_owned();
        }
        let mut all: BTreeMap<Standing, usize> = BTreeMap::new();
        for (standing, count) in groups.values().flatten() {
            *all.entry(*standing).or_default() += count;
        }
        let mut rows = vec![heading(by)];
        rows.extend(groups.iter().map(|(name, counts)| row(name, counts)));
        let mut counts: Vec<_> = groups.values().collect();
        if groups.len() > 1 {
            rows.push(row("total", &all));
            counts.push(&all);
        }
        // What is in no column is rare, and nobody's work as a rule; where nothing rolls out, nothing waits for a step.
        if others(&all) == 0 {
            for row in &mut rows {
                row.pop();
            }
        }
        if !all.contains_key(&Standing::Step) {
            for row in &mut rows {
                row.remove(STEP);
            }
        }
        let mut out = match look {
            Some(look) => {
                let steps = match by {
                    By::Set => self.steps(namespaces),
                    _ => BTreeMap::new(),
                };
                let table = |rows| client::align(&with_steps(rows, &steps));
                let (occurring, all) = (table(occurring(&rows)), table(rows));
                look.table(&[&all, &occurring], &counts)
            }
            None => client::align(&rows),
        };
        let told = self.told(namespaces);
        let beside = [named_others(&all), self.drifted(namespaces)];
        if !told.is_empty() || beside.iter().any(Option::is_some) {
            out.push('\n');
        }
        out.extend(beside.into_iter().flatten());
        for line in told {
            out.push_str("! ");
            out.push_str(&line);
            out.push('\n');
        }
        out
    }

    /// Which packages on a branch are not what was published of them, however their variants stand.
    fn drifted(&self, namespaces: bool) -> Option<String> {
        let all = self.members.iter();
        drift::line(all.filter_map(|(key, member)| Some((member.drift?, named(key, namespaces)))))
    }

    /// The step of the rollout of each set that has one.
    fn steps(&self, namespaces: bool) -> BTreeMap<String, &str> {
        let all = self.sets.iter();
        all.filter_map(|(key, set)| Some((named(key, namespaces), set.step.as_deref()?)))
            .collect()
    }

    /// The same for programs.
    pub(super) fn json(&self, by: &By, namespaces: bool) -> Value {
        let group = |(name, counts): (String, BTreeMap<Standing, usize>)| {
            let mut out = json!({ "name": name, "variants": counts.values().sum::<usize>() });
            for (_, field, standing) in COLUMNS {
                out[field] = counts.get(&standing).copied().unwrap_or_default().into();
            }
            out["other"] = others(&counts).into();
            out
        };
        let groups: Vec<Value> = self.groups(by, namespaces).into_iter().map(group).collect();
        let drifted = self.members.iter().filter(|(_, m)| m.drift.is_some());
        let drifted: Vec<String> = drifted.map(|(key, _)| named(key, namespaces)).collect();
        json!({
            "by": by.heading().to_lowercase(), "groups": groups, "drift": drifted,
            "attention": self.told(namespaces),
        })
    }

    fn told(&self, namespaces: bool) -> Vec<String> {
        let of = |(key, set): (&Key, &Set)| {
            let name = named(key, namespaces);
            let told = set.told.iter().map(move |line| format!("{name}: {line}"));
            told.collect::<Vec<_>>()
        };
        self.sets.iter().flat_map(of).collect()
    }
}

fn named((namespace, name): &Key, namespaces: bool) -> String {
    match namespaces {
        true => format!("{namespace}/{name}"),
        false => name.clone(),
    }
}

/// The step that a rollout is in, and how it stands where that is not well.
fn step(rollout: &RolloutStatus) -> String {
    let state = rollout.state.word().to_lowercase();
    match (rollout.state, rollout.current()) {
        (RolloutState::Complete | RolloutState::Undone, _) | (_, None) => state,
        (now, Some((at, step))) => {
            let place = format!("{} {}/{}", step.name, at + 1, rollout.steps.len());
            match now {
                RolloutState::Progressing => place,
                _ => format!("{place}, {state}"),
            }
        }
    }
}

/// Rows without the columns in which nothing is counted.
fn occurring(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let counted = |at| {
        rows.iter()
            .skip(1)
            .any(|row| row.get(at).is_some_and(|n| n != "0"))
    };
    let columns = rows.first().map(Vec::len).unwrap_or_default();
    // The name, and how many there are, stand in any case.
    let kept: Vec<usize> = (0..columns).filter(|at| *at < 2 || counted(*at)).collect();
    let of = |row: &Vec<String>| kept.iter().filter_map(|at| row.get(*at).cloned()).collect();
    rows.iter().map(of).collect()
}

/// Rows with a column for the steps of rollouts, where one is there.
fn with_steps(mut rows: Vec<Vec<String>>, steps: &BTreeMap<String, &str>) -> Vec<Vec<String>> {
    if steps.is_empty() {
        return rows;
    }
    for (at, row) in rows.iter_mut().enumerate() {
        let step = row.first().and_then(|name| steps.get(name)).copied();
        let shown = if at == 0 {
            "ROLLOUT"
        } else {
            step.unwrap_or("-")
        };
        row.push(shown.to_owned());
    }
    rows
}

fn key(object: &Value) -> Key {
    let part = |name| {
        api::str_at(object, &["metadata", name])
            .unwrap_or_default()
            .to_owned()
    };
    (part("namespace"), part("name"))
}

/// What a set says that no variant does.
fn attention(status: &SetStatus) -> Vec<String> {
    let told = [
        "Stalled",
        "DeletionGuarded",
        "EmptySelection",
        "WriterUnknown",
    ];
    let holds = |c: &&Condition| c.status == Status::True && told.contains(&c.kind.as_str());
    let mut lines: Vec<String> = status
        .conditions
        .iter()
        .filter(holds)
        .map(|c| format!("{}: {}", c.reason, c.message))
        .collect();
    let ready = status
        .condition("Ready")
        .filter(|_| lines.is_empty())
        .filter(|c| status.failed > 0 || c.reason == plan::variant::words::CLAIMED);
    lines.extend(ready.map(|c| format!("{}: {}", c.reason, c.message)));
    lines
}

fn heading(by: &By) -> Vec<String> {
    let mut row = vec![by.heading(), "VARIANTS".to_owned()];
    row.extend(COLUMNS.map(|(name, ..)| name.to_owned()));
    row.push("OTHER".to_owned());
    row
}

fn row(name: &str, counts: &BTreeMap<Standing, usize>) -> Vec<String> {
    let mut row = vec![name.to_owned(), counts.values().sum::<usize>().to_string()];
    let count = |standing| {
        counts
            .get(&standing)
            .copied()
            .unwrap_or_default()
            .to_string()
    };
    row.extend(COLUMNS.map(|(.., standing)| count(standing)));
    row.push(others(counts).to_string());
    row
}

/// How many stand in no column.
fn others(counts: &BTreeMap<Standing, usize>) -> usize {
    beside(counts).map(|(_, count)| count).sum()
}

/// Where those stand that stand in no column.
fn named_others(counts: &BTreeMap<Standing, usize>) -> Option<String> {
    let all = beside(counts).map(|(standing, count)| format!("{count} {}", standing.words()));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| format!("other: {}\n", all.join(", ")))
}

fn beside(counts: &BTreeMap<Standing, usize>) -> impl Iterator<Item = (&Standing, &usize)> {
    let shown = |standing: &Standing| COLUMNS.iter().any(|(.., s)| s == standing);
    counts.iter().filter(move |(standing, _)| !shown(standing))
}

#[cfg(test)]
mod tests;
