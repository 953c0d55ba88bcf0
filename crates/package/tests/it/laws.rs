//! The laws of the merge, on generated packages and edits.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::{ConflictPolicy, ConflictState, File, Files, PackagePath, Strategy as MergeStrategy};
use package::merge::{MergeOptions, merge};
use proptest::prelude::*;

use super::oracle;

/// A small package that can be edited in many ways.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Model {
    labels: BTreeMap<u8, u8>,
    data: BTreeMap<u8, u8>,
    containers: Vec<Container>,
    args: Vec<u8>,
    replicas: Option<u8>,
    functions: Vec<(u8, u8)>,
    readme: Option<u8>,
    extra: Option<u8>,
    comment: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Container {
    name: u8,
    image: u8,
    env: BTreeMap<u8, u8>,
}

/// One edit of a person or of an upstream author.
#[derive(Debug, Clone)]
enum Change {
    Label(u8, Option<u8>),
    NoLabels,
    Data(u8, Option<u8>),
    Image(u8, u8),
    Env(u8, u8, Option<u8>),
    Container(u8, bool),
    Args(Vec<u8>),
    Replicas(Option<u8>),
    Function(u8, u8, usize),
    NoFunction(u8),
    Readme(Option<u8>),
    Extra(Option<u8>),
    Comment(u8),
}

fn change() -> impl Strategy<Value = Change> {
    let small = || 0..4_u8;
    let maybe = || proptest::option::weighted(0.7, 0..4_u8);
    prop_oneof![
        (small(), maybe()).prop_map(|(k, v)| Change::Label(k, v)),
        Just(Change::NoLabels),
        (small(), maybe()).prop_map(|(k, v)| Change::Data(k, v)),
        (small(), small()).prop_map(|(c, v)| Change::Image(c, v)),
        (small(), small(), maybe()).prop_map(|(c, k, v)| Change::Env(c, k, v)),
        (small(), any::<bool>()).prop_map(|(c, there)| Change::Container(c, there)),
        proptest::collection::vec(small(), 0..3).prop_map(Change::Args),
        maybe().prop_map(Change::Replicas),
        (small(), small(), 0..3_usize).prop_map(|(f, v, at)| Change::Function(f, v, at)),
        small().prop_map(Change::NoFunction),
        maybe().prop_map(Change::Readme),
        maybe().prop_map(Change::Extra),
        small().prop_map(Change::Comment),
    ]
}

fn model() -> impl Strategy<Value = Model> {
    let map = || proptest::collection::btree_map(0..4_u8, 0..4_u8, 0..3);
    let start = (map(), map(), proptest::collection::vec(change(), 0..8));
    start.prop_map(|(labels, data, changes)| {
        let container = Container {
            name: 0,
            image: 0,
            env: BTreeMap::new(),
        };
        let model = Model {
            labels,
            data,
            containers: vec![container],
            args: vec![1, 2],
            replicas: Some(1),
            functions: vec![(0, 0)],
            readme: Some(0),
            extra: None,
            comment: 0,
        };
        changed(&model, &changes)
    })
}

fn changed(model: &Model, changes: &[Change]) -> Model {
    let mut model = model.clone();
    let put = |map: &mut BTreeMap<u8, u8>, key: u8, value: Option<u8>| match value {
        Some(value) => _ = map.insert(key, value),
        None => _ = map.remove(&key),
    };
    for change in changes {
        match change.clone() {
            Change::Label(key, value) => put(&mut model.labels, key, value),
            Change::NoLabels => model.labels.clear(),
            Change::Data(key, value) => put(&mut model.data, key, value),
            Change::Image(name, image) => {
                let found = model.containers.iter_mut().filter(|c| c.name == name);
                found.for_each(|c| c.image = image);
            }
            Change::Env(name, key, value) => {
                let found = model.containers.iter_mut().filter(|c| c.name == name);
                found.for_each(|c| put(&mut c.env, key, value));
            }
            Change::Container(name, there) => {
                model.containers.retain(|c| c.name != name);
                if there {
                    model.containers.push(Container {
                        name,
                        image: 0,
                        env: BTreeMap::new(),
                    });
                }
            }
            Change::Args(args) => model.args = args,
            Change::Replicas(replicas) => model.replicas = replicas,
            Change::Function(name, value, at) => {
                model.functions.retain(|f| f.0 != name);
                model
                    .functions
                    .insert(at.min(model.functions.len()), (name, value));
            }
            Change::NoFunction(name) => model.functions.retain(|f| f.0 != name),
            Change::Readme(readme) => model.readme = readme,
            Change::Extra(extra) => model.extra = extra,
            Change::Comment(comment) => model.comment = comment,
        }
    }
    model
}

