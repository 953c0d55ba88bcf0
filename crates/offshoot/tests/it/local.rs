//! `pkg` and `fn` from outside: no server, plain directories, what was not asked for keeps its bytes.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const KPTFILE: &str = "\
# the package
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop # its name
  annotations:
    config.kubernetes.io/local-config: \"true\"
pipeline:
  mutators:
  - image: ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4
    configMap:
      namespace: prod
";

const SERVICE: &str = "\
# licence

apiVersion: v1
kind: Service
metadata:
    name:  web   # odd spacing
    namespace: 'old' # ours
spec:
    ports: [ {port: 80} ]
";

pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the binary with what stands on standard input.
pub(crate) fn offshoot(directory: &Path, arguments: &[&str], input: &str) -> Answer {
    let mut child = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may refuse before it has read anything.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    Answer {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

pub(crate) fn put(root: &Path, texts: &[(&str, &str)]) {
    for (path, text) in texts {
        let place = root.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, text).unwrap();
    }
}

pub(crate) fn get(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn render_changes_a_directory_in_place_and_only_where_it_must() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(
        root,
        &[
            ("p/Kptfile", KPTFILE),
            ("p/web.yaml", SERVICE),
            ("p/notes.txt", "mine\n"),
            ("p/.git/HEAD", "x"),
        ],
    );
    let untouched = std::fs::metadata(root.join("p/notes.txt"))
        .unwrap()
        .modified()
        .unwrap();
    let answer = offshoot(root, &["pkg", "render", "p"], "");
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert_eq!(get(root, "p/web.yaml"), SERVICE.replace("'old'", "'prod'"));
    assert!(get(root, "p/Kptfile").starts_with(KPTFILE));
    assert!(get(root, "p/Kptfile").contains("reason: RenderSuccess"));
    assert!(
        answer
            .err
            .contains("[PASS] \"ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4\""),
        "{}",
        answer.err
    );
    assert_eq!(
        std::fs::metadata(root.join("p/notes.txt"))
            .unwrap()
            .modified()
            .unwrap(),
        untouched
    );
    // The second render reports that nothing is left to change; from then on, rest is rest.
    assert_eq!(offshoot(root, &["pkg", "render", "p"], "").code, 0);
    let before = get(root, "p/Kptfile");
    assert_eq!(offshoot(root, &["pkg", "render", "p"], "").code, 0);
    assert_eq!(get(root, "p/Kptfile"), before);
}

/// A field that a function adds and no Kptfile has is warned about, once: kpt refuses to read it then.
#[test]
fn render_warns_of_what_a_function_adds_to_a_kptfile() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let adds = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n  - image: starlark:v0.4\n    configMap:\n      source: |\n        for r in ctx.resource_list[\"items\"]:\n          if r[\"kind\"] == \"Kptfile\":\n            r[\"spec\"] = {\"a\": \"b\"}\n";
    put(root, &[("p/Kptfile", adds), ("p/web.yaml", SERVICE)]);
    let answer = offshoot(root, &["pkg", "render", "p"], "");
    assert_eq!(answer.code, 0, "{}", answer.err);
    let told = "Warning: Kptfile: a function added the field `spec`, which no Kptfile has";
    assert_eq!(answer.err.matches(told).count(), 1, "{}", answer.err);
    put(root, &[("q/Kptfile", KPTFILE), ("q/web.yaml", SERVICE)]);
    let answer = offshoot(root, &["pkg", "render", "q"], "");
    assert!(!answer.err.contains("Warning"), "{}", answer.err);
}

#[test]
fn render_elsewhere_leaves_the_package_alone() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, &[("p/Kptfile", KPTFILE), ("p/web.yaml", SERVICE)]);
    let arguments = ["pkg", "render", "p", "--output", "q", "--no-status"];
    assert_eq!(offshoot(root, &arguments, "").code, 0);
    assert_eq!(get(root, "p/web.yaml"), SERVICE);
    assert_eq!(get(root, "q/web.yaml"), SERVICE.replace("'old'", "'prod'"));
    assert_eq!(get(root, "q/Kptfile"), KPTFILE);
    let again = offshoot(root, &arguments, "");
    assert_eq!(again.code, 1);
    assert!(
        again
            .err
            .contains("hint: name a directory that does not exist"),
        "{}",
        again.err
    );
}

