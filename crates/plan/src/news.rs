//! What of a status that changed people are told as an event: what has happened, never what merely is.
//! The same news are told once.

use model::{Condition, Status};

/// One thing to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// Whether somebody should look at it.
    pub warning: bool,
    /// The condition's reason.
    pub reason: String,
    /// The condition's message.
    pub message: String,
}

/// The conditions of these kinds that hold now, and did not, or not for this reason. `true` stands
/// for a warning.
pub(crate) fn turned(
    before: &[Condition],
    after: &[Condition],
    kinds: &[(&str, bool)],
) -> Vec<News> {
    let told = |condition: &Condition| {
        let (_, warning) = kinds.iter().find(|(kind, _)| *kind == condition.kind)?;
        let new = condition.status == Status::True && !before.contains(condition);
        new.then(|| News {
            warning: *warning,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        })
    };
    after.iter().filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: Status, message: &str) -> Condition {
        Condition::new("Stalled", status, "UpstreamNotFound", message)
    }

    #[test]
    fn only_what_turns_true_is_told_and_once() {
        let kinds = [("Stalled", true)];
        let (no, yes) = (condition(Status::False, ""), condition(Status::True, "why"));
        let told = |before: &Condition, after: &Condition| {
            let (before, after) = (before.clone(), after.clone());
            turned(&[before], &[after], &kinds)
                .into_iter()
                .map(|n| n.message)
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&no, &yes), ["why"]);
        assert_eq!(told(&yes, &yes), Vec::<String>::new());
        assert_eq!(told(&yes, &no), Vec::<String>::new());
        assert_eq!(told(&yes, &condition(Status::True, "else")), ["else"]);
        assert_eq!(turned(&[], &[yes], &[]), []);
    }
}
