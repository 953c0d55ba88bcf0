//! The laws of lists: order, valid results, sequences (M13, M13b, M22).

use std::collections::{BTreeMap, BTreeSet};

use model::{Conflict, ConflictPolicy, File, Files, PackagePath, Strategy as MergeStrategy};
use package::merge::{MergeOptions, merge};
use proptest::prelude::*;
use serde_json::Value;
use yaml::{Limits, Reader, Stream};

fn options(policy: ConflictPolicy) -> MergeOptions {
    MergeOptions {
        need_kptfile: false,
        ..MergeOptions::against_base(MergeStrategy::ResourceMerge, policy)
    }
}

/// Merges one file; its value, and the conflicts.
fn merged(texts: [&str; 3], policy: ConflictPolicy) -> (Value, Vec<Conflict>) {
    let path = PackagePath::parse("a.yaml").unwrap();
    let files = |text: &str| Files::from_iter([(path.clone(), File::text(text))]);
    let [base, local, upstream] = texts.map(files);
    let merged = merge(&base, &local, &upstream, &options(policy)).unwrap();
    let text = merged.files[&path].as_text().unwrap().to_owned();
    let stream = Stream::parse(text.as_str(), &Limits::default()).unwrap();
    let value = stream.document(0).unwrap().to_json(Reader::V3).unwrap();
    (value, merged.conflicts)
}

/// A port by number, name and target; a map's values are its elements, numbers and names each once.
type Ports = Vec<(u8, u8, u8)>;

fn ports() -> impl Strategy<Value = Ports> {
    let port = (0..5_u8, 0..5_u8, 0..3_u8);
    proptest::collection::vec(port, 0..4).prop_map(|ports| {
        let (mut numbers, mut names) = (BTreeSet::new(), BTreeSet::new());
        let fresh = |port: &(u8, u8, u8)| {
            let free = !numbers.contains(&port.0) && !names.contains(&port.1);
            free && numbers.insert(port.0) && names.insert(port.1)
        };
        ports.into_iter().filter(fresh).collect()
    })
}

fn service(ports: &Ports) -> String {
    let head = "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\nspec:\n  type: ClusterIP\n";
    let port = |(number, name, target): &(u8, u8, u8)| {
        format!("  - port: 8{number}\n    name: n{name}\n    targetPort: {target}\n")
    };
    let all: String = ports.iter().map(port).collect();
    match ports.is_empty() {
        true => head.to_owned(),
        false => format!("{head}  ports:\n{all}"),
    }
}

/// A list of texts, none of which stands twice.
fn order() -> impl Strategy<Value = Vec<u8>> {
    Just((0..6_u8).collect::<Vec<u8>>()).prop_shuffle()
}

fn env(order: &[u8], values: &BTreeMap<u8, u8>) -> String {
    let head = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: c\n    env:\n";
    let entry = |name: &u8| {
        let value = values.get(name).copied().unwrap_or_default();
        format!("    # about {name}\n    - name: e{name}\n      value: v{value}\n")
    };
    format!("{head}{}", order.iter().map(entry).collect::<String>())
}

fn sequence(items: &[u8]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("i{item}")).collect();
    format!(
        "kind: A\nmetadata: {{name: a}}\nargs: [{}]\n",
        items.join(", ")
    )
}

