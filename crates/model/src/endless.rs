//! Rollouts that their author may not have meant, as far as the spec alone tells: steps that no target can ever belong to, which
//! halt a rollout for good, and a last step that takes more than it says (F7).

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    LabelSelector, Rollout, SelectorOperator, StepMembers, Target, TargetSelection, VariantSetSpec,
};

impl VariantSetSpec {
    /// What is to be said of the rollout to whoever writes it; nothing where nothing is.
    pub fn rollout_warnings(&self) -> Vec<String> {
        let Some(rollout) = &self.rollout else {
            return Vec::new();
        };
        let mut said = nobody(rollout, &self.targets);
        said.extend(rollout.warning());
        said
    }
}

/// The steps by selector that nobody can belong to, whatever repositories there are.
fn nobody(rollout: &Rollout, targets: &[Target]) -> Vec<String> {
    let mut earlier: Vec<(&str, &LabelSelector)> = Vec::new();
    let mut said = Vec::new();
    for step in &rollout.steps {
        let StepMembers::Selector(selector) = &step.members else {
            continue;
        };
        let taken = earlier.iter().find(|(_, other)| selector.is_within(other));
        let why = match taken {
            _ if !selector.can_match(None) => Some("its selector contradicts itself".to_owned()),
            Some((name, _)) => Some(format!(
                "every repository that it selects belongs to the earlier step '{name}'"
            )),
            None if !reaches(targets, selector) => {
                Some("spec.targets select no repository with its labels".to_owned())
            }
            None => None,
        };
        if let Some(why) = why {
            said.push(format!(
                "step '{}' can never have a target, and the rollout halts there: {why}",
                step.name
            ));
        }
        earlier.push((&step.name, selector));
    }
    said
}

/// Whether a target may lie in a repository with these labels.
fn reaches(targets: &[Target], step: &LabelSelector) -> bool {
    targets.is_empty()
        || targets.iter().any(|target| match &target.selection {
            TargetSelection::RepositorySelector { selector, .. } => {
                // A template may put the variant into another repository.
                let template = target.template.as_ref();
                let elsewhere = template.is_some_and(|t| t.repo.is_some() || t.repo_expr.is_some());
                elsewhere || step.can_match(Some(selector))
            }
            TargetSelection::Repositories(_) | TargetSelection::ObjectSelector { .. } => true,
        })
}

/// What the requirements of one label come to.
#[derive(Default)]
struct Demand<'a> {
    /// One of these values; any where `None`.
    one_of: Option<BTreeSet<&'a str>>,
    none_of: BTreeSet<&'a str>,
    there: bool,
    absent: bool,
}

impl Demand<'_> {
    fn can_be(&self) -> bool {
        let needed = self.there || self.one_of.is_some();
        let some_left = self
            .one_of
            .as_ref()
            .is_none_or(|values| values.iter().any(|v| !self.none_of.contains(v)));
        some_left && !(needed && self.absent)
    }
}

/// Demands by label, of several selectors at once.
#[derive(Default)]
struct Demands<'a>(BTreeMap<&'a str, Demand<'a>>);

impl<'a> Demands<'a> {
    fn add(&mut self, key: &'a str, operator: SelectorOperator, values: BTreeSet<&'a str>) {
        let demand = self.0.entry(key).or_default();
        match operator {
            SelectorOperator::In => {
                demand.one_of = Some(match demand.one_of.take() {
                    Some(before) => before.intersection(&values).copied().collect(),
                    None => values,
                });
            }
            SelectorOperator::NotIn => demand.none_of.extend(values),
            SelectorOperator::Exists => demand.there = true,
            SelectorOperator::DoesNotExist => demand.absent = true,
        }
    }

    fn all(&mut self, selector: &'a LabelSelector) {
        for (key, operator, values) in selector.demands() {
            self.add(key, operator, values);
        }
    }

    fn can_be(&self) -> bool {
        self.0.values().all(Demand::can_be)
    }
}

impl LabelSelector {
    /// Each label that it names, how it is compared, and with what.
    fn demands(&self) -> impl Iterator<Item = (&str, SelectorOperator, BTreeSet<&str>)> {
        let labels = self.match_labels.iter();
        let labels = labels.map(|(key, value)| {
            let one = BTreeSet::from([value.as_str()]);
            (key.as_str(), SelectorOperator::In, one)
        });
        let others = self.requirements.iter().map(|r| {
            let values = r.values.iter().map(String::as_str).collect();
            (r.key.as_str(), r.operator, values)
        });
        labels.chain(others)
    }

    /// Whether some labels fit it, and the other one, too.
    fn can_match(&self, other: Option<&Self>) -> bool {
        let mut demands = Demands::default();
        demands.all(self);
        if let Some(other) = other {
            demands.all(other);
        }
        demands.can_be()
    }

