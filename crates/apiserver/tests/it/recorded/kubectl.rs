//! Recordings at the level of kubectl.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Replay;
use super::tokens::Tokens;

/// Replays one file in an empty directory.
pub(crate) fn replay(kubeconfig: &str, file: &Value) -> Replay {
    let home = tempfile::tempdir().expect("home");
    let work = tempfile::tempdir().expect("directory");
    std::fs::write(home.path().join("kubeconfig"), kubeconfig).expect("kubeconfig");
    let mut tokens = Tokens::default();
    let mut running: BTreeMap<String, Beside> = BTreeMap::new();
    let mut replay = Replay::default();
    for (i, step) in file["steps"].as_array().expect("steps").iter().enumerate() {
        let output = match step["do"].as_str().expect("a step") {
            "file" => {
                let path = work.path().join(text(step, "path"));
                std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
                std::fs::write(path, tokens.fill(text(step, "content"))).expect("file");
                continue;
            }
            "remove-file" => {
                std::fs::remove_file(work.path().join(text(step, "path"))).expect("file");
                continue;
            }
            "start" => {
                let id = text(step, "id").to_owned();
                let beside = Beside::start(command(step, &tokens, home.path(), work.path()));
                running.insert(id, beside);
                continue;
            }
            "stop" | "join" => {
                let beside = running.remove(text(step, "id")).expect("started");
                let lines = text(step, "stdout").lines().count();
                beside.end((step["do"] == "stop").then_some(lines))
            }
            "kubectl" => {
                bind_owner(step, &mut tokens, home.path(), work.path());
                run(step, &tokens, home.path(), work.path())
            }
            _ => {
                std::thread::sleep(Duration::from_secs(1));
                continue;
            }
        };
        replay.steps += 1;
        let code = output.status.code().map(i64::from);
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let exits = step["do"] == "stop" || code == step["exit"].as_i64().or(Some(0));
        let shows = step["compare"] == "exit"
            || (same(&mut tokens, step, "stdout", &out) && same(&mut tokens, step, "stderr", &err));
        if !exits || !shows {
            replay
                .differ
                .push((i, format!("{}: exit {code:?}\n{out}\n{err}", step["argv"])));
        }
    }
    replay
}

/// A command that runs beside others: it watches, or waits for something.
struct Beside {
    child: Child,
    /// What it prints, which is read while it runs.
    printed: tempfile::TempDir,
}

impl Beside {
    /// Starts it; it waits by the time the next step comes, since it tells its requests.
    fn start(mut command: Command) -> Self {
        let printed = tempfile::tempdir().expect("directory");
        let file = |name: &str| std::fs::File::create(printed.path().join(name)).expect("file");
        command.arg("-v=6").stdout(file("out")).stderr(file("err"));
        let child = command.spawn().expect("kubectl");
        let mut beside = Self { child, printed };
        let asked = |line: &str| {
            (line.contains("watch=true") && line.contains("200 OK"))
                || line.contains("404 Not Found")
        };
        until(|| {
            let ended = beside.child.try_wait().expect("a state").is_some();
            ended || beside.printed("err").lines().any(asked)
        });
        beside
    }

    fn printed(&self, name: &str) -> String {
        std::fs::read_to_string(self.printed.path().join(name)).expect("what was printed")
    }

    /// Waits for its end, or kills it once it printed so many lines.
    fn end(mut self, killed_after: Option<usize>) -> std::process::Output {
        if let Some(lines) = killed_after {
            until(|| self.printed("out").lines().count() >= lines);
            self.child.kill().expect("kill");
        }
        let status = self.child.wait().expect("an end");
        let is_log = |line: &&str| {
            let rest = line.strip_prefix('I').unwrap_or_default();
            rest.starts_with(|c: char| c.is_ascii_digit())
        };
        let stderr = self.printed("err");
        let stderr = stderr.lines().filter(|line| !is_log(line));
        std::process::Output {
            status,
            stdout: self.printed("out").into_bytes(),
            stderr: stderr
                .map(|line| format!("{line}\n"))
                .collect::<String>()
                .into_bytes(),
        }
    }
}

