//! What people and upstream authors do to a package, decided by a seed.
//!
//! Every value and comment that comes in is written nowhere else, so that a reader can count it.

use super::model::{Block, Content, Entry, Line, Package, Value, Yaml};

/// One generator for everything that a seed decides (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    /// A number below `sides`.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let z = usize::try_from((z ^ (z >> 31)) >> 16).unwrap_or(0);
        z % sides.max(1)
    }

    /// Whether one in `sides` comes up.
    pub(super) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

/// Who edits: gives each value and comment a text of its own.
#[derive(Debug)]
pub(super) struct Author {
    pub(super) dice: Dice,
    name: char,
    number: usize,
    first: usize,
    /// Whether files are renamed, and resources move between them.
    moves: bool,
    /// The file that most edits are made in.
    pub(super) focus: Option<usize>,
    /// What was done, for people.
    pub(super) story: Vec<String>,
}

impl Author {
    /// An author whose numbers begin at `first`.
    pub(super) fn new(seed: u64, name: char, first: usize, moves: bool) -> Self {
        Self {
            dice: Dice::new(seed),
            name,
            number: 0,
            first,
            moves,
            focus: None,
            story: Vec::new(),
        }
    }

    fn word(&mut self) -> String {
        self.number += 1;
        format!("{}{}", self.name, self.number)
    }

    fn comment(&mut self) -> String {
        format!("# {}: a note", self.word())
    }

    /// Another value of the same look.
    fn other(&mut self, old: &str) -> String {
        self.number += 1;
        let number = self.first + self.number;
        if old.parse::<u64>().is_ok() {
            return number.to_string();
        }
        if old.starts_with('"') {
            return format!("\"{number}\"");
        }
        if old.starts_with('[') {
            return format!("[{}{}, end]", self.name, self.number);
        }
        let stem = old.split(['=', ':']).next().unwrap_or_default();
        let mark = old.chars().find(|c| matches!(c, '=' | ':'));
        match mark {
            Some(mark) => format!("{stem}{mark}{}{}", self.name, self.number),
            None => format!("{}{}", self.name, self.number),
        }
    }

    /// Edits a package so many times.
    pub(super) fn edit(&mut self, package: &mut Package, times: usize) {
        for _ in 0..times {
            let done = self.once(package);
            self.story.push(done);
        }
    }

    fn once(&mut self, package: &mut Package) -> String {
        match self.dice.roll(40) {
            0 => return self.file(package),
            1 if self.moves => return self.moved(package),
            _ => {}
        }
        let at = match self.focus {
            Some(focus) if !self.dice.one_in(4) => focus % package.len().max(1),
            _ => self.dice.roll(package.len()),
        };
        let Some((path, content)) = package.iter_mut().nth(at) else {
            return "nothing".to_owned();
        };
        let path = path.clone();
        let done = match content {
            Content::Lines(lines) => self.lines(lines),
            Content::Yaml(yaml) => self.yaml(yaml, path == "Kptfile"),
        };
        format!("{path}: {done}")
    }

    /// A file comes, goes or is renamed.
    fn file(&mut self, package: &mut Package) -> String {
        let word = self.word();
        let paths: Vec<String> = package
            .keys()
            .filter(|path| *path != "Kptfile")
            .cloned()
            .collect();
        let path = paths
            .get(self.dice.roll(paths.len()))
            .cloned()
            .unwrap_or_default();
        match self.dice.roll(3) {
            0 => {
                let text = format!(
                    "# {word}: new\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {word}\ndata:\n  k: {word}\n"
                );
                package.insert(format!("{word}.yaml"), Content::Yaml(Yaml::read(&text)));
                format!("new file {word}.yaml")
            }
            1 => {
                package.remove(&path);
                format!("removed {path}")
            }
            _ if !self.moves => "nothing".to_owned(),
            _ => {
                let to = format!("moved-{word}-{path}");
                if let Some(content) = package.remove(&path) {
                    package.insert(to.clone(), content);
                }
                format!("renamed {path} to {to}")
            }
        }
    }

    /// A document moves to another file.
    fn moved(&mut self, package: &mut Package) -> String {
        let Some(Content::Yaml(from)) = package.get_mut("service.yaml") else {
            return "nothing".to_owned();
        };
        if from.documents.len() < 2 {
            return "nothing".to_owned();
        }
        let document = from.documents.pop();
        if let Some(Content::Yaml(to)) = package.get_mut("pool.yaml") {
            to.documents.extend(document);
        }
        "moved the second document of service.yaml to pool.yaml".to_owned()
    }

    fn lines(&mut self, lines: &mut Vec<String>) -> String {
        let at = self.dice.roll(lines.len());
        let text = format!("Words of {}.", self.word());
        match self.dice.roll(3) {
            0 => lines.insert(at, text),
            1 if lines.len() > 2 => drop(lines.remove(at)),
            _ => {
                if let Some(line) = lines.get_mut(at) {
                    *line = text;
                }
            }
        }
        format!("line {at}")
    }

