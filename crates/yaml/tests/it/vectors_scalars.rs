//! `vectors/yaml-scalars`: every text must be accepted or refused, and mean, what the field's readers recorded.

use serde_json::Value as Json;
use yaml::{Edit, Limits, NodeKind, Path, Reader, Stream, Style, Value};

/// Deep enough for the deepest accepted text of the set.
const LIMITS: Limits = Limits {
    bytes: 32 << 20,
    depth: 1_000,
    alias_nodes: 10_000,
};

fn cases(jsonl: &str) -> Vec<Json> {
    jsonl
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn style(style: Style) -> &'static str {
    match style {
        Style::Plain => "plain",
        Style::SingleQuoted => "single",
        Style::DoubleQuoted => "double",
        Style::Literal => "literal",
        Style::Folded => "folded",
        Style::Flow => "flow",
        Style::Block | Style::Alias => "",
    }
}

fn same_json(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Json::Array(x), Json::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_json(x, y))
        }
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(k, v)| y.get(k).is_some_and(|w| same_json(v, w)))
        }
        _ => a == b,
    }
}

/// Compares a JSON answer (text, `{"error": …}`, or `{"length": …}`) with ours.
fn check_json(name: &str, recorded: &Json, ours: Result<Json, String>, wrong: &mut Vec<String>) {
    match (recorded, ours) {
        (Json::String(text), Ok(ours)) => {
            // serde_json reads no deeper than this by itself.
            let Ok(wanted) = serde_json::from_str::<Json>(text) else {
                assert_eq!(&ours.to_string(), text, "{name}");
                return;
            };
            // serde_json reads some floats one bit off; the printed text settles it.
            if !same_json(&wanted, &ours) && ours.to_string().as_str() != text.as_str() {
                wrong.push(format!("{name}: wanted {text}, got {ours}"));
            }
        }
        (Json::Object(o), Ok(ours)) if o.contains_key("error") => {
            wrong.push(format!("{name}: wanted error {}, got {ours}", o["error"]));
        }
        (Json::String(text), Err(error)) => {
            wrong.push(format!("{name}: wanted {text}, got error {error}"));
        }
        _ => {}
    }
}

fn first_json(text: &str, strict: bool) -> Result<Json, String> {
    yaml::first_document_json(text, Reader::Sigs, strict, &LIMITS).map_err(|e| e.to_string())
}

