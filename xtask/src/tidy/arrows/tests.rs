//! Ways to hide a dependency from a reader of manifests.

use super::*;

/// What Cargo answers for one crate with one dependency.
fn answer(dependency: &str) -> Vec<u8> {
    format!(r#"{{"packages":[{{"name":"plan","dependencies":[{dependency}]}}]}}"#).into_bytes()
}

fn objections(dependency: &str) -> Vec<String> {
    let manifests = read(&answer(dependency)).expect("the answer is whole");
    manifests["plan"]
        .iter()
        .filter(|d| d.shipped)
        .filter_map(|d| objection("plan", &["model", "expr"], &d.name))
        .collect()
}

#[test]
fn a_renamed_dependency_counts_by_its_own_name() {
    let renamed = r#"{"name":"tokio","rename":"quiet","kind":null,"target":null}"#;
    assert_eq!(objections(renamed), ["plan is pure and must not use tokio"]);
}

#[test]
fn a_dependency_of_one_target_or_of_the_build_script_counts() {
    let targeted = r#"{"name":"store","rename":null,"kind":null,"target":"cfg(unix)"}"#;
    let built = r#"{"name":"gix","rename":null,"kind":"build","target":null}"#;
    assert_eq!(
        objections(targeted),
        ["plan must not use store: arrows point down only"]
    );
    assert_eq!(objections(built), ["plan is pure and must not use gix"]);
}

#[test]
fn tests_may_use_more_than_the_crate() {
    let dev = r#"{"name":"tokio","rename":null,"kind":"dev","target":null}"#;
    assert!(objections(dev).is_empty());
}

#[test]
fn the_workspace_itself_can_be_asked() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifests = manifests(&root).expect("Cargo answers");
    assert!(manifests["plan"].iter().any(|d| d.name == "model"));
}
