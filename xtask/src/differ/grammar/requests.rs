//! Paths, methods, parameters and headers that are not what a server expects.

use serde_json::json;

use super::Maker;
use super::things::{GADGET, KINDS, object};

const METHODS: &[&str] = &[
    "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "ODD",
];

/// Odd requests around one object.
pub(super) fn make(maker: &mut Maker) {
    maker.home();
    let kind = if maker.chance(50) {
        GADGET
    } else {
        maker.pick(KINDS)
    };
    let first = object(maker, kind, "a");
    maker.post(&kind.all(), first);
    for _ in 0..18 + maker.roll(10) {
        let method = maker.pick(METHODS);
        let path = path(maker, kind.api, kind.plural, &kind.all(), &kind.one("a"));
        // What all share is not taken away.
        let path = match method == "DELETE" && !kind.namespaced {
            true => kind.one("a"),
            false => path,
        };
        let query = maker.pick(&[
            "",
            "",
            "",
            "?",
            "?&",
            "?pretty",
            "?pretty=true",
            "?timeout=1s",
            "?timeout=abc",
            "?timeout=-1s",
            "?timeout=0",
            "?x=%zz",
            "?labelSelector=%",
            "?a;b",
            "?fieldManager=a&fieldManager=b",
            "?dryRun=All&dryRun=Odd",
            "?dryRun=All&dryRun=All",
        ]);
        let mut step = maker.step(method, &format!("{path}{query}"));
        if matches!(method, "POST" | "PUT" | "PATCH") {
            step = step.json(kind.bare("a"));
        }
        if method == "PATCH" {
            step = step
                .header("content-type", "application/merge-patch+json")
                .json(json!({}));
        }
        let id = step.id() as usize;
        if maker.chance(30) {
            let (name, value) = header(maker);
            if let Some(step) = maker.steps.get_mut(id) {
                step.headers.retain(|(known, _)| known != name);
                step.headers.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}

fn path(maker: &mut Maker, api: &str, plural: &str, all: &str, one: &str) -> String {
    match maker.roll(30) {
        0 => format!("/{api}/{plural}x"),
        1 => format!("/{api}/namespaces/$N/{plural}/a/b"),
        2 => format!("/{api}/namespaces/$N/{plural}/a/status/x"),
        3 => format!("/{api}/namespaces/$N"),
        4 => format!("/{api}/namespaces/"),
        5 => format!("{all}/"),
        6 => format!("{one}/"),
        7 => format!("{all}/nosuch"),
        8 => format!("{one}/status"),
        9 => format!("{one}/scale"),
        10 => format!("{one}/nosuch"),
        11 => format!("{all}/a%2Fb"),
        12 => format!("{all}/%61"),
        13 => format!("{all}/A"),
        14 => format!("{all}//a"),
        15 => format!("/{api}/{plural}/a"),
        16 => format!("/{api}/namespaces/nosuch/{plural}"),
        17 => format!("/{api}/namespaces/nosuch/{plural}/a"),
        18 => maker
            .pick(&[
                "/apis/differ.example.dev/v9/gadgets",
                "/apis/nosuch/v1/x",
                "/api/v9",
                "/apis/differ.example.dev/v1/namespaces/$N/nosuch",
                "/api/v1/nosuch",
                "/apis/v1/pods",
                "/api/v1/namespaces/$N/configmaps/a/x/y",
            ])
            .to_owned(),
        19 => maker
            .pick(&[
                "/nosuch",
                "//",
                "/api/v1/../v1/configmaps",
                "/APIS",
                "/api/v1/namespaces/$N/../$N/configmaps",
                "/readyz/nosuch",
                "/openapi/v9",
                "/openapi/v3/apis/nosuch/v1",
            ])
            .to_owned(),
        20 => format!("/{api}/namespaces/UPPER/{plural}"),
        21 => format!("{all}/has%20space"),
        22..=24 => all.to_owned() + "?labelSelector=seq%3D$N",
        _ => one.to_owned(),
    }
}

fn header(maker: &mut Maker) -> (&'static str, &'static str) {
    maker.pick(&[
        ("accept", "text/html"),
        ("accept", "application/yaml"),
        ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        ("accept", "*/*"),
        ("accept", ""),
        ("accept", "application/vnd.kubernetes.protobuf"),
        ("accept-encoding", "identity"),
        ("content-type", "text/plain"),
        ("content-type", "application/json; charset=latin1"),
        ("content-type", "application/yaml"),
        ("content-type", ""),
        ("content-type", ";"),
        ("content-type", "application/json-patch+json"),
        ("authorization", "Basic eDp5"),
        ("authorization", "Bearer"),
        ("authorization", "bearer test-token"),
        ("authorization", "Bearer  test-token"),
        ("authorization", "Odd x"),
        ("user-agent", ""),
        ("user-agent", "a b c/1 (x)"),
        ("user-agent", "/"),
        ("if-match", "\"1\""),
        ("if-none-match", "*"),
        ("x-http-method-override", "DELETE"),
        ("range", "bytes=0-3"),
        ("expect", "odd"),
        ("impersonate-user", "alice"),
        ("connection", "close"),
        ("origin", "http://x"),
    ])
}
