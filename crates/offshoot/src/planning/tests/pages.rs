//! What the pages tell of classes that are alike, of what is held, and of what nobody may see.

use engine::planned::{FleetPlan, Verdict};
use model::{CommitId, FileMode};
use package::changes::Inputs;
use sha2::{Digest, Sha256};

use super::*;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: limits\ndata:\n";

fn hex(text: &str) -> String {
    let hash = Sha256::digest(text);
    hash.iter().map(|b| format!("{b:02x}")).collect()
}

/// A target with these files before and after, that follows this version of the upstream.
fn add(plan: &mut FleetPlan, name: &str, before: &Files, after: &Files, to: &str) {
    let at = target(plan, name, Verdict::Upgrade);
    let (package, repository) = (
        PackageName::parse(name).unwrap(),
        RepositoryName::parse("blueprints").unwrap(),
    );
    let inputs = Inputs::new([("package".to_owned(), name.to_owned())]);
    let found = changes(before, after, &inputs).keyed(HashKey::new("of the upstream"));
    let id = found.id(&WantedUpstream {
        repository: repository.clone(),
        package,
        tree: TreeId::from_bytes(&[u8::try_from(to.len()).unwrap(); 20]).unwrap(),
    });
    plan.classes.entry(id).or_insert_with(|| PlannedClass {
        changes: found,
        first: key(name),
        before: before.clone(),
        after: after.clone(),
    });
    let target = &mut plan.targets[at];
    target.class = Some(id);
    target.inputs = inputs;
    target.upstream = Some(UpstreamChange {
        repository,
        package: PackageName::parse("web").unwrap(),
        from: Some(("v1".to_owned(), None)),
        to: (to.to_owned(), None::<CommitId>),
    });
}

/// A plan of two targets, each with an old and a new text of one file; an empty text is no file.
fn pair(path: &str, texts: [(&str, &str); 2]) -> serde_json::Value {
    let mut plan = FleetPlan::default();
    for (name, (old, new)) in ["shop-a", "shop-b"].into_iter().zip(texts) {
        let of = |text: &str| {
            let mut all = vec![("kept.yaml", format!("{MAP}  image: {}\n", text.is_empty()))];
            if !text.is_empty() {
                all.push((path, text.to_owned()));
            }
            files(&all)
        };
        // Both change one thing alike.
        let (mut before, after) = (of(old), of(new));
        before.insert(
            PackagePath::parse("kept.yaml").unwrap(),
            File::text(format!("{MAP}  image: before\n")),
        );
        add(&mut plan, name, &before, &after, "v2");
    }
    document(&plan, None)
}

fn classes(document: &serde_json::Value) -> usize {
    document["classes"].as_array().unwrap().len()
}

/// Two files that are added and differ in a comment alone are not the same.
#[test]
fn classes_that_differ_in_the_text_of_an_added_file_do_not_read_alike() {
    let text = |comment: &str| format!("{MAP}  a: one\n  b: two # {comment}\n");
    let document = pair("limits.yaml", [("", &text("x")), ("", &text("y"))]);
    assert_eq!(classes(&document), 2);
    let page = table(&document, false);
    assert!(
        page.contains("+ the whole file  data.a: one  data.b: two  #"),
        "{page}"
    );
    assert!(
        page.contains("  as A\n  and limits.yaml ConfigMap limits: + the whole file"),
        "{page}"
    );
    assert!(
        page.contains("  without limits.yaml ConfigMap limits: + the whole file"),
        "{page}"
    );
}

