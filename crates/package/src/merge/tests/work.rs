//! What a merge costs: twice as much of anything is about twice as much work, for the one who writes a file is not the one who waits.

use super::*;
use crate::merge::work::counted::during;

/// What the three sides hold, by their letters; the first file is the one that is looked at.
type Side = Vec<(&'static str, String)>;

fn config(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n{data}")
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn one_file(of: impl Fn(&str) -> String) -> [Side; 3] {
    ["a", "b", "c"].map(|side| vec![("a.yaml", of(side))])
}

/// The work of merging sides of some size.
fn work(of: &dyn Fn(usize) -> [Side; 3], count: usize) -> usize {
    let [base, local, upstream] = of(count).map(|side| {
        let side: Vec<(&str, &str)> = side.iter().map(|(k, v)| (*k, v.as_str())).collect();
        match side.iter().any(|(name, _)| *name == "Kptfile") {
            true => files(&side),
            false => with_kptfile(&side),
        }
    });
    let mut merged = None;
    let done = during(|| merged = merge(&base, &local, &upstream, &block()).ok());
    assert!(merged.is_some());
    done
}

fn grows_evenly(name: &str, count: usize, of: &dyn Fn(usize) -> [Side; 3]) {
    let (once, twice) = (work(of, count), work(of, 2 * count));
    assert!(once > 0, "{name}: nothing is counted");
    assert!(twice * 2 < once * 5, "{name}: {once} became {twice}");
}

#[test]
fn keys_that_both_sides_rename_cost_as_much_as_there_are() {
    let of = |count| one_file(|side| config(&lines(count, |at| format!("  {side}{at}: {side}\n"))));
    grows_evenly("keys", 200, &of);
    // One key of each of many maps, at two depths.
    let maps = |count| {
        one_file(|side| {
            let line = |at| format!("  m{at}:\n    s: {{k: {side}, {side}: 1}}\n    {side}: 1\n");
            config(&lines(count, line))
        })
    };
    grows_evenly("maps", 100, &maps);
}

#[test]
fn a_map_in_brackets_costs_as_much_as_it_is_long() {
    let of = |count| {
        one_file(|side| {
            let entry = |at| format!("k{at}: {side}, {side}{at}: 1, ");
            config(&format!("  a: {{{}}}\n", lines(count, entry)))
        })
    };
    grows_evenly("flow", 200, &of);
}

#[test]
fn containers_that_both_sides_rename_cost_as_much_as_there_are() {
    let of = |count| {
        one_file(|side| {
            let name = |at| if at % 2 == 1 { side } else { "" };
            let line = |at| format!("      - {{name: c{at}{}, image: {side}{at}}}\n", name(at));
            let containers = lines(count, line);
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\nspec:\n  template:\n    spec:\n      containers:\n{containers}"
            )
        })
    };
    // Of some all are held against all; of more than that nobody asks.
    let (some, more) = (work(&of, 200), work(&of, 4000));
    assert!(more < some * 40, "{some} became {more}");
}

#[test]
fn comments_cost_as_much_as_there_are() {
    let above = |count| {
        one_file(|side| {
            let comments = lines(count, |at| format!("  # {side} {at}\n"));
            config(&format!("{comments}  a: b\n"))
        })
    };
    grows_evenly("above one key", 400, &above);
    let each = |count| {
        one_file(|side| config(&lines(count, |at| format!("  # {side} {at}\n  k{at}: v\n"))))
    };
    grows_evenly("above each key", 200, &each);
    let moved = |count| {
        let comments = lines(count, |at| format!("  # {at}\n"));
        let of = |keys: &str| config(&keys.replace('#', &comments));
        let [a, b, c] = [
            "#  a: b\n  c: d\n",
            "#  a: c\n  c: d\n",
            "  c: e\n#  a: d\n",
        ];
        [a, b, c].map(|keys| vec![("a.yaml", of(keys))])
    };
    grows_evenly("of one key that moved", 400, &moved);
}

#[test]
fn documents_that_both_sides_move_cost_as_much_as_there_are() {
    let of = |count| {
        [("a.yaml", "a"), ("b.yaml", "b"), ("c.yaml", "c")].map(|(file, side)| {
            let document = |at| {
                let text = config(&format!("  a: {side}\n"));
                text.replace("name: c", &format!("name: c{at}")) + "---\n"
            };
            vec![(file, lines(count, document))]
        })
    };
    grows_evenly("documents", 100, &of);
}

#[test]
fn lists_of_a_kptfile_cost_as_much_as_they_are_long() {
    let kptfile = |rest: String| vec![("Kptfile", format!("{KPTFILE}{rest}"))];
    let conditions = |count| {
        ["a", "b", "c"].map(|side| {
            let gate = |at| format!("  - {{conditionType: c{at}{side}}}\n");
            let ours = |at| format!("  - {{conditionType: offshoot.dev/{at}{side}}}\n");
            let condition = |at| format!("  - {{type: c{at}{side}, status: \"True\"}}\n");
            let left = |at| {
                format!("  - {{type: offshoot.dev/{at}{side}, status: \"True\", reason: {side}}}\n")
            };
            kptfile(format!(
                "info:\n  description: {side}\n  readinessGates:\n{}{}status:\n  conditions:\n{}{}",
                lines(count, gate),
                lines(count, ours),
                lines(count, condition),
                lines(count, left),
            ))
        })
    };
    grows_evenly("conditions and gates", 60, &conditions);
    let functions = |count| {
        ["a", "b", "c"].map(|side| {
            let name = |at| if at % 2 == 0 { side } else { "" };
            let line = |at| {
                format!(
                    "  - {{image: set-labels:v0.2, name: f{at}{}, configMap: {{a{at}: {side}}}}}\n",
                    name(at)
                )
            };
            kptfile(format!("pipeline:\n  mutators:\n{}", lines(count, line)))
        })
    };
    grows_evenly("functions", 60, &functions);
}

#[test]
fn an_anchor_that_is_defined_again_and_again_costs_as_much_as_it_is() {
    let of = |count| {
        one_file(|side| {
            let line = |at| format!("  b{at}: &a {{q: {side}}}\n  c{at}: *a\n");
            let spec = lines(count, line);
            format!("apiVersion: x/v1\nkind: X\nmetadata: {{name: a}}\nspec:\n{spec}")
        })
    };
    grows_evenly("anchors", 100, &of);
}
