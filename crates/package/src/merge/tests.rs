mod belonging;
mod fields;
mod lines;
mod lists;
mod moves;
mod packages;
mod remarks;
mod sequences;
mod wholes;
mod work;

use std::sync::Arc;

use model::{
    BlobId, Conflict, ConflictPolicy, ConflictState, ConflictValue, Decision, File, FileMode,
    Files, PackagePath, Strategy,
};

use super::*;

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n";

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).unwrap()
}

/// Files as git holds them: equal texts have equal ids.
fn files(all: &[(&str, &str)]) -> Files {
    let kept = |(name, text): &(&str, &str)| {
        let bytes: Arc<[u8]> = text.as_bytes().into();
        let hash = <sha2::Sha256 as sha2::Digest>::digest(text.as_bytes());
        let id = BlobId::from_bytes(&hash[..20]).unwrap();
        (
            path(name),
            File::Kept {
                id,
                mode: FileMode::Regular,
                bytes,
            },
        )
    };
    all.iter().map(kept).collect()
}

fn with_kptfile(all: &[(&str, &str)]) -> Files {
    let mut files = files(all);
    files.extend(self::files(&[("Kptfile", KPTFILE)]));
    files
}

fn block() -> MergeOptions {
    MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block)
}

fn merge_files(sides: [&[(&str, &str)]; 3], options: &MergeOptions) -> Merged {
    let [base, local, upstream] = sides.map(with_kptfile);
    merge(&base, &local, &upstream, options).unwrap()
}

/// Merges one file and gives its text.
fn one(base: &str, local: &str, upstream: &str, options: &MergeOptions) -> (String, Vec<Conflict>) {
    let merged = merge_files(
        [
            &[("a.yaml", base)],
            &[("a.yaml", local)],
            &[("a.yaml", upstream)],
        ],
        options,
    );
    let text = merged
        .files
        .get("a.yaml")
        .and_then(File::as_text)
        .unwrap_or("<gone>");
    (text.to_owned(), merged.conflicts)
}

const CONFIG: &str = "\
# licence

apiVersion: v1
kind: ConfigMap
metadata: # kpt-merge: /x
  name: x
data:
  # about a
  a: one # kept
  b: \"two\"   # aligned
  c: three
";

fn replaced(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in\n{text}");
        text.replacen(from, to, 1)
    })
}

#[test]
fn v5_only_lines_of_changed_fields_change() {
    let local = replaced(
        CONFIG,
        &[("c: three", "c: mine"), ("# about a", "# all about a")],
    );
    let upstream = replaced(
        CONFIG,
        &[
            ("a: one", "a: uno"),
            ("data:\n", "data:\n  new: \"1\" # why\n"),
        ],
    );
    let (text, conflicts) = one(CONFIG, &local, &upstream, &block());
    let wanted = replaced(
        CONFIG,
        &[
            ("c: three", "c: mine"),
            (
                "data:\n  # about a\n  a: one",
                "data:\n  new: \"1\" # why\n  # all about a\n  a: uno",
            ),
        ],
    );
    assert_eq!(text, wanted);
    assert_eq!(conflicts, []);
}

#[test]
fn a_document_behind_another_one_has_no_byte_order_mark() {
    let other = "\u{feff}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n";
    let local = replaced(CONFIG, &[("a: one", "a: mine")]);
    let (text, _) = one(CONFIG, &local, other, &block());
    assert_eq!(text, format!("{local}---\n{}", &other[3..]));
}

/// Found by fuzzing: in one side, quotes hold a next-line character before three dots on their own.
#[test]
fn what_three_readable_sides_give_can_be_read() {
    let found = include_bytes!("../../../../fuzz/corpus/merge/next-line-before-dots");
    let found = String::from_utf8_lossy(found);
    let sides: Vec<&str> = found.split("\0\0\n").collect();
    let [base, local, upstream] = sides[..] else {
        panic!("{} sides", sides.len());
    };
    let reads = |text: &str| yaml::Stream::parse(text, &yaml::Limits::default()).is_ok();
    assert!(reads(base) && reads(upstream));
    assert!(!reads(local), "the dots end the document inside quotes");
    // With a letter behind them the dots are content.
    let local = replaced(local, &[("\u{85}...\n", "\u{85}...y\n")]);
    assert!(reads(&local));
    let (text, _) = one(base, &local, upstream, &block());
    assert!(reads(&text), "{text}");
    assert!(text.contains("\u{85}...y\n"), "{text}");
}

