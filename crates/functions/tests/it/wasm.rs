//! Functions as WebAssembly modules: WASI commands that filter standard input, within fuel, time, memory and output.

use std::time::Duration;

use functions::runtime::{Runtimes, Wasm};
use functions::{Limits, RunError, Runner};

use crate::programs::{call, changed, image, limits};

/// A module's text around the body of `_start`; `$read` and `$write` move one chunk through memory at 4096.
fn module(body: &str) -> String {
    format!(
        r#"(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  (func $read (result i32)
    (i32.store (i32.const 0) (i32.const 4096)) (i32.store (i32.const 4) (i32.const 60000))
    (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.load (i32.const 8)))
  (func $write (param $n i32)
    (i32.store (i32.const 0) (i32.const 4096)) (i32.store (i32.const 4) (local.get $n))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
  (func (export "_start") (local $n i32) (local $i i32)
    {body}))"#
    )
}

/// Copies standard input, with every "old" made "new": the letters are told apart two by two.
const REPLACE: &str = r"
  (block $end (loop $more
    (br_if $end (i32.eqz (local.tee $n (call $read))))
    (local.set $i (i32.const 0))
    (block $done (loop $next
      (br_if $done (i32.ge_u (i32.add (local.get $i) (i32.const 2)) (local.get $n)))
      (if (i32.and (i32.eq (i32.load16_u offset=4096 (local.get $i)) (i32.const 0x6c6f))
                   (i32.eq (i32.load8_u offset=4098 (local.get $i)) (i32.const 0x64)))
        (then (i32.store16 offset=4096 (local.get $i) (i32.const 0x656e))
              (i32.store8 offset=4098 (local.get $i) (i32.const 0x77))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (call $write (local.get $n))
    (br $more)))";

#[tokio::test]
async fn modules_filter_the_list_and_are_ended_by_their_limits() {
    let directory = tempfile::tempdir().unwrap();
    for (name, body) in [
        ("replace", REPLACE),
        ("spin", "(loop $l (br $l))"),
        ("flood", "(loop $l (call $write (i32.const 60000)) (br $l))"),
        (
            "grow",
            "(loop $l (drop (memory.grow (i32.const 100))) (br $l))",
        ),
        ("fail", "(call $exit (i32.const 3))"),
        ("trap", "unreachable"),
        ("silent", "nop"),
    ] {
        std::fs::write(directory.path().join(format!("{name}.wasm")), module(body)).unwrap();
    }
    std::fs::write(directory.path().join("broken.wasm"), "(module").unwrap();
    let runtimes = Runtimes {
        wasm: Some(Wasm::new(directory.path()).unwrap()),
        ..Runtimes::default()
    };
    let run = async |name: &str, limits: Limits| {
        runtimes
            .run(call(image(&format!("example.com/fn/{name}:v1"))), &limits)
            .await
    };
    changed(&run("replace", limits()).await.unwrap());
    assert_eq!(run("fail", limits()).await.unwrap().exit_code, 3);
    let trapped = run("trap", limits()).await.unwrap();
    assert!(
        trapped.exit_code == 134 && trapped.stderr.contains("unreachable"),
        "{trapped:?}"
    );

    let few = Limits {
        steps: 1_000_000,
        ..limits()
    };
    let short = Limits {
        time: Duration::from_millis(300),
        steps: u64::MAX,
        ..limits()
    };
    let small = Limits {
        memory: 16 << 20,
        ..limits()
    };
    for (name, limits, wanted) in [
        ("spin", few, "1000000 steps"),
        ("spin", short, "0.3 s"),
        ("grow", small, "16 MiB of memory"),
        ("flood", limits(), "bytes of output"),
    ] {
        let error = run(name, limits).await.unwrap_err();
        assert_eq!(error.class(), model::Class::Limit, "{name}: {error}");
        assert!(error.to_string().contains(wanted), "{name}: {error}");
    }
    let error = run("silent", limits()).await.unwrap_err();
    assert!(matches!(error, RunError::Output { .. }), "{error}");
    let error = run("broken", limits()).await.unwrap_err();
    assert!(matches!(error, RunError::Start { .. }), "{error}");
    // No module of that name, and none outside of the directory.
    for name in ["other", "..", ".hidden"] {
        let error = run(name, limits()).await.unwrap_err();
        assert!(
            matches!(error, RunError::NoRuntime { .. }),
            "{name}: {error}"
        );
    }
}
