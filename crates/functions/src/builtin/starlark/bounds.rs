//! How deep a script may nest, told from its tokens before anything parses it.
//!
//! Parser and interpreter recurse where the text nests: brackets, chains of operators, calls and attributes, blocks,
//! `elif` after `elif`. Each is bounded here, so that no script can exhaust the stack.

/// The longest script.
const SOURCE: usize = 64 << 10;
/// Brackets within brackets.
const BRACKETS: usize = 64;
/// Tokens on the way from a statement's start to its innermost part.
const TOKENS: usize = 1_000;
/// Columns of indentation, and branches of the script's `if`s.
const BLOCKS: usize = 400;

/// Refuses what nests too deep, naming the line.
pub(super) fn check(source: &str) -> Result<(), String> {
    if source.len() > SOURCE {
        return Err(format!(
            "the script is longer than {} KiB; split it into several functions",
            SOURCE >> 10
        ));
    }
    let mut scan = Scan {
        rest: source,
        line: 1,
        path: 0,
        open: Vec::new(),
        branches: 0,
    };
    scan.run()
}

struct Scan<'s> {
    rest: &'s str,
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
                '"' | '\'' => self.text(letter),
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
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn indentation(&mut self) -> Result<(), String> {
        let width = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        if width > BLOCKS {
            return Err(self.told(&format!("more than {BLOCKS} columns of indentation")));
        }
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
    fn text(&mut self, quote: char) {
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