#[test]
fn untouched_files_stay_as_git_holds_them_and_are_never_read() {
    // The lone file is no YAML at all, and nobody stumbles over it.
    let broken = "a: [\n";
    let base = [("b.yaml", broken), ("a.yaml", CONFIG)];
    let theirs = replaced(CONFIG, &[("a: one", "a: uno")]);
    let upstream = [("b.yaml", broken), ("a.yaml", theirs.as_str())];
    let merged = merge_files([&base, &base, &upstream], &block());
    assert_eq!(merged.files, with_kptfile(&upstream));
    assert!(merged.files.values().all(|file| file.id().is_some()));
    // A merge that comes out as one of its sides is that side's file.
    let requoted = replaced(CONFIG, &[("b: \"two\"", "b: 'two'")]);
    let mine = replaced(CONFIG, &[("c: three", "c: mine")]);
    let (local, upstream) = ([("a.yaml", mine.as_str())], [("a.yaml", requoted.as_str())]);
    let merged = merge_files([&[("a.yaml", CONFIG)], &local, &upstream], &block());
    assert_eq!(
        merged.files,
        with_kptfile(&[("a.yaml", &replaced(&mine, &[("b: \"two\"", "b: 'two'")]))])
    );
}

#[test]
fn v4_a_conflict_says_what_each_side_holds() {
    let local = replaced(CONFIG, &[("a: one", "a: mine")]);
    let upstream = replaced(CONFIG, &[("a: one", "a: theirs")]);
    for (policy, draft, value, decision, state) in [
        (
            ConflictPolicy::Block,
            false,
            "theirs",
            Decision::Upstream,
            ConflictState::Open,
        ),
        (
            ConflictPolicy::Block,
            true,
            "mine",
            Decision::Local,
            ConflictState::Open,
        ),
        (
            ConflictPolicy::Upstream,
            false,
            "theirs",
            Decision::Upstream,
            ConflictState::Recorded,
        ),
        (
            ConflictPolicy::Local,
            false,
            "mine",
            Decision::Local,
            ConflictState::Recorded,
        ),
    ] {
        let options = MergeOptions {
            policy,
            draft,
            ..block()
        };
        let (text, conflicts) = one(CONFIG, &local, &upstream, &options);
        assert_eq!(
            text,
            replaced(CONFIG, &[("a: one", &format!("a: {value}"))])
        );
        let [conflict] = conflicts.as_slice() else {
            panic!("{conflicts:?}")
        };
        assert_eq!(conflict.file.as_str(), "a.yaml");
        assert_eq!(conflict.resource, "/ConfigMap//x");
        assert_eq!(conflict.path, "data.a");
        let json = |text: &str| ConflictValue::Json(format!("\"{text}\""));
        assert_eq!(
            [&conflict.base, &conflict.local, &conflict.upstream],
            [&json("one"), &json("mine"), &json("theirs")]
        );
        assert_eq!((conflict.decision, conflict.state), (decision, state));
    }
}

#[test]
fn v4_values_of_secrets_are_hashes() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: hunter2\n";
    let local = secret.replace("hunter2", "hunter3");
    let upstream = secret.replace("hunter2", "hunter4");
    let (_, conflicts) = one(secret, &local, &upstream, &block());
    let text = crate::conflicts::encode(&conflicts);
    assert!(
        text.contains("sha256:") && !text.contains("hunter"),
        "{text}"
    );
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        secret.trim_end().replace('\n', "\n  ")
    );
    let (_, conflicts) = one(
        &list,
        &list.replace("hunter2", "hunter3"),
        &list.replace("hunter2", "hunter4"),
        &block(),
    );
    let text = crate::conflicts::encode(&conflicts);
    assert!(
        text.contains("sha256:") && !text.contains("hunter"),
        "{text}"
    );
    // The same where the whole resource is in question, or the file cannot be read.
    for (base, local, upstream) in [
        (secret, local.as_str(), ""),
        (
            "a: [ # Secret hunter2",
            "a: [ # Secret hunter3",
            "a: [ # Secret hunter4",
        ),
    ] {
        let (_, conflicts) = one(base, local, upstream, &block());
        let text = crate::conflicts::encode(&conflicts);
        assert!(!conflicts.is_empty() && !text.contains("hunter"), "{text}");
    }
}

#[test]
fn m6_a_document_with_keys_that_stand_twice_is_one_value() {
    let base =
        "kind: A\nmetadata: {name: a}\nx: 1\nx: 2\ny: 1\n---\nkind: B\nmetadata: {name: b}\nz: 1\n";
    let local = base.replace("z: 1", "z: 2");
    let upstream = base.replace("y: 1", "y: 3");
    let (text, conflicts) = one(base, &local, &upstream, &block());
    assert_eq!(text, upstream.replace("z: 1", "z: 2"));
    assert_eq!(conflicts, []);
    let (text, conflicts) = one(base, &base.replace("y: 1", "y: 4"), &upstream, &block());
    assert_eq!(text, upstream);
    assert_eq!(
        conflicts
            .iter()
            .map(|c| c.path.as_str())
            .collect::<Vec<_>>(),
        [""]
    );
}