/// An input in braces and a literal in braces are told apart: in a value, in a file's name, in a resource's.
#[test]
fn a_literal_in_braces_does_not_read_as_an_input() {
    let of = |value: &str| format!("{MAP}  who: {value}\n");
    let old = of("nobody");
    let document = pair(
        "limits.yaml",
        [(&old, &of("shop-a")), (&old, &of("'{package}'"))],
    );
    assert_eq!(classes(&document), 2);
    let page = table(&document, false);
    assert!(page.contains("nobody → shop-a"), "{page}");
    assert!(page.contains("nobody → \\{package}"), "{page}");
    let mut plan = FleetPlan::default();
    let old = files(&[("a.yaml", old)]);
    for (name, path) in [("shop-a", "shop-a.yaml"), ("shop-b", "{package}.yaml")] {
        let mut new = old.clone();
        new.extend(files(&[(
            path,
            MAP.replace("limits", &format!("'{path}'")),
        )]));
        add(&mut plan, name, &old, &new, "v2");
    }
    let page = table(&super::super::document(&plan, None), false);
    assert!(
        page.contains("\\{package}.yaml ConfigMap \\{package}.yaml"),
        "{page}"
    );
}

#[test]
fn a_class_is_never_like_one_of_another_upstream() {
    let (old, new) = (
        files(&[("a.yaml", format!("{MAP}  a: one\n"))]),
        files(&[("a.yaml", format!("{MAP}  a: two\n"))]),
    );
    let mut plan = FleetPlan::default();
    add(&mut plan, "shop-a", &old, &new, "v2");
    add(&mut plan, "shop-b", &old, &new, "v10");
    let document = document(&plan, None);
    assert_eq!(classes(&document), 2);
    let page = table(&document, false);
    assert!(!page.contains("as A"), "{page}");
    assert_eq!(page.matches("data.a  one → two").count(), 2, "{page}");
}

/// Where nothing differs but what the Kptfile notes, that is said.
#[test]
fn classes_that_differ_in_bookkeeping_say_so() {
    let kptfile = |state: &str| {
        format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\nstatus:\n  conditions:\n  - type: a\n    status: \"{state}\"\n"
        )
    };
    let old = kptfile("False");
    let document = pair(
        "Kptfile",
        [(&old, &kptfile("True")), (&old, &kptfile("Unknown"))],
    );
    assert_eq!(classes(&document), 2);
    let page = table(&document, false);
    assert!(
        page.contains("  as A, and otherwise in what the Kptfile notes"),
        "{page}"
    );
    let page = table(&document, true);
    assert!(page.contains("and Kptfile"), "{page}");
}

/// Deletions that the guard holds: what they come to, and how they are confirmed.
#[test]
fn what_is_held_reads_as_what_leaves_and_says_how_it_is_confirmed() {
    let mut plan = fleet();
    plan.sets[0].held = true;
    plan.sets[0].confirm = Some("c0ffee".to_owned());
    plan.targets.retain(|t| t.verdict == Verdict::Leave);
    plan.classes.clear();
    let document = document(&plan, None);
    assert_eq!(outcome(&document), (true, false));
    let told = "5 of 300 of set default/web: the deletion guard HOLDS them until somebody confirms: kubectl annotate pvset web offshoot.dev/confirm-deletion=c0ffee";
    let page = table(&document, false);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/src/planning/held.txt");
    if std::env::var_os("OFFSHOOT_BLESS").is_some() {
        std::fs::write(golden, &page).unwrap();
    }
    assert_eq!(page, std::fs::read_to_string(golden).unwrap());
    for page in [page, markdown(&document, false)] {
        assert!(page.contains(told), "{page}");
        assert!(
            page.contains("edge.web-edge-290.v1 deletion proposed"),
            "{page}"
        );
    }
}

/// A set that cannot be planned has no targets to count: the head tells of it, too.
#[test]
fn the_head_tells_of_sets_that_fail() {
    let mut plan = fleet();
    let set = plan.sets.first().unwrap().key.clone();
    for (others, told) in [(1, " · 0 fail · 1 set fails\n"), (2, " · 2 sets fail\n")] {
        let why = || ("UpstreamNotFound".to_owned(), "nothing".to_owned());
        plan.stalled = std::iter::repeat_with(|| (set.clone(), why().0, why().1))
            .take(others)
            .collect();
        let page = table(&document(&plan, None), false);
        assert!(page.contains(told), "{told}: {page}");
    }
}