fn deployment(replicas: &str, image: &str, note: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}} {note}\nspec:\n  replicas:  {replicas}\n  image: {image}\n"
    )
}

/// Packages to merge: in `upstream` the image changed, in `other` also what is changed in `local`.
fn sides(root: &Path) {
    for (name, text) in [
        ("base", deployment("1", "a:1", "")),
        ("local", deployment("3", "a:1", "# ours")),
        ("upstream", deployment("1", "a:2", "")),
        ("other", deployment("9", "a:2", "")),
    ] {
        let package = root.join(name);
        put(&package, &[("Kptfile", KPTFILE), ("web.yaml", &text)]);
    }
}

fn merge(root: &Path, upstream: &str, out: &str, more: &[&str]) -> Answer {
    let sides = ["--base", "base", "--local", "local", "--upstream", upstream];
    let arguments = [&["pkg", "merge", "--out", out][..], &sides, more].concat();
    offshoot(root, &arguments, "")
}

#[test]
fn merge_keeps_local_text_and_lists_conflicts() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    sides(root);
    let answer = merge(root, "upstream", "out", &[]);
    assert_eq!(
        (answer.code, answer.out.as_str()),
        (0, ""),
        "{}",
        answer.err
    );
    assert_eq!(get(root, "out/web.yaml"), deployment("3", "a:2", "# ours"));

    let answer = merge(root, "other", "out2", &[]);
    assert_eq!(answer.code, 1, "{}", answer.err);
    for part in [
        "web.yaml",
        "spec.replicas",
        "base:     1",
        "local:    3",
        "upstream: 9",
    ] {
        assert!(answer.out.contains(part), "{part} in {}", answer.out);
    }
    let answer = merge(
        root,
        "other",
        "out3",
        &["--conflicts", "local", "--format", "json"],
    );
    assert_eq!(answer.code, 0, "{}", answer.err);
    let listed: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(listed[0]["path"], "spec.replicas");
    assert_eq!(get(root, "out3/web.yaml"), deployment("3", "a:2", "# ours"));
}

#[test]
fn merge_refuses_what_it_cannot_do_and_writes_nothing_then() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    sides(root);
    put(root, &[("out/mine", "")]);
    let answer = merge(root, "upstream", "out", &[]);
    assert!(
        answer.code == 1 && answer.err.contains("out is not empty"),
        "{}",
        answer.err
    );
    let answer = merge(root, "upstream", "out9", &["--strategy", "nope"]);
    assert_eq!(answer.code, 64, "{}", answer.err);
    let answer = merge(root, "upstream", "out9", &["--strategy", "fast-forward"]);
    assert!(
        answer.code == 1 && answer.err.contains("web.yaml"),
        "{}",
        answer.err
    );
    assert_eq!(merge(root, "upstream", "local", &[]).code, 0);
    assert_eq!(
        get(root, "local/web.yaml"),
        deployment("3", "a:2", "# ours")
    );

    std::fs::remove_file(root.join("base/Kptfile")).unwrap();
    let answer = merge(root, "upstream", "out4", &[]);
    assert_eq!(answer.code, 1);
    assert!(
        answer
            .err
            .contains("the base package has no readable Kptfile"),
        "{}",
        answer.err
    );
    assert!(!root.join("out4").exists() && !root.join("out9").exists());
}

#[test]
fn diff_names_fields_and_says_so_by_its_exit_code() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, &[("a/Kptfile", KPTFILE), ("a/web.yaml", SERVICE)]);
    put(
        root,
        &[
            ("b/Kptfile", KPTFILE),
            ("b/web.yaml", &format!("{SERVICE}    type: NodePort\n")),
        ],
    );
    put(root, &[("b/more.yaml", "a: 1\n")]);
    let answer = offshoot(root, &["pkg", "diff", "a", "a"], "");
    assert_eq!((answer.code, answer.out.as_str()), (0, ""));
    let answer = offshoot(root, &["pkg", "diff", "a", "b"], "");
    assert_eq!(answer.code, 2, "{}", answer.err);
    for part in [
        "web.yaml /Service/old/web",
        "+ spec.type: \"NodePort\"",
        "more.yaml",
    ] {
        assert!(answer.out.contains(part), "{part} in\n{}", answer.out);
    }
    let answer = offshoot(root, &["pkg", "diff", "a", "b", "--format", "json"], "");
    let all: Vec<serde_json::Value> = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(offshoot(root, &["pkg", "diff", "a", "nowhere"], "").code, 1);
}

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: # all of them
- apiVersion: v1
  kind: Service
  metadata:
    name:  web   # odd spacing
    annotations:
      config.kubernetes.io/path: 'a.yaml' # where
    namespace: 'old' # ours
