//! Why a variant stops where it is, and what it then says.

use model::{Condition, Status};

use super::status::{self, not_ready};
use super::{Observed, Plan, VariantStep, words};
use crate::{Next, Note, Report};

/// Why nothing can be done now.
pub(super) struct Stop {
    pub(super) state: &'static str,
    /// Whether something that is watched will change.
    pub(super) waits: bool,
    /// `Some` if somebody has to act: `Stalled` is true with reason and message.
    pub(super) stalled: Option<(&'static str, String)>,
    pub(super) ready: Condition,
    pub(super) hint: Option<String>,
    pub(super) extra: Vec<Condition>,
    pub(super) next: Next,
}

impl Stop {
    /// The variant itself is wrong: Porch's two conditions (R112).
    pub(super) fn invalid(problems: &[model::Problem]) -> Box<Self> {
        let mut stop = Self::stalled("ValidationError", model::join_problems(problems));
        stop.ready = not_ready("Error", "invalid packagevariant object");
        stop.hint = problems.iter().find_map(|p| p.hint.clone());
        stop
    }

    /// Somebody has to act.
    pub(super) fn stalled(reason: &'static str, message: impl Into<String>) -> Box<Self> {
        let message = message.into();
        Box::new(Self {
            state: "stalled",
            waits: false,
            ready: not_ready(reason, &message),
            stalled: Some((reason, message)),
            hint: None,
            extra: Vec::new(),
            next: Next::Rest,
        })
    }

    /// Waiting for something that is watched.
    pub(super) fn waiting(reason: &'static str, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            state: "waiting",
            waits: true,
            stalled: None,
            ready: not_ready(reason, &message.into()),
            hint: None,
            extra: Vec::new(),
            next: Next::Rest,
        })
    }

    /// With a way out.
    pub(super) fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// Without a verdict on readiness.
    pub(super) fn unknown(mut self: Box<Self>) -> Box<Self> {
        self.ready.status = Status::Unknown;
        self
    }

    /// What a report says about it.
    pub(super) fn note(&self) -> Note {
        Note {
            what: self.ready_text(),
            hint: self.hint.clone(),
        }
    }

    pub(super) fn plan(self, o: &Observed) -> Plan {
        let mut report = Report::of(self.state);
        report.notes.push(self.note());
        report.waits = self.waits;
        // Conditions name the way out; only Porch's own texts stay as they are (A4).
        let way_out = match (&self.stalled, &self.hint) {
            (Some(("ValidationError", _)), _) | (_, None) => String::new(),
            (_, Some(hint)) => format!("; {hint}"),
        };
        let stalled = match self.stalled {
            Some((reason, message)) => {
                let message = format!("{message}{way_out}");
                Condition::new(words::STALLED, Status::True, reason, message)
            }
            None => status::valid(),
        };
        let mut ready = self.ready;
        ready.message.push_str(&way_out);
        let targets = status::current_targets(o);
        Plan {
            steps: Vec::new(),
            report,
            status: status::of(o, stalled, ready, self.extra, targets),
            next: self.next,
        }
    }

    pub(super) fn ready_text(&self) -> String {
        let (reason, message) = match &self.stalled {
            Some((reason, message)) => (*reason, message.as_str()),
            None => (self.ready.reason.as_str(), self.ready.message.as_str()),
        };
        format!("{reason}: {message}")
    }
}

/// A plan of quick steps after which everything is looked at again; the status can wait.
pub(super) fn again(o: &Observed, state: &str, steps: Vec<VariantStep>) -> Plan {
    Plan {
        steps,
        report: Report::of(state),
        status: o.status.clone(),
        next: Next::Again,
    }
}