/// The head and the body count the same: what gives up a draft and stays is no leaving, and what is unknown is a target, too.
#[test]
fn what_stays_and_gives_up_revisions_is_told_apart_from_what_leaves() {
    let mut plan = fleet();
    plan.targets.retain(|t| t.verdict == Verdict::Leave);
    plan.classes.clear();
    for target in plan.targets.iter_mut().take(3) {
        target.verdict = Verdict::Edit;
    }
    plan.targets[3].verdict = Verdict::Unknown;
    let document = document(&plan, None);
    let page = table(&document, false);
    for told in [
        ": 5 targets: 3 edit · 1 leave · 0 fail · 1 unknown\n",
        "\n- 1 leaves\n  default/web-edge-294 (",
        "\n- 4 stay, and give up revisions\n  default/web-edge-290 (",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let page = markdown(&document, false);
    for told in ["**Leaving: 1**", "**Staying, and giving up revisions: 4**"] {
        assert!(page.contains(told), "{told}: {page}");
    }
}

/// A plan that could not be made for a target, or for the targets of a set, is none.
#[test]
fn what_is_unknown_is_no_plan() {
    let mut plan = fleet();
    plan.targets.truncate(1);
    plan.targets[0].verdict = Verdict::Unknown;
    assert_eq!(outcome(&document(&plan, None)), (false, true));
    plan.targets.clear();
    assert_eq!(outcome(&document(&plan, None)), (false, false));
    plan.sets[0].unknown = true;
    assert_eq!(outcome(&document(&plan, None)), (false, true));
}

#[test]
fn a_comment_tells_what_a_reviewer_needs() {
    let page = markdown(&document(&fleet(), None), false);
    for told in [
        "set `default/web`: blueprints/web v1 → v2: 288 upgrade",
        "5 of 300 of set default/web: the deletion guard does NOT hold them",
        "edge.web-edge-294.v1 deletion proposed",
        "`offshoot resolve kbdf55395 --take local|upstream|base`",
        "{context.region}: america 161, europe 122",
        "default/web-edge-000, default/web-edge-001, default/web-edge-002 …",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
}

/// However many classes there are, each is named; what is told of each gets less.
#[test]
fn a_comment_of_thousands_of_classes_names_each() {
    let mut plan = FleetPlan::default();
    let old = files(&[("a.yaml", format!("{MAP}  a: none\n"))]);
    for n in 0..2500 {
        let new = files(&[("a.yaml", format!("{MAP}  a: number-{n}\n"))]);
        add(
            &mut plan,
            &format!("web-edge-of-the-world-{n:04}"),
            &old,
            &new,
            "v2",
        );
    }
    let document = document(&plan, None);
    assert_eq!(classes(&document), 2500);
    let page = markdown(&document, false);
    assert!(page.len() <= 65_536, "{}", page.len());
    for class in document["classes"].as_array().unwrap() {
        let id = class["id"].as_str().unwrap();
        assert!(page.contains(&id[..8]), "{id}");
    }
    // What room is left holds changes, and those that have none are counted.
    assert!(page.len() > 60_000, "{}", page.len());
    let told = page.matches("none → number-").count();
    let left = format!("The changes of {} classes have no room here", 2500 - told);
    assert!(told > 0 && page.contains(&left), "{told}");
}

fn executable(files: &Files) -> Files {
    let all = files.iter().map(|(path, file)| {
        let file = File::New {
            mode: FileMode::Executable,
            bytes: file.bytes().to_vec().into(),
        };
        (path.clone(), file)
    });
    all.collect()
}

fn diff_of(old: &Files, new: &Files) -> String {
    let mut plan = FleetPlan::default();
    add(&mut plan, "web", old, new, "v2");
    let document = document(&plan, None);
    diff(&document, document["classes"][0]["id"].as_str().unwrap()).unwrap()
}

#[test]
fn a_diff_tells_modes_as_git_does() {
    let file = files(&[("run.sh", "exit 0\n".to_owned())]);
    assert_eq!(
        diff_of(&file, &executable(&file)),
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    );
    let added = diff_of(&Files::new(), &executable(&file));
    assert!(
        added.contains("new file mode 100755\n--- /dev/null\n+++ b/run.sh\n"),
        "{added}"
    );
}

#[test]
fn a_diff_says_that_a_secret_differs() {
    let of = |text: &str| files(&[("secret.yaml", text.to_owned())]);
    let new = SECRET.replace("hunter1", "hunter2");
    assert_eq!(
        diff_of(&of(SECRET), &of(&new)),
        "a/secret.yaml and b/secret.yaml differ, not shown: it holds a Secret\n"
    );
    assert_eq!(
        diff_of(&Files::new(), &of(&new)),
        "Only in b: secret.yaml, not shown: it holds a Secret\n"
    );
}

#[test]
fn a_diff_says_that_bytes_differ() {
    let of = |bytes: &[u8]| -> Files {
        let file = File::new(bytes.to_vec());
        [(PackagePath::parse("logo.png").unwrap(), file)]
            .into_iter()
            .collect()
    };
    assert_eq!(
        diff_of(&of(b"\xff\x01"), &of(b"\xff\x02")),
        "a/logo.png and b/logo.png differ, not shown: 2 bytes that are no text\n"
    );
}

/// Nobody finds a weak value by trying: no plain hash of it is put out, and ids depend on what no plan tells.
#[test]
fn no_output_tells_a_secret_by_its_hash() {
    let mut plan = fleet();
    let last = plan
        .targets
        .iter()
        .rposition(|t| !t.conflicts.is_empty())
        .unwrap();
    let hidden = |text: &str| ConflictValue::Hash(format!("sha256:{}", hex(text)));
    plan.targets[last].conflicts[0].local = hidden("hunter1");
    plan.targets[last].conflicts[0].upstream = hidden("hunter2");
    let shown = document(&plan, None);
    let class = shown["classes"][0]["id"].as_str().unwrap();
    let pages = [
        shown.to_string(),
        table(&shown, true),
        markdown(&shown, true),
        diff(&shown, class).unwrap(),
    ];
    let plain = |text: &str| package::changes::TextWithInputs::plain(text).hash();
    for value in ["hunter1", "hunter2"] {
        for hash in [hex(value), hex(&format!("\"{value}\"")), plain(value)] {
            for page in &pages {
                assert!(!page.contains(&hash[..8]), "{value} {hash}: {page}");
            }
        }
    }
    for page in &pages[1..3] {
        assert!(
            page.contains("~ stringData.password  changed, not shown"),
            "{page}"
        );
    }
    // The same changes of an upstream in another repository have other ids.
    let (before, after) = package("europe", 0);
    let id = |key: &str| {
        let found = changes(&before, &after, &Inputs::default()).keyed(HashKey::new(key));
        found.id(&WantedUpstream {
            repository: RepositoryName::parse("blueprints").unwrap(),
            package: PackageName::parse("web").unwrap(),
            tree: TreeId::from_bytes(&[7; 20]).unwrap(),
        })
    };
    assert_ne!(id("one"), id("two"));
}

/// What others wrote neither moves a terminal's cursor nor is markup of a comment.
#[test]
fn nothing_in_a_message_or_a_name_is_obeyed() {
    let mut plan = fleet();
    let message = "oops \u{1b}[2K\u{1b}[1A ![i](http://evil/x.png) `<b>`";
    plan.targets[0].verdict = Verdict::Failed;
    plan.targets[0].why = ("RenderFailed".to_owned(), message.to_owned());
    plan.unknown
        .push(("Foo\u{1b}[31m x".to_owned(), "![j](http://evil)".to_owned()));
    let document = document(&plan, None);
    let (table, page) = (table(&document, false), markdown(&document, false));
    assert!(!table.contains('\u{1b}') && !page.contains('\u{1b}'));
    assert!(table.contains("oops <U+001B>[2K"), "{table}");
    let told = "`oops <U+001B>[2K<U+001B>[1A ![i](http://evil/x.png) '<b>'`";
    assert!(page.contains(told), "{page}");
    assert!(page.contains("`![j](http://evil)`"), "{page}");
}
