//! Functions as images, really run by podman where it is installed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use functions::runtime::{Container, Runtimes};
use functions::{Limits, RunError, Runner};

use crate::programs::{call, changed, image, limits};

/// What works where containers run inside of a virtual machine or another container.
const PODMAN: &str = "podman --runtime runc --cgroup-manager cgroupfs";
const FLAGS: &str = "--ulimit nofile=1000:1000 --ulimit nproc=1000:1000";
const NAME: &str = "localhost/offshoot-test-fn";

/// A function that does what its image's tag says; linked statically, since the image holds nothing else.
const PROGRAM: &str = r#"
use std::io::{Read, Write};
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    match std::env::args().nth(1).as_deref() {
        Some("hang") => loop { std::thread::sleep(std::time::Duration::from_secs(1)) },
        Some("eat") => {
            let mut all = Vec::new();
            loop { all.push(vec![1u8; 1 << 20]); }
        }
        Some("call") => {
            let answer = std::net::TcpStream::connect("192.0.2.1:80");
            eprintln!("{answer:?}");
            std::process::exit(7);
        }
        _ => text = text.replace("namespace: old", "namespace: new"),
    }
    std::io::stdout().write_all(text.as_bytes()).unwrap();
}
"#;

/// Builds the images; nothing where this machine cannot.
fn images(directory: &Path) -> Option<Runtimes> {
    let output =
        |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if !output(Command::new("podman").arg("--version"))
        || !output(Command::new("runc").arg("--version"))
    {
        eprintln!("skipped: podman and runc are not installed here");
        return None;
    }
    std::fs::write(directory.join("fn.rs"), PROGRAM).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut compile = Command::new(rustc);
    compile.current_dir(directory);
    let built = compile.args([
        "-O",
        "-C",
        "target-feature=+crt-static",
        "fn.rs",
        "-o",
        "fn",
    ]);
    assert!(output(built), "the function is compiled");
    for tag in ["v1", "hang", "eat", "call"] {
        let file = format!("FROM scratch\nCOPY fn /fn\nENTRYPOINT [\"/fn\", \"{tag}\"]\n");
        std::fs::write(directory.join("Dockerfile"), file).unwrap();
        let mut words = PODMAN.split(' ');
        let mut build = Command::new(words.next().unwrap());
        let build = build
            .args(words)
            .args(["build", "--quiet", "--tag", &format!("{NAME}:{tag}")])
            .arg(directory);
        let answer = build.output().unwrap();
        assert!(
            answer.status.success(),
            "{}",
            String::from_utf8_lossy(&answer.stderr)
        );
    }
    let container = Container {
        pull: "never".to_owned(),
        ..Container::new(PODMAN, FLAGS).unwrap()
    };
    Some(Runtimes {
        container: Some(container),
        ..Runtimes::default()
    })
}

fn running() -> String {
    let mut words = PODMAN.split(' ');
    let mut list = Command::new(words.next().unwrap());
    let own = format!("name=offshoot-fn-{}-", std::process::id());
    let answer = list
        .args(words)
        .args(["ps", "--all", "--quiet", "--filter", &own])
        .output()
        .unwrap();
    String::from_utf8(answer.stdout).unwrap()
}

#[tokio::test]
async fn images_run_without_network_and_within_limits() {
    let directory = tempfile::tempdir().unwrap();
    let Some(runtimes) = images(directory.path()) else {
        return;
    };
    let run = async |tag: &str, limits: Limits| {
        runtimes
            .run(call(image(&format!("{NAME}:{tag}"))), &limits)
            .await
    };

    changed(&run("v1", limits()).await.unwrap());

    let outcome = run("call", limits()).await.unwrap();
    assert_eq!(outcome.exit_code, 7, "{outcome:?}");
    assert!(
        outcome.stderr.contains("NetworkUnreachable"),
        "{}",
        outcome.stderr
    );

    let short = Limits {
        time: Duration::from_secs(3),
        ..limits()
    };
    let error = run("hang", short).await.unwrap_err();
    assert!(error.to_string().contains("3 s"), "{error}");
    assert_eq!(running(), "", "no container is left behind");

    let small = Limits {
        memory: 64 << 20,
        ..limits()
    };
    let outcome = run("eat", small).await.unwrap();
    assert_eq!(outcome.exit_code, 137, "{outcome:?}");

    let outcome = run("missing", limits()).await.unwrap();
    assert!(
        outcome.exit_code == 125 && outcome.stderr.contains("missing"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_runtime_that_is_not_installed_says_so() {
    let runtimes = Runtimes {
        container: Some(Container::new("/no/such/podman", "").unwrap()),
        ..Runtimes::default()
    };
    let error = runtimes
        .run(call(image("example.com/a:v1")), &limits())
        .await
        .unwrap_err();
    assert!(matches!(error, RunError::Start { .. }), "{error}");
    assert!(error.to_string().contains("/no/such/podman"), "{error}");
    assert!(Container::new("podman 'x", "").is_err());
}