/// Waits for what a command prints; only a failure takes long.
fn until(mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() && started.elapsed() < Duration::from_secs(15) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn text<'a>(step: &'a Value, name: &str) -> &'a str {
    step[name].as_str().unwrap_or_default()
}

fn command(step: &Value, tokens: &Tokens, home: &Path, work: &Path) -> Command {
    let mut command = Command::new("kubectl");
    if let Some(user) = step["user"].as_str().filter(|u| *u != "admin") {
        command.arg("--token").arg(format!("user-{user}"));
    }
    let arguments = step["argv"].as_array().expect("argv").iter();
    command.args(arguments.map(|a| tokens.fill(a.as_str().expect("text"))));
    for (name, value) in step["env"].as_object().into_iter().flatten() {
        command.env(name, tokens.fill(value.as_str().expect("text")));
    }
    command
        .env("KUBECONFIG", home.join("kubeconfig"))
        .env("HOME", home)
        .env("KUBECACHEDIR", home.join("cache"));
    command
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// An event that names its object by a uid which no output has shown: asks for the object's uid.
fn bind_owner(step: &Value, tokens: &mut Tokens, home: &Path, work: &Path) {
    let input = tokens.fill(text(step, "stdin"));
    let pattern = r"kind: (\w+), name: ([\w-]+), namespace: ([\w-]+), uid: (\$UID\d+)";
    let pattern = regex::Regex::new(pattern).expect("pattern");
    if let Some(found) = pattern.captures(&input) {
        let ask = serde_json::json!({"argv": [
            "get", &found[1], &found[2], "-n", &found[3], "-o", "jsonpath={.metadata.uid}",
        ]});
        let output = run(&ask, tokens, home, work);
        tokens.matches(&found[4], &String::from_utf8_lossy(&output.stdout));
    }
}

fn run(step: &Value, tokens: &Tokens, home: &Path, work: &Path) -> std::process::Output {
    let mut command = command(step, tokens, home, work);
    if let Some(input) = step["stdin"].as_str() {
        let file = home.join("stdin");
        std::fs::write(&file, tokens.fill(input)).expect("stdin");
        command.stdin(std::fs::File::open(file).expect("stdin"));
    }
    command.output().expect("kubectl")
}

/// Groups of a cluster that this server does not have.
const FOREIGN: [&str; 13] = [
    "admissionregistration.k8s.io/",
    "apps/",
    "autoscaling/",
    "batch/",
    "certificates.k8s.io/",
    "discovery.k8s.io/",
    "flowcontrol.apiserver.k8s.io/",
    "networking.k8s.io/",
    "node.k8s.io/",
    "policy/",
    "resource.k8s.io/",
    "scheduling.k8s.io/",
    "storage.k8s.io/",
];

/// Compares lines, cells apart by two spaces or more; bullets in any order.
fn same(tokens: &mut Tokens, step: &Value, stream: &str, actual: &str) -> bool {
    let cells = |text: &str| -> Vec<String> {
        let lines = text.trim_end_matches('\n').split('\n');
        let cells = |line: &str| {
            line.split("  ")
                .filter(|c| !c.is_empty())
                .map(str::trim)
                .collect::<Vec<_>>()
                .join("  ")
        };
        lines.map(cells).collect()
    };
    let (mut wanted, mut found) = (cells(text(step, stream)), cells(actual));
    if step["compare"] == "contains" {
        // Every line of the reader's own groups must be there.
        let cluster = |line: &str| FOREIGN.iter().any(|group| line.starts_with(group));
        return wanted
            .iter()
            .filter(|line| !cluster(line))
            .all(|w| found.iter().any(|f| tokens.matches(w, f)));
    }
    if wanted.iter().any(|line| line.starts_with("* ")) {
        wanted.sort();
        found.sort();
    }
    wanted.len() == found.len() && wanted.iter().zip(&found).all(|(w, f)| tokens.matches(w, f))
}
