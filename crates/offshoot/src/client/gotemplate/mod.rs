//! Go templates, as kubectl users write them: `{{range .items}}{{.metadata.name}}{{"\n"}}{{end}}`.
//!
//! What there is: text, `{{- … -}}`, comments; fields, variables, constants, pipelines, parentheses; `if`, `with`, `range`,
//! each with `else`, `break`, `continue`; the functions of [`functions::KNOWN`]. What there is not (`define`, `template`,
//! `block`, methods) is refused by name: a template never prints something else than its author meant. Whole numbers stay
//! whole: kubectl prints a million as `1e+06`, and cannot compare it with `1000000`.
//!
//! Never reads anything but the object that it is given.

mod exec;
mod format;
mod functions;
mod lex;
mod parse;

use serde_json::Value;

/// A template that was understood.
#[derive(Debug)]
pub(super) struct Template {
    nodes: Vec<parse::Node>,
}

/// What is wrong with a template, or with what it was given.
#[derive(Debug, thiserror::Error)]
#[error("go-template, line {line}: {what}")]
pub(super) struct TemplateError {
    line: usize,
    what: String,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is no Go template, or one with what is not known here.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let nodes = parse::nodes(lex::tokens(text)?)?;
        Ok(Self { nodes })
    }

    /// The text that it makes of an object. What the object does not have is `<no value>`, or an error
    /// where `strict`.
    ///
    /// # Errors
    /// The object is not what the template expects.
    pub(super) fn render(&self, object: &Value, strict: bool) -> Result<String, TemplateError> {
        exec::run(&self.nodes, object, strict)
    }

    /// Does it ask for `.items`, so that it wants a list and not each object?
    pub(super) fn wants_list(&self) -> bool {
        parse::mentions(&self.nodes, "items")
    }
}

#[cfg(test)]
mod tests;