fn counts(value: &Value) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    for item in value.as_array().into_iter().flatten() {
        *counts.entry(item.to_string()).or_default() += 1;
    }
    counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn m13b_valid_lists_make_a_valid_list_or_a_conflict(base in ports(), local in ports(), upstream in ports()) {
        let texts = [service(&base), service(&local), service(&upstream)];
        for policy in [ConflictPolicy::Block, ConflictPolicy::Upstream, ConflictPolicy::Local] {
            let (value, conflicts) = merged(texts.each_ref().map(String::as_str), policy);
            let ports = value.pointer("/spec/ports").and_then(Value::as_array).cloned().unwrap_or_default();
            for key in ["port", "name"] {
                let all: BTreeSet<String> = ports.iter().map(|port| port[key].to_string()).collect();
                prop_assert_eq!(all.len(), ports.len(), "{}", value);
            }
            // What both sides say without a conflict is what either of them says.
            for port in &ports {
                let said = [&base, &local, &upstream].into_iter().flatten();
                let mut said = said.map(|(number, _, _)| Value::from(80 + u64::from(*number)));
                prop_assert!(said.any(|number| number == port["port"]), "{}", value);
            }
            prop_assert!(conflicts.iter().all(|c| c.path.starts_with("spec.ports")), "{:?}", conflicts);
        }
    }

    #[test]
    fn m13_upstreams_order_arrives_with_every_comment(
        order in order(), values in proptest::collection::btree_map(0..6_u8, 0..3_u8, 0..6), new in proptest::option::of(0..6_usize)
    ) {
        let kept: Vec<u8> = (0..6).collect();
        let mut theirs = order;
        theirs.extend(new.map(|_| 6));
        if let Some(at) = new {
            theirs.swap(at, 6);
        }
        let none = BTreeMap::new();
        let (base, local, upstream) = (env(&kept, &none), env(&kept, &values), env(&theirs, &none));
        let path = PackagePath::parse("a.yaml").unwrap();
        let files = |text: &str| Files::from_iter([(path.clone(), File::text(text))]);
        let merged = merge(&files(&base), &files(&local), &files(&upstream), &options(ConflictPolicy::Block)).unwrap();
        // Upstream's order, local's values: byte for byte what upstream would have written.
        prop_assert_eq!(merged.files[&path].as_text().unwrap(), env(&theirs, &values));
        prop_assert_eq!(merged.conflicts, vec![]);
    }

    #[test]
    fn m22_a_merged_sequence_holds_both_sides_changes(
        base in proptest::collection::vec(0..6_u8, 0..8),
        mine in proptest::collection::vec((0..9_usize, proptest::option::of(0..9_u8)), 0..3),
        theirs in proptest::collection::vec((0..9_usize, proptest::option::of(0..9_u8)), 0..3),
    ) {
        let changed = |changes: &[(usize, Option<u8>)]| {
            let mut items = base.clone();
            for (at, change) in changes {
                match change {
                    Some(item) => items.insert((*at).min(items.len()), *item),
                    None if *at < items.len() => drop(items.remove(*at)),
                    None => {}
                }
            }
            items
        };
        let texts = [sequence(&base), sequence(&changed(&mine)), sequence(&changed(&theirs))];
        let [b, l, u] = texts.each_ref().map(String::as_str);
        let (value, conflicts) = merged([b, l, u], ConflictPolicy::Block);
        let (turned, again) = merged([b, u, l], ConflictPolicy::Block);
        prop_assert_eq!(conflicts.len(), again.len());
        if !conflicts.is_empty() {
            prop_assert_eq!(conflicts.iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["args"]);
            return Ok(());
        }
        // Neither side is the first.
        prop_assert_eq!(&value, &turned);
        let side = |text: &str| {
            let stream = Stream::parse(text, &Limits::default()).unwrap();
            counts(&stream.document(0).unwrap().to_json(Reader::V3).unwrap()["args"])
        };
        let [base, local, upstream] = [b, l, u].map(side);
        let merged = counts(&value["args"]);
        let all: BTreeSet<&String> = base.keys().chain(local.keys()).chain(upstream.keys()).collect();
        for item in all {
            let of = |side: &BTreeMap<String, i64>| side.get(item).copied().unwrap_or_default();
            let (base, local, upstream, merged) = (of(&base), of(&local), of(&upstream), of(&merged));
            let both = local + upstream - base;
            let agreed = local.min(upstream)..=local.max(upstream);
            prop_assert!(merged == both || agreed.contains(&merged), "{} in {}", item, value);
        }
    }
}
