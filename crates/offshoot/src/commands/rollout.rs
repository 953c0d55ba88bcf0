//! `offshoot rollout`: how a set's rollout stands, and what a person says to it (F7, F8); the board says it by the same code.
//!
//! All that is said is an annotation of the set, never its spec: whoever applies the manifest again changes nothing of it.

mod members;

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use model::{Class, RolledUpstream, RolloutState, RolloutStatus, SetStatus, Status, StepStatus};
use plan::set::{PAUSE, RETRY, UNDO};
use serde_json::{Value, json};

use crate::cli::rollout::{Of, RolloutArgs, RolloutVerb};
use crate::client::{Client, SETS, object};
use crate::exit::ExitFailure;

/// How often a change is tried anew where the set was written meanwhile.
const TRIES: usize = 5;

/// Tells or says it; what is to be printed.
///
/// # Errors
/// There is no such set or rollout, or the verb is not for it as it stands.
pub(super) async fn run(args: &RolloutArgs) -> Result<String, ExitFailure> {
    let client = Client::connect(&args.connect).await?;
    let name = args.verb.name();
    let done = match &args.verb {
        RolloutVerb::Status { output, .. } => {
            let set = read(&client, name).await?;
            match output {
                Some(_) => Ok(format!("{:#}\n", wire(&set))),
                None => told(&client, &set).await,
            }
        }
        verb => {
            let saying = Saying {
                verb,
                seen: None,
                dry_run: false,
            };
            match (act(&client, &saying).await, verb) {
                (Ok(told), RolloutVerb::Undo(_)) => {
                    Ok(told + &members::proposed(&client, &read(&client, name).await?).await?)
                }
                (done, _) => done,
            }
        }
    };
    super::say_warnings(&client);
    done
}

/// The set, if it rolls out.
async fn read(client: &Client, name: &str) -> Result<Value, ExitFailure> {
    let set = client.get(&object(SETS, &client.namespace, name)).await?;
    rolls_out(&set)?;
    Ok(set)
}

fn rolls_out(set: &Value) -> Result<(), ExitFailure> {
    if set.pointer("/spec/rollout").is_some_and(|r| !r.is_null()) {
        return Ok(());
    }
    let name = api::str_at(set, &["metadata", "name"]).unwrap_or_default();
    let failure = ExitFailure::new(format!("packagevariantset '{name}' has no spec.rollout"));
    Err(failure.hint("without it, what it wants reaches all targets at once"))
}

fn status(set: &Value) -> Result<RolloutStatus, ExitFailure> {
    let status = api::read_set_status(set).rollout;
    status.ok_or_else(|| {
        let name = api::str_at(set, &["metadata", "name"]).unwrap_or_default();
        ExitFailure::new(format!(
            "no rollout of packagevariantset '{name}' has begun"
        ))
        .hint(format!("offshoot why pvset/{name} tells what it waits for"))
    })
}

fn annotation<'a>(set: &'a Value, key: &str) -> Option<&'a str> {
    api::str_at(set, &["metadata", "annotations", key])
}

/// What the verb writes into the annotations, and what is said of it.
fn wish(verb: &RolloutVerb, set: &Value) -> Result<(Value, String), ExitFailure> {
    let name = verb.name();
    Ok(match verb {
        RolloutVerb::Pause(_) | RolloutVerb::Status { .. } => (
            json!({ PAUSE: "true" }),
            format!("{name} paused: no further step opens until offshoot rollout resume {name}"),
        ),
        RolloutVerb::Resume(_) => {
            let ended = ended(set);
            if ended.is_empty() {
                let failure = ExitFailure::new(format!("{name} is neither paused nor undone"));
                return Err(failure.hint("after a halt it is offshoot rollout retry"));
            }
            let wish = json!({ PAUSE: null, UNDO: null });
            (wish, format!("{name} resumed: {}", ended.join(", and ")))
        }
        RolloutVerb::Retry(_) => {
            let rollout = status(set)?;
            if rollout.halted.is_none() {
                let state = rollout.state.word();
                return Err(ExitFailure::new(format!(
                    "rollout {} of {name} is {state}: no count halted it",
                    rollout.id
                )));
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |since| since.as_millis());
            let wish = json!({ RETRY: now.to_string() });
            (
                wish,
                format!("{name} goes on, unless what halted it is still so"),
            )
        }
        RolloutVerb::Undo(_) => {
            let rollout = status(set)?;
            let said = format!(
                "rollout {} of {name} is taken back: each member returns to what it had published before; offshoot rollout resume {name} ends that",
                rollout.id
            );
            (json!({ UNDO: rollout.id }), said)
        }
    })
}