#[test]
fn m7_what_is_no_yaml_merges_as_text_and_stops_nothing() {
    let sides: [&[(&str, &str)]; 3] = [
        &[
            ("broken.yaml", "a: [\n"),
            ("x.txt", "1\n"),
            ("y.txt", "1\n"),
            ("a.yaml", CONFIG),
        ],
        &[
            ("broken.yaml", "a: [1\n"),
            ("x.txt", "2\n"),
            ("y.txt", "1\n"),
            ("a.yaml", CONFIG),
        ],
        &[
            ("broken.yaml", "a: [2\n"),
            ("x.txt", "3\n"),
            ("y.txt", "4\n"),
            ("a.yaml", "kind: A\n"),
        ],
    ];
    let merged = merge_files(sides, &block());
    let text = |name: &str| merged.files[name].as_text().unwrap();
    assert_eq!(
        [
            text("broken.yaml"),
            text("x.txt"),
            text("y.txt"),
            text("a.yaml")
        ],
        ["a: [1\n", "2\n", "4\n", "kind: A\n"]
    );
    let places: Vec<_> = merged.conflicts.iter().map(|c| c.file.as_str()).collect();
    assert_eq!(places, ["broken.yaml", "x.txt"]);
}

#[test]
fn m16_what_both_sides_added_is_a_conflict_unless_equal() {
    let (mine, theirs) = (
        "kind: A\nmetadata: {name: a}\nx: 1\n",
        "kind: A\nmetadata: {name: a}\nw: 2\n",
    );
    let merged = merge_files([&[], &[("n.yaml", mine)], &[("n.yaml", theirs)]], &block());
    assert_eq!(merged.files["n.yaml"].as_text().unwrap(), theirs);
    assert_eq!(merged.conflicts.len(), 1);
    let merged = merge_files([&[], &[("n.yaml", mine)], &[("n.yaml", mine)]], &block());
    assert_eq!(merged.conflicts, []);
}

#[test]
fn a_diff_names_fields() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter}\n";
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  ports:\n  - port: 80\n    name: a\n";
    let before = with_kptfile(&[
        ("a.yaml", CONFIG),
        ("s.yaml", secret),
        ("svc.yaml", service),
        ("x.txt", "x"),
    ]);
    let after = with_kptfile(&[
        (
            "a.yaml",
            &replaced(CONFIG, &[("a: one", "a: uno"), ("  c: three\n", "")]),
        ),
        ("s.yaml", &secret.replace("hunter", "hunted")),
        (
            "svc.yaml",
            &service.replace("name: a", "protocol: TCP\n    name: b"),
        ),
        ("form.yaml", "kind: F\n"),
    ]);
    let all: Vec<String> = diff(&before, &after)
        .into_iter()
        .map(|d| format!("{} {} {}", d.file, d.resource, d.path))
        .collect();
    assert_eq!(
        all,
        [
            "a.yaml /ConfigMap//x data.a",
            "a.yaml /ConfigMap//x data.c",
            "form.yaml /F// ",
            "s.yaml /Secret//s data.a",
            "svc.yaml /Service//s spec.ports[port=80,protocol=TCP].name",
            "svc.yaml /Service//s spec.ports[port=80,protocol=TCP].protocol",
            "x.txt  ",
        ]
    );
    assert!(
        !format!("{:?}", diff(&before, &after)).contains("hunte"),
        "a secret shows"
    );
    let commented = with_kptfile(&[("a.yaml", &format!("{CONFIG}# end\n"))]);
    let form = diff(&with_kptfile(&[("a.yaml", CONFIG)]), &commented);
    assert!(form.len() == 1 && form[0].is_form(), "{form:?}");
    assert_eq!(diff(&before, &before), []);
}

#[test]
fn a_package_has_one_kptfile_whatever_it_is_called() {
    let kptfile = |name: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\ninfo:\n  description: an app\n"
        )
    };
    let of = |name: &str| files(&[("Kptfile", &kptfile(name))]);
    let all: Vec<String> = diff(&of("app"), &of("shop"))
        .into_iter()
        .map(|d| format!("{} {} {}", d.file, d.resource, d.path))
        .collect();
    assert_eq!(all, ["Kptfile kpt.dev/Kptfile//shop metadata.name"]);
}

#[test]
fn what_was_put_into_a_namespace_is_still_the_same_resource() {
    let placed = |namespace: &str, value: &str| {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n{namespace}data:\n  a: {value}\n"
        );
        with_kptfile(&[("a.yaml", &text)])
    };
    let told = |before: &Files, after: &Files| -> Vec<String> {
        let all = diff(before, after).into_iter();
        all.map(|d| format!("{} {}", d.resource, d.path)).collect()
    };
    let (before, after) = (placed("", "\"1\""), placed("  namespace: shop\n", "\"2\""));
    let wanted = [
        "/ConfigMap/shop/x metadata.namespace",
        "/ConfigMap/shop/x data.a",
    ];
    assert_eq!(told(&before, &after), wanted);
    // Of two that were put into two namespaces nobody knows which is which.
    let two = |files: &Files| files[&path("a.yaml")].as_text().unwrap().to_owned();
    let both = format!(
        "{}---\n{}",
        two(&after),
        two(&placed("  namespace: other\n", "\"3\""))
    );
    let both = with_kptfile(&[("a.yaml", &both)]);
    let all = told(&before, &both);
    assert_eq!(
        all.iter().filter(|d| d.ends_with(' ')).count(),
        3,
        "{all:?}"
    );
}
