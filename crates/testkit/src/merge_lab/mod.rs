//! Generated three-way merges over packages as people write them, judged by readers of their own.
//!
//! A seed decides a base, what people and what upstream made of it, and so the merge. What must hold is looked for in the
//! texts: values by another YAML reader, comments line by line. Nothing here asks the merge what it did.

mod edits;
mod excuses;
mod model;
mod oracle;
mod packages;
mod reading;
mod side;
mod spare;

use ::model::{ConflictPolicy, File, Files, PackagePath, Strategy};
use package::merge::{MergeOptions, Merged, merge};

pub use side::Fault;

use edits::Author;
use model::{Content, Package};

/// One generated merge.
#[derive(Debug, Clone)]
pub struct Case {
    /// What decided it.
    pub seed: u64,
    /// Base, local and upstream.
    pub sides: [Files; 3],
    /// What was done to base, by both, by local and by upstream.
    pub story: Vec<String>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Judged {
    /// What does not hold.
    pub faults: Vec<Fault>,
    /// The merge, unless it could not be attempted.
    pub merged: Option<Merged>,
}

impl Case {
    /// The merge of a seed; `moves` says whether files are renamed and resources move between them.
    pub fn of(seed: u64, moves: bool) -> Self {
        let mut author = Author::new(seed, 'b', 10_000, moves);
        let mut base = packages::PACKAGE.clone();
        let times = author.dice.roll(4);
        author.edit(&mut base, times);
        // What both do alike.
        let mut common = Author::new(seed ^ 0xb07, 'c', 20_000, moves);
        let mut shared = base.clone();
        if author.dice.one_in(4) {
            let times = 1 + author.dice.roll(2);
            common.edit(&mut shared, times);
        }
        // Half of the time most of both sides' edits meet in one file.
        let focus = author
            .dice
            .one_in(2)
            .then(|| author.dice.roll(shared.len()));
        let side = |name, first, salt: u64| {
            let mut author = Author::new(seed ^ salt, name, first, moves);
            author.focus = focus;
            let mut side = shared.clone();
            let times = 1 + author.dice.roll(8);
            author.edit(&mut side, times);
            (side, author.story)
        };
        let (local, mine) = side('l', 30_000, 0x10ca1);
        let (upstream, theirs) = side('u', 40_000, 0x0b5);
        let told = [
            ("base", author.story),
            ("both", common.story),
            ("local", mine),
            ("upstream", theirs),
        ];
        let story = told
            .into_iter()
            .flat_map(|(who, story)| story.into_iter().map(move |done| format!("{who}: {done}")));
        Self {
            seed,
            sides: [base, local, upstream].map(|package| files(&package)),
            story: story.collect(),
        }
    }

    /// Merges, and says what does not hold.
    pub fn judge(&self) -> Judged {
        let options = MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block);
        let sides = self.sides.each_ref();
        let [base, local, upstream] = sides;
        // They take four more merges: of some.
        let mut faults = match self.seed.is_multiple_of(8) {
            true => oracle::laws(sides, &options),
            false => Vec::new(),
        };
        let merged = match merge(base, local, upstream, &options) {
            Ok(merged) => {
                faults.extend(oracle::judge(sides, &merged.files, &merged.conflicts));
                Some(merged)
            }
            Err(error) => {
                faults.push(Fault {
                    rule: "merges",
                    what: error.to_string(),
                });
                None
            }
        };
        Judged { faults, merged }
    }
}

/// The comments of a text, each with what it stands at.
pub(crate) fn remarks(text: &str) -> Vec<String> {
    let comments = reading::comments(text).into_iter();
    let told = comments.flat_map(|(comment, places)| {
        let place = |at: reading::Remark| format!("{comment} {} {} {}", at.own, at.node, at.next);
        places.into_iter().map(place).collect::<Vec<_>>()
    });
    told.collect()
}

fn files(package: &Package) -> Files {
    let texts = package.iter().filter_map(|(path, content)| {
        let text = match content {
            Content::Yaml(yaml) => yaml.text(),
            Content::Lines(lines) => lines.iter().map(|line| format!("{line}\n")).collect(),
        };
        Some((PackagePath::parse(path).ok()?, File::text(text)))
    });
    texts.collect()
}
