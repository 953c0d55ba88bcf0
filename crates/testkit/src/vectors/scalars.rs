//! The vectors of `yaml-scalars`: which texts are accepted, and what they mean to the package tools and to the cluster.

use std::path::Path as FilePath;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use yaml::{Limits, NodeKind, Reader, Stream, Value};

use super::known::Checked;

/// Deep enough for the deepest text of the set that is accepted.
const LIMITS: Limits = Limits {
    bytes: 32 << 20,
    depth: 1_000,
    alias_nodes: 10_000,
};

/// Runs all cases of `scalars.json` and `documents.json`.
///
/// # Errors
/// A file that cannot be read.
pub fn check(folder: &FilePath) -> std::io::Result<Vec<Checked>> {
    let mut checked = Vec::new();
    for file in ["scalars.json", "documents.json"] {
        let cases: Vec<Json> = serde_json::from_slice(&std::fs::read(folder.join(file))?)?;
        checked.extend(cases.iter().map(|case| {
            let wrong = if file == "scalars.json" {
                scalar(case)
            } else {
                document(case)
            };
            Checked {
                more: false,
                name: text(case, "name").to_owned(),
                difference: (!wrong.is_empty()).then(|| wrong.join("\n")),
                result: String::new(),
            }
        }));
    }
    Ok(checked)
}

fn text<'c>(case: &'c Json, key: &str) -> &'c str {
    case.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// One text in every style: its type and value as a node, as JSON, and how we write it as a string.
fn scalar(case: &Json) -> Vec<String> {
    let mut wrong = Vec::new();
    for (style, parse) in case
        .get("parse")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let source = text(parse, "text");
        let mut say = |why: String| wrong.push(format!("{style} {source:?}: {why}"));
        let recorded = parse.get("node").cloned().unwrap_or_default();
        match (Stream::parse(source, &LIMITS), recorded.get("error")) {
            (Err(error), None) => say(format!("refused: {error}")),
            (Ok(_), Some(error)) => say(format!("accepted, recorded {error}")),
            (Ok(stream), None) if recorded.get("shape").and_then(Json::as_str) != Some("other") => {
                if let Some(why) = node(&stream, &recorded, parse) {
                    say(why);
                }
            }
            _ => {}
        }
        let ours = yaml::first_document_json(source, Reader::Sigs, false, &LIMITS);
        if let Some(why) = json(parse.get("json"), ours.map_err(|error| error.to_string())) {
            say(why);
        }
    }
    let value = Value::from_iter([("k", text(case, "scalar"))]);
    let written = yaml::render(&value);
    let read = Stream::parse(written.as_str(), &LIMITS).ok();
    for reader in [Reader::V3, Reader::Sigs] {
        let back = read
            .as_ref()
            .and_then(|stream| stream.document(0)?.to_value(reader).ok());
        if back.as_ref() != Some(&value) {
            wrong.push(format!(
                "written as {written:?}, which {reader:?} reads as {back:?}"
            ));
        }
    }
    wrong
}

fn node(stream: &Stream, recorded: &Json, parse: &Json) -> Option<String> {
    let document = stream.document(0)?;
    let Some(node) = document.root().get("k") else {
        return Some("there is no key k".to_owned());
    };
    let decoded = node.to_value(Reader::V3).is_ok();
    let refused = parse.pointer("/decoded/error").is_some();
    if decoded == refused {
        return Some(format!("decoded: {decoded}, recorded the opposite"));
    }
    let ours = (
        node.resolved_tag(Reader::V3),
        node.scalar().unwrap_or_default(),
    );
    let theirs = (text(recorded, "tag"), text(recorded, "value"));
    (node.kind() != NodeKind::Alias && ours != theirs)
        .then(|| format!("{ours:?}, recorded {theirs:?}"))
}

/// Compares by value; a text that serde_json cannot read back is compared as it is.
fn json(recorded: Option<&Json>, ours: Result<Json, String>) -> Option<String> {
    match (recorded?, ours) {
        (Json::String(theirs), Ok(ours)) => {
            let same = serde_json::from_str(theirs).is_ok_and(|theirs: Json| same(&theirs, &ours));
            let printed = ours.to_string();
            (!same && &printed != theirs).then(|| format!("JSON {ours}, recorded {theirs}"))
        }
        (Json::String(theirs), Err(error)) => {
            Some(format!("JSON refused ({error}), recorded {theirs}"))
        }
        (theirs, Ok(ours)) => theirs
            .get("error")
            .map(|error| format!("JSON {ours}, recorded error {error}")),
        (_, Err(_)) => None,
    }
}

fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// One whole text: accepted or refused, what its documents are, and its JSON.
fn document(case: &Json) -> Vec<String> {
    let mut wrong = Vec::new();
    let bytes = match case.get("text").and_then(Json::as_str) {
        Some(text) => text.as_bytes().to_vec(),
        None => STANDARD.decode(text(case, "base64")).unwrap_or_default(),
    };
    let parsed = Stream::parse_bytes(&bytes, &LIMITS);
    match (&parsed, case.pointer("/nodes/error")) {
        (Err(error), None) => wrong.push(format!("refused: {error}")),
        (Ok(_), Some(error)) => wrong.push(format!("accepted, recorded {error}")),
        (Ok(stream), None) => roots(stream, case, &mut wrong),
        (Err(_), Some(_)) => {}
    }
    for (key, strict) in [("json", false), ("json_strict", true)] {
        let ours = match (std::str::from_utf8(&bytes), &parsed) {
            (Ok(text), _) => yaml::first_document_json(text, Reader::Sigs, strict, &LIMITS),
            (Err(_), Ok(stream)) => {
                yaml::first_document_json(stream.text(), Reader::Sigs, strict, &LIMITS)
            }
            (Err(_), Err(error)) => Err(error.clone()),
        };
        wrong.extend(json(case.get(key), ours.map_err(|error| error.to_string())));
    }
    wrong
}

fn roots(stream: &Stream, case: &Json, wrong: &mut Vec<String>) {
    let kind = |kind: NodeKind| match kind {
        NodeKind::Mapping => "mapping",
        NodeKind::Sequence => "sequence",
        NodeKind::Scalar => "scalar",
        NodeKind::Alias => "alias",
    };
    let ours: Vec<Json> = stream
        .documents()
        .map(|document| kind(document.root().kind()).into())
        .collect();
    let theirs = case
        .pointer("/nodes/roots")
        .and_then(Json::as_array)
        .cloned()
        .unwrap_or_default();
    if ours != theirs {
        wrong.push(format!("documents {ours:?}, recorded {theirs:?}"));
    }
    let refused = stream
        .documents()
        .map(|document| document.to_value(Reader::V3))
        .find_map(Result::err);
    match (refused, case.pointer("/decode/error")) {
        (None, Some(error)) => wrong.push(format!("decoded, recorded {error}")),
        (Some(error), None) => wrong.push(format!("not decoded: {error}")),
        _ => {}
    }
}
