//! `offshoot blame REVISION FILE [FIELD]`: who wrote each field last.

use serde_json::Value;

use crate::cli::fleet::BlameArgs;
use crate::client::{self, Client, EXPLANATIONS, RESOURCES, object};
use crate::exit::ExitFailure;
use crate::visible::line;

/// How much of a value is shown, in characters.
const LONGEST: usize = 40;

/// Prints a line for each field.
///
/// # Errors
/// There is no such revision, file or field; the server cannot be reached.
pub(super) async fn run(args: &BlameArgs) -> Result<String, ExitFailure> {
    let client = Client::connect(&args.connect).await?;
    let answer = client
        .get(&object(
            EXPLANATIONS,
            &client.namespace,
            &format!("blame.{}", args.name),
        ))
        .await?;
    let all = answer.pointer("/status/fields").and_then(Value::as_array);
    let all: Vec<&Value> = all.into_iter().flatten().collect();
    let of_file: Vec<&Value> = all
        .iter()
        .copied()
        .filter(|f| part(f, "file") == args.file)
        .collect();
    if of_file.is_empty() {
        return Err(missing(
            &format!("file {:?}", args.file),
            &args.file,
            all.iter().map(|f| part(f, "file")),
        ));
    }
    let wanted = args.field.as_deref().unwrap_or_default();
    let fields: Vec<&Value> = of_file
        .iter()
        .copied()
        .filter(|f| is_wanted(f, wanted))
        .collect();
    if fields.is_empty() {
        return Err(missing(
            &format!("field {wanted:?}"),
            wanted,
            of_file.iter().map(|f| part(f, "path")),
        ));
    }
    if args.output.is_some() {
        return Ok(format!(
            "{}\n",
            Value::from(fields.into_iter().cloned().collect::<Vec<_>>())
        ));
    }
    let resources = client
        .get(&object(RESOURCES, &client.namespace, &args.name))
        .await?;
    let text = api::object_at(&resources, &["spec", "resources"])
        .and_then(|files| files.get(&args.file)?.as_str());
    Ok(lines(&fields, text.unwrap_or_default()))
}

fn part<'a>(field: &'a Value, key: &str) -> &'a str {
    field.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What is not there, with what may have been meant.
fn missing<'a>(what: &str, word: &str, there: impl Iterator<Item = &'a str>) -> ExitFailure {
    let mut there: Vec<&str> = there.collect();
    there.dedup();
    let near = model::nearest(word, there.iter().copied());
    let hint = near.map_or_else(
        || format!("there are: {}", there.join(", ")),
        |near| format!("did you mean {near}?"),
    );
    ExitFailure::usage(format!("there is no {what}")).hint(line(&hint))
}

/// Whether a field is the one that was asked for, or below it; `KIND/NAME PATH` asks in one resource of several.
fn is_wanted(field: &Value, wanted: &str) -> bool {
    let (resource, path) = match wanted.split_once(' ') {
        Some((resource, path)) => (Some(resource), path),
        None => (None, wanted),
    };
    let record: Vec<&str> = part(field, "resource").splitn(4, '/').collect();
    let named = match record.as_slice() {
        [_, kind, _, name] => format!("{kind}/{name}"),
        _ => String::new(),
    };
    resource.is_none_or(|r| r == named) && package::merge::within(part(field, "path"), path)
}

/// A line for each field: who, what of them, the field and its value. The resource is named where it changes.
pub(super) fn lines(fields: &[&Value], text: &str) -> String {
    let stream = yaml::Stream::parse(text, &yaml::Limits::default()).ok();
    let secrets: Vec<bool> = stream
        .iter()
        .flat_map(yaml::Stream::documents)
        .map(|d| holds_secret(d.root()))
        .collect();
    let mut rows = Vec::new();
    let mut last = None;
    for field in fields {
        let resource = part(field, "resource");
        if last != Some(resource) && !resource.is_empty() {
            rows.push(vec![line(&format!("# {resource}")).into_owned()]);
        }
        last = Some(resource);
        let path = part(field, "path");
        let document = field
            .get("document")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let value = stream.as_ref().and_then(|stream| {
            let at = usize::try_from(document).ok()?;
            shown(stream.document(at)?.root(), *secrets.get(at)?, path)
        });
        let place = if path.is_empty() {
            "(the whole file)"
        } else {
            path
        };
        let place = match value {
            Some(value) => format!("{place}: {value}"),
            None => place.to_owned(),
        };
        // Names, paths and authors are the package's and git's: they may hold anything.
        let cells = [part(field, "layer"), part(field, "what"), &place];
        rows.push(cells.map(|cell| line(cell).into_owned()).to_vec());
    }
    client::align(&rows)
}