/// Reasons of a set that is not `Ready` of which its rollout tells itself, or that end by themselves.
const TOLD: [&str; 6] = [
    "RollingOut",
    "Suspended",
    "InFlight",
    "Deleting",
    "DeletionGuarded",
    "VariantDeleting",
];

/// What keeps a set from being decided, or some of its targets from being made: what is told of its rollout is of before then.
/// Nothing where there is nothing.
pub(super) fn trouble(status: &SetStatus) -> Option<String> {
    let stalled = status.condition("Stalled");
    let stalled = stalled.filter(|c| c.status == Status::True);
    let ready = status.condition("Ready");
    let ready = ready.filter(|c| c.status == Status::False && !TOLD.contains(&c.reason.as_str()));
    let (what, found) = match (stalled, ready) {
        (Some(found), _) => (
            "cannot be decided, and what is told of the rollout is of before",
            found,
        ),
        (None, Some(found)) => ("is not ready", found),
        (None, None) => return None,
    };
    Some(format!(
        "the set {what}: {}: {}",
        found.reason, found.message
    ))
}

/// What a resume ends of a set as it stands.
fn ended(set: &Value) -> Vec<String> {
    let mut ended = Vec::new();
    if annotation(set, PAUSE).is_some() {
        ended.push("the pause has ended".to_owned());
    }
    let id = set.pointer("/status/rollout/id").and_then(Value::as_str);
    match annotation(set, UNDO) {
        None => {}
        Some(of) if Some(of) == id => ended.push(format!(
            "the undo of rollout {of} has ended, and what was taken back is rolled out again"
        )),
        Some(of) => ended.push(format!(
            "the undo of rollout {of}, which is not the present one, asked for nothing and is gone"
        )),
    }
    ended
}

/// The verbs that would change something of a set as it stands; none for a set that does not roll out.
pub(super) fn offered(set: &Value) -> Vec<&'static str> {
    if rolls_out(set).is_err() {
        return Vec::new();
    }
    let name = api::str_at(set, &["metadata", "name"]).unwrap_or_default();
    let id = set.pointer("/status/rollout/id").and_then(Value::as_str);
    let fits = |word: &&str| {
        let is_so = match *word {
            "pause" => annotation(set, PAUSE).is_some(),
            // An undo of an earlier rollout says nothing of this one.
            "undo" => annotation(set, UNDO) == id,
            _ => false,
        };
        let verb = said(word, name);
        !is_so && verb.is_some_and(|verb| wish(&verb, set).is_ok())
    };
    let all = ["pause", "resume", "retry", "undo"];
    all.into_iter().filter(fits).collect()
}

/// The verb of a word, for a set.
pub(super) fn said(word: &str, set: &str) -> Option<RolloutVerb> {
    let of = Of {
        name: set.to_owned(),
        if_version: None,
    };
    Some(match word {
        "pause" => RolloutVerb::Pause(of),
        "resume" => RolloutVerb::Resume(of),
        "retry" => RolloutVerb::Retry(of),
        "undo" => RolloutVerb::Undo(of),
        _ => return None,
    })
}

/// What of a rollout decides on what is said to it: whose it is, which one, its state, its steps and how many are open, why
/// it is halted, what the spec asks of it by now, and what was said already. Counts are no part of it: they change all the
/// time.
pub(super) fn seen(set: &Value) -> String {
    let rollout = api::read_set_status(set).rollout.unwrap_or_default();
    let open = rollout.steps.iter().filter(|s| s.opened.is_some()).count();
    let asked = [PAUSE, RETRY, UNDO].map(|key| annotation(set, key).unwrap_or("-"));
    let halted = rollout.halted.as_deref().unwrap_or("-");
    let name = api::str_at(set, &["metadata", "name"]).unwrap_or_default();
    let of = |step: &StepStatus| format!("{}={}", step.name, step.takes);
    let mut steps: Vec<String> = rollout.steps.iter().map(of).collect();
    steps.extend(set.pointer("/spec/rollout").map(Value::to_string));
    format!(
        "{name} {} {} {open} {} {halted} {}",
        rollout.id,
        rollout.state.word(),
        asked.join(" "),
        plan::set::uid_mark(&steps.join(" "))
    )
}

