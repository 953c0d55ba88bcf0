//! The rollout of a set: how its steps stand, and buttons that hold it, let it go on, or take it back, each with its command.

use maud::{Markup, html};
use model::{RolloutState, RolloutStatus};

use super::layout::{NOT_ALLOWED, command, titled};
use crate::commands::rollout::StepState;
use crate::shell::quoted;

/// What of a set's card is its rollout.
pub(super) struct Part<'a> {
    pub(super) set: &'a str,
    /// `None` where it has not begun.
    pub(super) rollout: Option<&'a RolloutStatus>,
    /// What keeps the set from being decided, if anything does: what is told of the rollout is of before then.
    pub(super) trouble: Option<&'a str>,
    /// What can be said to it as it stands.
    pub(super) verbs: &'a [&'static str],
    /// How it was seen; sent along with what is said.
    pub(super) seen: &'a str,
    /// The same for a command.
    pub(super) version: &'a str,
    /// Whether the user may say it.
    pub(super) allowed: bool,
    /// The flag of commands that names the namespace.
    pub(super) flags: &'a str,
}

/// The part of a set's card.
pub(super) fn part(part: &Part<'_>) -> Markup {
    let (set, flags) = (part.set, part.flags);
    html! {
        section.rollout aria-label=(format!("Rollout of {set}")) {
            div.head {
                h3 { "Rollout: " (part.rollout.map_or_else(|| "not begun".to_owned(), RolloutStatus::progress)) }
                div.verbs { @for verb in part.verbs { (button(part, verb)) } }
            }
            @if let Some(trouble) = part.trouble {
                p.trouble { (titled(trouble)) }
                (command(&format!("offshoot why pvset/{set}{flags}")))
            }
            @if let Some(rollout) = part.rollout { (steps(set, rollout)) }
            (command(&format!("offshoot rollout status {set}{flags}")))
        }
    }
}

fn steps(set: &str, rollout: &RolloutStatus) -> Markup {
    let works = !matches!(rollout.state, RolloutState::Complete | RolloutState::Undone);
    let open = rollout.current().map(|(at, _)| at).filter(|_| works);
    html! {
        @if !rollout.message.is_empty() { p { (rollout.message) } }
        @for told in rollout.told() { p { (told) } }
        @for unmade in &rollout.unmade { p { "Cannot be made: " (unmade) } }
        table {
            thead { tr { @for head in ["Step", "State", "Published", "Failed", "Besides", "Opened"] { th scope="col" { (head) } } } }
            tbody {
                @for (at, step) in rollout.steps.iter().enumerate() {
                    tr aria-current=[(open == Some(at)).then_some("step")] {
                        th scope="row" { a href=(format!("./targets?set={set}&step={}", step.name)) { (step.name) } }
                        td { (badge(StepState::of(rollout, at, step))) }
                        td { @if step.opened.is_some() { (step.published) " of " (step.members) } }
                        td { @if step.failed > 0 { (step.failed) } }
                        td { (step.besides()) }
                        td.soft { @if let Some(opened) = step.opened { (since(StepState::of(rollout, at, step), opened)) } }
                    }
                }
            }
        }
    }
}

/// A step's state, coloured.
fn badge(state: StepState) -> Markup {
    let class = match state {
        StepState::Done => "uptodate",
        StepState::Open => "draft",
        StepState::Soaking => "proposed",
        StepState::Closed | StepState::Undone => "unknown",
    };
    html! { span class=(format!("badge s-{class}")) { (state.word()) } }
}

/// Since when a step is open; one that is closed again only was.
fn since(state: StepState, opened: i64) -> Markup {
    match state {
        StepState::Closed => html! { "was open" },
        _ => time(opened),
    }
}

/// A time, to the minute.
fn time(seconds: i64) -> Markup {
    let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    html! { time datetime=(at) { (at.strftime("%Y-%m-%d %H:%M UTC")) } }
}

/// What a verb does, before it is confirmed.
fn meaning(verb: &str) -> &'static str {
    match verb {
        "pause" => "No further step opens until somebody resumes. Members that were reached go on.",
        "resume" => {
            "Steps open again as they get done. What was taken back is rolled out again, step by step."
        }
        "retry" => "The halt ends, unless what halted it is still so.",
        _ => {
            "Each member that was reached returns to the upstream commit that it had published before, all at once, and stays there until somebody resumes or spec.upstream changes. Open drafts that nobody edited go."
        }
    }
}

