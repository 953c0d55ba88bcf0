//! Every case of `vectors/cel`, where the vectors are at hand (`OFFSHOOT_VECTORS` names them).

use std::path::Path;

use expr::Stage;

use crate::{bindings, on_large_stack, run};

/// Cases where we refuse more, earlier or otherwise, each with its reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cel-conv-03", "the library writes doubles in full"),
    ("cel-conv-50", "the library writes doubles in full"),
    ("cel-conv-51", "the library writes doubles in full"),
    ("cel-conv-52", "the library writes doubles in full"),
    ("cel-conv-55", "the library writes infinity in lower case"),
    (
        "cel-conv-39",
        "the library reads the hour in the timestamp's own zone",
    ),
    (
        "cel-scope-06",
        "messages are no strings: refused by name already",
    ),
    (
        "cel-scope-08",
        "messages are no strings: refused by name already",
    ),
    ("cel-exhaust-deep-parens", "beyond our nesting"),
    ("cel-exhaust-deep-ternary", "beyond our length"),
];

/// R150-R152, R156, R157.
#[test]
fn recorded_results_of_the_peers_environment() {
    let Some(dir) = std::env::var_os("OFFSHOOT_VECTORS") else {
        eprintln!("skipped: OFFSHOOT_VECTORS does not name the vectors");
        return;
    };
    let path = Path::new(&dir).join("cel/cases.json");
    let text = std::fs::read_to_string(path).expect("the vectors");
    let failures = on_large_stack(move || compare(&text));
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn compare(text: &str) -> Vec<String> {
    let vectors: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let mut failures = Vec::new();
    let mut elsewhere = 0;
    for case in vectors["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let vars = case["vars"].as_str().expect("variables");
        let expression = case["expr"].as_str().expect("an expression");
        let got = run(expression, &bindings(&vectors["vars"][vars]));
        let known = ELSEWHERE.iter().any(|(n, _)| *n == name);
        match differs(&case["porch"], &got) {
            Some(_) if known => elsewhere += 1,
            Some(difference) => failures.push(format!("{name} {expression:.80}: {difference}")),
            None => {}
        }
    }
    if elsewhere != ELSEWHERE.len() {
        failures.push(format!(
            "{elsewhere} of {} known differences are left",
            ELSEWHERE.len()
        ));
    }
    failures
}

fn differs(want: &serde_json::Value, got: &Result<String, expr::ExprError>) -> Option<String> {
    let text = want["string_result"].as_str();
    let refused_by_type = matches!(got, Err(e) if e.stage == Stage::Result)
        && !matches!(want["checked_type"].as_str(), None | Some("string" | "dyn"));
    if refused_by_type {
        return None;
    }
    match (want["stage"].as_str()?, got) {
        ("ok", Ok(s)) if Some(s.as_str()) == text => None,
        ("ok", Err(e)) if text.is_none() && e.stage == Stage::Result => None,
        ("compile", Err(e)) if e.stage == Stage::Compile => None,
        ("program", Err(e)) if e.stage == Stage::Program => None,
        ("eval", Err(e)) if e.stage == Stage::Eval => None,
        (stage, got) => Some(format!(
            "wanted {stage} {} {}, got {got:?}",
            text.unwrap_or_default(),
            want["error"].as_str().unwrap_or_default()
        )),
    }
}