/// The package as text, with comments.
fn files(model: &Model) -> Files {
    let mut kptfile = String::from("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n");
    if !model.functions.is_empty() {
        kptfile.push_str("pipeline:\n  mutators:\n");
    }
    for (name, value) in &model.functions {
        // Every other one has no name.
        let head = if name % 2 == 0 {
            format!("name: f{name}\n    ")
        } else {
            String::new()
        };
        _ = write!(
            kptfile,
            "  - {head}image: fn-{name}:v1\n    configMap:\n      v: x{value}\n"
        );
    }
    let mut text = format!(
        "# the workload, {}\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web # kept\n",
        model.comment
    );
    section(&mut text, "  labels", &model.labels);
    text.push_str("spec:\n");
    if let Some(replicas) = model.replicas {
        _ = writeln!(text, "  replicas: {replicas} # comment {}", model.comment);
    }
    text.push_str("  template:\n    spec:\n");
    if !model.containers.is_empty() {
        text.push_str("      containers:\n");
    }
    for container in &model.containers {
        let Container { name, image, env } = container;
        _ = write!(
            text,
            "      # container {name}\n      - name: c{name}\n        image: i:{image}\n"
        );
        if !env.is_empty() {
            text.push_str("        env:\n");
        }
        for (key, value) in env {
            _ = write!(
                text,
                "        - name: E{key}\n          value: \"{value}\"\n"
            );
        }
    }
    text.push_str(
        "      nodeName: n\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\n",
    );
    section(&mut text, "data", &model.data);
    let args: Vec<String> = model.args.iter().map(|arg| format!("a{arg}")).collect();
    _ = writeln!(text, "args: [{}]", args.join(", "));
    let mut files = vec![("Kptfile", kptfile), ("all.yaml", text)];
    files.extend(
        model
            .readme
            .map(|n| ("README.md", format!("read me {n}\n"))),
    );
    files.extend(model.extra.map(|n| {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n";
        ("extra.yaml", format!("{text}  n: \"{n}\"\n"))
    }));
    let path = |path: &str| PackagePath::parse(path).unwrap();
    files
        .into_iter()
        .map(|(name, text)| (path(name), File::text(text)))
        .collect()
}

