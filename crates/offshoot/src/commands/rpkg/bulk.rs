//! One verb for many package revisions: one request, in pieces where there are very many, and one summary (F3).
//!
//! The server decides about each. A server that does not know the request is asked one by one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::{BulkOutcome, BulkResult};
use model::Class;
use plan::revision::{RejectionReason, RevisionVerb};
use serde_json::{Value, json};

use super::entry::Entry;
use super::lifecycle;
use crate::client::{BULK, Client, collection};
use crate::commands::waiting::waited;
use crate::commands::{say, say_plain, write_out};
use crate::exit::ExitFailure;
use crate::visible::counted;

/// The most entries of one request: its answer comes while somebody waits for it.
const PIECE: usize = 2_500;
/// The most bytes of one request, well below what a server takes.
const BYTES: usize = 1 << 20;
/// How many revisions are named for one reason.
const NAMED: usize = 10;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// A verb of the lifecycle.
    Verb(RevisionVerb),
    /// Decisions about conflicts, as requests have them.
    Resolve(&'a [Value]),
}

impl Asked<'_> {
    fn word(self) -> &'static str {
        match self {
            Self::Verb(verb) => verb.as_str(),
            Self::Resolve(_) => "resolve",
        }
    }

    fn participle(self) -> &'static str {
        match self {
            Self::Verb(verb) => lifecycle::participle(verb),
            Self::Resolve(_) => "resolved",
        }
    }
}

/// What came of a revision.
pub(crate) type Told = (String, BulkOutcome);

/// Asks for a change of many revisions; says what came of them.
///
/// # Errors
/// Some were refused, or the server was not reached: what was done is said before.
pub(crate) async fn run(
    client: &Client,
    asked: Asked<'_>,
    entries: &[Entry],
    dry_run: bool,
) -> Result<String, ExitFailure> {
    let (all, broken) = ask_all(client, asked, entries, dry_run).await;
    let out = done(asked, &all, dry_run);
    let failed = tell(asked, &all, dry_run);
    let Some(why) = broken else {
        if failed == 0 {
            return Ok(out);
        }
        write_out(&out)?;
        let conflicts = all.iter().filter(|(_, o)| is_in_conflict(o)).count();
        let what = match conflicts {
            0 => "failed",
            n if n == failed => "wait until somebody decides their conflicts",
            _ => "failed, or wait until somebody decides their conflicts",
        };
        let of = counted(entries.len(), "package revision", "package revisions");
        return Err(ExitFailure::new(format!("{failed} of {of} {what}")));
    };
    write_out(&out)?;
    let rest = entries.len() - all.len();
    let of = counted(entries.len(), "package revision", "package revisions");
    Err(why_broken(why, &format!("{rest} of {of}")))
}

/// What kept the rest from an answer, and the way on: a refusal is an answer, and comes again.
fn why_broken(why: ExitFailure, rest: &str) -> ExitFailure {
    let hint = match why.class() {
        Some(Class::Denied) => format!(
            "nothing was done for {rest}: beside the right to change each of them it takes the right to create bulkchanges in {}, which the role edit has",
            api::FLEET_GROUP
        ),
        Some(_) => format!("nothing was done for {rest}"),
        None => {
            format!("nobody answered for {rest}, some may be done: the same command does the rest")
        }
    };
    why.hint(hint)
}

/// Asks for a change of many revisions; what came of them, and what kept the rest from an answer.
pub(crate) async fn ask_all(
    client: &Client,
    asked: Asked<'_>,
    entries: &[Entry],
    dry_run: bool,
) -> (Vec<Told>, Option<ExitFailure>) {
    let mut all = Vec::with_capacity(entries.len());
    for piece in pieces(entries) {
        let what = format!(
            "{}: {} of {} answered",
            asked.word(),
            all.len(),
            entries.len()
        );
        match waited(&what, ask(client, asked, piece, dry_run)).await {
            Ok(told) => all.extend(told),
            Err(why) => return (all, Some(why)),
        }
    }
    (all, None)
}

