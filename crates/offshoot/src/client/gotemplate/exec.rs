//! A tree and an object into text.

use serde_json::Value;

use super::TemplateError;
use super::format::{plain, truth};
use super::functions;
use super::parse::{Branch, Head, Kind, Node, Operand, Pipe};

/// More text than this is a mistake: ranges in ranges over everything.
const LENGTH: usize = 64 << 20;

/// Runs a template.
pub(super) fn run(nodes: &[Node], object: &Value, strict: bool) -> Result<String, TemplateError> {
    let mut run = Run {
        variables: vec![(String::new(), object.clone())],
        out: String::new(),
        strict,
        line: 1,
    };
    run.all(nodes, object)?;
    Ok(run.out)
}

struct Run {
    variables: Vec<(String, Value)>,
    out: String,
    strict: bool,
    line: usize,
}

/// How a list of nodes ended.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

impl Run {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, TemplateError> {
        Err(TemplateError {
            line: self.line,
            what: what.into(),
        })
    }

    fn all(&mut self, nodes: &[Node], dot: &Value) -> Result<Flow, TemplateError> {
        for node in nodes {
            let flow = match node {
                Node::Text(text) => {
                    self.out.push_str(text);
                    Flow::On
                }
                Node::Action(pipe) => {
                    let value = self.pipe(pipe, dot)?;
                    if pipe.names.is_empty() {
                        self.print(&value);
                    }
                    Flow::On
                }
                Node::Branch(branch) => self.branch(branch, dot)?,
                Node::Break => Flow::Break,
                Node::Continue => Flow::Continue,
            };
            if self.out.len() > LENGTH {
                return self.wrong(format!("it makes more than {LENGTH} bytes"));
            }
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn print(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.push_str("<no value>"),
            value => self.out.push_str(&plain(value)),
        }
    }

    fn branch(&mut self, branch: &Branch, dot: &Value) -> Result<Flow, TemplateError> {
        let scope = self.variables.len();
        let flow = match branch.kind {
            Kind::Range => self.range(branch, dot),
            Kind::If | Kind::With => {
                let value = self.pipe(&branch.pipe, dot)?;
                let inner = if branch.kind == Kind::With {
                    &value
                } else {
                    dot
                };
                if truth(&value) {
                    self.all(&branch.then, inner)
                } else {
                    self.all(&branch.otherwise, dot)
                }
            }
        };
        self.variables.truncate(scope);
        flow
    }

    fn range(&mut self, branch: &Branch, dot: &Value) -> Result<Flow, TemplateError> {
        let over = self.value(&branch.pipe, dot)?;
        let pairs: Vec<(Value, Value)> = match over {
            Value::Null => Vec::new(),
            Value::Array(items) => (0_u64..).map(Value::from).zip(items).collect(),
            // Keys in order, as Go has them.
            Value::Object(map) => {
                let mut pairs: Vec<_> = map.into_iter().collect();
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                pairs.into_iter().map(|(k, v)| (k.into(), v)).collect()
            }
            Value::Number(n) if n.as_u64().is_some_and(|n| n <= 1_000_000) => {
                let n = n.as_u64().unwrap_or_default();
                (0..n).map(|i| (i.into(), i.into())).collect()
            }
            other => return self.wrong(format!("range can't iterate over {}", plain(&other))),
        };
        if pairs.is_empty() {
            return self.all(&branch.otherwise, dot);
        }
        for (key, item) in pairs {
            let scope = self.variables.len();
            let values = match branch.pipe.names.len() {
                2 => vec![key, item.clone()],
                _ => vec![item.clone()],
            };
            for (name, value) in branch.pipe.names.iter().zip(values) {
                self.set(name, value, branch.pipe.declares);
            }
            let flow = self.all(&branch.then, &item)?;
            self.variables.truncate(scope);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn set(&mut self, name: &str, value: Value, declares: bool) {
        let known = self.variables.iter_mut().rev().find(|(n, _)| n == name);
        match known {
            Some((_, old)) if !declares => *old = value,
            _ => self.variables.push((name.to_owned(), value)),
        }
    }

    fn pipe(&mut self, pipe: &Pipe, dot: &Value) -> Result<Value, TemplateError> {
        let value = self.value(pipe, dot)?;
        for name in &pipe.names {
            self.set(name, value.clone(), pipe.declares);
        }
        Ok(value)
    }

    /// What a pipeline yields, without its variables.
    fn value(&mut self, pipe: &Pipe, dot: &Value) -> Result<Value, TemplateError> {
        let mut last = None;
        for command in &pipe.commands {
            self.line = pipe.line;
            last = Some(self.command(command, last, dot)?);
        }
        Ok(last.unwrap_or_default())
    }

    fn command(
        &mut self,
        command: &[Operand],
        last: Option<Value>,
        dot: &Value,
    ) -> Result<Value, TemplateError> {
        let Some((first, rest)) = command.split_first() else {
            return Ok(Value::Null);
        };
        let Head::Function(name) = &first.head else {
            return self.operand(first, dot);
        };
        // `and` and `or` look no further than they must.
        let lazy = match name.as_str() {
            "and" => Some(false),
            "or" => Some(true),
            _ => None,
        };
        let mut arguments = Vec::new();
        for operand in rest {
            let value = self.operand(operand, dot)?;
            if lazy == Some(truth(&value)) {
                return Ok(value);
            }
            arguments.push(value);
        }
        arguments.extend(last);
        let value = functions::call(name, arguments).or_else(|what| self.wrong(what))?;
        self.fields(value, &first.fields)
    }

    fn operand(&mut self, operand: &Operand, dot: &Value) -> Result<Value, TemplateError> {
        let value = match &operand.head {
            Head::Dot => return self.fields(dot.clone(), &operand.fields),
            Head::Variable(name) => {
                let found = self.variables.iter().rev().find(|(n, _)| n == name);
                found.map(|(_, value)| value.clone()).unwrap_or_default()
            }
            Head::Constant(value) => value.clone(),
            Head::Function(name) => {
                functions::call(name, Vec::new()).or_else(|what| self.wrong(what))?
            }
            Head::Pipe(pipe) => self.pipe(pipe, dot)?,
        };
        self.fields(value, &operand.fields)
    }

    fn fields(&self, value: Value, fields: &[String]) -> Result<Value, TemplateError> {
        let mut value = value;
        for field in fields {
            value = match value {
                Value::Object(mut map) => match map.remove(field) {
                    None if self.strict => {
                        return self.wrong(format!("map has no entry for key {field:?}"));
                    }
                    found => found.unwrap_or_default(),
                },
                Value::Null if !self.strict => Value::Null,
                other => {
                    let what = functions::kind(&other);
                    return self.wrong(format!("can't evaluate field {field} in {what}"));
                }
            };
        }
        Ok(value)
    }
}
