//! Commands as functions: what they may do, and what ends them.

use std::sync::Arc;
use std::time::Duration;

use functions::runtime::{Exec, Runtimes};
use functions::wire::ResourceList;
use functions::{FunctionCall, FunctionOutcome, Item, Limits, RunError, Runner};

pub(crate) const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: web # its name
    namespace: old
    annotations:
      internal.config.kubernetes.io/path: 'web.yaml'
      internal.config.kubernetes.io/index: '0'
  data:
    list:
    - one # first
    - two # second
- apiVersion: v1
  kind: Secret
  metadata: {name: s}
";

pub(crate) fn call(function: model::Function) -> FunctionCall {
    let list = ResourceList::read(LIST).unwrap();
    let items = list.items.into_iter().zip(10..);
    FunctionCall {
        function,
        config: None,
        items: items
            .map(|(item, id)| Item {
                id: Some(id),
                ..item
            })
            .collect(),
        tenant: None,
    }
}

pub(crate) fn image(name: &str) -> model::Function {
    model::Function {
        image: Some(name.to_owned()),
        ..model::Function::default()
    }
}

pub(crate) fn limits() -> Limits {
    Limits {
        output: 1 << 20,
        time: Duration::from_secs(20),
        ..Limits::default()
    }
}

fn command(line: &str) -> model::Function {
    model::Function {
        exec: Some(line.to_owned()),
        ..model::Function::default()
    }
}

async fn run(line: &str, limits: &Limits) -> Result<FunctionOutcome, RunError> {
    let runtimes = Runtimes {
        exec: Some(Exec),
        ..Runtimes::default()
    };
    runtimes.run(call(command(line)), limits).await
}

/// What a function changed, with the comments that stayed.
pub(crate) fn changed(outcome: &FunctionOutcome) {
    assert_eq!(outcome.exit_code, 0, "{}", outcome.stderr);
    let [web, secret] = outcome.items.as_slice() else {
        panic!("{:?}", outcome.items);
    };
    assert_eq!(
        (web.id, web.namespace(), web.path.as_deref()),
        (Some(10), "new", Some("web.yaml"))
    );
    let name = web.value.lookup(&["metadata", "name"]).unwrap();
    assert_eq!(name.comment(), Some("# its name"));
    assert!(
        web.annotation("internal.config.kubernetes.io/path")
            .is_none()
    );
    assert_eq!((secret.id, secret.name()), (Some(11), "s"));
}

#[tokio::test]
async fn a_command_filters_the_list_and_what_it_left_alone_is_the_same_document() {
    let before = call(command(""));
    let outcome = run("sed -e 's/namespace: old/namespace: new/'", &limits())
        .await
        .unwrap();
    changed(&outcome);
    assert!(outcome.items[1].value.same(&before.items[1].value));
    let same = run("cat", &limits()).await.unwrap();
    let given = call(command("cat"));
    for (was, now) in given.items.iter().zip(&same.items) {
        assert!(was.value.same(&now.value) && was.path == now.path && was.id == now.id);
    }
}

#[tokio::test]
async fn comments_follow_their_element_when_a_list_grows() {
    // The new element stands first; a copy by position would give it the comment of "one".
    let line = r#"sed -e 's/^\( *\)- one.*/\1- zero\n\1- one/'"#;
    let outcome = run(line, &limits()).await.unwrap();
    let list = outcome.items[0].value.lookup(&["data", "list"]).unwrap();
    let items: Vec<_> = list
        .as_seq()
        .unwrap()
        .items()
        .iter()
        .map(|item| (item.text().unwrap(), item.comment()))
        .collect();
    assert_eq!(
        items,
        [
            ("zero", None),
            ("one", Some("# first")),
            ("two", Some("# second"))
        ]
    );
}

#[tokio::test]
async fn resources_are_made_and_dropped() {
    let line = r#"sh -c 'cat >/dev/null; printf "kind: ResourceList\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: a, annotations: {config.kubernetes.io/path: new/a.yaml}}\n"'"#;
    let outcome = run(line, &limits()).await.unwrap();
    let [made] = outcome.items.as_slice() else {
        panic!("{:?}", outcome.items);
    };
    assert_eq!(
        (made.id, made.path.as_deref(), made.name()),
        (None, Some("new/a.yaml"), "a")
    );
}

