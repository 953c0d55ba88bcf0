//! Listings as kubectl prints them: tables that the server makes, objects, names, JSONPath.
//!
//! Go templates are left to kubectl: who asks for one is told the command.

use std::borrow::Cow;

use http::Method;
use serde_json::{Value, json};

use super::{Client, jsonpath};
use crate::cli::remote::Listing;
use crate::exit::ExitFailure;
use crate::shell::quoted;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// What a listing prints: each path (an object or a collection) in turn, with a test for rows and
/// objects that are wanted.
///
/// # Errors
/// The server's own message, or a format that is not known.
pub(crate) async fn print(
    client: &Client,
    paths: &[String],
    listing: &Listing,
    wanted: &(dyn Fn(&Value) -> bool + Sync),
) -> Result<String, ExitFailure> {
    let format = asked_format(listing)?;
    let format = format.as_str();
    if matches!(format, "" | "wide") {
        return tables(client, paths, listing, wanted).await;
    }
    let mut objects = Vec::new();
    for path in paths {
        let answer = client.get(path).await?;
        match answer.get("items").and_then(Value::as_array) {
            Some(items) => objects.extend(items.iter().map(|item| typed(&answer, item))),
            None => objects.push(answer),
        }
    }
    objects.retain(|object| wanted(object));
    if !listing.show_managed_fields {
        for object in &mut objects {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
    }
    sort(&mut objects, listing);
    render(&objects, format, listing)
}

/// Items of a list carry no kind of their own; the list's tells it.
fn typed(list: &Value, item: &Value) -> Value {
    let mut out = item.clone();
    let kind = list.get("kind").and_then(Value::as_str).unwrap_or_default();
    if out.get("kind").is_none() {
        out["kind"] = kind.strip_suffix("List").unwrap_or(kind).into();
        out["apiVersion"] = list.get("apiVersion").cloned().unwrap_or_default();
    }
    out
}

/// The format that `-o` and `--template` ask for together: `FORMAT=TEMPLATE`.
fn asked_format(listing: &Listing) -> Result<String, ExitFailure> {
    let output = listing.output.as_deref().unwrap_or_default();
    let Some(template) = &listing.template else {
        return Ok(output.to_owned());
    };
    match output {
        "jsonpath" | "jsonpath-as-json" | "jsonpath-file" => Ok(format!("{output}={template}")),
        other => Err(
            ExitFailure::usage(format!("--template has no meaning with -o {other}"))
                .hint("use it with -o jsonpath"),
        ),
    }
}

/// Refuses a Go template with the kubectl command that prints it: kubectl works on the same server, and knows all of their language.
///
/// `chosen` are the arguments that choose the objects, such as `packagerevisions` and `-l app=web`.
///
/// # Errors
/// A failure of usage, if `-o` or `--template` asks for a Go template.
pub(crate) fn without_go_templates(
    client: &Client,
    listing: &Listing,
    chosen: &[String],
) -> Result<(), ExitFailure> {
    let output = listing.output.as_deref().unwrap_or_default();
    let format = output.split('=').next().unwrap_or_default();
    let alone = output.is_empty() && listing.template.is_some();
    if !alone
        && !matches!(
            format,
            "go-template" | "go-template-file" | "template" | "templatefile"
        )
    {
        return Ok(());
    }
    let mut words = vec!["kubectl".to_owned(), "get".to_owned()];
    words.extend(chosen.iter().map(|word| quoted(word)));
    if listing.all_namespaces {
        words.push("-A".to_owned());
    } else {
        words.extend(["-n".to_owned(), client.namespace.clone()]);
    }
    if !output.is_empty() {
        words.extend(["-o".to_owned(), quoted(output)]);
    }
    if let Some(template) = &listing.template {
        words.extend(["--template".to_owned(), quoted(template)]);
    }
    Err(ExitFailure::usage("Go templates are printed by kubectl").hint(words.join(" ")))
}

fn render(objects: &[Value], format: &str, listing: &Listing) -> Result<String, ExitFailure> {
    let (format, template) = match format.split_once('=') {
        Some((format, template)) => (format, Some(template)),
        None => (format, None),
    };
    match (format, template) {
        ("json", None) => json(objects),
        ("yaml", None) => Ok(yaml(objects)),
        ("name", None) => Ok(objects.iter().map(|o| named(o) + "\n").collect()),
        ("jsonpath" | "jsonpath-as-json" | "jsonpath-file", None | Some("")) => Err(
            ExitFailure::usage("template format specified but no template given")
                .hint(format!("write -o {format}=…, or give it with --template")),
        ),
        ("jsonpath", Some(template)) => jsonpath(template, objects),
        ("jsonpath-file", Some(file)) => jsonpath(&template_in(file)?, objects),
        ("jsonpath-as-json", Some(template)) => {
            let parsed = jsonpath::Template::parse(template)?;
            let found: Vec<_> = objects.iter().flat_map(|o| parsed.find(o)).collect();
            let text = serde_json::to_string_pretty(&found);
            Ok(text.map_err(|e| ExitFailure::of("print JSON", &e))? + "\n")
        }
        ("custom-columns", Some(columns)) => custom_columns(objects, columns, listing),
        ("custom-columns-file", Some(file)) => {
            custom_columns(objects, &columns_of(&template_in(file)?)?, listing)
        }
        _ => Err(ExitFailure::usage(format!(
            "unable to match a printer suitable for the output format {format:?}"
        ))
        .hint(
            "json, yaml, name, wide, jsonpath=…, jsonpath-as-json=…, jsonpath-file=…, \
             custom-columns=… and custom-columns-file=… are known",
        )),
    }
}

fn json(objects: &[Value]) -> Result<String, ExitFailure> {
    let mut out = String::new();
    for object in objects {
        let text = serde_json::to_string_pretty(object);
        out.push_str(&text.map_err(|e| ExitFailure::of("print JSON", &e))?);
        out.push('\n');
    }
    Ok(out)
}

fn yaml(objects: &[Value]) -> String {
    let texts: Vec<_> = objects
        .iter()
        .map(|object| yaml::render(&yaml::Value::from(object.clone())))
        .collect();
    texts.join("---\n")
}

/// The objects one by one, or as the one list that kubectl gives to a template which asks for `.items`.
fn given(objects: &[Value], wants_list: bool) -> Cow<'_, [Value]> {
    if !wants_list {
        return Cow::Borrowed(objects);
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "" }, "items": objects });
    Cow::Owned(vec![list])
}