    fn yaml(&mut self, yaml: &mut Yaml, kptfile: bool) -> String {
        match self.dice.roll(60) {
            0 if !kptfile => {
                yaml.deep = !yaml.deep;
                return "indented anew".to_owned();
            }
            1 if !kptfile => {
                yaml.wide = !yaml.wide;
                return "other line breaks".to_owned();
            }
            2 => {
                for document in &mut yaml.documents {
                    squeeze(document);
                }
                return "blank lines taken out".to_owned();
            }
            3 | 4 => {
                let blank = |document: &mut Block| {
                    let above = document.entries.first_mut().map(|entry| &mut entry.above);
                    if let Some(above) = above.filter(|above| above.last() != Some(&Line::Blank)) {
                        above.push(Line::Blank);
                    }
                };
                yaml.documents.iter_mut().take(1).for_each(blank);
                return "a blank line after the header".to_owned();
            }
            _ => {}
        }
        let at = self.dice.roll(yaml.documents.len());
        let Some(document) = yaml.documents.get_mut(at) else {
            return "nothing".to_owned();
        };
        let mut blocks = Vec::new();
        paths(document, &mut Vec::new(), &mut blocks);
        let way = blocks
            .get(self.dice.roll(blocks.len()))
            .cloned()
            .unwrap_or_default();
        let parent = way
            .split_last()
            .and_then(|(last, way)| find(document, way)?.entries.get(*last));
        let metadata = parent.is_some_and(|parent| parent.key.as_deref() == Some("metadata"));
        let careful = way.is_empty() || kptfile || metadata && !self.moves;
        let Some(block) = find(document, &way) else {
            return "nothing".to_owned();
        };
        self.block(block, careful)
    }

    /// Edits one map or list.
    fn block(&mut self, block: &mut Block, careful: bool) -> String {
        let at = self.dice.roll(block.entries.len());
        let Some(entry) = block.entries.get(at) else {
            return "nothing".to_owned();
        };
        let name = shown(entry);
        let identity = matches!(
            entry.key.as_deref(),
            Some("apiVersion" | "kind" | "metadata" | "name" | "image" | "key")
        );
        let is_key = identity && (careful || !self.dice.one_in(12));
        match self.dice.roll(24) {
            0..=5 if !is_key => format!("{name}: {}", self.value(block, at)),
            6 if !is_key && block.entries.len() > 1 && !inline(block, at) => {
                self.removed(block, at)
            }
            7 | 8 => self.added(block, at),
            9 if !careful && block.entries.len() > 1 => self.swapped(block, at),
            _ => format!("{name}: {}", self.remark(block, at)),
        }
    }

    fn value(&mut self, block: &mut Block, at: usize) -> String {
        let Some(entry) = block.entries.get_mut(at) else {
            return "nothing".to_owned();
        };
        match &mut entry.value {
            Value::Text(text) => {
                let new = self.other(text);
                let done = format!("{text} becomes {new}");
                *text = new;
                done
            }
            Value::Lines(_, lines) => {
                let line = format!("line of {}", self.word());
                let at = self.dice.roll(lines.len());
                if self.dice.one_in(2) {
                    lines.insert(at, line);
                } else if let Some(old) = lines.get_mut(at) {
                    *old = line;
                }
                format!("line {at}")
            }
            Value::Map(_) | Value::List(_) => "no value".to_owned(),
        }
    }

    /// An entry goes, with the comments that touch it; those set apart stay half of the time.
    fn removed(&mut self, block: &mut Block, at: usize) -> String {
        let entry = block.entries.remove(at);
        let name = shown(&entry);
        let apart = entry.above.iter().rposition(|line| *line == Line::Blank);
        let stay = match apart {
            Some(apart) if self.dice.one_in(2) => {
                entry.above.get(..=apart).unwrap_or_default().to_vec()
            }
            _ => Vec::new(),
        };
        let kept = !stay.is_empty();
        let behind = match block.entries.get_mut(at) {
            Some(next) => &mut next.above,
            None => &mut block.foot,
        };
        behind.splice(0..0, stay);
        format!(
            "{name} removed{}",
            if kept {
                ", what was set apart above it stays"
            } else {
                ""
            }
        )
    }