#[tokio::test]
async fn garbage_is_an_error_that_names_the_function_the_place_and_the_way_out() {
    for (line, wanted) in [
        ("echo garbage", "unexpected kind"),
        ("echo '- a'", "unexpected kind"),
        (r"printf 'kind: ResourceList\nitems: ['", "line 2"),
        ("true", "printed nothing"),
        (r"printf '\377\376\001'", ""),
        (r"printf 'kind: Service\n'", "expected ResourceList"),
    ] {
        let error = run(line, &limits()).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, RunError::Output { .. }), "{line}: {text}");
        assert!(
            text.contains(wanted) && text.contains("offshoot fn run"),
            "{line}: {text}"
        );
        let function = format!("{line:?}");
        assert!(text.contains(&function), "{function} in {text}");
    }
}

#[tokio::test]
async fn a_command_that_fails_is_an_outcome_and_changes_nothing() {
    let outcome = run("sh -c 'echo why >&2; exit 3'", &limits())
        .await
        .unwrap();
    assert_eq!((outcome.exit_code, outcome.stderr.as_str()), (3, "why\n"));
    assert_eq!(outcome.items.len(), 2);
    let missing = run("/no/such/program", &limits()).await.unwrap();
    assert!(
        missing.exit_code == 127 && missing.stderr.contains("/no/such/program"),
        "{missing:?}"
    );
    let quote = run("sh -c 'open", &limits()).await.unwrap_err();
    assert!(
        quote.to_string().contains("a quote is not closed"),
        "{quote}"
    );
}

#[tokio::test]
async fn limits_of_time_output_and_memory_end_a_command() {
    let short = Limits {
        time: Duration::from_millis(300),
        ..limits()
    };
    // Its child holds the pipe open; the whole group is ended.
    let error = run("sh -c 'sleep 1000 & wait'", &short).await.unwrap_err();
    assert_eq!(error.class(), model::Class::Limit);
    assert!(error.to_string().contains("0.3 s"), "{error}");

    let error = run("yes", &limits()).await.unwrap_err();
    assert!(
        error.to_string().contains("1048576 bytes of output"),
        "{error}"
    );

    let small = Limits {
        memory: 64 << 20,
        ..limits()
    };
    let hungry = r#"awk 'BEGIN { x = "aaaaaaaaaaaaaaaa"; for (i = 0; i < 30; i++) x = x x; print length(x) }'"#;
    match run(hungry, &small).await {
        Ok(outcome) => assert_ne!(outcome.exit_code, 0, "{outcome:?}"),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn an_error_stream_is_cut_and_never_blocks() {
    let line = r#"sh -c 'yes x | head -c 5000000 >&2; cat'"#;
    let outcome = run(line, &limits()).await.unwrap();
    assert_eq!(outcome.stderr.len(), 64 << 10);
}

#[tokio::test]
async fn x2_nothing_outside_of_this_process_runs_unless_it_is_enabled() {
    let runtimes = Runtimes::default();
    let error = runtimes
        .run(call(command("cat")), &limits())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("--allow-exec"), "{error}");
    let error = runtimes
        .run(call(image("example.com/mine:v1")), &limits())
        .await
        .unwrap_err();
    for flag in ["--fn-runtime", "--fn-runner", "--fn-wasm"] {
        assert!(error.to_string().contains(flag), "{error}");
    }
    // What is built in is run here, whatever registry its image names.
    let mut wanted = call(image("example.com:5000/a/set-namespace@sha256:00"));
    wanted.config = Some(Arc::new(yaml::owned::Value::map([
        ("apiVersion", yaml::owned::Value::string("v1")),
        ("kind", yaml::owned::Value::string("ConfigMap")),
        (
            "data",
            yaml::owned::Value::map([("namespace", yaml::owned::Value::string("new"))]),
        ),
    ])));
    let outcome = runtimes.run(wanted, &limits()).await.unwrap();
    assert_eq!(outcome.items[0].namespace(), "new");
}