fn jsonpath(template: &str, objects: &[Value]) -> Result<String, ExitFailure> {
    let parsed = jsonpath::Template::parse(template)?;
    let given = given(objects, jsonpath::wants_list(template));
    Ok(given.iter().map(|object| parsed.render(object)).collect())
}

/// An object's kind, group and name: `packagerevision.porch.kpt.dev/NAME`.
fn named(object: &Value) -> String {
    let text = |path: &[&str]| api::str_at(object, path).unwrap_or_default();
    let group = text(&["apiVersion"])
        .split_once('/')
        .map(|(group, _)| group);
    let dot = if group.is_some() { "." } else { "" };
    let kind = text(&["kind"]).to_lowercase();
    format!(
        "{kind}{dot}{}/{}",
        group.unwrap_or_default(),
        text(&["metadata", "name"])
    )
}

fn template_in(file: &str) -> Result<String, ExitFailure> {
    std::fs::read_to_string(file).map_err(|e| ExitFailure::of(&format!("read {file}"), &e))
}

/// The columns of a template file: a line of headings, a line of paths.
fn columns_of(text: &str) -> Result<String, ExitFailure> {
    let mut lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    match (lines.next(), lines.next()) {
        (Some(names), Some(paths)) if names.len() == paths.len() => {
            let columns = names
                .iter()
                .zip(&paths)
                .map(|(name, path)| format!("{name}:{path}"));
            Ok(columns.collect::<Vec<_>>().join(","))
        }
        _ => Err(ExitFailure::usage(
            "custom-columns-file: expected a line of headings and below it a line of as many paths",
        )),
    }
}

fn value_at(path: &str, object: &Value) -> Result<String, ExitFailure> {
    Ok(jsonpath::Template::parse_path(path)?.render(object))
}

fn custom_columns(
    objects: &[Value],
    columns: &str,
    listing: &Listing,
) -> Result<String, ExitFailure> {
    let mut rows = Vec::new();
    let mut paths = Vec::new();
    for column in columns.split(',') {
        let Some((name, path)) = column.split_once(':') else {
            return Err(ExitFailure::usage(format!(
                "custom-columns: {column:?} is not NAME:PATH"
            )));
        };
        paths.push((name, path));
    }
    if !listing.no_headers {
        rows.push(paths.iter().map(|(name, _)| (*name).to_owned()).collect());
    }
    for object in objects {
        let mut row = Vec::new();
        for (_, path) in &paths {
            let text = value_at(path, object)?;
            row.push(if text.is_empty() {
                "<none>".to_owned()
            } else {
                text
            });
        }
        rows.push(row);
    }
    Ok(align(&rows))
}

