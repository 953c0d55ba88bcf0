//! Who set a field, as the server records it: whatever the client sends, and however it writes.

use apiserver::gateway::User;
use apiserver::{Server, Setters, Whose};
use http::Method;
use objectstore::Memory;
use serde_json::{Value, json};

use crate::world::{admin, ask_as, still_builder};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MARK: &str = "test.dev/set-by";

fn user(name: &str) -> Whose {
    Whose {
        user: User::new(name, &["system:masters", name]),
        agent: "test".to_owned(),
    }
}

async fn server() -> Server {
    let builder = still_builder(&Memory::new()).setters(Setters {
        annotation: MARK,
        resource: (String::new(), "configmaps".to_owned()),
        field: "/data/secret",
        beside: &["/data/address"],
        own: "program".to_owned(),
    });
    builder.build().await.expect("build")
}

fn map(secret: &str, note: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
        "data": {"secret": secret, "address": "here", "note": note},
    })
}

/// Writes, and tells who set the field then.
async fn write(
    server: &Server,
    by: &Whose,
    (method, query, media): (Method, &str, &str),
    body: Value,
) -> Option<String> {
    let path = match method {
        Method::POST => format!("{MAPS}{query}"),
        _ => format!("{MAPS}/m{query}"),
    };
    let (code, said, _) = ask_as(server, method, &path, media, Some(body), Some(by.clone())).await;
    assert!(code < 300, "{code} {said}");
    let (_, now, _) = ask_as(
        server,
        Method::GET,
        &format!("{MAPS}/m"),
        "application/json",
        None,
        Some(admin()),
    )
    .await;
    let setter = server.handle().setter_of(&now)?;
    assert_eq!(setter.groups, ["system:masters", setter.name.as_str()]);
    Some(setter.name)
}

const JSON: &str = "application/json";

fn put() -> (Method, &'static str, &'static str) {
    (Method::PUT, "", JSON)
}

fn merge() -> (Method, &'static str, &'static str) {
    (Method::PATCH, "", "application/merge-patch+json")
}

fn apply() -> (Method, &'static str, &'static str) {
    let query = "?fieldManager=t&force=true";
    (Method::PATCH, query, "application/apply-patch+yaml")
}

#[tokio::test]
async fn a_field_is_whose_who_set_it_or_what_it_is_used_for() {
    let server = server().await;
    let (ann, bob, program) = (user("ann"), user("bob"), user("program"));
    let ann_set = Some("ann".to_owned());
    let bob_set = Some("bob".to_owned());
    let mut forged = map("one", "");
    forged["metadata"]["annotations"] = json!({MARK: "{\"username\":\"ann\",\"groups\":[]}"});
    let create = (Method::POST, "", JSON);
    assert_eq!(write(&server, &bob, create, forged).await, bob_set);
    let patch = |data: Value| json!({"data": data});
    for (by, how, body, setter) in [
        // Something else, in every way, by whoever.
        (&ann, merge(), patch(json!({"note": "a"})), &bob_set),
        (
            &program,
            merge(),
            patch(json!({"note": "b", "secret": "two"})),
            &bob_set,
        ),
        (&program, merge(), patch(json!({"secret": "one"})), &bob_set),
        // The field itself.
        (&ann, merge(), patch(json!({"secret": "two"})), &ann_set),
        (&bob, apply(), map("two", ""), &ann_set),
        (&bob, apply(), map("one", ""), &bob_set),
        // What it is used for.
        (&ann, merge(), patch(json!({"address": "there"})), &ann_set),
        // Nobody sets what is not there, and whoever brings it back sets it.
        (&ann, merge(), patch(json!({"secret": ""})), &None),
        (&bob, merge(), patch(json!({"secret": "two"})), &bob_set),
        (&ann, merge(), patch(json!({"secret": null})), &None),
        (&bob, merge(), patch(json!({"secret": "two"})), &bob_set),
        // Whoever touches the record answers for the field.
        (&ann, put(), map("two", ""), &ann_set),
        (
            &bob,
            merge(),
            json!({"metadata": {"annotations": {MARK: "ann"}}}),
            &bob_set,
        ),
        (
            &ann,
            merge(),
            json!({"metadata": {"annotations": {MARK: null}}}),
            &ann_set,
        ),
    ] {
        let said = format!("{body}");
        assert_eq!(write(&server, by, how, body).await, *setter, "{said}");
    }
}

#[tokio::test]
async fn a_dry_run_records_nothing() {
    let server = server().await;
    let create = (Method::POST, "", JSON);
    write(&server, &user("ann"), create, map("one", "")).await;
    let dry = (Method::PUT, "?dryRun=All", JSON);
    let setter = write(&server, &user("bob"), dry, map("two", "")).await;
    assert_eq!(setter, Some("ann".to_owned()));
}
