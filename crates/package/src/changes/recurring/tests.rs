//! What was found for one target is said of another only where looking would say the same.

use model::{File, FileMode, Files, PackagePath};
use proptest::prelude::*;

use super::super::{Changes, aside, changes, changes_like};
use super::{Inputs, Recurring};

fn package(text: &str) -> Files {
    let path = PackagePath::parse("web.yaml").unwrap();
    Files::from([(path, File::text(text))])
}

fn inputs(values: &[&str]) -> Inputs {
    let names = ["package", "context.region", "injected.site"];
    let pairs = names.iter().zip(values);
    Inputs::new(pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn filled(text: &str, values: &[&str]) -> Files {
    let one = text.replace("ONE", values[0]);
    package(&one.replace("TWO", values[1]).replace("THREE", values[2]))
}

/// The changes of each target, with what the targets before it left, and looked at anew.
fn both(before: &str, after: &str, targets: &[[&str; 3]]) -> Vec<(Changes, Changes)> {
    let recurring = Recurring::default();
    let each = targets.iter().map(|values| {
        let (before, after) = (filled(before, values), filled(after, values));
        let inputs = inputs(values);
        let like = changes_like(&before, &after, &inputs, &recurring);
        (like, changes(&before, &after, &inputs))
    });
    each.collect()
}

const BEFORE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ONE\ndata:\n  region: TWO\n";

#[test]
fn targets_that_change_alike_are_looked_at_once() {
    let recurring = Recurring::default();
    let after = BEFORE.replace("region:", "place: THREE\n  region:");
    for at in 0..40 {
        let (name, region) = (format!("shop-{at:02}"), format!("region-{at:02}"));
        let values = [name.as_str(), region.as_str(), "site"];
        let (old, new) = (filled(BEFORE, &values), filled(&after, &values));
        let found = changes_like(&old, &new, &inputs(&values), &recurring);
        assert_eq!(found, changes(&old, &new, &inputs(&values)));
    }
    assert_eq!(super::locked(&recurring.known).len(), 1);
}

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: ONE\nupstream:\n  type: git\n  git:\n    repo: https://example.com/blue.git\n    \
directory: web\n    ref: web/v1\n  updateStrategy: resource-merge\nupstreamLock:\n  type: git\n  git:\n    repo: https://example.com/blue.git\n    \
directory: web\n    ref: web/v1\n    commit: 0123456789012345678901234567890123456789\ninfo:\n  description: of TWO\nstatus:\n  conditions:\n  - type: \
Rendered\n    status: \"True\"\n";

/// The change of a Kptfile, with what the targets before it left, and looked at anew.
fn kptfile(before: &str, values: &[&str], recurring: &Recurring) -> (Changes, Changes) {
    let after = before
        .replace("web/v1", "web/v2")
        .replace("of TWO", "in TWO");
    let named = |text: &str| {
        let files = filled(text, values).into_values();
        files.map(|file| (crate::kptfile::path(), file)).collect()
    };
    let (old, new): (Files, Files) = (named(before), named(&after));
    let like = changes_like(&old, &new, &inputs(values), recurring);
    (like, changes(&aside(&old), &aside(&new), &inputs(values)))
}

#[test]
fn kptfiles_that_change_alike_are_taken_apart_once() {
    let recurring = Recurring::default();
    for at in 0..20 {
        let (name, region) = (format!("shop-{at:02}"), format!("region-{at:02}"));
        let (like, anew) = kptfile(KPTFILE, &[&name, &region, "site"], &recurring);
        assert_eq!(like, anew);
        assert_eq!(like.files.len(), 1);
    }
    assert_eq!(super::locked(&recurring.kptfiles).len(), 1);
}

#[test]
fn what_an_upstream_says_is_told_of_each_target() {
    let odd = KPTFILE.replace("updateStrategy: resource-merge", "updateStrategy: ONE");
    let recurring = Recurring::default();
    for name in ["resource-merge", "other-merge", "Rendered", "kptfile"] {
        for text in [&odd, KPTFILE] {
            let (like, anew) = kptfile(text, &[name, "eu-west", "site"], &recurring);
            assert_eq!(like, anew, "{name}");
        }
    }
}

#[test]
fn a_change_of_a_mode_is_no_change_of_a_text() {
    let recurring = Recurring::default();
    let values = ["shop-a", "eu-west", "site-1"];
    let old = filled(BEFORE, &values);
    let mut run = old.clone();
    for file in run.values_mut() {
        *file = File::New {
            mode: FileMode::Executable,
            bytes: file.bytes().clone(),
        };
    }
    let text = filled(&BEFORE.replace("region", "place"), &values);
    for new in [&run, &text, &old, &run] {
        let like = changes_like(&old, new, &inputs(&values), &recurring);
        assert_eq!(like, changes(&old, new, &inputs(&values)));
    }
}

#[test]
fn what_a_word_means_elsewhere_is_never_taken_from_a_target_where_it_means_nothing() {
    let odd = [
        ["shop-a", "eu-west", "site-1"],
        ["name", "eu-west", "site-1"],
        ["kind", "name", "data"],
        ["Secret", "kind", "metadata"],
        ["yes", "off", "True"],
        ["web.example", "eu_west", "site.1"],
        ["shop-b", "shop-b", "site-2"],
    ];
    let texts = [
        (
            BEFORE,
            "apiVersion: v1\nkind: ONE\nmetadata:\n  name: TWO\ndata:\n  region: THREE\n",
        ),
        (
            "items:\n- {ONE: TWO, at: 1}\n- {ONE: THREE, at: 2}\n",
            "items:\n- {ONE: THREE, at: 3}\n- {ONE: TWO, at: 1}\n",
        ),
        ("ONE: {TWO: 1}\nTHREE: 2\n", "ONE: {TWO: 2}\nTHREE: 1\n"),
        ("a: \"\\x41ONE\"\n", "a: \"\\x41ONE\"\nb: TWO\n"),
        (
            "a: \"sh\\\n  op-a\"\n",
            "a: \"sh\\\n  op-a\"\nb: \"\\ONE\"\n",
        ),
    ];
    for (before, after) in texts {
        for (like, own) in both(before, after, &odd) {
            assert_eq!(like, own, "{before}{after}");
        }
    }
}

fn value() -> impl Strategy<Value = String> {
    let odd = [
        "name", "kind", "Secret", "yes", "id", "data", "null", "e10", "x41", "n", "eu", "eu-west",
        "a.b", "web_1",
    ];
    prop_oneof![
        3 => "[a-z]{3,6}(-[a-z0-9]{1,4})?",
        1 => "[A-Za-z0-9._-]{1,8}",
        2 => prop::sample::select(odd.to_vec()).prop_map(str::to_owned),
    ]
}

fn line() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "ONE",
        "TWO",
        "THREE",
        "ONE-TWO",
        "ONE/TWO",
        "\"ONE\"",
        "'TWO'",
        "\"\\nONE\"",
        "\"a\\\n    ONE\"",
        "plain",
        "3",
        "!tag%41ONE x",
        "[ONE, TWO]",
        "{ONE: 1, name: TWO}",
        "{a: ONE, b: TWO}",
        "{a/ONE}",
        "{\"ONE\"}",
        "{'TWO': ONE}",
        "{\n  ONE}",
        "{x: {ONE}, y: [TWO: 1]}",
        "{? ONE : TWO}",
        "ONE # x: TWO",
        "eu-west",
        "|\n    ONE\n    kind: Secret\n",
        "# ONE",
    ]);
    let key = prop::sample::select(vec![
        "a",
        "name",
        "kind",
        "ONE",
        "TWO",
        "\"THREE\"",
        "? ONE\n",
        "app.x/ONE",
        "'a ONE'",
        "{ONE: 1}",
        "metadata",
        "data",
    ]);
    let list = prop::sample::select(vec!["name", "id", "ONE", "key"]);
    prop_oneof![
        4 => (key, scalar.clone()).prop_map(|(key, value)| format!("{key}: {value}\n")),
        1 => (list.clone(), scalar.clone()).prop_map(|(key, value)| {
            format!("list-{key}:\n- {key}: ONE\n  at: {value}\n- {key}: THREE\n  at: 1\n")
        }),
        1 => (list, scalar).prop_map(|(key, value)| {
            format!("list-{key}:\n- {key}: THREE\n  at: {value}\n- {key}: ONE\n  at: 1\n")
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn what_recurs_is_what_is_found_anew(
        common in prop::collection::vec(line(), 0..4),
        old in prop::collection::vec(line(), 0..3),
        new in prop::collection::vec(line(), 0..3),
        targets in prop::collection::vec([value(), value(), value()], 2..5),
    ) {
        let before = common.concat() + &old.concat();
        let after = common.concat() + &new.concat();
        let targets: Vec<[&str; 3]> = targets
            .iter()
            .map(|[a, b, c]| [a.as_str(), b.as_str(), c.as_str()])
            .collect();
        for (like, own) in both(&before, &after, &targets) {
            prop_assert_eq!(like, own);
        }
    }
}