/// Stands for what was [`seen`]: which rollout, its state, how many steps are open, and a mark for the rest.
pub(super) fn version(set: &Value) -> String {
    let rollout = api::read_set_status(set).rollout.unwrap_or_default();
    let open = rollout.steps.iter().filter(|s| s.opened.is_some()).count();
    let state = rollout.state.word().to_lowercase();
    let rest = plan::set::uid_mark(&seen(set));
    let id = match rollout.id.as_str() {
        "" => "none",
        id => id,
    };
    format!("{id}:{state}:{open}:{rest}")
}

/// What changed between two versions, in words.
fn changed(then: &str, now: &str) -> String {
    let parts = |text: &str| -> Vec<String> { text.splitn(4, ':').map(str::to_owned).collect() };
    let (was, is) = (parts(then), parts(now));
    let words = [("rollout ", ""), ("", ""), ("at step ", "")];
    if was.len() != is.len() {
        return format!("{then:?} is no version of it; it is {now} now");
    }
    let pairs = words.iter().zip(was.iter().zip(&is));
    let odd = pairs.filter(|(_, (was, is))| was != is);
    let said = odd.map(|((before, behind), (was, is))| {
        format!("{before}{was}{behind}, and is {before}{is}{behind}")
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "its steps, what halted it, or what was said to it is another".to_owned(),
        false => format!("it was {}", said.join("; it was ")),
    }
}

/// A verb, and on what condition it is said.
pub(super) struct Saying<'a> {
    pub(super) verb: &'a RolloutVerb,
    /// What was [`seen`] of the set; what stands otherwise by now is refused.
    pub(super) seen: Option<&'a str>,
    /// Whether the server only says what would come of it.
    pub(super) dry_run: bool,
}

/// Says it of the set as it was read: what was meant for one rollout never meets another. What is to be told.
///
/// # Errors
/// The verb is not for the set as it stands, the set was seen otherwise (a conflict), or the server refuses.
pub(super) async fn act(client: &Client, saying: &Saying<'_>) -> Result<String, ExitFailure> {
    let name = saying.verb.name();
    let path = object(SETS, &client.namespace, name);
    let asked = match saying.dry_run {
        true => format!("{path}?dryRun=All"),
        false => path.clone(),
    };
    let mut tries = 0;
    loop {
        let set = read(client, name).await?;
        let now = version(&set);
        if let Some(then) = saying.verb.if_version().filter(|then| *then != now) {
            let why = format!(
                "the rollout of {name} changed since version {then}: {}",
                changed(then, &now)
            );
            let failure = ExitFailure::new(why).of_class(Class::Conflict);
            return Err(failure.hint(format!(
                "offshoot rollout status {name} shows it as it is now, version {now}"
            )));
        }
        if saying.seen.is_some_and(|then| then != seen(&set)) {
            let progress = api::read_set_status(&set).rollout.unwrap_or_default();
            let why = format!(
                "the rollout of {name} changed since it was shown: it is {} now",
                progress.progress()
            );
            return Err(ExitFailure::new(why).of_class(Class::Conflict));
        }
        let (annotations, told) = wish(saying.verb, &set)?;
        let version = api::str_at(&set, &["metadata", "resourceVersion"]);
        let patch = json!({"metadata": {"annotations": annotations, "resourceVersion": version}});
        tries += 1;
        match client.patch(&asked, &patch).await {
            Ok(_) => return Ok(format!("{told}\n")),
            Err(failure) if failure.is_conflict() && tries < TRIES => {}
            Err(failure) => return Err(failure),
        }
    }
}

