//! A row of the fleet as a bar on a terminal: as long as there is room for, a cell or more for each state that occurs.
//! Nothing is asked here but how wide the terminal is.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;

use model::Standing;

/// The longest bar: a longer one tells nothing more.
const LONGEST: usize = 40;
/// The shortest: each state that occurs has a cell.
const SHORTEST: usize = Standing::ALL.len();
/// How wide a terminal is that does not say.
const USUAL: usize = 80;
/// What stands between a bar and the counts.
const GAP: &str = "   ";

/// How a terminal shows bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// How many characters a line takes.
    pub(super) width: usize,
    /// Whether cells are coloured; otherwise they are marks.
    pub(super) coloured: bool,
}

impl Look {
    /// The terminal that is written to; nothing where it is none.
    pub(super) fn of_terminal() -> Option<Self> {
        let out = std::io::stdout();
        if !out.is_terminal() {
            return None;
        }
        let told = rustix::termios::tcgetwinsize(&out).map(|size| usize::from(size.ws_col));
        // A terminal on a serial line tells zero.
        let width = told.ok().filter(|width| *width > 0).unwrap_or(USUAL);
        let plain = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Some(Self {
            width,
            coloured: !plain,
        })
    }

    /// The first of some tables that leaves room for bars, with a bar in each row and a line that tells what the cells mean;
    /// the first as it is where there is no room in any. Its first line is the heading; `rows` are the counts of the others.
    pub(super) fn table(self, tables: &[&str], rows: &[&BTreeMap<Standing, usize>]) -> String {
        let width = |line: &str| line.chars().count();
        let wide = |text: &str| text.lines().map(width).max().unwrap_or_default();
        let room = |text: &str| self.width.saturating_sub(wide(text) + GAP.len());
        let occurs = |s: &Standing| rows.iter().any(|counts| counts.get(s) > Some(&0));
        let occurring: Vec<Standing> = Standing::ALL.into_iter().filter(occurs).collect();
        let mut fits = tables.iter().filter(|text| room(text) >= SHORTEST);
        let Some(text) = fits.next().filter(|_| !occurring.is_empty()) else {
            return tables.first().copied().unwrap_or_default().to_owned();
        };
        let (table, room) = (wide(text), room(text).min(LONGEST));
        let mut out = String::new();
        let bars = std::iter::once(None).chain(rows.iter().map(Some));
        for (line, counts) in text.lines().zip(bars) {
            out.push_str(line);
            let drawn = counts.map(|counts| self.bar(counts, room));
            if let Some(bar) = drawn.filter(|bar| !bar.is_empty()) {
                out.extend(std::iter::repeat_n(' ', table - width(line)));
                out.push_str(GAP);
                out.push_str(&bar);
            }
            out.push('\n');
        }
        out.push('\n');
        out.push_str(&self.legend(&occurring));
        out
    }

    /// One bar.
    fn bar(self, counts: &BTreeMap<Standing, usize>, width: usize) -> String {
        let parts = cells(counts, width).into_iter();
        parts.map(|(standing, n)| self.drawn(standing, n)).collect()
    }

    fn drawn(self, standing: Standing, cells: usize) -> String {
        match self.coloured {
            true => format!("\x1b[{}m{}\x1b[0m", colour(standing), "█".repeat(cells)),
            false => standing.mark().repeat(cells),
        }
    }

    /// What the cells mean, in as many lines as it takes.
    fn legend(self, occurring: &[Standing]) -> String {
        let mut out = String::new();
        let mut at = 0;
        for standing in occurring {
            let words = standing.words();
            // The cell, a blank and the words; and two blanks from the one before.
            let long = words.chars().count() + 2;
            if at > 0 && at + 2 + long > self.width {
                out.push('\n');
                at = 0;
            }
            if at > 0 {
                out.push_str("  ");
                at += 2;
            }
            out.push_str(&self.drawn(*standing, 1));
            out.push(' ');
            out.push_str(words);
            at += long;
        }
        out.push('\n');
        out
    }
}

/// How many cells of a bar each state that occurs takes: as many as its share, and one at least, all of them together the
/// whole bar.
fn cells(counts: &BTreeMap<Standing, usize>, width: usize) -> Vec<(Standing, usize)> {
    let occurs = |s: Standing| counts.get(&s).filter(|n| **n > 0).map(|n| (s, *n));
    let shares: Vec<(Standing, usize)> = Standing::ALL.into_iter().filter_map(occurs).collect();
    let total: usize = shares.iter().map(|(_, n)| n).sum();
    if total == 0 || width < shares.len() {
        return Vec::new();
    }
    let mut cells: Vec<usize> = shares
        .iter()
        .map(|(_, n)| (n * width / total).max(1))
        .collect();
    // How much more than its share each has, in parts of a cell; negative where it has less.
    let beyond = |cells: &[usize], i: usize| -> i128 {
        let of = |n: Option<usize>, by: usize| n.unwrap_or_default() as i128 * by as i128;
        of(cells.get(i).copied(), total) - of(shares.get(i).map(|(_, n)| *n), width)
    };
    loop {
        let sum: usize = cells.iter().sum();
        let all = 0..cells.len();
        // Those of one cell keep it; whoever has most beyond its share gives one, or whoever lacks most gets one.
        let next = match sum.cmp(&width) {
            std::cmp::Ordering::Equal => break,
            std::cmp::Ordering::Greater => all
                .filter(|i| cells.get(*i) > Some(&1))
                .max_by_key(|i| beyond(&cells, *i)),
            std::cmp::Ordering::Less => all.min_by_key(|i| beyond(&cells, *i)),
        };
        let Some(cell) = next.and_then(|i| cells.get_mut(i)) else {
            break;
        };
        *cell = if sum > width { *cell - 1 } else { *cell + 1 };
    }
    let states = shares.into_iter().map(|(standing, _)| standing);
    states.zip(cells).collect()
}

/// The colour of a state, near that of the board, among those that terminals let people choose.
fn colour(standing: Standing) -> &'static str {
    match standing {
        Standing::UpToDate => "32",
        Standing::Draft => "94",
        Standing::Proposed => "33",
        Standing::DeletionProposed => "35",
        // Of the colours that can be chosen none lies between that of proposals and that of failures.
        Standing::Conflicts => "38;5;208",
        Standing::Gates | Standing::Untagged => "36",
        Standing::Failed => "31",
        Standing::Step => "34",
        Standing::Waiting | Standing::Suspended | Standing::Unknown => "90",
    }
}

#[cfg(test)]
mod tests;
