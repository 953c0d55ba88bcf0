//! How deep a script may nest, told from its tokens before anything parses it.
//!
//! Parser and interpreter recurse where the text nests: brackets, chains of operators, calls and attributes, blocks,
//! `elif` after `elif`. Each is bounded here, so that no script can exhaust the stack.
//!
//! On the way tabs become spaces, since the interpreter refuses them and the catalog's does not (M11): in indentation
//! as many as the catalog's counts, elsewhere one. Places are told by the columns of the script as it was written.

use std::collections::BTreeMap;

use starlark::codemap::ResolvedPos;

/// The longest script.
const SOURCE: usize = 64 << 10;
/// Brackets within brackets.
const BRACKETS: usize = 64;
/// Tokens on the way from a statement's start to its innermost part.
const TOKENS: usize = 1_000;
/// Columns of indentation, and branches of the script's `if`s.
const BLOCKS: usize = 400;
/// Columns from one stop of a tab to the next.
const TAB: usize = 8;

/// A script as the interpreter gets it.
#[derive(Debug)]
pub(super) struct Script {
    /// Its name.
    pub(super) name: String,
    /// Its text, without tabs outside of strings.
    pub(super) text: String,
    indented: Indented,
}

/// By line (from 0), the indentation as it was written and as it is now, where a tab made them differ.
type Indented = BTreeMap<usize, (usize, usize)>;

impl Script {
    /// A place in it as people know it: `name:line:column`, each from 1.
    pub(super) fn place(&self, at: ResolvedPos) -> String {
        let column = match self.indented.get(&at.line) {
            Some((was, is)) if at.column >= *is => at.column - is + was,
            Some((was, _)) => at.column.min(*was),
            None => at.column,
        };
        format!("{}:{}:{}", self.name, at.line + 1, column + 1)
    }

    /// A message with its place.
    pub(super) fn told(&self, at: ResolvedPos, message: &str) -> String {
        format!("{}: {message}", self.place(at))
    }
}

/// Refuses what nests too deep, naming the line.
pub(super) fn read(name: String, source: &str) -> Result<Script, String> {
    if source.len() > SOURCE {
        return Err(format!(
            "the script is longer than {} KiB; split it into several functions",
            SOURCE >> 10
        ));
    }
    let mut scan = Scan {
        rest: source,
        text: String::with_capacity(source.len()),
        indented: Indented::new(),
        line: 1,
        path: 0,
        open: Vec::new(),
        branches: 0,
    };
    scan.run()?;
    Ok(Script {
        name,
        text: scan.text,
        indented: scan.indented,
    })
}

struct Scan<'s> {
    rest: &'s str,
    /// What was read, without tabs.
    text: String,
    indented: Indented,
    line: usize,
    /// Tokens since the innermost separator, with those of all brackets around.
    path: usize,
    /// For each open bracket, the path at which its elements start.
    open: Vec<usize>,
    branches: usize,
}

impl Scan<'_> {
    fn run(&mut self) -> Result<(), String> {
        self.indentation()?;
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '\n' => {
                    self.skip(1);
                    self.line += 1;
                    if self.open.is_empty() {
                        self.path = 0;
                        self.indentation()?;
                    }
                }
                '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                '"' | '\'' => self.string(letter),
                '\t' => {
                    self.rest = self.rest.get(1..).unwrap_or_default();
                    self.text.push(' ');
                }
                letter if letter.is_whitespace() => self.skip(letter.len_utf8()),
                letter if letter.is_alphanumeric() || letter == '_' => self.word(),
                letter => self.symbol(letter),
            }
            if self.path > TOKENS {
                return Err(self.told(&format!("an expression of more than {TOKENS} parts")));
            }
            if self.open.len() > BRACKETS {
                return Err(self.told(&format!("more than {BRACKETS} brackets within brackets")));
            }
            if self.branches > BLOCKS {
                return Err(self.told(&format!("more than {BLOCKS} branches")));
            }
        }
        Ok(())
    }

    fn told(&self, what: &str) -> String {
        format!(
            "line {} of the script: {what}; write it in smaller parts",
            self.line
        )
    }

    fn skip(&mut self, bytes: usize) {
        let (read, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.text.push_str(read);
        self.rest = rest;
    }

    /// Takes the indentation of a line. A tab leads to the next stop, counted from how many letters stand before it,
    /// not from their columns, as in the catalog's interpreter: two tabs are 15 columns.
    fn indentation(&mut self) -> Result<(), String> {
        let was = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        let (indentation, rest) = self.rest.split_at_checked(was).unwrap_or_default();
        let columns =
            indentation.bytes().enumerate().map(
                |(at, letter)| {
                    if letter == b'\t' { TAB - at % TAB } else { 1 }
                },
            );
        let is = columns.sum();
        if is > BLOCKS {
            return Err(self.told(&format!("more than {BLOCKS} columns of indentation")));
        }
        if is != was {
            self.indented.insert(self.line - 1, (was, is));
        }
        self.text.extend(std::iter::repeat_n(' ', is));
        self.rest = rest;
        Ok(())
    }

    fn word(&mut self) {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = self
            .rest
            .find(|letter| !is_part(letter))
            .unwrap_or(self.rest.len());
        if self.rest.get(..end) == Some("elif") {
            self.branches += 1;
        }
        self.path += 1;
        self.skip(end);
    }

    fn symbol(&mut self, letter: char) {
        match letter {
            '(' | '[' | '{' => {
                self.path += 1;
                self.open.push(self.path);
            }
            ')' | ']' | '}' => {
                // What follows hangs on the bracket, not on its last element.
                self.path = self.open.pop().unwrap_or(self.path) + 1;
            }
            ',' => self.path = self.open.last().copied().unwrap_or_default(),
            ';' => self.path = 0,
            _ => self.path += 1,
        }
        self.skip(letter.len_utf8());
    }

    /// A string: its content is no token.
    fn string(&mut self, quote: char) {
        self.path += 1;
        let long = [quote; 3].iter().collect::<String>();
        let end = if self.rest.starts_with(&long) {
            long
        } else {
            quote.to_string()
        };
        self.skip(end.len());
        while let Some(letter) = self.rest.chars().next() {
            if self.rest.starts_with(&end) {
                return self.skip(end.len());
            }
            if letter == '\n' && end.len() == 1 {
                // Not closed on its line: the parser will say so.
                return;
            }
            let escaped = letter == '\\';
            self.line += usize::from(letter == '\n');
            self.skip(letter.len_utf8());
            if escaped && let Some(next) = self.rest.chars().next() {
                self.line += usize::from(next == '\n');
                self.skip(next.len_utf8());
            }
        }
    }
}
