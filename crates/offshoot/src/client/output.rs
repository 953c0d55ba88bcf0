//! Listings as kubectl prints them: tables that the server makes, objects, names, JSONPath.

use std::fmt::Write as _;

use http::Method;
use serde_json::Value;

use super::Client;
use crate::cli::remote::Listing;
use crate::exit::Failure;

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
) -> Result<String, Failure> {
    let format = listing.output.as_deref().unwrap_or_default();
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

fn render(objects: &[Value], format: &str, listing: &Listing) -> Result<String, Failure> {
    let mut out = String::new();
    match format.split_once('=').unwrap_or((format, "")) {
        ("json", "") => {
            for object in objects {
                let text = serde_json::to_string_pretty(object);
                out.push_str(&text.map_err(|e| Failure::of("print JSON", &e))?);
                out.push('\n');
            }
        }
        ("yaml", "") => {
            for (i, object) in objects.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "---\n" });
                out.push_str(&yaml::render(&yaml::Value::from(object.clone())));
            }
        }
        ("name", "") => {
            for object in objects {
                // Writing to a String cannot fail.
                _ = writeln!(out, "{}", named(object));
            }
        }
        ("jsonpath", template) => {
            for object in objects {
                out.push_str(&jsonpath(template, object)?);
            }
        }
        ("jsonpath-as-json", template) => {
            let found: Vec<_> = objects.iter().map(|o| values_at(template, o)).collect();
            let found: Vec<_> = found.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
            let text = serde_json::to_string_pretty(&found);
            out.push_str(&text.map_err(|e| Failure::of("print JSON", &e))?);
            out.push('\n');
        }
        ("jsonpath-file", file) => {
            return render(
                objects,
                &format!("jsonpath={}", template_in(file)?),
                listing,
            );
        }
        ("custom-columns", columns) => return custom_columns(objects, columns, listing),
        ("custom-columns-file", file) => {
            let columns = columns_of(&template_in(file)?)?;
            return custom_columns(objects, &columns, listing);
        }
        _ => {
            return Err(Failure::usage(format!(
                "unable to match a printer suitable for the output format {format:?}"
            ))
            .hint(
                "json, yaml, name, wide, jsonpath=…, jsonpath-as-json=…, jsonpath-file=…, custom-columns=… and \
                 custom-columns-file=… are known; kubectl prints the same objects by Go templates",
            ));
        }
    }
    Ok(out)
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

/// `{.metadata.name}` and text around it.
fn jsonpath(template: &str, object: &Value) -> Result<String, Failure> {
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&unescaped(&rest[..open]));
        let Some(close) = rest[open..].find('}') else {
            return Err(Failure::usage(format!(
                "jsonpath {template:?}: a brace is not closed"
            )));
        };
        out.push_str(&value_at(&rest[open + 1..open + close], object)?);
        rest = &rest[open + close + 1..];
    }
    out.push_str(&unescaped(rest));
    Ok(out)
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}

fn template_in(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|e| Failure::of(&format!("read {file}"), &e))
}

/// The columns of a template file: a line of headings, a line of paths.
fn columns_of(text: &str) -> Result<String, Failure> {
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
        _ => Err(Failure::usage(
            "custom-columns-file: expected a line of headings and below it a line of as many paths",
        )),
    }
}

/// Everything that a path finds.
fn values_at(path: &str, object: &Value) -> Result<Vec<Value>, Failure> {
    let path = path.trim_matches(['{', '}']);
    let parsed = apiserver::table::JsonPath::parse(path)
        .map_err(|e| Failure::usage(format!("jsonpath {path:?}: {e}")))?;
    Ok(parsed.find(object).into_iter().cloned().collect())
}

fn value_at(path: &str, object: &Value) -> Result<String, Failure> {
    if let Some(text) = path.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        return Ok(unescaped(text));
    }
    let found = values_at(path, object)?;
    let texts: Vec<_> = found
        .iter()
        .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
        .collect();
    Ok(texts.join(" "))
}

fn custom_columns(objects: &[Value], columns: &str, listing: &Listing) -> Result<String, Failure> {
    let mut rows = Vec::new();
    let mut paths = Vec::new();
    for column in columns.split(',') {
        let Some((name, path)) = column.split_once(':') else {
            return Err(Failure::usage(format!(
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
) -> Result<String, Failure> {
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