/// Entries of one namespace each, as many as one request takes.
fn pieces(entries: &[Entry]) -> Vec<&[Entry]> {
    let mut pieces = Vec::new();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let mut bytes = 0;
        let fits = rest.iter().take(PIECE).take_while(|entry| {
            bytes += body_of(Asked::Verb(RevisionVerb::Approve), entry)
                .to_string()
                .len()
                + 1;
            entry.namespace == first.namespace && bytes <= BYTES
        });
        let (piece, after) = rest.split_at(fits.count().max(1));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn body_of(asked: Asked<'_>, entry: &Entry) -> Value {
    let mut one = json!({ "name": entry.name, "verb": asked.word() });
    if let Some(tree) = &entry.tree {
        one["tree"] = tree.as_str().into();
    }
    if let (Some(class), Asked::Verb(RevisionVerb::Approve)) = (&entry.class, asked) {
        one["class"] = class.clone();
    }
    one
}

async fn ask(
    client: &Client,
    asked: Asked<'_>,
    piece: &[Entry],
    dry_run: bool,
) -> Result<Vec<Told>, ExitFailure> {
    let namespace = piece.first().map_or("", |entry| entry.namespace.as_str());
    let changes: Vec<Value> = piece.iter().map(|entry| body_of(asked, entry)).collect();
    let mut body = json!({
        "apiVersion": "fleet.offshoot.dev/v1alpha1", "kind": "BulkChange",
        "spec": { "changes": changes },
    });
    if let Asked::Resolve(decisions) = asked {
        body["spec"]["resolutions"] = decisions.into();
    }
    let dry = if dry_run { "All" } else { "" };
    let path = collection(BULK, namespace, &[("dryRun", dry)]);
    let (code, answer) = client.ask(http::Method::POST, &path, Some(&body)).await?;
    match (code, asked) {
        (200..300, _) => Ok(results(&answer)),
        // Another server, or whoever may change revisions but was not given this: as before.
        (403 | 404, Asked::Verb(verb)) => Ok(one_by_one(client, verb, piece, dry_run).await),
        _ => Err(crate::client::refused(code, &answer)),
    }
}

fn results(answer: &Value) -> Vec<Told> {
    let results = answer.pointer("/status/results").and_then(Value::as_array);
    let results = results.into_iter().flatten();
    results.filter_map(BulkOutcome::read).collect()
}

async fn one_by_one(
    client: &Client,
    verb: RevisionVerb,
    piece: &[Entry],
    dry_run: bool,
) -> Vec<Told> {
    let mut told = Vec::with_capacity(piece.len());
    for entry in piece {
        let outcome = lifecycle::one(client, entry, verb, dry_run).await;
        let outcome = outcome.unwrap_or_else(|why| BulkOutcome {
            cause: why.reason().map_or("", RejectionReason::as_str).to_owned(),
            message: why.message().to_owned(),
            ..BulkOutcome::of(BulkResult::Refused)
        });
        told.push((entry.name.clone(), outcome));
    }
    told
}

/// A line for each that was changed.
fn done(asked: Asked<'_>, all: &[Told], dry_run: bool) -> String {
    let mut out = String::new();
    for (name, outcome) in all.iter().filter(|(_, o)| o.result == BulkResult::Done) {
        let dry = if dry_run { " (dry run)" } else { "" };
        let said = match asked {
            Asked::Verb(verb) => lifecycle::said(verb, outcome),
            Asked::Resolve(_) => asked.participle(),
        };
        // Writing to a String cannot fail.
        _ = writeln!(out, "{name} {said}{dry}");
    }
    out
}

/// Says what was not done, why, and how much of each there is; how many of them are failures.
fn tell(asked: Asked<'_>, all: &[Told], dry_run: bool) -> usize {
    let of = |wanted: BulkResult| all.iter().filter(move |(_, o)| o.result == wanted);
    for (name, _) in of(BulkResult::Already) {
        if all.len() <= NAMED {
            say(&match asked {
                Asked::Verb(verb) => lifecycle::already(verb, name),
                Asked::Resolve(_) => format!("{name} is already resolved"),
            });
        }
    }
    for line in grouped(of(BulkResult::Skipped)) {
        say(&format!("skipped: {line}"));
    }
    let conflicts = all.iter().filter(|(_, o)| is_in_conflict(o)).count();
    if let Some((name, _)) = all.iter().find(|(_, o)| is_in_conflict(o)) {
        say(&format!(
            "hint: `offshoot why pkgrev/{name}` names the commands that decide its conflicts, and `offshoot resolve KEY` decides equal ones at once"
        ));
    }
    let failures = [BulkResult::Refused, BulkResult::Pending, BulkResult::Left];
    let failed: Vec<&Told> = failures.into_iter().flat_map(of).collect();
    if failed.len() <= NAMED {
        for (name, outcome) in &failed {
            let why = lifecycle::failure(outcome);
            let why = match asked {
                Asked::Verb(verb) => lifecycle::told(name, verb, why),
                Asked::Resolve(_) => why.of_thing(&format!("{name} failed")),
            };
            say_plain(&why.text());
        }
    } else {
        for line in grouped(failed.iter().copied()) {
            say(&format!("failed: {line}"));
        }
        // The reason of each has its own way out; where they are told as one, so is that.
        if let Some((name, _)) = failed.iter().find(|(_, o)| is_changed(o)) {
            say(&format!(
                "hint: `offshoot rpkg diff {name}` tells what it holds now; plan anew, or ask again for what you then have seen"
            ));
        }
    }
    if all.len() > 1 {
        let dry = if dry_run { " (dry run)" } else { "" };
        say(&format!("{}{dry}", summary(asked, all)));
    }
    failed.len() + conflicts
}

/// How many came to what, in one line.
pub(crate) fn summary(asked: Asked<'_>, all: &[Told]) -> String {
    let mut parts = Vec::new();
    for (result, word) in BulkResult::ALL {
        let count = all.iter().filter(|(_, o)| o.result == result).count();
        let word = match result {
            BulkResult::Done => asked.participle(),
            BulkResult::Already => "already so",
            BulkResult::Left => "not begun",
            _ => word,
        };
        if count > 0 || result == BulkResult::Done {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.join(", ")
}

/// Whether a revision holds another tree than the one that was seen: each has trees of its own, and the reason is one.
fn is_changed(outcome: &BulkOutcome) -> bool {
    RejectionReason::parse(&outcome.cause) == Some(RejectionReason::ChangedSinceSeen)
}

/// Whether a revision waits for somebody to decide its conflicts.
fn is_in_conflict(outcome: &BulkOutcome) -> bool {
    let reason = RejectionReason::parse(&outcome.cause);
    outcome.result == BulkResult::Skipped && reason == Some(RejectionReason::OpenConflicts)
}

/// One line for each reason, with the names of the first.
fn grouped<'a>(told: impl Iterator<Item = &'a Told>) -> Vec<String> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, outcome) in told {
        let message = outcome.message.replace(name.as_str(), "it");
        // What follows names what this revision alone has.
        let reason = match is_changed(outcome) {
            true => "it changed since it was seen".to_owned(),
            false => message.split("; ").next().unwrap_or_default().to_owned(),
        };
        reasons.entry(reason).or_default().push(name);
    }
    let line = |(reason, names): (String, Vec<&str>)| {
        let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>();
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{} ({reason}): {}{more}", names.len(), shown.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(namespace: &str, name: String) -> Entry {
        Entry {
            namespace: namespace.to_owned(),
            name,
            tree: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            ..Entry::default()
        }
    }

    fn told(name: &str, result: BulkResult, cause: &str, message: &str) -> Told {
        let outcome = BulkOutcome {
            cause: cause.to_owned(),
            message: message.to_owned(),
            ..BulkOutcome::of(result)
        };
        (name.to_owned(), outcome)
    }

    /// Who is refused is not sent to ask again, and who was not heard is.
    #[test]
    fn what_broke_off_says_whether_asking_again_helps() {
        let text = |class: Option<Class>| {
            let why = ExitFailure::new("it broke");
            let why = class.into_iter().fold(why, ExitFailure::of_class);
            why_broken(why, "2 of 3 package revisions").text()
        };
        assert!(text(None).contains("the same command does the rest"));
        let refused = text(Some(Class::Denied));
        assert!(
            refused.contains("create bulkchanges in fleet.offshoot.dev"),
            "{refused}"
        );
        for class in [Class::Denied, Class::NotFound] {
            let text = text(Some(class));
            assert!(text.contains("nothing was done for 2 of 3"), "{text}");
            assert!(!text.contains("the same command"), "{text}");
        }
    }

    #[test]
    fn requests_are_split_by_number_bytes_and_namespace() {
        let many: Vec<Entry> = (0..PIECE + 1)
            .map(|n| entry("a", format!("edge.web-{n}.v1")))
            .collect();
        let sizes = |entries: &[Entry]| -> Vec<usize> {
            pieces(entries).iter().map(|piece| piece.len()).collect()
        };
        assert_eq!(sizes(&many), [PIECE, 1]);
        let mut two = many.get(..3).unwrap().to_vec();
        two.push(entry("b", "edge.web.v1".to_owned()));
        assert_eq!(sizes(&two), [3, 1]);
        let long: Vec<Entry> = (0..PIECE)
            .map(|n| entry("a", format!("{n}{}", "x".repeat(1_000))))
            .collect();
        let parts = sizes(&long);
        assert!(parts.len() > 2, "{parts:?}");
        assert_eq!(parts.iter().sum::<usize>(), PIECE);
        assert!(pieces(&[]).is_empty());
    }

    #[test]
    fn one_summary_counts_everything_and_reasons_are_told_once() {
        let mut all = vec![told("a", BulkResult::Done, "", "")];
        for n in 0..12 {
            let name = format!("b{n:02}");
            let why = format!("cannot reject {name} with lifecycle 'Draft'");
            all.push(told(&name, BulkResult::Skipped, "UnfitLifecycle", &why));
        }
        for (name, tree) in [("c", "aa"), ("d", "bb")] {
            let why = format!("'{name}' holds tree {tree}, not cc, which was seen");
            all.push(told(name, BulkResult::Refused, "ChangedSinceSeen", &why));
        }
        assert_eq!(
            summary(Asked::Verb(RevisionVerb::Reject), &all),
            "1 rejected, 12 skipped, 2 refused"
        );
        let refused = all.iter().filter(|(_, o)| o.result == BulkResult::Refused);
        assert_eq!(grouped(refused), ["2 (it changed since it was seen): c, d"]);
        let skipped = all.iter().filter(|(_, o)| o.result == BulkResult::Skipped);
        assert_eq!(
            grouped(skipped),
            [
                "12 (cannot reject it with lifecycle 'Draft'): b00, b01, b02, b03, b04, b05, b06, b07, b08, b09 and 2 more"
            ]
        );
    }

    /// An entry of an older server has no cause, and one of a newer server may have another one: what it says is told.
    #[test]
    fn what_has_no_known_cause_is_told_in_its_words() {
        let said = "it has conflicts to decide; c1, which was seen";
        let answer = |cause: &str| {
            let one = json!({ "name": "edge.web.v1", "result": "Skipped", "cause": cause, "message": said });
            results(&json!({ "status": { "results": [one] } }))
        };
        for (cause, waits) in [("", false), ("OfTomorrow", false), ("OpenConflicts", true)] {
            let all = answer(cause);
            let (name, outcome) = &all[0];
            assert_eq!(
                (name.as_str(), outcome.message.as_str()),
                ("edge.web.v1", said)
            );
            assert_eq!(
                (is_in_conflict(outcome), is_changed(outcome)),
                (waits, false)
            );
            assert_eq!(
                grouped(all.iter()),
                ["1 (it has conflicts to decide): edge.web.v1"]
            );
        }
    }
}
