//! Reads a document: its fenced examples and its tables, with their places.

use std::path::Path;

use serde_json::Value;
use yaml::{Limits, Reader};

use super::Result;

/// One document.
#[derive(Debug)]
pub(super) struct Document {
    /// Its number.
    pub(super) name: String,
    /// The version that a fragment of a set is in.
    pub(super) version: &'static str,
    /// Its YAML examples, in order.
    pub(super) examples: Vec<Example>,
    /// Its tables, in order.
    pub(super) tables: Vec<Table>,
    /// How many blocks that say they are YAML are Go.
    pub(super) in_go: usize,
}

/// One fenced block.
#[derive(Debug)]
pub(super) struct Example {
    /// Its first line.
    pub(super) line: usize,
    /// Its text, without `...`.
    pub(super) text: String,
    /// Its documents.
    pub(super) objects: Vec<Value>,
}

/// One table.
#[derive(Debug)]
pub(super) struct Table {
    /// Its first line.
    pub(super) line: usize,
    /// The words of its head, in lower case.
    pub(super) head: Vec<String>,
    /// Its rows.
    pub(super) rows: Vec<Vec<String>>,
}

/// The text of the document whose file name starts with a number.
pub(super) fn text(directory: &Path, number: &str) -> Result<String> {
    let failed = |e: std::io::Error| format!("{}: {e}", directory.display());
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(number) {
            return std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()));
        }
    }
    Err(format!(
        "{} holds no document {number}",
        directory.display()
    ))
}

impl Document {
    /// Reads the document of a number.
    pub(super) fn read(directory: &Path, number: &str, version: &'static str) -> Result<Self> {
        let text = text(directory, number)?;
        let lines: Vec<&str> = text.lines().collect();
        let mut document = Self {
            name: number.to_owned(),
            version,
            examples: Vec::new(),
            tables: Vec::new(),
            in_go: 0,
        };
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            if line.trim_start().starts_with("```yaml") {
                at += document.block(at, lines.get(at..).unwrap_or_default())?;
            } else if line.starts_with('|') {
                at += document.table(at, line, lines.get(at..).unwrap_or_default());
            }
        }
        Ok(document)
    }

    /// Reads a block whose fence stands at a line; how many lines it takes.
    fn block(&mut self, line: usize, rest: &[&str]) -> Result<usize> {
        let inside: Vec<&str> = rest
            .iter()
            .take_while(|l| !l.trim_start().starts_with("```"))
            .copied()
            .collect();
        let taken = inside.len() + 1;
        if inside.first().is_some_and(|l| l.starts_with("type ")) {
            self.in_go += 1;
            return Ok(taken);
        }
        // `...` says that something is left out here.
        let kept = inside.iter().filter(|l| l.trim() != "...");
        let text = kept.fold(String::new(), |text, line| text + line + "\n");
        let mut objects = Vec::new();
        for part in text.split("\n---\n") {
            let object = yaml::first_document_json(part, Reader::Sigs, true, &Limits::default());
            objects.push(object.map_err(|e| format!("{}:{line}: {e}", self.name))?);
        }
        self.examples.push(Example {
            line: line + 1,
            text,
            objects,
        });
        Ok(taken)
    }

    fn table(&mut self, line: usize, head: &str, rest: &[&str]) -> usize {
        let cells = |line: &str| -> Vec<String> {
            let inside = line.trim().trim_matches('|');
            inside.split('|').map(|c| c.trim().to_owned()).collect()
        };
        let rows: Vec<Vec<String>> = rest
            .iter()
            .take_while(|l| l.starts_with('|'))
            .map(|l| cells(l))
            .collect();
        let taken = rows.len();
        self.tables.push(Table {
            line,
            head: cells(head).iter().map(|c| c.to_lowercase()).collect(),
            rows: rows.into_iter().skip(1).collect(),
        });
        taken
    }

    /// The first table with such a head after a line and before the next example.
    pub(super) fn table_after(&self, line: usize, head: &[&str]) -> Option<&Table> {
        let next = self.examples.iter().map(|e| e.line).find(|l| *l > line);
        let until = next.unwrap_or(usize::MAX);
        self.tables
            .iter()
            .find(|t| t.line > line && t.line < until && t.head == head)
    }

    /// The last table with such a head before a line.
    pub(super) fn table_before(&self, line: usize, head: &[&str]) -> Option<&Table> {
        let mut before = self.tables.iter().rev();
        before.find(|t| t.line < line && t.head == head)
    }

    /// The example that follows one.
    pub(super) fn following(&self, example: &Example) -> Option<&Example> {
        self.examples.iter().find(|e| e.line > example.line)
    }
}

/// How many examples of a copy, one long line with line numbers in it, are those of a document.
pub(super) fn same_examples(document: &Document, copy: &str) -> Result<usize> {
    let mut blocks = Vec::new();
    for part in copy.split("```yaml").skip(1) {
        let (block, _) = part.split_once("```").ok_or("a block has no end")?;
        blocks.push(without_numbers(block));
    }
    if blocks.len() != document.examples.len() {
        return Err(format!(
            "{} examples, {} in {}",
            blocks.len(),
            document.examples.len(),
            document.name
        ));
    }
    for (block, example) in blocks.iter().zip(&document.examples) {
        let words: Vec<&str> = example.text.split_whitespace().collect();
        let copied: Vec<&str> = block.iter().map(String::as_str).collect();
        if words != copied {
            return Err(format!(
                "the example of line {} is {copied:?}",
                example.line
            ));
        }
    }
    Ok(blocks.len())
}

/// The words of a block without the numbers of its lines, each one more than the one before.
fn without_numbers(block: &str) -> Vec<String> {
    let mut next: Option<usize> = None;
    let mut words = Vec::new();
    for word in block.split_whitespace() {
        let number = word.parse::<usize>().ok();
        match (number, next) {
            (Some(n), None) => next = Some(n + 1),
            (Some(n), Some(expected)) if n == expected => next = Some(n + 1),
            _ if word == "..." => {}
            _ => words.push(word.to_owned()),
        }
    }
    words
}
