//! What a seed and a number make: a sequence of requests. Each theme has a file; what requests are made of is in `things` and `bodies`.
//!
//! A sequence works in the namespace `$N` and under names that begin with it, so that many can run beside each other. What a real
//! server does in its own time (collecting garbage, finishing namespaces, seeing a changed role or definition) is followed by a step
//! that is asked until both answer alike.

mod access;
mod applies;
mod bodies;
mod definitions;
mod discovery;
mod lists;
mod namespaces;
mod objects;
mod requests;
mod scales;
mod things;
mod watches;

use serde_json::{Value, json};

use super::Result;
use super::step::{Mode, Payload, Step};

/// A sequence and what it is about.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) theme: &'static str,
    /// It looks at what all share.
    pub(super) alone: bool,
    pub(super) steps: Vec<Step>,
}

/// A theme: its name, its share, and what makes its sequences.
type Theme = (&'static str, u64, fn(&mut Maker));

const THEMES: &[Theme] = &[
    ("objects", 16, objects::make),
    ("patches", 12, objects::patches),
    ("applies", 14, applies::make),
    ("bodies", 9, bodies::make),
    ("requests", 6, requests::make),
    ("scales", 9, scales::make),
    ("paging", 9, lists::paging),
    ("compaction", 3, lists::compaction),
    ("selectors", 9, lists::selectors),
    ("tables", 4, lists::tables),
    ("watches", 4, watches::make),
    ("definitions", 4, definitions::make),
    ("discovery", 3, discovery::make),
    ("access", 5, access::make),
    ("namespaces", 4, namespaces::make),
    ("owners", 3, namespaces::owners),
];

/// The sequence of a seed and a number.
pub(super) fn sequence(
    seed: u64,
    number: u64,
    theme: Option<&str>,
    compacts: bool,
) -> Result<Sequence> {
    let mut maker = Maker::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
    let fits = |(name, _, _): &&Theme| match theme {
        Some(wanted) => *name == wanted,
        None => compacts || *name != "compaction",
    };
    let themes: Vec<&Theme> = THEMES.iter().filter(fits).collect();
    let mut at = maker.roll(themes.iter().map(|(_, share, _)| share).sum());
    for (name, share, make) in themes {
        if at < *share {
            make(&mut maker);
            return Ok(Sequence {
                theme: name,
                alone: maker.alone,
                steps: maker.steps,
            });
        }
        at -= share;
    }
    let names: Vec<&str> = THEMES.iter().map(|(name, _, _)| *name).collect();
    Err(format!("no such theme; there are {}", names.join(", ")))
}

/// The steps that define the kinds that most sequences use.
pub(super) fn kinds() -> Vec<Step> {
    let mut maker = Maker::new(0);
    let all: Vec<Value> = serde_json::from_str(include_str!("../kinds.json")).unwrap_or_default();
    for kind in all {
        let plural = kind.pointer("/spec/names/plural").and_then(Value::as_str);
        let path = format!("/apis/differ.example.dev/v1/{}", plural.unwrap_or_default());
        maker.post(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            kind,
        );
        maker.step("GET", &path).eventually();
    }
    maker
        .step("GET", "/apis/differ.example.dev/v1beta1/gadgets")
        .eventually();
    maker.steps
}

/// Makes the steps of one sequence.
pub(super) struct Maker {
    state: u64,
    alone: bool,
    steps: Vec<Step>,
}

impl Maker {
    fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d,
            alone: false,
            steps: Vec::new(),
        }
    }

    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides.max(1)
    }

    /// Whether it happens, in so many of a hundred.
    fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    /// One of these.
    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let at = self.roll(of.len() as u64);
        of[usize::try_from(at).unwrap_or(0)].clone()
    }

    /// Adds a request of the administrator; what is returned changes it.
    fn step(&mut self, method: &str, path: &str) -> Draft<'_> {
        let id = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.steps.push(Step {
            id,
            mode: Mode::Once,
            user: "admin".to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Payload::None,
        });
        Draft(&mut self.steps[id as usize])
    }

    /// Adds a POST; its id.
    fn post(&mut self, path: &str, body: Value) -> u32 {
        self.step("POST", path).json(body).id()
    }

    /// The id of the step before the next one.
    fn last(&self) -> u32 {
        u32::try_from(self.steps.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Has the store forget what is older than now.
    fn compact(&mut self) {
        self.step("", "");
        if let Some(step) = self.steps.last_mut() {
            step.mode = Mode::Compact;
        }
    }

    /// Makes the sequence's namespace.
    fn home(&mut self) {
        self.post(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$N"}}),
        );
    }
}

/// A step that is being made.
struct Draft<'a>(&'a mut Step);

impl Draft<'_> {
    fn id(&self) -> u32 {
        self.0.id
    }

    fn json(self, body: Value) -> Self {
        self.0.body = Payload::Json(body);
        self
    }

    fn text(self, body: &str) -> Self {
        self.0.body = Payload::Text(body.to_owned());
        self
    }

    fn header(self, name: &str, value: &str) -> Self {
        self.0.headers.retain(|(known, _)| known != name);
        self.0.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn user(self, user: &str) -> Self {
        user.clone_into(&mut self.0.user);
        self
    }

    fn eventually(self) -> Self {
        self.0.mode = Mode::Eventually;
        self
    }

    fn watch(self) -> Self {
        self.0.mode = Mode::Watch;
        self
    }
}
