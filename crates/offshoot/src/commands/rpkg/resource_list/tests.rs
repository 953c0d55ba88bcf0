use super::*;

const TWO: &str = "# The shop's settings.\napiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /settings\n  name: settings # short\ndata:\n  text: |\n    one\n\n      two\n---\n# Another one.\napiVersion: v1\nkind: Secret\nmetadata: {name: key} # flow\n";
const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n  annotations:\n    team: web # who\n";

fn files(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn a_list_and_back_keeps_every_comment_and_the_style() {
    let given = files(&[("Kptfile", KPTFILE), ("conf/settings.yaml", TWO)]);
    let list = write(&given).unwrap();
    assert_eq!(
        list.matches("config.kubernetes.io/path: conf/settings.yaml")
            .count(),
        4
    );
    assert_eq!(joined(&read(&list).unwrap()), given, "{list}");
}

#[test]
fn files_without_resources_are_no_part_of_a_list() {
    let given = files(&[("README.md", "kind: of\n"), ("values.yaml", "a: 1\n")]);
    assert_eq!(read(&write(&given).unwrap()).unwrap(), []);
    let list = write(&files(&[("a.yaml", KPTFILE)])).unwrap();
    let kept = over(given, read(&list).unwrap()).unwrap();
    assert_eq!(
        kept.keys().collect::<Vec<_>>(),
        ["README.md", "a.yaml", "values.yaml"]
    );
}

#[test]
fn items_go_where_they_say_or_where_a_function_would_put_them() {
    let list = "kind: ResourceList\nitems:\n- kind: B\n  metadata:\n    name: x\n    annotations: {config.kubernetes.io/path: f.yaml, config.kubernetes.io/index: '1'}\n- kind: A\n  metadata:\n    name: x\n    annotations:\n      internal.config.kubernetes.io/path: f.yaml\n- kind: Job\n  metadata: {name: made, namespace: ns}\n";
    let expected = files(&[
        (
            "f.yaml",
            "kind: A\nmetadata:\n  name: x\n---\nkind: B\nmetadata:\n  name: x\n",
        ),
        (
            "ns/job_made.yaml",
            "kind: Job\nmetadata: {name: made, namespace: ns}\n",
        ),
    ]);
    assert_eq!(joined(&read(list).unwrap()), expected);
}

#[test]
fn what_is_no_list_is_told() {
    assert!(read("kind: ConfigMap\n").is_err());
    assert!(read("a: [\n").is_err());
    let broken = files(&[("broken.yaml", "a: [\n")]);
    assert_eq!(
        over(broken.clone(), Vec::new())
            .unwrap()
            .into_iter()
            .collect::<Vec<_>>(),
        broken
    );
}

#[test]
fn untouched_files_keep_their_bytes_and_left_out_ones_go() {
    let odd = "\n# Far above.\n\nkind:   A\nmetadata:\n  name: x\n\n# Far below.\n";
    let given = files(&[("Kptfile", KPTFILE), ("gone.yaml", TWO), ("odd.yaml", odd)]);
    let list = write(&given).unwrap();
    let pushed: Vec<_> = read(&list.replace("team: web", "team: shop"))
        .unwrap()
        .into_iter()
        .filter(|item| item.path != "gone.yaml")
        .collect();
    let kept: Vec<_> = over(given, pushed).unwrap().into_iter().collect();
    let expected = [
        ("Kptfile", KPTFILE.replace("web", "shop")),
        ("odd.yaml", odd.to_owned()),
    ];
    assert_eq!(kept, expected.map(|(path, text)| (path.to_owned(), text)));
}

/// What a change of one value in the list makes of a file.
fn pushed(text: &str, from: &str, to: &str) -> String {
    let given = files(&[("all.yaml", text)]);
    let list = write(&given).unwrap();
    assert!(list.contains(from), "{text}: {list}");
    let changed = read(&list.replacen(from, to, 1)).unwrap();
    let out = over(given, changed).unwrap();
    assert_eq!(out.len(), 1);
    out["all.yaml"].clone()
}

#[test]
fn a_change_of_one_resource_keeps_every_other_byte_of_its_file() {
    let one = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: \"1\"\n";
    let two = one.replace("one", "two");
    let texts = [
        format!("{one}---\n# for the installer\nvalues:\n  important: yes\n---\n{two}"),
        format!("# The licence.\n\n# What it is for.\n{one}# trailing comment\n"),
        format!("# Only words.\n---\n{one}---\n# Nothing here.\n---\n{two}---\n"),
        format!("\u{feff}{one}").replace('\n', "\r\n"),
        format!("{one}...\n# after the end\n"),
        format!("{one}---   # with a word\n{two}\n\n"),
    ];
    for text in texts {
        let wanted = text.replacen("a: \"1\"", "a: \"2\"", 1);
        assert_eq!(pushed(&text, "a: \"1\"", "a: \"2\""), wanted, "{text:?}");
    }
}

#[test]
fn what_was_taken_out_or_put_in_leaves_what_a_list_cannot_show() {
    let map = |name: &str| format!("kind: ConfigMap\nmetadata:\n  name: {name}\n");
    let text = format!("{}---\nvalues: yes\n---\n{}", map("one"), map("two"));
    let given = files(&[("all.yaml", &text)]);
    let listed = |names: &[&str]| {
        let items = names.iter().enumerate().map(|(at, name)| {
            format!(
                "- kind: ConfigMap\n  metadata:\n    name: {name}\n    annotations:\n      config.kubernetes.io/path: all.yaml\n      config.kubernetes.io/index: '{at}'\n"
            )
        });
        let items: String = items.collect();
        let none = if items.is_empty() { " []" } else { "" };
        read(&format!("kind: ResourceList\nitems:{none}\n{items}")).unwrap()
    };
    let now = over(given.clone(), listed(&["two"])).unwrap();
    assert_eq!(
        now["all.yaml"],
        format!("---\nvalues: yes\n---\n{}", map("two"))
    );
    let now = over(given.clone(), listed(&[])).unwrap();
    assert_eq!(now["all.yaml"], "---\nvalues: yes\n");
    let now = over(given, listed(&["one", "two", "three"])).unwrap();
    assert_eq!(now["all.yaml"], format!("{text}---\n{}", map("three")));
}

#[test]
fn a_resource_is_found_by_its_name_where_a_function_numbers_anew() {
    let map = |name: &str, value: &str| {
        format!("kind: ConfigMap # {name}\nmetadata:\n  name: {name}\ndata: {{a: {value}}}\n")
    };
    let text = format!("{}---\n# kept\n---\n{}", map("one", "1"), map("two", "1"));
    let given = files(&[("all.yaml", &text)]);
    let mut items = read(&write(&given).unwrap()).unwrap();
    for (item, index) in items.iter_mut().zip([Some(0), None]) {
        item.index = index;
        item.text = item.text.replace("a: 1", "a: 2");
    }
    let now = over(given.clone(), items.clone()).unwrap();
    assert_eq!(now["all.yaml"], text.replace("a: 1", "a: 2"));
    items.remove(0);
    items[0].index = Some(0);
    items[0].text = items[0].text.replace("name: two", "name: renamed");
    let now = over(given, items).unwrap();
    assert!(!now["all.yaml"].contains("name: two"), "{now:?}");
    assert!(now["all.yaml"].contains("# kept\n"), "{now:?}");
}

#[test]
fn a_resource_for_a_file_that_cannot_be_read_is_refused_with_its_name() {
    let given = files(&[("broken.yaml", "a: [\n")]);
    let mut items = read(&write(&files(&[("a.yaml", KPTFILE)])).unwrap()).unwrap();
    items[0].path = "broken.yaml".to_owned();
    let why = over(given, items).unwrap_err().to_string();
    assert!(why.contains("broken.yaml"), "{why}");
}