async fn tables(
    client: &Client,
    paths: &[String],
    listing: &Listing,
    wanted: &(dyn Fn(&Value) -> bool + Sync),
) -> Result<String, ExitFailure> {
    let mut header: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for path in paths {
        let joined = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joined}includeObject=Object");
        let table = client.request(Method::GET, &path, TABLE, None).await?;
        let columns = shown_columns(&table, listing.output.as_deref() == Some("wide"));
        header = columns
            .iter()
            .map(|(_, name)| name.to_uppercase())
            .collect();
        for row in table
            .get("rows")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let object = row.get("object").cloned().unwrap_or_default();
            if wanted(&object) {
                rows.push((cells(row, &columns), object));
            }
        }
    }
    if rows.is_empty() {
        crate::say::say(&match listing.all_namespaces {
            true => "No resources found".to_owned(),
            false => format!("No resources found in {} namespace.", client.namespace),
        });
        return Ok(String::new());
    }
    if let Some(path) = &listing.sort_by {
        rows.sort_by_key(|(_, object)| sort_key(path, object));
    }
    Ok(lay_out(header, rows, listing))
}

/// Index and name of the columns that are printed.
fn shown_columns(table: &Value, wide: bool) -> Vec<(usize, String)> {
    let columns = table.get("columnDefinitions").and_then(Value::as_array);
    columns
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, c)| wide || c.get("priority").and_then(Value::as_i64).unwrap_or(0) == 0)
        .map(|(i, c)| (i, api::str_at(c, &["name"]).unwrap_or_default().to_owned()))
        .collect()
}

fn cells(row: &Value, columns: &[(usize, String)]) -> Vec<String> {
    let cell = |i: usize| match row.get("cells").and_then(|c| c.get(i)) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    columns.iter().map(|(i, _)| cell(*i)).collect()
}

fn lay_out(mut header: Vec<String>, rows: Vec<(Vec<String>, Value)>, listing: &Listing) -> String {
    let mut lines = Vec::new();
    if listing.all_namespaces {
        header.insert(0, "NAMESPACE".to_owned());
    }
    for key in &listing.label_columns {
        header.push(key.rsplit('/').next().unwrap_or(key).to_uppercase());
    }
    if listing.show_labels {
        header.push("LABELS".to_owned());
    }
    if !listing.no_headers {
        lines.push(header);
    }
    for (mut cells, object) in rows {
        // The server's first column is the name.
        if let (true, Some(name)) = (listing.show_kind, cells.first_mut()) {
            *name = named(&object);
        }
        if listing.all_namespaces {
            let namespace = api::str_at(&object, &["metadata", "namespace"]).unwrap_or_default();
            cells.insert(0, namespace.to_owned());
        }
        let labels = api::read_meta(&object).labels;
        for key in &listing.label_columns {
            cells.push(labels.get(key).cloned().unwrap_or_default());
        }
        if listing.show_labels {
            let all: Vec<_> = labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            cells.push(if all.is_empty() {
                "<none>".to_owned()
            } else {
                all.join(",")
            });
        }
        lines.push(cells);
    }
    align(&lines)
}

fn sort(objects: &mut [Value], listing: &Listing) {
    if let Some(path) = &listing.sort_by {
        objects.sort_by_key(|object| sort_key(path, object));
    }
}

/// Numbers sort as numbers, everything else as text.
fn sort_key(path: &str, object: &Value) -> (i64, String) {
    let path = path.trim_matches(['{', '}']);
    let text = value_at(path, object).unwrap_or_default();
    text.parse()
        .map_or((i64::MAX, text), |number| (number, String::new()))
}

/// Columns three blanks apart, as kubectl has them.
pub(crate) fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        rows.iter()
            .filter_map(|r| r.get(i))
            .map(|c| c.chars().count())
            .max()
    };
    let widths: Vec<_> = (0..columns).map(|i| width(i).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let last = row.len().saturating_sub(1);
        for (i, cell) in row.iter().enumerate() {
            out.push_str(cell);
            if i < last {
                let filled = cell.chars().count();
                let pad = widths.get(i).copied().unwrap_or(0).saturating_sub(filled) + 3;
                out.extend(std::iter::repeat_n(' ', pad));
            }
        }
        out.push('\n');
    }
    out
}
