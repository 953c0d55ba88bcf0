//! Tokens into a tree.

use serde_json::Value;

use super::TemplateError;
use super::functions::KNOWN;
use super::lex::{At, Token};

/// How deep actions and parentheses may lie in each other.
const DEPTH: usize = 64;

/// A piece of a template.
#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    Action(Pipe),
    Branch(Branch),
    Break,
    Continue,
}

/// `if`, `with` or `range`.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) kind: Kind,
    pub(super) pipe: Pipe,
    pub(super) then: Vec<Node>,
    pub(super) otherwise: Vec<Node>,
}

/// Which branch it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    If,
    With,
    Range,
}

/// `$x := a b | c`.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) line: usize,
    /// The variables that are set.
    pub(super) names: Vec<String>,
    /// They are new, not assigned.
    pub(super) declares: bool,
    pub(super) commands: Vec<Vec<Operand>>,
}

/// A value, with the fields that are asked of it.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) head: Head,
    pub(super) fields: Vec<String>,
}

/// Where a value comes from.
#[derive(Debug)]
pub(super) enum Head {
    Dot,
    Variable(String),
    Constant(Value),
    Function(String),
    Pipe(Pipe),
}

/// Reads all tokens.
pub(super) fn nodes(tokens: Vec<At>) -> Result<Vec<Node>, TemplateError> {
    let mut parser = Parser {
        tokens: tokens.into_iter().peekable(),
        line: 1,
        depth: 0,
        ranges: 0,
        // `$` is what the template was given.
        variables: vec![String::new()],
    };
    let (nodes, end) = parser.list()?;
    match end {
        None => Ok(nodes),
        Some(word) => parser.wrong(format!("unexpected {{{{{word}}}}}")),
    }
}

/// Is this field asked of what the template was given, wherever it stands?
pub(super) fn mentions(nodes: &[Node], field: &str) -> bool {
    nodes.iter().any(|node| match node {
        Node::Action(pipe) => pipe_mentions(pipe, field),
        Node::Branch(branch) => {
            pipe_mentions(&branch.pipe, field)
                || mentions(&branch.then, field)
                || mentions(&branch.otherwise, field)
        }
        Node::Text(_) | Node::Break | Node::Continue => false,
    })
}

fn pipe_mentions(pipe: &Pipe, field: &str) -> bool {
    pipe.commands.iter().flatten().any(|operand| {
        let first = operand.fields.first().is_some_and(|name| name == field);
        match &operand.head {
            Head::Dot => first,
            Head::Variable(name) => first && name.is_empty(),
            Head::Pipe(inner) => pipe_mentions(inner, field),
            Head::Constant(_) | Head::Function(_) => false,
        }
    })
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<At>>,
    line: usize,
    depth: usize,
    ranges: usize,
    variables: Vec<String>,
}

impl Parser {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, TemplateError> {
        Err(TemplateError {
            line: self.line,
            what: what.into(),
        })
    }

    fn next(&mut self) -> Option<Token> {
        let (token, line) = self.tokens.next()?;
        self.line = line;
        Some(token)
    }

