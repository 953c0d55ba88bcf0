//! Rollouts of a set: what `spec.rollout` asks for, what a set remembers of one, and the mark of a member (F7, F8).

mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{CommitId, LabelSelector, PackageName, RepositoryName, UidMark, Upstream};

/// `spec.rollout`: what a set wants reaches its targets step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    /// The steps in their order; at least one, each with a name of its own.
    pub steps: Vec<RolloutStep>,
    /// When a step is done, so that the next one opens.
    pub open: OpenWhen,
    /// When no further step opens.
    pub halt: HaltWhen,
}

impl Rollout {
    /// What its author may not have meant: the last step takes whatever is left, also where it names a part of it.
    pub(crate) fn warning(&self) -> Option<String> {
        let last = self.steps.last()?;
        let said = match &last.members {
            StepMembers::Rest => return None,
            StepMembers::Percent(100) => return None,
            StepMembers::Percent(percent) => format!("percent: {percent}"),
            StepMembers::Selector(_) => "a selector".to_owned(),
        };
        Some(format!(
            "the last step '{}' has {said}, and takes every target that no earlier step has all the same: \
             end with a step that has neither selector nor percent",
            last.name
        ))
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutStep {
    /// Its name: a DNS label.
    pub name: String,
    /// Which targets belong to it.
    pub members: StepMembers,
}

/// Which targets belong to a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepMembers {
    /// Those in repositories with these labels; the first step that matches counts.
    Selector(LabelSelector),
    /// So many that with those of all earlier steps they are this share of all targets, in per cent, rounded up.
    Percent(u8),
    /// Whatever no other step has.
    Rest,
}

/// When a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWhen {
    /// The share of its members that is published at the wanted commit, in per cent.
    pub published: u8,
    /// How long after that the next step opens, in seconds.
    pub soak: i64,
}

impl Default for OpenWhen {
    fn default() -> Self {
        Self {
            published: 100,
            soak: 0,
        }
    }
}

/// A rollout halts once more members than these are found so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HaltWhen {
    /// With conflicts that nobody decided.
    pub conflicts: usize,
    /// That cannot go on until somebody mends something.
    pub failed: usize,
    /// Whose proposal an approver rejected.
    pub rejected: usize,
}

/// What a set remembers of its rollout. Plain values that change only when something happened: at rest nothing is
/// written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RolloutStatus {
    /// Names the rollout: a hash of what is wanted and of the rollout before.
    pub id: String,
    /// The hash of the wanted upstream commits.
    pub wants: String,
    /// The hash of `spec.upstream`: an undo ends when it changes.
    pub asked: String,
    /// The hash of what says in which packages the targets are (`spec.targets`), as it was when nothing was left of what it
    /// no longer wants; empty where that is not known.
    pub places: String,
    /// Whether targets of it moved to other packages, and what they left is still there.
    pub moves: bool,
    /// How many targets there were when it began.
    pub total: usize,
    /// When it began, in Unix seconds.
    pub began: i64,
    /// How it stands.
    pub state: RolloutState,
    /// Why it stands so, for people; empty where there is nothing to say.
    pub message: String,
    /// Whether every step was done once: what is wanted anew is another rollout.
    pub complete: bool,
    /// Why no further step opens until `retry`: the count that was exceeded.
    pub halted: Option<String>,
    /// The request to try again that was answered last.
    pub retried: Option<String>,
    /// The steps.
    pub steps: Vec<StepStatus>,
    /// The name of the step that is worked on; `None` before the first is open.
    pub step: Option<String>,
    /// Targets that were there when it began, and whose variants are not made yet.
    pub awaited: BTreeSet<UidMark>,
    /// Members that an undo cannot take back, since the rollout made them: how many, and the first of them.
    pub created: Vec<String>,
    /// The first members, by name, that have published what the rollout did not bring; the steps count them all.
    pub diverged: Vec<String>,
    /// The first members, by name, that somebody suspended and that are not published as they are wanted; the steps count
    /// them all.
    pub suspended: Vec<String>,
    /// The first names of targets whose variant is not made yet, and under which there is a variant that is not the set's.
    pub taken: Vec<String>,
    /// The first of these, by name, that are not taken over when their step opens, so that the targets cannot be made; the
    /// steps count all of them as failed.
    pub unmade: Vec<Unmade>,
    /// The upstream packages that are rolled out; the first of them.
    pub upstreams: Vec<RolledUpstream>,
    /// What the set wrote to each of its variants, by the variant's name. It stands here before it is written there, so
    /// that whatever a variant says of itself decides nothing.
    pub members: BTreeMap<UidMark, Member>,
}