    /// Whether whatever fits it fits the other one: labels that fit it and miss one demand of the other cannot be.
    fn is_within(&self, other: &Self) -> bool {
        other.demands().all(|(key, operator, values)| {
            let mut demands = Demands::default();
            demands.all(self);
            let opposite = match operator {
                SelectorOperator::In => SelectorOperator::NotIn,
                SelectorOperator::NotIn => SelectorOperator::In,
                SelectorOperator::Exists => SelectorOperator::DoesNotExist,
                SelectorOperator::DoesNotExist => SelectorOperator::Exists,
            };
            demands.add(key, opposite, values);
            !demands.can_be()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HaltWhen, OpenWhen, Requirement, RolloutStep};

    /// `a=1`, `a!=1`, `a`, `!a`, `a in 1 2`, `a notin 1 2`, joined by commas.
    fn selector(text: &str) -> LabelSelector {
        let mut selector = LabelSelector::default();
        for part in text.split(',') {
            let words: Vec<&str> = part.split(' ').collect();
            let (key, operator, values) = match words.as_slice() {
                [key, "in", values @ ..] => (*key, SelectorOperator::In, values.to_vec()),
                [key, "notin", values @ ..] => (*key, SelectorOperator::NotIn, values.to_vec()),
                [one] => match (one.split_once('='), one.strip_prefix('!')) {
                    (Some((key, value)), _) => {
                        let pair = (key.to_owned(), value.to_owned());
                        selector.match_labels.extend([pair]);
                        continue;
                    }
                    (None, Some(key)) => (key, SelectorOperator::DoesNotExist, Vec::new()),
                    (None, None) => (*one, SelectorOperator::Exists, Vec::new()),
                },
                _ => panic!("{part}"),
            };
            selector.requirements.push(Requirement {
                key: key.to_owned(),
                operator,
                values: values.into_iter().map(str::to_owned).collect(),
            });
        }
        selector
    }

    fn rollout(steps: &[&str]) -> Rollout {
        let step = |(n, text): (usize, &&str)| RolloutStep {
            name: format!("s{n}"),
            members: match (*text, text.strip_suffix('%')) {
                ("rest", _) => StepMembers::Rest,
                (_, Some(percent)) => StepMembers::Percent(percent.parse().unwrap()),
                _ => StepMembers::Selector(selector(text)),
            },
        };
        Rollout {
            steps: steps.iter().enumerate().map(step).collect(),
            open: OpenWhen::default(),
            halt: HaltWhen::default(),
        }
    }

    fn target(text: &str) -> Target {
        let selection = match text {
            "" => TargetSelection::Repositories(Vec::new()),
            _ => TargetSelection::RepositorySelector {
                selector: selector(text),
                packages: Vec::new(),
            },
        };
        Target {
            selection,
            template: None,
        }
    }

    fn said(steps: &[&str], targets: &[&str]) -> Vec<String> {
        let targets: Vec<Target> = targets.iter().map(|t| target(t)).collect();
        nobody(&rollout(steps), &targets)
    }

    #[test]
    fn steps_that_can_have_targets_are_not_warned_of() {
        for steps in [
            &["a=1", "a=2", "10%", "rest"][..],
            &["a=1,b=1", "a=1", "rest"],
            &["a notin 1", "a=1", "rest"],
            &["a in 1 2", "a in 2 3", "rest"],
            &["a", "!a", "rest"],
            &["a notin 1 2,a", "a notin 1", "rest"],
        ] {
            for targets in [&[][..], &[""], &["c=1"], &["c=1", ""]] {
                assert_eq!(said(steps, targets), [""; 0], "{steps:?} {targets:?}");
            }
        }
    }

    #[test]
    fn a_step_that_nobody_can_belong_to_is_named_with_the_reason() {
        let own = "its selector contradicts itself";
        let taken = "belongs to the earlier step 's0'";
        let none = "spec.targets select no repository with its labels";
        for (steps, targets, wanted) in [
            (&["a=1,a notin 1", "rest"][..], "", own),
            (&["a in 1 2,a in 3", "rest"], "", own),
            (&["a,!a", "rest"], "", own),
            (&["a=1,!a", "rest"], "", own),
            (&["a=1", "a=1", "rest"], "", taken),
            (&["a=1", "a=1,b=2", "rest"], "", taken),
            (&["a in 1 2", "a=2", "rest"], "", taken),
            (&["a", "10%", "a=2", "rest"], "", taken),
            (&["a notin 1", "a=2", "rest"], "", taken),
            (&["a=1", "rest"], "a=2", none),
            (&["a", "rest"], "!a", none),
        ] {
            let said = said(steps, &[targets]);
            assert_eq!(said.len(), 1, "{steps:?} {said:?}");
            assert!(said[0].ends_with(wanted), "{steps:?} {said:?}");
            assert!(said[0].contains("can never have a target"), "{said:?}");
        }
    }
}