fn section(text: &mut String, key: &str, map: &BTreeMap<u8, u8>) {
    if map.is_empty() {
        return;
    }
    _ = writeln!(text, "{key}:");
    let indent = " ".repeat(key.len() - key.trim_start().len() + 2);
    for (key, value) in map {
        _ = writeln!(text, "{indent}k{key}: v{value} # {key}");
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    proptest::collection::vec(change(), 0..6)
}

fn options(policy: ConflictPolicy) -> MergeOptions {
    MergeOptions::against_base(MergeStrategy::ResourceMerge, policy)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn one_sides_changes_are_the_result(base in model(), changes in changes()) {
        let (base, new) = (files(&base), files(&changed(&base, &changes)));
        for sides in [[&base, &base, &new], [&base, &new, &base], [&base, &new, &new]] {
            let merged = merge(sides[0], sides[1], sides[2], &options(ConflictPolicy::Block)).unwrap();
            prop_assert_eq!(&merged.files, &new);
            prop_assert!(merged.conflicts.is_empty());
        }
    }

    #[test]
    fn no_edit_is_lost_without_a_record(base in model(), mine in changes(), theirs in changes()) {
        let (local, upstream) = (changed(&base, &mine), changed(&base, &theirs));
        let (base, local, upstream) = (files(&base), files(&local), files(&upstream));
        for policy in [ConflictPolicy::Block, ConflictPolicy::Upstream, ConflictPolicy::Local] {
            let merged = merge(&base, &local, &upstream, &options(policy)).unwrap();
            let (files, conflicts) = (&merged.files, &merged.conflicts);
            prop_assert_eq!(oracle::lost(&base, &local, files, conflicts), Vec::<String>::new());
            prop_assert_eq!(oracle::lost(&base, &upstream, files, conflicts), Vec::<String>::new());
            // The same again, to the byte.
            let again = merge(&base, &local, &upstream, &options(policy)).unwrap();
            prop_assert_eq!(&again, &merged);
            let gates = conflicts.iter().any(|c| c.state == ConflictState::Open);
            prop_assert!(!gates || policy == ConflictPolicy::Block);
        }
    }

    #[test]
    fn a_persons_edits_in_a_draft_stay_under_block(base in model(), mine in changes(), theirs in changes()) {
        let (local, upstream) = (changed(&base, &mine), changed(&base, &theirs));
        let (base, local, upstream) = (files(&base), files(&local), files(&upstream));
        let merged = merge(&base, &local, &upstream, &MergeOptions::in_draft(ConflictPolicy::Block)).unwrap();
        // Whatever conflicts, the person's value stands, so nothing of it needs a record.
        prop_assert_eq!(oracle::lost(&base, &local, &merged.files, &[]), Vec::<String>::new());
    }
}

/// Texts with bytes taken out, doubled and replaced.
fn damaged(files: &Files, damage: &[(usize, usize, u8)]) -> Files {
    let texts = files.iter().enumerate().map(|(at, (path, file))| {
        let mut bytes = file.bytes().to_vec();
        for (which, place, byte) in damage
            .iter()
            .filter(|(which, ..)| which % files.len() == at)
        {
            let place = place % bytes.len().max(1);
            match which % 3 {
                0 => bytes.insert(place.min(bytes.len()), *byte),
                1 if !bytes.is_empty() => _ = bytes.remove(place),
                _ => bytes
                    .iter_mut()
                    .skip(place)
                    .take(1)
                    .for_each(|b| *b = *byte),
            }
        }
        (path.clone(), File::new(bytes))
    });
    texts.collect()
}

fn damage() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    let bytes = proptest::sample::select(b" \n:-#{}[]&*!|>'\"%@`,\t\rax0~?\xff\0".to_vec());
    proptest::collection::vec((any::<usize>(), any::<usize>(), bytes), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn damaged_packages_never_stop_anything_but_a_root_kptfile(
        base in model(), mine in changes(), theirs in changes(), broken in (damage(), damage(), damage())
    ) {
        let (local, upstream) = (changed(&base, &mine), changed(&base, &theirs));
        let base = damaged(&files(&base), &broken.0);
        let local = damaged(&files(&local), &broken.1);
        let upstream = damaged(&files(&upstream), &broken.2);
        match merge(&base, &local, &upstream, &options(ConflictPolicy::Block)) {
            Ok(merged) => {
                // Names may be damaged too, so that only files can be looked for.
                for (path, file) in &local {
                    let there = merged.files.contains_key(path);
                    let gone = base.get(path) == Some(file) && !upstream.contains_key(path);
                    prop_assert!(there || gone || merged.conflicts.iter().any(|c| c.file == *path));
                }
                let again = merge(&base, &local, &upstream, &options(ConflictPolicy::Block));
                prop_assert_eq!(again, Ok(merged));
            }
            Err(other) => prop_assert!(
                matches!(other, package::merge::MergeError::ReadKptfile { .. }),
                "{}", other
            ),
        }
    }
}