/// The rollout for programs: as the set's status has it, with the version that `--if-version` takes, how many members
/// failed, and in `trouble` what keeps the set from being decided.
fn wire(set: &Value) -> Value {
    let mut rollout = set.pointer("/status/rollout").cloned().unwrap_or_default();
    let failed = failed(&api::read_set_status(set).rollout.unwrap_or_default());
    if let Some(fields) = rollout.as_object_mut() {
        fields.insert("version".to_owned(), version(set).into());
        fields.insert("failed".to_owned(), failed.into());
        if let Some(trouble) = trouble(&api::read_set_status(set)) {
            fields.insert("trouble".to_owned(), trouble.into());
        }
    }
    rollout
}

/// How many members failed.
fn failed(rollout: &RolloutStatus) -> usize {
    rollout.steps.iter().map(|step| step.failed).sum()
}

/// The rollout for people.
async fn told(client: &Client, set: &Value) -> Result<String, ExitFailure> {
    let rollout = status(set)?;
    let name = api::str_at(set, &["metadata", "name"]).unwrap_or_default();
    let mut out = format!(
        "rollout {} of {name}: {}",
        rollout.id,
        rollout.state.word().to_lowercase()
    );
    match rollout.message.as_str() {
        "" => out.push('\n'),
        // Writing to a String cannot fail.
        message => _ = writeln!(out, ", {message}"),
    }
    if let Some(trouble) = trouble(&api::read_set_status(set)) {
        _ = writeln!(out, "{trouble}");
    }
    _ = writeln!(out, "version {}", version(set));
    for of in &rollout.upstreams {
        let RolledUpstream {
            repo,
            package,
            revision,
            commit,
        } = of;
        _ = writeln!(out, "wanted {repo}/{package} {revision} {commit}");
    }
    out.push_str(&table(&rollout));
    for told in rollout.told() {
        _ = writeln!(out, "{told}");
    }
    out.push_str(&members::unmade(&rollout));
    out.push_str(&members::open(client, set, &rollout).await?);
    let spec = api::read_set(set).and_then(|(_, _, spec)| spec.ok());
    for warning in spec.map(|spec| spec.rollout_warnings()).unwrap_or_default() {
        _ = writeln!(out, "warning: {warning}");
    }
    if let Some(hint) = hint(&rollout, name) {
        _ = writeln!(out, "hint: {hint}");
    }
    if trouble(&api::read_set_status(set)).is_some() {
        _ = writeln!(out, "hint: offshoot why pvset/{name}");
    }
    Ok(out)
}

/// How one step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepState {
    Closed,
    Open,
    Soaking,
    Done,
    Undone,
}

impl StepState {
    /// How a step of a rollout stands.
    pub(super) fn of(rollout: &RolloutStatus, at: usize, step: &StepStatus) -> Self {
        let current = rollout.current().map(|(current, _)| current);
        match (step.opened, rollout.state) {
            (None, _) => Self::Closed,
            (_, RolloutState::Undone) => Self::Undone,
            (_, RolloutState::Complete) => Self::Done,
            (_, RolloutState::Soaking) if current == Some(at) => Self::Soaking,
            _ if current.is_some_and(|current| at < current) => Self::Done,
            // It was open before what is wanted changed, or was taken back.
            _ if current.is_some_and(|current| at > current) => Self::Closed,
            _ => Self::Open,
        }
    }

    /// In a word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::Soaking => "soaking",
            Self::Done => "done",
            Self::Undone => "undone",
        }
    }
}

fn table(rollout: &RolloutStatus) -> String {
    let mut out = format!(
        "{:<16} {:<8} {:>9} {:>6}  {}\n",
        "STEP", "STATE", "PUBLISHED", "FAILED", "BESIDES"
    );
    for (at, step) in rollout.steps.iter().enumerate() {
        let published = format!("{} of {}", step.published, step.members);
        let line = format!(
            "{:<16} {:<8} {published:>9} {:>6}  {}",
            step.name,
            StepState::of(rollout, at, step).word(),
            step.failed,
            step.besides()
        );
        // Writing to a String cannot fail.
        _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn hint(rollout: &RolloutStatus, name: &str) -> Option<String> {
    match rollout.state {
        RolloutState::Halted if rollout.halted.is_some() => Some(format!(
            "mend what halted it, then offshoot rollout retry {name}; or offshoot rollout undo {name}"
        )),
        RolloutState::Paused | RolloutState::Undone => {
            Some(format!("offshoot rollout resume {name} goes on"))
        }
        RolloutState::Halted => rollout.without_members().map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