#[test]
fn scalars() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../testdata/scalars.jsonl")) {
        for (form, parse) in case["parse"].as_object().unwrap() {
            let name = format!("{}/{form}", case["name"]);
            let text = parse["text"].as_str().unwrap();
            let recorded = &parse["node"];
            let stream = Stream::parse(text, &LIMITS);
            match (&stream, recorded.get("error")) {
                (Err(error), None) => wrong.push(format!("{name}: {text:?} refused: {error}")),
                (Ok(_), Some(error)) => {
                    wrong.push(format!("{name}: {text:?} accepted, recorded {error}"));
                }
                (Ok(stream), None) => {
                    assert_eq!(stream.text(), text);
                    let root = stream.document(0).unwrap().root();
                    if recorded["shape"] == "other" {
                        continue;
                    }
                    let Some(node) = root.get("k") else {
                        wrong.push(format!("{name}: no key k"));
                        continue;
                    };
                    let ours = (
                        node.resolved_tag(Reader::V3).to_owned(),
                        node.scalar().unwrap_or_default().to_owned(),
                        style(node.style()),
                    );
                    let tag = recorded["tag"].as_str().unwrap_or_default().to_owned();
                    let value = recorded["value"].as_str().unwrap_or_default().to_owned();
                    let styled = recorded["style"].as_str().unwrap_or_default();
                    if ours != (tag.clone(), value.clone(), styled)
                        && node.kind() != NodeKind::Alias
                    {
                        wrong.push(format!(
                            "{name}: {text:?} {ours:?} != {tag} {value:?} {styled}"
                        ));
                    }
                    let decoded = node.to_value(Reader::V3).is_ok();
                    if decoded == parse["decoded"].get("error").is_some() {
                        wrong.push(format!("{name}: decoded {decoded}, {}", parse["decoded"]));
                    }
                }
                (Err(_), Some(_)) => {}
            }
            check_json(&name, &parse["json"], first_json(text, false), &mut wrong);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What the writers of the set are asked to write as a string, ours writes so that both readers read it back.
#[test]
fn strings_read_back() {
    for case in cases(include_str!("../../testdata/scalars.jsonl")) {
        let text = case["scalar"].as_str().unwrap();
        for value in [
            Value::from_iter([("k", text)]),
            Value::from_iter([(text, "v")]),
            Value::from(vec![text, "x"]),
        ] {
            let written = yaml::render(&value);
            let stream = Stream::parse(written.as_str(), &LIMITS).unwrap();
            let document = stream.document(0).unwrap();
            for reader in [Reader::V3, Reader::Sigs] {
                assert_eq!(
                    document.to_value(reader).unwrap(),
                    value,
                    "{text:?}: {written}"
                );
            }
        }
        for before in [
            "k: old\n",
            "k: 'old'\n",
            "k: |\n  old\n",
            "{\"k\": \"old\"}\n",
            "k: [old]\n",
            "k: >-\n  o\n",
        ] {
            let stream = Stream::parse(before, &LIMITS).unwrap();
            let path = if before.contains('[') {
                Path(vec!["k".into(), 0.into()])
            } else {
                Path::keys(["k"])
            };
            let after = stream.apply(0, &[Edit::set(path.clone(), text)]).unwrap();
            let root = after.document(0).unwrap().root();
            for reader in [Reader::V3, Reader::Sigs] {
                let node = root.find(&path).unwrap();
                assert_eq!(
                    node.to_value(reader).unwrap(),
                    Value::from(text),
                    "{}",
                    after.text()
                );
            }
        }
    }
}

/// Compares an accepted text: its roots, and whether it decodes.
fn accepted(name: &str, stream: &Stream, case: &Json, wrong: &mut Vec<String>) {
    let nodes = &case["nodes"];
    let roots: Vec<Json> = stream
        .documents()
        .map(|doc| {
            Json::from(match doc.root().kind() {
                NodeKind::Mapping => "mapping",
                NodeKind::Sequence => "sequence",
                NodeKind::Scalar => "scalar",
                NodeKind::Alias => "alias",
            })
        })
        .collect();
    let wanted = nodes["roots"].as_array().cloned().unwrap_or_default();
    if roots != wanted {
        wrong.push(format!("{name}: roots {roots:?}, recorded {wanted:?}"));
    }
    let decoded = stream
        .documents()
        .map(|doc| doc.to_value(Reader::V3))
        .find_map(Result::err);
    match (decoded, case["decode"].get("error")) {
        (None, Some(error)) => wrong.push(format!("{name}: decoded, recorded {error}")),
        (Some(error), None) => {
            wrong.push(format!("{name}: {error}, recorded {}", case["decode"]));
        }
        _ => {}
    }
}

#[test]
fn documents() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("../../testdata/documents.jsonl")) {
        let name = case["name"].as_str().unwrap();
        let bytes = match case["text"].as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => match case["base64"].as_str() {
                Some(text) => bytes(text),
                None => panic!("{name}: no text"),
            },
        };
        let parsed = Stream::parse_bytes(&bytes, &LIMITS);
        let nodes = &case["nodes"];
        match (&parsed, nodes.get("error")) {
            (Err(error), None) => wrong.push(format!("{name}: refused: {error}")),
            (Ok(_), Some(error)) => wrong.push(format!("{name}: accepted, recorded {error}")),
            (Ok(stream), None) => {
                accepted(name, stream, &case, &mut wrong);
            }
            (Err(_), Some(_)) => {}
        }
        let json = |strict| match std::str::from_utf8(&bytes) {
            Ok(text) => first_json(text, strict),
            Err(_) => match &parsed {
                Ok(stream) => first_json(stream.text(), strict),
                Err(error) => Err(error.to_string()),
            },
        };
        check_json(
            &format!("{name}/json"),
            &case["json"],
            json(false),
            &mut wrong,
        );
        check_json(
            &format!("{name}/json_strict"),
            &case["json_strict"],
            json(true),
            &mut wrong,
        );
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Standard base64.
fn bytes(text: &str) -> Vec<u8> {
    let yaml = format!("!!binary {text}\n");
    let stream = Stream::parse(yaml, &LIMITS).unwrap();
    match stream
        .document(0)
        .unwrap()
        .root()
        .resolve(Reader::V3)
        .unwrap()
    {
        yaml::Scalar::Binary(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}