/// An upstream package that is rolled out, for people and programs that look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledUpstream {
    /// Its repository.
    pub repo: RepositoryName,
    /// Its name.
    pub package: PackageName,
    /// What its revision was called when that was last looked at: a workspace, or the branch.
    pub revision: String,
    /// The commit that is wanted.
    pub commit: CommitId,
}

/// A target whose variant cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmade {
    /// The name that its variant would have.
    pub name: String,
    /// Its step.
    pub step: String,
    /// Why, for people.
    pub why: String,
}

impl fmt::Display for Unmade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name, self.step, self.why)
    }
}

/// What a set remembers of one of its variants under a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The upstream of the spec that the set wrote last.
    pub upstream: Upstream,
    /// The hash of that spec.
    pub spec: String,
    /// The step in which the present rollout reached it; `None` while it waits.
    pub step: Option<String>,
    /// What it had published before the present rollout reached it; `None` where that made it (F8).
    pub before: Option<Before>,
}

/// How a rollout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RolloutState {
    /// A step is open and not done.
    #[default]
    Progressing,
    /// The open step is done, and the next one waits for the time.
    Soaking,
    /// No further step opens until somebody acts.
    Halted,
    /// Somebody holds it.
    Paused,
    /// It is taken back.
    Undone,
    /// Every step is done.
    Complete,
}

impl RolloutState {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Progressing,
        Self::Soaking,
        Self::Halted,
        Self::Paused,
        Self::Undone,
        Self::Complete,
    ];

    /// In one word, as conditions give it for a reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Progressing => "Progressing",
            Self::Soaking => "Soaking",
            Self::Halted => "Halted",
            Self::Paused => "Paused",
            Self::Undone => "Undone",
            Self::Complete => "Complete",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == text)
    }
}

/// What a set remembers of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepStatus {
    /// Its name.
    pub name: String,
    /// Stands for what it takes: its selector or share.
    pub takes: String,
    /// When it opened, in Unix seconds.
    pub opened: Option<i64>,
    /// Whether all its members were reached: no other target joins it.
    pub frozen: bool,
    /// When the share of published members was filled, in Unix seconds.
    pub filled: Option<i64>,
    /// How many members it has; once frozen, how many it had then.
    pub members: usize,
    /// How many are published at the wanted commit.
    pub published: usize,
    /// How many are gone, or their deletion stands.
    pub deleted: usize,
    /// How many cannot be reached, and are not published at the wanted commit.
    pub unreachable: usize,
    /// How many have published what the rollout did not bring: another commit since they were reached, or any before.
    pub diverged: usize,
    /// How many are suspended, and not published at the wanted commit.
    pub suspended: usize,
    /// How many have conflicts to decide.
    pub conflicts: usize,
    /// How many failed, or cannot be made.
    pub failed: usize,
    /// How many were rejected.
    pub rejected: usize,
}

/// How many members of a kind a status names.
pub const MAX_NAMED: usize = 10;

impl StepStatus {
    /// What there is to say of its members beside those that are published or failed: `conflicts 1, rejected 2`; empty where
    /// nothing is.
    pub fn besides(&self) -> String {
        let counts = [
            ("conflicts", self.conflicts),
            ("rejected", self.rejected),
            ("diverged", self.diverged),
            ("suspended", self.suspended),
            ("unreachable", self.unreachable),
            ("deleted", self.deleted),
        ];
        let found = counts.into_iter().filter(|(_, count)| *count > 0);
        let said: Vec<String> = found.map(|(what, n)| format!("{what} {n}")).collect();
        said.join(", ")
    }
}

impl RolloutStatus {
    /// Whether a revision of a member holds another upstream commit than is wanted of it now, each in its digits; what says none holds
    /// no other. What is rolled out is wanted, also where the variant is not written yet; during an undo that is what goes (F8).
    pub fn is_of_another(&self, holds: &str, wanted: &str) -> bool {
        let mut rolled = self.upstreams.iter();
        let goes_on = self.state != RolloutState::Undone;
        let is_rolled = goes_on && rolled.any(|of| of.commit.to_string() == holds);
        !holds.is_empty() && !wanted.is_empty() && holds != wanted && !is_rolled
    }

    /// The step that is worked on, if it is open: the first that is not done; `None` before the first is open.
    pub fn current(&self) -> Option<(usize, &StepStatus)> {
        let mut steps = self.steps.iter().enumerate();
        let name = self.step.as_deref()?;
        steps.find(|(_, s)| s.name == name && s.opened.is_some())
    }

