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
    assert_eq!(read(&list).unwrap(), given, "{list}");
}

#[test]
fn files_without_resources_are_no_part_of_a_list() {
    let given = files(&[("README.md", "kind: of\n"), ("values.yaml", "a: 1\n")]);
    assert_eq!(read(&write(&given).unwrap()).unwrap(), []);
    let kept = over(given, files(&[("a.yaml", KPTFILE)])).unwrap();
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
    assert_eq!(read(list).unwrap(), expected);
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
        .filter(|(path, _)| path != "gone.yaml")
        .collect();
    let kept: Vec<_> = over(given, pushed).unwrap().into_iter().collect();
    let expected = [
        ("Kptfile", KPTFILE.replace("web", "shop")),
        ("odd.yaml", odd.to_owned()),
    ];
    assert_eq!(kept, expected.map(|(path, text)| (path.to_owned(), text)));
}