";

#[test]
fn fn_run_filters_a_list_and_keeps_its_text() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(
        root,
        &[(
            "c.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {namespace: prod}\n",
        )],
    );
    let run = |image: &str, input: &str| {
        offshoot(root, &["fn", "run", image, "--config", "c.yaml"], input)
    };
    let answer = run("gcr.io/kpt-fn/set-namespace:v0.1", LIST);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let changed = LIST.replace("'old'", "'prod'");
    assert!(answer.out.starts_with(&changed), "{}", answer.out);
    assert!(answer.out.contains("results:\n"), "{}", answer.out);

    put(
        root,
        &[(
            "c.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {}\n",
        )],
    );
    let answer = run("set-namespace", LIST);
    assert_eq!(answer.code, 1);
    assert!(
        answer.out.starts_with(LIST) && answer.out.contains("severity: error"),
        "{}",
        answer.out
    );
}

#[test]
fn fn_tells_what_it_knows_and_names_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let list = offshoot(root, &["fn", "list"], "").out;
    for function in functions::builtins() {
        assert!(list.contains(function.name), "{list}");
        let doc = offshoot(
            root,
            &["fn", "doc", &format!("r.example.com/{}:v9", function.name)],
            "",
        );
        assert!(
            doc.code == 0 && doc.out.starts_with(&format!("# {}\n", function.name)),
            "{}",
            doc.out
        );
        assert!(doc.out.lines().count() > 5, "{}", doc.out);
    }
    let unknown = offshoot(root, &["fn", "doc", "mine"], "");
    assert!(
        unknown.code == 1 && unknown.err.contains("fn list"),
        "{}",
        unknown.err
    );
    let unknown = offshoot(root, &["fn", "run", "example.com/mine:v1"], LIST);
    assert!(
        unknown.code == 1 && unknown.err.contains("--fn-runtime"),
        "{}",
        unknown.err
    );
    let garbage = offshoot(root, &["fn", "run", "set-labels"], "a: [\n");
    assert_eq!((garbage.code, garbage.out.as_str()), (1, ""));
    assert!(
        garbage.err.contains("standard input") && garbage.err.contains("line "),
        "{}",
        garbage.err
    );
    let other = offshoot(root, &["fn", "run", "set-labels"], "kind: Service\n");
    assert!(other.err.contains("expected ResourceList"), "{}", other.err);
    let missing = offshoot(
        root,
        &["fn", "run", "set-labels", "--config", "nowhere.yaml"],
        LIST,
    );
    assert!(
        missing.code == 1 && missing.err.contains("nowhere.yaml"),
        "{}",
        missing.err
    );
    assert_eq!(offshoot(root, &["fn", "run"], LIST).code, 64);
    let completion = offshoot(root, &["completion", "bash"], "").out;
    assert!(completion.contains("merge-file") && completion.contains("--allow-exec"));
}

/// Whoever started a function may end in any way: the function ends, too, also in an operation that no limit of its interpreter
/// interrupts.
#[test]
fn a_script_ends_with_whoever_waits_for_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  apiVersion: fn.kpt.dev/v1alpha1\n  kind: StarlarkRun\n  metadata: {name: turns}\n  source: |\n    x, y = [], []\n    for i in range(60):\n      x, y = [x, x], [y, y]\n    same = x == y\n";
    put(root, &[("list.yaml", list)]);
    let starts = "\"$0\" fn run --here starlark < list.yaml > out 2>&1 & echo $!; sleep 2";
    let shell = Command::new("sh")
        .args(["-c", starts, env!("CARGO_BIN_EXE_offshoot")])
        .current_dir(root)
        .output()
        .unwrap();
    let id = String::from_utf8(shell.stdout).unwrap();
    // Signal 0 only asks whether it is there.
    let is_there = || {
        let asked = Command::new("kill").args(["-0", id.trim()]).output();
        asked.unwrap().status.success()
    };
    let begun = std::time::Instant::now();
    while is_there() {
        assert!(begun.elapsed().as_secs() < 25, "{}", get(root, "out"));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(get(root, "out"), "", "it ended before its parent did");
}