    /// Whether nothing of it is left to do: every step is done.
    pub fn is_over(&self) -> bool {
        self.state == RolloutState::Complete
    }

    /// A few words where a person has to look at the rollout first.
    pub fn words(&self) -> Option<&'static str> {
        match self.state {
            RolloutState::Halted => Some("rollout halted"),
            RolloutState::Paused => Some("rollout paused"),
            RolloutState::Undone => Some("rollout undone"),
            _ => None,
        }
    }

    /// A few words for a list: `tenth 2/3, 4 of 10`.
    pub fn progress(&self) -> String {
        match (self.state, self.current()) {
            (RolloutState::Complete, _) => "complete".to_owned(),
            (RolloutState::Undone, _) => "undone".to_owned(),
            (state, None) => state.word().to_lowercase(),
            (state, Some((at, step))) => {
                let more = match state {
                    RolloutState::Progressing => String::new(),
                    other => format!(", {}", other.word().to_lowercase()),
                };
                format!(
                    "{} {}/{}, {} of {}{more}",
                    step.name,
                    at + 1,
                    self.steps.len(),
                    step.published,
                    step.members
                )
            }
        }
    }
}

/// What stands on a variant that a rollout has reached, for people and programs that look at it (F7). It decides nothing:
/// what a set goes by is [`Member`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberMark {
    /// The rollout that reached it.
    pub rollout: String,
    /// The name of the step in which it was reached.
    pub step: String,
    /// The hash of the spec that was written.
    pub spec: String,
    /// What it had published before the rollout first reached it; `None` where the rollout made it (F8).
    pub before: Option<Before>,
}

/// An upstream commit that a variant had published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The upstream repository.
    pub repo: RepositoryName,
    /// The upstream package.
    pub package: PackageName,
    /// The commit.
    pub commit: CommitId,
}

impl MemberMark {
    /// Reads it; `None` from anything that was not written by [`fmt::Display`].
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let (head, before) = match words.as_slice() {
            [rollout, step, spec] => ([rollout, step, spec], None),
            [rollout, step, spec, repo, package, commit] => (
                [rollout, step, spec],
                Some(Before {
                    repo: RepositoryName::parse(repo).ok()?,
                    package: PackageName::parse(package).ok()?,
                    commit: CommitId::parse(commit)?,
                }),
            ),
            _ => return None,
        };
        let [rollout, step, spec] = head.map(|word| (*word).to_owned());
        if rollout.is_empty() || step.is_empty() || spec.is_empty() {
            return None;
        }
        Some(Self {
            rollout,
            step,
            spec,
            before,
        })
    }
}

/// Words with spaces between, none of which has a space in it.
impl fmt::Display for MemberMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.rollout, self.step, self.spec)?;
        match &self.before {
            None => Ok(()),
            Some(before) => {
                let Before {
                    repo,
                    package,
                    commit,
                } = before;
                write!(f, " {repo} {package} {commit}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_its_text() {
        let commit = CommitId::parse(&"ab".repeat(20));
        for before in [None, commit] {
            let mark = MemberMark {
                rollout: "0123456789ab".to_owned(),
                step: "canary".to_owned(),
                spec: "00ff00ff".to_owned(),
                before: before.map(|commit| Before {
                    repo: RepositoryName::parse("blueprints").unwrap(),
                    package: PackageName::parse("base/web").unwrap(),
                    commit,
                }),
            };
            assert_eq!(MemberMark::parse(&mark.to_string()), Some(mark));
        }
        for odd in ["", "a b", "a b c d", "a b  ", "a b c repo package nothex"] {
            assert_eq!(MemberMark::parse(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_list_has_room_for_how_it_stands() {
        let step = |name: &str, opened| StepStatus {
            name: name.to_owned(),
            opened,
            members: 10,
            published: 4,
            ..StepStatus::default()
        };
        let mut status = RolloutStatus {
            steps: vec![step("canary", Some(1)), step("rest", Some(2))],
            step: Some("canary".to_owned()),
            ..RolloutStatus::default()
        };
        let told = "canary 1/2, 4 of 10";
        assert_eq!(status.progress(), told, "though a later one was open");
        status.state = RolloutState::Halted;
        assert_eq!(status.progress(), "canary 1/2, 4 of 10, halted");
        status.steps[0].opened = None;
        assert_eq!(status.progress(), "halted");
        status.state = RolloutState::Complete;
        assert_eq!(status.progress(), "complete");
        for state in RolloutState::ALL {
            assert_eq!(RolloutState::parse(state.word()), Some(state));
        }
    }
}