fn button(part: &Part<'_>, verb: &str) -> Markup {
    let Part { set, flags, .. } = part;
    let version = quoted(part.version);
    let does = format!("offshoot rollout {verb} {set} --if-version {version}{flags}");
    let allowed = part.allowed;
    html! {
        button type="button" class=(format!("act {verb}")) id=(format!("{verb}-{set}"))
            disabled[!allowed] title=[(!allowed).then_some(NOT_ALLOWED)]
            data-steer=(verb) data-set=[allowed.then_some(set)] data-seen=[allowed.then_some(part.seen)]
            data-meaning=(meaning(verb)) data-command=(does) {
            (titled(verb)) span.hidden { " the rollout of " (set) }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::StepStatus;

    use super::*;

    fn halted() -> RolloutStatus {
        RolloutStatus {
            id: "2-4f1d0c2a97".to_owned(),
            state: RolloutState::Halted,
            message: "1 member <with> conflicts".to_owned(),
            step: Some("canary".to_owned()),
            unmade: vec![model::Unmade {
                name: "web-north-web".to_owned(),
                step: "rest".to_owned(),
                why: "it is <another's>".to_owned(),
            }],
            steps: vec![
                StepStatus {
                    name: "canary".to_owned(),
                    opened: Some(1),
                    members: 2,
                    published: 1,
                    conflicts: 1,
                    ..StepStatus::default()
                },
                StepStatus {
                    name: "rest".to_owned(),
                    ..StepStatus::default()
                },
            ],
            ..RolloutStatus::default()
        }
    }

    fn page(rollout: Option<&RolloutStatus>, allowed: bool) -> String {
        let shown = Part {
            set: "web",
            rollout,
            trouble: Some("the set cannot <be> decided"),
            verbs: &["retry", "undo"],
            seen: "2-4f1d0c2a97 Halted <1>",
            version: "2-4f1d0c2a97:halted:1:ab",
            allowed,
            flags: " -n shop",
        };
        part(&shown).into_string()
    }

    #[test]
    fn a_halted_rollout_shows_its_steps_and_what_ends_the_halt() {
        let rollout = halted();
        let page = page(Some(&rollout), true);
        for shown in [
            "Rollout: canary 1/2, 1 of 2, halted",
            "&lt;with&gt;",
            "<tr aria-current=\"step\"><th scope=\"row\"><a href=\"./targets?set=web&amp;step=canary\">canary</a></th><td><span class=\"badge s-draft\">open</span></td><td>1 of 2</td><td></td><td>conflicts 1</td>",
            "1970-01-01 00:00 UTC",
            "<p class=\"trouble\">The set cannot &lt;be&gt; decided</p>",
            "offshoot why pvset/web -n shop",
            "<p>Cannot be made: web-north-web (rest): it is &lt;another's&gt;</p>",
            "step=rest\">rest</a></th><td><span class=\"badge s-unknown\">closed</span></td><td></td>",
            "data-command=\"offshoot rollout retry web --if-version 2-4f1d0c2a97:halted:1:ab -n shop\"",
            "data-seen=\"2-4f1d0c2a97 Halted &lt;1&gt;\"",
            ">Undo<",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
        assert!(!page.contains("rollout resume"), "{page}");
    }

    /// What is wanted changed, and a step that had been open waits for its turn again.
    #[test]
    fn a_step_that_is_closed_again_does_not_read_as_open() {
        let mut rollout = halted();
        let last = rollout.steps.last_mut().unwrap();
        (last.opened, last.members) = (Some(1), 4);
        let page = page(Some(&rollout), true);
        let closed =
            "step=rest\">rest</a></th><td><span class=\"badge s-unknown\">closed</span></td>";
        let (_, row) = page.split_once(closed).expect(&page);
        let (row, _) = row.split_once("</tr>").unwrap();
        assert!(row.contains("was open") && !row.contains("1970"), "{row}");
    }

    #[test]
    fn who_may_not_steer_gets_no_button_that_works() {
        let page = page(None, false);
        assert!(page.contains("Rollout: not begun"), "{page}");
        assert_eq!(page.matches("<button").count(), 4, "{page}");
        assert_eq!(page.matches(" disabled").count(), 2, "{page}");
        assert!(
            !page.contains("data-seen") && !page.contains("data-set"),
            "{page}"
        );
    }
}
