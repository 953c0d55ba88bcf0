//! Keys without `?`: where one may have begun, and whether one did.

use super::lexer::Lexer;
use super::token::{LONGEST_KEY, SimpleKey, TokenKind, go_line};
use crate::error::Error;

impl Lexer<'_> {
    /// What comes next is the first token of a key if a colon follows it. Behind it nothing may begin on this line.
    pub(super) fn may_be_key(&mut self) -> Result<(), Error> {
        if self.may_begin {
            self.no_key()?;
            let required = !self.in_flow() && self.indent == self.cursor.column() as i64;
            let key = SimpleKey {
                required,
                token: self.tokens.len(),
                row: self.cursor.row,
                column: self.cursor.column(),
                spot: self.cursor.spot(),
            };
            if let Some(last) = self.keys.last_mut() {
                *last = Some(key);
            }
        }
        self.may_begin = false;
        Ok(())
    }

    /// What may have been a key was none.
    pub(super) fn no_key(&mut self) -> Result<(), Error> {
        match self.keys.last_mut().and_then(Option::take) {
            Some(key) if key.required => Err(self.missing_colon(&key)),
            _ => Ok(()),
        }
    }

    fn missing_colon(&self, key: &SimpleKey) -> Error {
        let at = key.spot.at as usize;
        self.cursor.error(at, "could not find expected ':'")
    }

    /// Takes the key that ends before this colon, if one does: on one line, and not too long.
    pub(super) fn take_key(&mut self) -> Result<Option<SimpleKey>, Error> {
        let Some(key) = self.keys.last_mut().and_then(Option::take) else {
            return Ok(None);
        };
        let source = &self.cursor.text[key.spot.at as usize..self.cursor.pos];
        let long = source.chars().nth(LONGEST_KEY).is_some();
        if key.row == self.cursor.row && !long {
            return Ok(Some(key));
        }
        match key.required {
            true => Err(self.missing_colon(&key)),
            false => Ok(None),
        }
    }

    /// Puts down that the text cannot be read on. From where a key may begin the readers look ahead until they know whether one
    /// does, so that they find nothing else wrong there before this. `row` and `last`: that of the cursor and the innermost such
    /// place, before the token was read.
    pub(super) fn refuse(&mut self, error: Error, row: u32, last: Option<SimpleKey>) {
        let open = self.keys.iter().copied().flatten().chain(last);
        let waits = |key: &SimpleKey| key.required || key.row == row;
        if let Some(token) = open.filter(waits).map(|key| key.token).min() {
            self.tokens.truncate(token);
        }
        self.refused = Some(error.at_go_line(go_line(self.cursor.line)));
        self.push(TokenKind::Refused, self.cursor.spot());
    }
}
