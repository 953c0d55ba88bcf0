//! 8.15: what `kubectl get`, `describe` and `api-resources` show. Their columns are ours, too, with the same cells; ours may
//! be more (A8).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::case::{Case, condition, text};
use super::client::{Kind, REPOSITORIES, RESOURCES, REVISIONS, SETS, VARIANTS};
use super::objects::applied;
use crate::process::wait_for;

/// Cells that differ between any two runs.
const VARIES: [&str; 2] = ["AGE", "ADDRESS"];
/// Resources that nothing here is about: the kind of the other implementation's cache, and of its function runner (A1).
const THEIRS: [&str; 2] = ["packagerevs", "functionconfigs"];

/// A table as kubectl prints it.
pub(super) struct Table {
    columns: Vec<String>,
    rows: BTreeMap<String, Vec<String>>,
}

impl Table {
    /// Cells stand where their column's name begins.
    pub(super) fn printed(text: &str) -> Self {
        let mut lines = text.lines();
        let header = lines.next().unwrap();
        let begins = |at: &usize| {
            let (before, name) = header.split_at(*at);
            name.starts_with(|c| c != ' ') && (before.is_empty() || before.ends_with("  "))
        };
        let starts: Vec<usize> = (0..header.len()).filter(begins).collect();
        let cells = |line: &str| -> Vec<String> {
            let cell = |(i, start): (usize, &usize)| {
                let end = starts.get(i + 1).copied().unwrap_or(line.len());
                let cell = line.get(*start..end.min(line.len()));
                cell.unwrap_or_default().trim().to_owned()
            };
            starts.iter().enumerate().map(cell).collect()
        };
        Self {
            columns: cells(header),
            rows: lines.map(cells).map(|row| (row[0].clone(), row)).collect(),
        }
    }

    /// The table that the server makes for kubectl.
    async fn served(case: &Case, kind: Kind, query: &str) -> Self {
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let request = http::Request::get(case.api.path(kind, query)).header("accept", accept);
        let answer = case.api.client.exchange(request.body(Vec::new()).unwrap());
        let table: Value = serde_json::from_slice(&answer.await.unwrap().2).unwrap();
        assert_eq!(table["kind"], "Table");
        let all = table["columnDefinitions"].as_array().unwrap();
        let columns = all.iter().map(|c| text(&c["name"]).to_uppercase());
        let cell = |cell: &Value| cell.as_str().map_or_else(|| shown(cell), str::to_owned);
        let rows = table["rows"].as_array().unwrap().iter().map(|row| {
            let cells: Vec<String> = row["cells"].as_array().unwrap().iter().map(cell).collect();
            (cells[0].clone(), cells)
        });
        Self {
            columns: columns.collect(),
            rows: rows.collect(),
        }
    }

    /// Where ours lacks a row, a column or a cell of this one.
    fn lacking(&self, ours: &Self) -> Vec<String> {
        let names = |table: &Self| table.rows.keys().cloned().collect::<Vec<_>>();
        let mut out = Vec::new();
        if names(self) != names(ours) {
            out.push(format!("{:?} there, {:?} here", names(self), names(ours)));
        }
        for (at, column) in self.columns.iter().enumerate() {
            let Some(here) = ours.columns.iter().position(|c| c == column) else {
                out.push(format!("no column {column}: {:?}", ours.columns));
                continue;
            };
            for (name, row) in &self.rows {
                let cell = ours.rows.get(name).map(|row| &row[here]);
                if !VARIES.contains(&column.as_str()) && cell != Some(&row[at]) {
                    out.push(format!(
                        "{name}, {column}: {} there, {cell:?} here",
                        row[at]
                    ));
                }
            }
        }
        out
    }
}

/// A cell that is no text.
fn shown(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What the record shows after a command.
pub(super) fn output<'a>(record: &'a str, command: &str) -> &'a str {
    let start = format!("$ {command}\n");
    let rest = record.split_once(&start).unwrap().1;
    rest.split("\n$ ").next().unwrap_or_default().trim_end()
}

/// What differs in the tables that a record shows after these commands.
pub(super) async fn differences(
    case: &Case,
    record: &str,
    commands: &[(&str, Kind)],
) -> Vec<String> {
    let mut out = Vec::new();
    for (command, kind) in commands {
        let shown = output(record, command);
        // How long it took is said first in one of the records.
        let shown = shown
            .strip_prefix("exit 0, ")
            .map_or(shown, |rest| rest.split_once('\n').unwrap().1);
        let ours = Table::served(case, *kind, "").await;
        let lacking = Table::printed(shown).lacking(&ours);
        out.extend(lacking.into_iter().map(|what| format!("{command}: {what}")));
    }
    out
}

