//! The state machine as a matrix: what stands downstream × what changed. Each cell is a case folder; the table is
//! `testdata/matrix.txt`, and a cell without a case has its reason here.

use std::fmt::Write;
use std::path::Path;

use crate::cases;
use crate::variant::answer;

const ROWS: [&str; 8] = [
    "no-downstream",
    "draft",
    "proposed",
    "published",
    "deletion-proposed-by-us",
    "deletion-proposed-by-a-person",
    "several-drafts",
    "foreign-revisions",
];

const COLUMNS: [&str; 6] = [
    "nothing",
    "upstream-changed",
    "spec-changed",
    "injected-object-changed",
    "person-edited",
    "all-at-once",
];

/// Cells without a case, and why.
const EMPTY: [(&str, &str, &str); 2] = [
    (
        "no-downstream",
        "person-edited",
        "there is nothing that a person could have edited",
    ),
    (
        "proposed",
        "person-edited",
        "a proposed revision cannot be edited: it is rejected first, and then a draft",
    ),
];

/// R22: every cell of the state machine.
#[test]
fn cases_of_the_matrix() {
    cases::run("matrix", answer);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut table = String::new();
    for row in ROWS {
        writeln!(table, "{row}").expect("a text");
        for column in COLUMNS {
            let expect = root.join(format!("matrix/{row}--{column}/expect.txt"));
            let reason = EMPTY.iter().find(|(r, c, _)| (*r, *c) == (row, column));
            let cell = match (std::fs::read_to_string(&expect), reason) {
                (Ok(text), None) => brief(&text),
                (Err(_), Some((_, _, why))) => format!("empty: {why}"),
                (Ok(_), Some(_)) => panic!("{row}, {column}: has a case and a reason to have none"),
                (Err(_), None) => panic!("{row}, {column}: neither a case nor a reason"),
            };
            writeln!(table, "    {column:<24} {cell}").expect("a text");
        }
    }
    let folders = std::fs::read_dir(root.join("matrix"))
        .expect("the cases")
        .count();
    assert_eq!(
        folders + EMPTY.len(),
        ROWS.len() * COLUMNS.len(),
        "a case is in no cell"
    );
    let place = root.join("matrix.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&place, &table).expect("blessed");
    }
    println!("{table}");
    let stands = std::fs::read_to_string(&place).unwrap_or_default();
    assert_eq!(table, stands, "BLESS=1 writes testdata/matrix.txt");
}

/// The state, and the steps in a few words.
fn brief(text: &str) -> String {
    let state = text.lines().next().unwrap_or_default();
    let state = state.strip_prefix("state: ").unwrap_or(state);
    let steps = text.lines().skip_while(|l| *l != "steps:").skip(1);
    let steps: Vec<&str> = steps
        .take_while(|l| *l != "status:")
        .filter_map(|l| l.strip_prefix("- "))
        .collect();
    if steps.is_empty() {
        return format!("{state}: nothing");
    }
    format!("{state}: {}", steps.join("; "))
}
