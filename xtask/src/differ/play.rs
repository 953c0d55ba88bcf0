//! Plays a sequence at both servers and says where the answers part.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Result;
use super::bind::Binder;
use super::client::{Answer, Pair};
use super::compare::{Difference, compare};
use super::known::Known;
use super::step::{Memory, Mode, Step};

/// How long the housekeeping of a real server may take: a controller begins with a namespace after five seconds, on a busy machine later.
const PATIENCE: Duration = Duration::from_secs(45);

/// A step whose answers differ.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) differences: Vec<Difference>,
}

impl Found {
    /// What makes two findings the same: the verb, the shape of the path and the places, without names and numbers.
    pub(super) fn signature(&self, steps: &[Step]) -> String {
        let step = &steps[self.at];
        let path = step.path.split('?').next().unwrap_or_default();
        let plain = |text: &str| -> String {
            let kept = text.chars().filter(|c| !c.is_ascii_digit());
            kept.collect()
        };
        let shape: Vec<String> = path.split('/').skip(1).map(plain).collect();
        let kind = shape.iter().filter(|s| s.len() > 3 && !s.contains('$'));
        let kind: Vec<&str> = kind.map(String::as_str).collect();
        let places: Vec<String> = self
            .differences
            .iter()
            .take(2)
            .map(|d| {
                let told = |text: &str| {
                    let text = plain(&Binder::without_uids(text));
                    text.chars().take(70).collect::<String>()
                };
                // What a token looks like follows from what it stands for.
                if d.at.ends_with("/continue") {
                    return d.at.clone();
                }
                format!("{}: {} / {}", plain(&d.at), told(&d.ours), told(&d.peer))
            })
            .collect();
        format!("{} {} {}", step.method, kind.join("/"), places.join("; "))
    }
}

/// What a sequence came to.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) steps: u64,
    /// How often each entry of the list explained a difference.
    pub(super) explained: BTreeMap<String, u64>,
    pub(super) found: Vec<Found>,
}

/// Plays the steps under a name that no sequence had before.
pub(super) async fn play(pair: &Pair, known: &Known, steps: &[Step], name: &str) -> Result<Played> {
    let mut memories = [Memory::default(), Memory::default()];
    for memory in &mut memories {
        name.clone_into(&mut memory.name);
    }
    let mut binder = Binder::default();
    let mut played = Played::default();
    for (at, step) in steps.iter().enumerate() {
        played.steps += 1;
        if step.mode == Mode::Compact {
            pair.compact().await?;
            continue;
        }
        let (answers, differences) = answered(pair, step, &memories, &mut binder).await?;
        let mut differ = Vec::new();
        let mut ends = false;
        for difference in differences {
            match known.explains((step, &steps[..at]), &difference) {
                Some(name) => {
                    *played.explained.entry(name.to_owned()).or_default() += 1;
                    ends |= known.ends(name);
                }
                None => differ.push(difference),
            }
        }
        if !differ.is_empty() {
            // What was waited for in vain would be waited for at each step to come.
            ends |= step.mode == Mode::Eventually;
            played.found.push(Found {
                at,
                differences: differ,
            });
        }
        // Where one did and the other did not, what follows has nothing in common; but a dry run did nothing.
        let parted = (answers[0].status < 300) != (answers[1].status < 300);
        if ends || (parted && !step.path.contains("dryRun=All")) {
            return Ok(played);
        }
        for (memory, answer) in memories.iter_mut().zip(&answers) {
            memory.answers.insert(step.id, value(answer));
        }
    }
    Ok(played)
}

/// What later steps may refer to: the body, and the headers under `headers`.
fn value(answer: &Answer) -> Value {
    let mut value = answer.json().unwrap_or(Value::Null);
    let etag = answer.header("etag");
    if let Some(map) = value.as_object_mut().filter(|_| !etag.is_empty()) {
        map.insert("etag".to_owned(), etag.into());
    }
    value
}

async fn answered(
    pair: &Pair,
    step: &Step,
    memories: &[Memory; 2],
    binder: &mut Binder,
) -> Result<([Answer; 2], Vec<Difference>)> {
    binder.next();
    match step.mode {
        Mode::Watch => {
            let answers = pair.watch(step, memories).await?;
            let differences = compare(step, &answers[0], &answers[1], binder);
            Ok((answers, differences))
        }
        Mode::Eventually => {
            pair.ours.settle().await;
            let started = Instant::now();
            loop {
                let answers = pair.ask(step, memories).await?;
                let mut tried = binder.clone();
                let differences = compare(step, &answers[0], &answers[1], &mut tried);
                if differences.is_empty() || started.elapsed() > PATIENCE {
                    *binder = tried;
                    return Ok((answers, differences));
                }
                tokio::time::sleep(Duration::from_millis(60)).await;
                pair.ours.settle().await;
            }
        }
        _ => {
            let answers = pair.ask(step, memories).await?;
            let differences = compare(step, &answers[0], &answers[1], binder);
            Ok((answers, differences))
        }
    }
}