async fn world(namespace: &str) -> Option<Case> {
    let case = Case::new(namespace).await?;
    for (kind, name) in [
        (VARIANTS, "packagevariant-ready"),
        (VARIANTS, "packagevariant-stalled"),
        (SETS, "packagevariantset-ready"),
        (SETS, "packagevariantset-stalled"),
    ] {
        let object = applied(&case.record(&format!("m-{name}.yaml")));
        case.api.create(kind, &object).await;
    }
    for name in ["ready", "set-ready-deploy-s1"] {
        case.until_ready(name).await;
    }
    Some(case)
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_show_what_the_record_shows() {
    let Some(case) = world("tables").await else {
        return;
    };
    let record = case.record("m-tables.txt");
    let mut commands = Vec::new();
    for (plural, kind) in [
        ("packagevariants", VARIANTS),
        ("packagevariantsets", SETS),
        ("packagerevisions", REVISIONS),
        ("packagerevisionresources", RESOURCES),
        ("repositories", REPOSITORIES),
    ] {
        commands.push((format!("kubectl get {plural}"), kind));
        if kind != RESOURCES {
            commands.push((format!("kubectl get {plural} -o wide"), kind));
        }
    }
    let commands: Vec<(&str, Kind)> = commands.iter().map(|(c, k)| (c.as_str(), *k)).collect();
    let out = differences(&case, &record, &commands).await;
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// The description of a variant and of a set is made from the object by kubectl: its conditions are compared.
#[tokio::test(flavor = "multi_thread")]
async fn descriptions_show_the_recorded_conditions() {
    let Some(case) = world("described").await else {
        return;
    };
    let record = case.record("m-tables.txt");
    for (kind, what, name) in [
        (VARIANTS, "packagevariant", "ready"),
        (SETS, "packagevariantset", "set-ready"),
    ] {
        wait_for("the set's word", async || {
            condition(&case.api.get(kind, name).await, "Ready").0 == "True"
        })
        .await;
        let ours = case.api.get(kind, name).await;
        let shown = output(&record, &format!("kubectl describe {what} {name}"));
        let mut told = 0;
        for part in shown.split("Last Transition Time:").skip(1) {
            let value = |key: &str| {
                let line = part.lines().find_map(|l| l.trim().strip_prefix(key));
                line.unwrap().trim().to_owned()
            };
            let there = (value("Status:"), value("Reason:"), value("Message:"));
            assert_eq!(condition(&ours, &value("Type:")), there, "{what}");
            told += 1;
        }
        assert_eq!(told, 2, "{what}");
    }
}

/// The kinds under their names; a short name of ours is none that means something else there (A8).
#[tokio::test(flavor = "multi_thread")]
async fn resources_are_served_as_in_the_record() {
    let Some(case) = Case::new("kinds").await else {
        return;
    };
    let record = case.record("m-tables.txt");
    let recorded = Table::printed(output(&record, "kubectl api-resources"));
    let groups: std::collections::BTreeSet<&String> =
        recorded.rows.values().map(|row| &row[2]).collect();
    let mut served = BTreeMap::new();
    for group in groups {
        let list = case
            .api
            .client
            .get(&format!("/apis/{group}"))
            .await
            .unwrap();
        for one in list["resources"].as_array().unwrap() {
            served.insert((group.clone(), text(&one["name"])), one.clone());
        }
    }
    for (name, row) in &recorded.rows {
        let at = (row[2].clone(), name.clone());
        let Some(ours) = served.get(&at) else {
            assert!(THEIRS.contains(&name.as_str()), "{at:?} is not served");
            continue;
        };
        assert_eq!(ours["namespaced"].to_string(), row[3], "{name}");
        assert_eq!(ours["kind"], row[4], "{name}");
        let short = ours["shortNames"].to_string();
        assert!(
            row[1].is_empty() || short.contains(&row[1]),
            "{name}: {short}"
        );
    }
    // `pv` are persistent volumes, and the others meant nothing.
    let short: Vec<&Value> = served.values().map(|one| &one["shortNames"]).collect();
    let short = json!(short).to_string();
    for other in ["\"pv\"", "\"pvs\"", "\"pr\""] {
        assert!(!short.contains(other), "{short}");
    }
}

/// After the approval of one draft: the branch has a row of its own, and the newest revision its label.
#[tokio::test(flavor = "multi_thread")]
async fn the_table_after_an_approval_is_the_recorded_one() {
    let Some(case) = world("approved").await else {
        return;
    };
    let draft = "deploy.ready.packagevariant-1";
    case.publish(draft).await;
    wait_for("the branch's row", async || {
        !case.api.get(REVISIONS, "deploy.ready.main").await.is_null()
    })
    .await;
    let record = case.record("m-table-after-publish.txt");
    let (plain, labelled) = record.split_once("\n\n").unwrap();
    let ours = Table::served(&case, REVISIONS, "").await;
    let out = Table::printed(plain).lacking(&ours);
    assert!(out.is_empty(), "{}", out.join("\n"));
    // kubectl itself adds the labels: they are the objects'.
    for (name, row) in Table::printed(labelled).rows {
        let mut labels = case.api.get(REVISIONS, &name).await["metadata"]["labels"].take();
        match labels.as_object_mut() {
            // Ours say whose it is (F6).
            Some(labels) => labels.retain(|key, _| !key.starts_with("offshoot.dev/")),
            None => labels = json!({}),
        }
        let wanted = match row.last().unwrap().split_once('=') {
            Some((key, value)) => json!({ key: value }),
            None => json!({}),
        };
        assert_eq!(labels, wanted, "{name}");
    }
}