fn holds_secret(root: yaml::Node<'_>) -> bool {
    match root.to_value(yaml::Reader::V3) {
        Ok(value) => package::changes::holds_secret(&value),
        Err(_) => root.source().contains("Secret"),
    }
}

/// A value as it is written, as far as it fits a line; nothing of a Secret.
fn shown(root: yaml::Node<'_>, secret: bool, path: &str) -> Option<String> {
    // An annotation may hold the whole Secret, as kubectl's last-applied-configuration does.
    let shows = [
        "apiVersion",
        "kind",
        "type",
        "metadata.name",
        "metadata.namespace",
        "metadata.labels",
    ];
    let shows = shows.iter().any(|top| package::merge::within(path, top));
    if secret && !shows {
        return Some("(hidden)".to_owned());
    }
    let text = package::conflicts::node_at(root, path)?
        .source()
        .trim()
        .replace('\n', " ");
    Some(match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_asked_for_with_all_that_is_below_it() {
        let field = json!({ "resource": "apps/Deployment/a/web", "path": "spec.template.spec" });
        for (wanted, is) in [
            ("", true),
            ("spec", true),
            ("spec.template", true),
            ("spec.temp", false),
            ("Deployment/web spec", true),
            ("Deployment/db spec", false),
            ("metadata", false),
        ] {
            assert_eq!(is_wanted(&field, wanted), is, "{wanted}");
        }
    }

    #[test]
    fn values_stand_beside_their_fields_and_secrets_do_not() {
        let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: hunter2}\n";
        let field = |path: &str| json!({ "resource": "/Secret//a", "path": path, "layer": "person", "what": "ann", "document": 0 });
        let fields = [field("metadata.name"), field("stringData.p")];
        let out = lines(&fields.iter().collect::<Vec<_>>(), text);
        assert!(out.contains("metadata.name: a"), "{out}");
        let other = "kind: ConfigMap\nlist:\n- {name: x, v: 1}\n";
        let listed = lines(&[&field("list[name=x].v")], other);
        assert!(listed.contains("list[name=x].v: 1"), "{listed}");
        assert!(
            out.contains("stringData.p: (hidden)") && !out.contains("hunter2"),
            "{out}"
        );
        assert!(out.starts_with("# /Secret//a"), "{out}");
        let list = format!(
            "apiVersion: v1\nkind: List\nitems:\n- {}",
            text.trim_end().replace('\n', "\n  ")
        );
        let applied = text.replace("name: a", "name: a, annotations: {last: hunter2}");
        for (text, path) in [(list, "items"), (applied, "metadata.annotations.last")] {
            let out = lines(&[&field(path)], &text);
            assert!(
                out.contains("(hidden)") && !out.contains("hunter2"),
                "{out}"
            );
        }
    }

    #[test]
    fn names_paths_and_authors_hold_nothing_that_a_terminal_obeys() {
        let field = json!({ "resource": "/ConfigMap//a\u{1b}[31mRED\u{202e}evil", "path": "data.a\u{200b}b\nperson", "layer": "person",
            "what": "ann\u{1b}[2K", "document": 0 });
        let out = lines(&[&field], "kind: ConfigMap\n");
        assert!(!out.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{out:?}");
        assert!(out.contains("a<U+001B>[31mRED<U+202E>evil"), "{out}");
        assert_eq!(
            out.lines().count(),
            2,
            "a path makes no line of its own: {out}"
        );
    }
}