    fn added(&mut self, block: &mut Block, at: usize) -> String {
        let Some(like) = block.entries.get(at).cloned() else {
            return "nothing".to_owned();
        };
        let place = at + self.dice.roll(2);
        let place = if inline(block, 0) {
            place.max(1)
        } else {
            place
        };
        let mut above = Vec::new();
        if self.dice.one_in(3) {
            if self.dice.one_in(3) {
                above.push(Line::Blank);
            }
            above.push(Line::Comment(self.comment()));
            if self.dice.one_in(3) {
                above.push(Line::Blank);
            }
        }
        let beside = self.dice.one_in(4).then(|| self.comment());
        let new = match &like.key {
            Some(_) => {
                let key = self.word();
                let value = Value::Text(self.other("x"));
                Entry {
                    above,
                    key: Some(key),
                    value,
                    beside,
                }
            }
            None => {
                let mut item = Entry {
                    above,
                    beside: None,
                    ..like
                };
                self.renew(&mut item);
                item
            }
        };
        let name = shown(&new);
        block.entries.insert(place.min(block.entries.len()), new);
        format!("{name} added at {place}")
    }

    /// A copy of an item becomes one of its own: other values, no comments.
    fn renew(&mut self, item: &mut Entry) {
        item.beside = None;
        match &mut item.value {
            Value::Text(text) => *text = self.other(&text.clone()),
            Value::Lines(..) => {}
            Value::Map(block) | Value::List(block) => {
                block.foot.clear();
                for entry in &mut block.entries {
                    entry.above.clear();
                    self.renew(entry);
                }
            }
        }
    }

    fn swapped(&mut self, block: &mut Block, at: usize) -> String {
        let other = self.dice.roll(block.entries.len());
        if inline(block, at) || inline(block, other) || at == other {
            return "nothing".to_owned();
        }
        block.entries.swap(at, other);
        format!("{at} and {other} change places")
    }

    /// A comment or a blank line comes, goes or changes: beside an entry, above it, or behind the last one.
    fn remark(&mut self, block: &mut Block, at: usize) -> String {
        let comment = self.comment();
        let kind = self.dice.roll(9);
        let which = self.dice.roll(4);
        let fixed = inline(block, at);
        let last = at + 1 == block.entries.len() && self.dice.one_in(3);
        let Block { entries, foot, .. } = block;
        let Some(entry) = entries.get_mut(at) else {
            return "nothing".to_owned();
        };
        let item = entry.key.is_none();
        if kind < 3 {
            let dashed = item && matches!(entry.value, Value::Map(_));
            if dashed {
                return "nothing".to_owned();
            }
            entry.beside = if entry.beside.is_some() && kind == 0 {
                None
            } else {
                Some(comment)
            };
            return format!("beside it {:?}", entry.beside);
        }
        let lines = if last && !item {
            foot
        } else if fixed {
            return "nothing".to_owned();
        } else {
            &mut entry.above
        };
        let comments: Vec<usize> = (0..lines.len())
            .filter(|at| lines.get(*at) != Some(&Line::Blank))
            .collect();
        let some = comments.get(which % comments.len().max(1)).copied();
        let blank = lines.iter().position(|line| *line == Line::Blank);
        match (kind, some, blank) {
            (4, Some(at), _) => drop(lines.remove(at)),
            (5, Some(at), _) => {
                if let Some(line) = lines.get_mut(at) {
                    *line = Line::Comment(comment);
                }
            }
            (6, ..) => lines.extend([Line::Comment(comment), Line::Blank]),
            (7, _, Some(at)) => drop(lines.remove(at)),
            (7 | 8, Some(at), _) => lines.insert(at + 1, Line::Blank),
            _ => lines.push(Line::Comment(comment)),
        }
        let place = if last && !item { "behind" } else { "above" };
        format!("{place} it now {lines:?}")
    }
}

/// Whether an entry begins behind a dash, where nothing can stand above it.
fn inline(block: &Block, at: usize) -> bool {
    at == 0 && block.inline
}

fn shown(entry: &Entry) -> String {
    match (&entry.key, &entry.value) {
        (Some(key), _) => key.clone(),
        (None, Value::Text(text)) => format!("- {text}"),
        (None, value) => {
            let first = value.block().and_then(|block| block.entries.first());
            format!("- {}", first.map(shown).unwrap_or_default())
        }
    }
}

/// Takes blank lines out, as a formatter does.
fn squeeze(block: &mut Block) {
    let bare = |lines: &mut Vec<Line>| lines.retain(|line| *line != Line::Blank);
    bare(&mut block.foot);
    for entry in &mut block.entries {
        bare(&mut entry.above);
        if let Some(inside) = entry.value.block_mut() {
            squeeze(inside);
        }
    }
}

/// The ways to every map and list.
fn paths(block: &Block, way: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
    out.push(way.clone());
    for (at, entry) in block.entries.iter().enumerate() {
        if let Some(inside) = entry.value.block() {
            way.push(at);
            paths(inside, way, out);
            way.pop();
        }
    }
}

fn find<'b>(block: &'b mut Block, way: &[usize]) -> Option<&'b mut Block> {
    way.iter().try_fold(block, |block, at| {
        block.entries.get_mut(*at)?.value.block_mut()
    })
}
