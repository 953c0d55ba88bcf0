//! Expressions against recorded results of cel-go (`vectors/cel`) and against our own cases.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests may reach the world, the crate may not"
)]

mod laws;
mod own;
mod vectors;

use expr::{Bindings, Declared, Env, Program, Value};

/// The environment of templates: cel-go's, exactly.
fn env() -> Env {
    Env::default()
        .with("repoDefault", Declared::Text)
        .with("packageDefault", Declared::Text)
        .with("upstream", Declared::Dyn)
        .with("target", Declared::Dyn)
        .with("repository", Declared::Dyn)
        .hint("repo", "it is called repoDefault now")
}

/// Runs on a large stack, as every caller must.
fn on_large_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no panic")
}

fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Object(map) => {
            Value::Map(map.iter().map(|(k, v)| (k.clone(), value(v))).collect())
        }
        _ => Value::Map(std::collections::BTreeMap::new()),
    }
}

fn bindings(json: &serde_json::Value) -> Bindings {
    let mut bindings = Bindings::default();
    for (name, v) in json.as_object().into_iter().flatten() {
        bindings.set(name, &value(v));
    }
    bindings
}

fn run(text: &str, bindings: &Bindings) -> Result<String, expr::ExprError> {
    Program::compile(text, &env())?.eval(bindings)
}
