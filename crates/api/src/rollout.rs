//! `spec.rollout` of a set, and what a set and its variants say of a rollout in their status (F7, F8).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::{
    CommitId, HaltWhen, MemberMark, OpenWhen, PackageName, Problem, RepositoryName, RolledUpstream,
    Rollout, RolloutState, RolloutStatus, RolloutStep, StepMembers, StepStatus, UidMark,
};
use serde_json::{Map, Value};

use crate::fields::{FieldReader, put, put_list};
use crate::members::{read_remembered, read_unmade, write_before, write_remembered, write_unmade};
use crate::selector::read_selector;
use crate::shape::STEP_SELECTOR;

/// The most steps of a rollout.
const MAX_STEPS: usize = 50;
/// The longest soak: a year, in seconds.
const LONGEST: i64 = 366 * 24 * 3600;

pub(crate) fn read_rollout(spec: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Option<Rollout> {
    let fields = spec.child("rollout")?;
    let steps = read_steps(&fields, problems);
    Some(Rollout {
        steps,
        open: read_open(&fields, problems),
        halt: read_halt(&fields, problems),
    })
}

fn refuse(problems: &mut Vec<Problem>, field: String, what: &str) {
    let what = format!("{field} {what}");
    problems.push(Problem::new(field, what));
}

fn read_steps(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> Vec<RolloutStep> {
    let list = fields.list("steps");
    let field = fields.field("steps");
    if list.is_empty() {
        refuse(problems, field, "must have at least one entry");
        return Vec::new();
    }
    if list.len() > MAX_STEPS {
        let what = format!("must not have more than {MAX_STEPS} entries");
        refuse(problems, field, &what);
        return Vec::new();
    }
    let mut names = BTreeSet::new();
    let mut percent = 0;
    let mut steps = Vec::new();
    for (i, entry) in list.iter().enumerate() {
        let name = read_name(entry, problems);
        if !name.is_empty() && !names.insert(name.clone()) {
            let what = format!("must be unique: there are two steps {name:?}");
            refuse(problems, entry.field("name"), &what);
        }
        let before = problems.len();
        let members = read_members(entry, problems);
        match members {
            // What is wrong with it is told once.
            _ if problems.len() > before => {}
            StepMembers::Percent(given) if given <= percent => {
                let what = format!(
                    "counts the earlier steps' targets, too: it must be more than the {percent} of an earlier step"
                );
                refuse(problems, entry.field("percent"), &what);
            }
            StepMembers::Percent(given) => percent = given,
            StepMembers::Rest if i + 1 < list.len() => {
                let what = "needs `selector` or `percent`: only the last step takes the rest";
                refuse(problems, entry.path().to_owned(), what);
            }
            _ => {}
        }
        steps.push(RolloutStep { name, members });
    }
    steps
}

fn read_name(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> String {
    let name = entry.owned("name").unwrap_or_default();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let fits = name.len() <= 63
        && name.bytes().all(|b| plain(b) || b == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain);
    if !fits {
        let what = "must be 1 to 63 lower case letters, digits or '-', with a letter or digit at both ends";
        refuse(problems, entry.field("name"), what);
        return String::new();
    }
    name
}

fn read_members(entry: &FieldReader<'_>, problems: &mut Vec<Problem>) -> StepMembers {
    let selector = entry.child("selector");
    let percent = entry.raw("percent").is_some();
    match (selector, percent) {
        (Some(_), true) => {
            let what = "cannot have both `selector` and `percent`";
            refuse(problems, entry.path().to_owned(), what);
            StepMembers::Rest
        }
        (Some(selector), false) => {
            if !entry.has_shape("selector", STEP_SELECTOR, problems) {
                return StepMembers::Selector(model::LabelSelector::default());
            }
            let read = read_selector(&selector, problems);
            if read.match_labels.is_empty() && read.requirements.is_empty() {
                refuse(
                    problems,
                    entry.field("selector"),
                    "must name at least one label",
                );
            }
            StepMembers::Selector(read)
        }
        (None, true) => StepMembers::Percent(within(entry, "percent", (1, 100), problems, 100)),
        (None, false) => StepMembers::Rest,
    }
}

/// A number within bounds; `other` where it is absent, or not one.
fn within<T: TryFrom<i64> + Copy>(
    fields: &FieldReader<'_>,
    key: &str,
    (least, most): (i64, i64),
    problems: &mut Vec<Problem>,
    other: T,
) -> T {
    if fields.raw(key).is_none() {
        return other;
    }
    let given = fields.int(key).filter(|n| (least..=most).contains(n));
    match given.and_then(|n| T::try_from(n).ok()) {
        Some(given) => given,
        None => {
            let what = format!("must be at least {least} and at most {most}");
            refuse(problems, fields.field(key), &what);
            other
        }
    }
}

fn read_open(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> OpenWhen {
    let mut open = OpenWhen::default();
    let Some(fields) = fields.child("open") else {
        return open;
    };
    open.published = within(&fields, "published", (1, 100), problems, open.published);
    if let Some(value) = fields.raw("soak") {
        match value.as_str().and_then(seconds) {
            Some(soak) => open.soak = soak,
            None => {
                let what =
                    "must be a duration of at most 8784h, such as \"30m\", \"2h\" or \"1h30m\"";
                refuse(problems, fields.field("soak"), what);
            }
        }
    }
    open
}

/// A duration as Go writes it, in whole seconds: hours, minutes and seconds.
fn seconds(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut total: i64 = 0;
    let mut units = ['h', 'm', 's'].iter().zip([3600, 60, 1]);
    while !rest.is_empty() {
        let at = rest.find(|c: char| !c.is_ascii_digit())?;
        let (digits, behind) = rest.split_at_checked(at)?;
        let unit = behind.chars().next()?;
        let (_, worth) = units.by_ref().find(|(known, _)| **known == unit)?;
        let part = digits.parse::<i64>().ok()?.checked_mul(worth)?;
        total = total.checked_add(part)?;
        rest = behind.get(1..)?;
    }
    (!text.is_empty() && total <= LONGEST).then_some(total)
}

fn read_halt(fields: &FieldReader<'_>, problems: &mut Vec<Problem>) -> HaltWhen {
    let Some(fields) = fields.child("halt") else {
        return HaltWhen::default();
    };
    let mut of = |key: &str| within(&fields, key, (0, 1_000_000), problems, 0_usize);
    HaltWhen {
        conflicts: of("conflicts"),
        failed: of("failed"),
        rejected: of("rejected"),
    }
}

/// The wire form of what a set remembers.
pub(crate) fn write_status(status: &RolloutStatus) -> Value {
    let mut out = Map::new();
    put(&mut out, "id", &status.id);
    put(&mut out, "state", status.state.word());
    put(&mut out, "progress", &status.progress());
    put(&mut out, "step", status.step.as_deref().unwrap_or_default());
    put(&mut out, "message", &status.message);
    put(&mut out, "wants", &status.wants);
    put(&mut out, "asked", &status.asked);
    put(&mut out, "places", &status.places);
    if status.moves {
        out.insert("moves".to_owned(), true.into());
    }
    out.insert("targets".to_owned(), status.total.into());
    out.insert("began".to_owned(), status.began.into());
    if status.complete {
        out.insert("complete".to_owned(), true.into());
    }
    put(
        &mut out,
        "halted",
        status.halted.as_deref().unwrap_or_default(),
    );
    put(
        &mut out,
        "retried",
        status.retried.as_deref().unwrap_or_default(),
    );
    put_list(
        &mut out,
        "steps",
        status.steps.iter().map(write_step).collect(),
    );
    let mut marks = String::with_capacity(status.awaited.len() * UidMark::TEXT);
    for mark in &status.awaited {
        // Writing to a String cannot fail.
        _ = write!(marks, "{mark}");
    }
    put(&mut out, "awaited", &marks);
    for (key, names) in [
        ("created", &status.created),
        ("diverged", &status.diverged),
        ("suspended", &status.suspended),
        ("taken", &status.taken),
    ] {
        let names = names.iter().map(|name| name.as_str().into());
        put_list(&mut out, key, names.collect());
    }
    put_list(&mut out, "unmade", write_unmade(&status.unmade));
    let upstreams = status.upstreams.iter().map(write_upstream);
    put_list(&mut out, "upstreams", upstreams.collect());
    put_list(&mut out, "members", write_remembered(&status.members));
    Value::Object(out)
}

fn write_upstream(of: &RolledUpstream) -> Value {
    let mut out = Map::new();
    put(&mut out, "repo", of.repo.as_str());
    put(&mut out, "package", of.package.as_str());
    put(&mut out, "revision", &of.revision);
    put(&mut out, "commit", &of.commit.to_string());
    Value::Object(out)
}

fn read_upstream(fields: &FieldReader<'_>) -> Option<RolledUpstream> {
    Some(RolledUpstream {
        repo: RepositoryName::parse(fields.text("repo")?).ok()?,
        package: PackageName::parse(fields.text("package")?).ok()?,
        revision: fields.owned("revision").unwrap_or_default(),
        commit: CommitId::parse(fields.text("commit")?)?,
    })
}

const COUNTS: [&str; 9] = [
    "members",
    "published",
    "deleted",
    "unreachable",
    "diverged",
    "suspended",
    "conflicts",
    "failed",
    "rejected",
];

fn write_step(step: &StepStatus) -> Value {
    let mut out = Map::new();
    put(&mut out, "name", &step.name);
    put(&mut out, "takes", &step.takes);
    for (key, time) in [("opened", step.opened), ("filled", step.filled)] {
        if let Some(time) = time {
            out.insert(key.to_owned(), time.into());
        }
    }
    if step.frozen {
        out.insert("frozen".to_owned(), true.into());
    }
    let counts = [
        step.members,
        step.published,
        step.deleted,
        step.unreachable,
        step.diverged,
        step.suspended,
        step.conflicts,
        step.failed,
        step.rejected,
    ];
    for (at, (key, count)) in COUNTS.iter().zip(counts).enumerate() {
        if at < 2 || count > 0 {
            out.insert((*key).to_owned(), count.into());
        }
    }
    Value::Object(out)
}

/// Reads it leniently.
pub(crate) fn read_status(fields: &FieldReader<'_>) -> RolloutStatus {
    let marks = fields.text("awaited").unwrap_or_default().as_bytes();
    let marks = marks.chunks(UidMark::TEXT);
    RolloutStatus {
        id: fields.owned("id").unwrap_or_default(),
        wants: fields.owned("wants").unwrap_or_default(),
        asked: fields.owned("asked").unwrap_or_default(),
        places: fields.owned("places").unwrap_or_default(),
        moves: fields.flag("moves"),
        total: fields.count("targets"),
        began: fields.int("began").unwrap_or_default(),
        state: fields
            .text("state")
            .and_then(RolloutState::parse)
            .unwrap_or_default(),
        message: fields.owned("message").unwrap_or_default(),
        complete: fields.flag("complete"),
        halted: fields.owned("halted"),
        retried: fields.owned("retried"),
        steps: fields.list("steps").iter().map(read_step).collect(),
        step: fields.owned("step"),
        awaited: marks
            .filter_map(|text| UidMark::parse(std::str::from_utf8(text).ok()?))
            .collect(),
        created: fields.texts("created"),
        diverged: fields.texts("diverged"),
        suspended: fields.texts("suspended"),
        taken: fields.texts("taken"),
        unmade: read_unmade(&fields.list("unmade")),
        upstreams: fields
            .list("upstreams")
            .iter()
            .filter_map(read_upstream)
            .collect(),
        members: read_remembered(&fields.list("members")),
    }
}

fn read_step(fields: &FieldReader<'_>) -> StepStatus {
    StepStatus {
        name: fields.owned("name").unwrap_or_default(),
        takes: fields.owned("takes").unwrap_or_default(),
        opened: fields.int("opened"),
        frozen: fields.flag("frozen"),
        filled: fields.int("filled"),
        members: fields.count("members"),
        published: fields.count("published"),
        deleted: fields.count("deleted"),
        unreachable: fields.count("unreachable"),
        diverged: fields.count("diverged"),
        suspended: fields.count("suspended"),
        conflicts: fields.count("conflicts"),
        failed: fields.count("failed"),
        rejected: fields.count("rejected"),
    }
}

/// What a variant's status says of the rollout that reached it.
pub(crate) fn write_member(mark: &MemberMark) -> Value {
    let mut out = Map::new();
    put(&mut out, "rollout", &mark.rollout);
    put(&mut out, "step", &mark.step);
    put(&mut out, "spec", &mark.spec);
    if let Some(before) = &mark.before {
        out.insert("before".to_owned(), write_before(before));
    }
    Value::Object(out)
}

/// Reads it leniently.
pub(crate) fn read_member(fields: &FieldReader<'_>) -> Option<MemberMark> {
    let mut words = Vec::from(["rollout", "step", "spec"].map(|key| fields.text(key)));
    if let Some(before) = fields.child("before") {
        words.extend(["repo", "package", "commit"].map(|key| before.text(key)));
    }
    let words: Option<Vec<&str>> = words.into_iter().collect();
    MemberMark::parse(&words?.join(" "))
}

#[cfg(test)]
mod tests;
