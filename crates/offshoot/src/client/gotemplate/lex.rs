//! Template text into tokens: text outside of `{{ }}`, words inside.

use serde_json::Value;

use super::TemplateError;

/// What stands in an action.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// Text outside of actions.
    Text(String),
    /// `{{`
    Open,
    /// `}}`
    Close,
    /// A blank: `.a .b` are two operands, `.a.b` is one.
    Blank,
    /// `.name`, or `.` alone (empty).
    Field(String),
    /// `$name`, or `$` alone.
    Variable(String),
    /// A function or a keyword.
    Word(String),
    /// A text, a number, `true`, `false`, `nil`.
    Constant(Value),
    /// `|`, `(`, `)`, `,`, `=`, `:=`
    Sign(&'static str),
}

/// A token and its line.
pub(super) type At = (Token, usize);

/// Reads all of a template.
pub(super) fn tokens(text: &str) -> Result<Vec<At>, TemplateError> {
    let mut lexer = Lexer {
        rest: text,
        line: 1,
        out: Vec::new(),
    };
    let mut trims = false;
    while let Some(open) = lexer.rest.find("{{") {
        let (before, rest) = lexer.rest.split_at(open);
        let trims_before = rest.starts_with("{{-") && rest[3..].starts_with(is_blank);
        lexer.text(before, trims, trims_before);
        lexer.skip(if trims_before { 3 } else { 2 });
        trims = lexer.action()?;
    }
    let last = lexer.rest;
    lexer.text(last, trims, false);
    Ok(lexer.out)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    out: Vec<At>,
}

impl<'a> Lexer<'a> {
    fn text(&mut self, text: &'a str, trim_start: bool, trim_end: bool) {
        let mut shown = text;
        if trim_start {
            shown = shown.trim_start_matches(is_blank);
        }
        if trim_end {
            shown = shown.trim_end_matches(is_blank);
        }
        if !shown.is_empty() {
            self.put(Token::Text(shown.to_owned()));
        }
        self.skip(text.len());
    }

    fn put(&mut self, token: Token) {
        self.out.push((token, self.line));
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, TemplateError> {
        Err(TemplateError {
            line: self.line,
            what: what.into(),
        })
    }

    /// Reads up to `}}`; does it trim the text that follows?
    fn action(&mut self) -> Result<bool, TemplateError> {
        if self.rest.trim_start_matches(is_blank).starts_with("/*") {
            return self.comment();
        }
        self.put(Token::Open);
        loop {
            let blanks = self.rest.len() - self.rest.trim_start_matches(is_blank).len();
            if blanks > 0 {
                self.skip(blanks);
                self.put(Token::Blank);
            }
            if self.rest.is_empty() {
                return self.wrong("an action is not closed by }}");
            }
            let trims = blanks > 0 && self.rest.starts_with("-}}");
            if trims || self.rest.starts_with("}}") {
                self.skip(if trims { 3 } else { 2 });
                self.put(Token::Close);
                return Ok(trims);
            }
            let token = self.token()?;
            self.put(token);
        }
    }

    fn comment(&mut self) -> Result<bool, TemplateError> {
        let Some(end) = self.rest.find("*/") else {
            return self.wrong("a comment is not closed by */");
        };
        self.skip(end + 2);
        let blanks = self.rest.len() - self.rest.trim_start_matches(is_blank).len();
        self.skip(blanks);
        let trims = blanks > 0 && self.rest.starts_with("-}}");
        if !trims && !self.rest.starts_with("}}") {
            return self.wrong("a comment ends right before }}");
        }
        self.skip(if trims { 3 } else { 2 });
        Ok(trims)
    }

    fn token(&mut self) -> Result<Token, TemplateError> {
        for sign in [":=", "=", "|", "(", ")", ","] {
            if self.rest.starts_with(sign) {
                self.skip(sign.len());
                return Ok(Token::Sign(sign));
            }
        }
        let first = self.rest.chars().next().unwrap_or_default();
        let second = self.rest.chars().nth(1).unwrap_or_default();
        match first {
            '"' => self.quoted(),
            '`' => self.raw(),
            '\'' => self.wrong("character constants are not known here: write a text in quotes"),
            '.' if !second.is_ascii_digit() => {
                self.skip(1);
                Ok(Token::Field(self.name().to_owned()))
            }
            '$' => {
                self.skip(1);
                Ok(Token::Variable(self.name().to_owned()))
            }
            c if c.is_ascii_digit() || matches!(c, '.' | '-' | '+') => self.number(),
            c if is_name(c) => Ok(match self.name() {
                "true" => Token::Constant(true.into()),
                "false" => Token::Constant(false.into()),
                "nil" => Token::Constant(Value::Null),
                word => Token::Word(word.to_owned()),
            }),
            c => self.wrong(format!("unexpected {c:?} in an action")),
        }
    }

    fn name(&mut self) -> &'a str {
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        self.skip(end)
    }

    fn raw(&mut self) -> Result<Token, TemplateError> {
        self.skip(1);
        let Some(end) = self.rest.find('`') else {
            return self.wrong("a text is not closed by `");
        };
        let text = self.skip(end).to_owned();
        self.skip(1);
        Ok(Token::Constant(text.into()))
    }

    fn quoted(&mut self) -> Result<Token, TemplateError> {
        self.skip(1);
        let mut out = String::new();
        loop {
            let Some(c) = self.rest.chars().next().filter(|c| *c != '\n') else {
                return self.wrong("a text is not closed by \"");
            };
            self.skip(c.len_utf8());
            match c {
                '"' => return Ok(Token::Constant(out.into())),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, TemplateError> {
        let c = self.rest.chars().next().unwrap_or_default();
        self.skip(if self.rest.is_empty() {
            0
        } else {
            c.len_utf8()
        });
        let digits = match c {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            'a' => return Ok('\u{7}'),
            '"' | '\\' | '\'' => return Ok(c),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return self.wrong(format!("\\{c} is no escape")),
        };
        let code = self
            .rest
            .get(..digits)
            .and_then(|hex| u32::from_str_radix(hex, 16).ok());
        let Some(found) = code.and_then(char::from_u32) else {
            return self.wrong(format!("\\{c} wants {digits} hexadecimal digits"));
        };
        self.skip(digits);
        Ok(found)
    }

    fn number(&mut self) -> Result<Token, TemplateError> {
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let end = self.rest[sign..]
            .find(|c: char| !(is_name(c) || c == '.'))
            .map_or(self.rest.len(), |end| end + sign);
        let text = self.skip(end);
        let whole = text.trim_start_matches('+').parse::<i64>().ok();
        let hexadecimal = text
            .strip_prefix("0x")
            .and_then(|h| i64::from_str_radix(h, 16).ok());
        if let Some(number) = whole.or(hexadecimal) {
            return Ok(Token::Constant(number.into()));
        }
        match text
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
        {
            Some(number) => Ok(Token::Constant(Value::Number(number))),
            None => self.wrong(format!("bad number {text:?}")),
        }
    }
}