    fn peek(&mut self) -> Option<&Token> {
        self.tokens.peek().map(|(token, _)| token)
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.next();
        }
        found
    }

    fn blank(&mut self) -> bool {
        self.take(&Token::Blank)
    }

    fn close(&mut self) -> Result<(), TemplateError> {
        self.blank();
        match self.next() {
            Some(Token::Close) => Ok(()),
            other => self.wrong(format!("expected }}}}, found {}", shown(other.as_ref()))),
        }
    }

    fn deeper(&mut self) -> Result<(), TemplateError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.wrong(format!("more than {DEPTH} levels"));
        }
        Ok(())
    }

    /// Nodes up to the end or to `{{end}}` or `{{else`, whose word is given, too.
    fn list(&mut self) -> Result<(Vec<Node>, Option<String>), TemplateError> {
        let mut nodes = Vec::new();
        while let Some(token) = self.next() {
            if let Token::Text(text) = token {
                nodes.push(Node::Text(text));
                continue;
            }
            self.blank();
            let word = match self.peek() {
                Some(Token::Word(word)) => word.clone(),
                _ => String::new(),
            };
            let kind = match word.as_str() {
                "if" => Kind::If,
                "with" => Kind::With,
                "range" => Kind::Range,
                "else" | "end" => {
                    self.next();
                    return Ok((nodes, Some(word)));
                }
                "break" | "continue" => {
                    self.next();
                    nodes.push(self.jump(&word)?);
                    continue;
                }
                "define" | "template" | "block" => {
                    return self.wrong(format!("{word} is not known here: write one template"));
                }
                _ => {
                    nodes.push(Node::Action(self.pipe(false)?));
                    self.close()?;
                    continue;
                }
            };
            self.next();
            nodes.push(Node::Branch(self.branch(kind)?));
        }
        Ok((nodes, None))
    }

    fn jump(&mut self, word: &str) -> Result<Node, TemplateError> {
        if self.ranges == 0 {
            return self.wrong(format!("{{{{{word}}}}} outside of range"));
        }
        self.close()?;
        Ok(if word == "break" {
            Node::Break
        } else {
            Node::Continue
        })
    }

    fn branch(&mut self, kind: Kind) -> Result<Branch, TemplateError> {
        self.deeper()?;
        let scope = self.variables.len();
        let pipe = self.pipe(kind == Kind::Range)?;
        self.close()?;
        self.ranges += usize::from(kind == Kind::Range);
        let (then, end) = self.list()?;
        self.ranges -= usize::from(kind == Kind::Range);
        let otherwise = match end.as_deref() {
            Some("else") => self.otherwise(kind)?,
            Some(_) => {
                self.close()?;
                Vec::new()
            }
            None => return self.wrong("{{end}} is missing"),
        };
        self.variables.truncate(scope);
        self.depth -= 1;
        Ok(Branch {
            kind,
            pipe,
            then,
            otherwise,
        })
    }

    /// What follows `{{else`: another condition, or the rest up to `{{end}}`.
    fn otherwise(&mut self, kind: Kind) -> Result<Vec<Node>, TemplateError> {
        let word = if kind == Kind::If { "if" } else { "with" };
        self.blank();
        if kind != Kind::Range && self.take(&Token::Word(word.to_owned())) {
            return Ok(vec![Node::Branch(self.branch(kind)?)]);
        }
        self.close()?;
        let (nodes, end) = self.list()?;
        match end.as_deref() {
            Some("end") => self.close().map(|()| nodes),
            Some(_) => self.wrong("unexpected {{else}}"),
            None => self.wrong("{{end}} is missing"),
        }
    }

    fn pipe(&mut self, ranges: bool) -> Result<Pipe, TemplateError> {
        self.deeper()?;
        self.blank();
        let line = self.tokens.peek().map_or(self.line, |(_, line)| *line);
        let mut first = Vec::new();
        let mut names = Vec::new();
        let mut declares = false;
        while let Some(Token::Variable(_)) = self.peek() {
            let operand = self.operand()?;
            self.blank();
            let name = match &operand.head {
                Head::Variable(name) if operand.fields.is_empty() => name.clone(),
                _ => {
                    first.push(operand);
                    break;
                }
            };
            if ranges && names.is_empty() && self.take(&Token::Sign(",")) {
                names.push(name);
                self.blank();
                continue;
            }
            declares = self.peek() == Some(&Token::Sign(":="));
            if declares || self.take(&Token::Sign("=")) {
                if declares {
                    self.next();
                }
                names.push(name);
                break;
            }
            if !names.is_empty() {
                return self.wrong("range sets at most two variables, with :=");
            }
            first.push(operand);
            break;
        }
        self.set(&names, declares)?;
        let commands = self.commands(first)?;
        if declares {
            self.variables.extend(names.iter().cloned());
        }
        self.depth -= 1;
        Ok(Pipe {
            line,
            names,
            declares,
            commands,
        })
    }

    fn set(&self, names: &[String], declares: bool) -> Result<(), TemplateError> {
        match names
            .iter()
            .find(|name| !declares && !self.variables.contains(name))
        {
            Some(name) => self.wrong(format!("undefined variable ${name}")),
            None => Ok(()),
        }
    }

    fn commands(&mut self, first: Vec<Operand>) -> Result<Vec<Vec<Operand>>, TemplateError> {
        let mut commands = Vec::new();
        let mut command = first;
        loop {
            self.blank();
            match self.peek() {
                None | Some(Token::Close | Token::Sign(")")) => break,
                Some(Token::Sign("|")) => {
                    self.next();
                    if command.is_empty() {
                        return self.wrong("nothing stands before |");
                    }
                    commands.push(std::mem::take(&mut command));
                }
                Some(_) => {
                    let operand = self.operand()?;
                    command.push(operand);
                }
            }
        }
        if command.is_empty() {
            return self.wrong(if commands.is_empty() {
                "a value is missing"
            } else {
                "nothing follows |"
            });
        }
        commands.push(command);
        let fixed = |command: &&Vec<Operand>| {
            !matches!(command.first().map(|o| &o.head), Some(Head::Function(_)))
        };
        if commands.iter().skip(1).any(|command| fixed(&command)) {
            return self.wrong("only a function may follow |");
        }
        if commands
            .iter()
            .filter(fixed)
            .any(|command| command.len() > 1)
        {
            return self.wrong("only a function takes arguments");
        }
        Ok(commands)
    }

    fn operand(&mut self) -> Result<Operand, TemplateError> {
        let mut fields = Vec::new();
        let token = self.next();
        let head = match token {
            Some(Token::Field(name)) => {
                fields.extend(Some(name).filter(|name| !name.is_empty()));
                Head::Dot
            }
            Some(Token::Variable(name)) => {
                let setting = matches!(
                    self.tokens.clone().find(|(t, _)| *t != Token::Blank),
                    Some((Token::Sign("," | ":="), _))
                );
                if !setting && !self.variables.contains(&name) {
                    return self.wrong(format!("undefined variable ${name}"));
                }
                Head::Variable(name)
            }
            Some(Token::Constant(value)) => Head::Constant(value),
            Some(Token::Word(word)) if KNOWN.contains(&word.as_str()) => Head::Function(word),
            Some(Token::Word(word)) => {
                let known = KNOWN.join(", ");
                return self.wrong(format!("function {word:?} is not one of: {known}"));
            }
            Some(Token::Sign("(")) => {
                let pipe = self.pipe(false)?;
                self.blank();
                if !self.take(&Token::Sign(")")) {
                    return self.wrong("a parenthesis is not closed");
                }
                Head::Pipe(pipe)
            }
            other => return self.wrong(format!("unexpected {}", shown(other.as_ref()))),
        };
        while let Some(Token::Field(name)) = self.peek() {
            let name = name.clone();
            self.next();
            if name.is_empty() {
                return self.wrong("a name is missing after .");
            }
            fields.push(name);
        }
        Ok(Operand { head, fields })
    }
}

fn shown(token: Option<&Token>) -> String {
    match token {
        None => "the end".to_owned(),
        Some(Token::Sign(sign)) => format!("{sign:?}"),
        Some(Token::Word(word)) => format!("{word:?}"),
        Some(Token::Close) => "}}".to_owned(),
        Some(Token::Field(name)) => format!("\".{name}\""),
        Some(Token::Variable(name)) => format!("\"${name}\""),
        Some(Token::Constant(value)) => value.to_string(),
        Some(_) => "text".to_owned(),
    }
}
