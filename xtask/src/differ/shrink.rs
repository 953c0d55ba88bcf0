//! Makes a sequence that differs as short as it can be while it still differs in the same way.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Result;
use super::client::Pair;
use super::known::Known;
use super::play::{Found, play};
use super::step::{Payload, Step};

/// How long shrinking may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// Tries shorter sequences.
pub(super) struct Shrink<'a> {
    pub(super) pair: &'a Pair,
    pub(super) known: &'a Known,
    /// What each name begins with.
    pub(super) name: String,
    pub(super) tried: u32,
    pub(super) started: Instant,
}

impl Shrink<'_> {
    /// Plays the steps again; what was found, if it is the same difference.
    pub(super) async fn again(&mut self, steps: &[Step], signature: &str) -> Result<Option<Found>> {
        self.tried += 1;
        let name = format!("{}x{}", self.name, self.tried);
        let played = play(self.pair, self.known, steps, &name).await?;
        let mut all = played.found.into_iter();
        Ok(all.find(|found| found.signature(steps) == signature))
    }

    /// The shortest that is found in time, and how it differs.
    pub(super) async fn run(&mut self, steps: &[Step], found: Found) -> Result<(Vec<Step>, Found)> {
        let signature = found.signature(steps);
        let mut best = (steps[..=found.at].to_vec(), found);
        // Mostly it needs little: the namespace, the first object, and what the step refers to.
        let last = best.0.len() - 1;
        let referred = |step: &Step, id: u32| {
            let text = serde_json::to_string(step).unwrap_or_default();
            text.contains(&format!("{{{{{id}:"))
        };
        for most in [1, 2, 3] {
            let wanted = |(at, step): (usize, &Step)| {
                (at < most || at == last || referred(&best.0[last], step.id)).then(|| step.clone())
            };
            let few: Vec<Step> = best.0.iter().enumerate().filter_map(wanted).collect();
            if let Some(found) = self.again(&few, &signature).await? {
                best = (few, found);
                break;
            }
        }
        let mut size = best.0.len() / 2;
        while size > 0 {
            let mut from = 0;
            while from + size < best.0.len() && self.started.elapsed() < PATIENCE {
                let mut fewer = best.0.clone();
                fewer.drain(from..from + size);
                match self.again(&fewer, &signature).await? {
                    Some(found) => best = (fewer, found),
                    None => from += size,
                }
            }
            size /= 2;
        }
        self.parts(&signature, &mut best).await?;
        Ok(best)
    }

    /// Leaves out headers, parameters and fields of bodies, one after the other.
    async fn parts(&mut self, signature: &str, best: &mut (Vec<Step>, Found)) -> Result<()> {
        for at in (0..best.0.len()).rev() {
            let mut which = 0;
            while self.started.elapsed() < PATIENCE {
                let Some(smaller) = without(&best.0[at], which) else {
                    break;
                };
                let mut steps = best.0.clone();
                steps[at] = smaller;
                match self.again(&steps, signature).await? {
                    Some(found) => *best = (steps, found),
                    None => which += 1,
                }
            }
        }
        Ok(())
    }
}

/// The step without its `which`-th part.
fn without(step: &Step, which: usize) -> Option<Step> {
    let mut out = step.clone();
    if which < step.headers.len() {
        out.headers.remove(which);
        return Some(out);
    }
    let which = which - step.headers.len();
    let (path, query) = step.path.split_once('?').unwrap_or((&step.path, ""));
    let mut parameters: Vec<&str> = query.split('&').filter(|p| !p.is_empty()).collect();
    if which < parameters.len() {
        parameters.remove(which);
        let mark = if parameters.is_empty() { "" } else { "?" };
        out.path = format!("{path}{mark}{}", parameters.join("&"));
        return Some(out);
    }
    let which = which - parameters.len();
    let Payload::Json(body) = &mut out.body else {
        return None;
    };
    let mut places = Vec::new();
    fields(body, "", &mut places);
    let (parent, key) = places.get(which)?.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    match body.pointer_mut(parent)? {
        Value::Object(map) => drop(map.shift_remove(&key)),
        Value::Array(items) => drop(items.remove(key.parse().ok()?)),
        _ => return None,
    }
    Some(out)
}

fn fields(value: &Value, at: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let place = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                out.push(place.clone());
                fields(value, &place, out);
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                let place = format!("{at}/{i}");
                out.push(place.clone());
                fields(value, &place, out);
            }
        }
        _ => {}
    }
}
