//! The API server, asked in process: every input is a request of somebody who may read and write one namespace.
//!
//! What holds for each answer: the server goes on; a refusal is a `Status` or the plain 404; nothing of the other namespace
//! is in it, whatever path, selector, token or body asked; what was stored reads back as it was answered.

mod answer;
mod laws;
mod world;

use http::Method;
use serde_json::Value;

use super::{parts, signature};
use laws::{settled, stored};
use world::{MINE, with};

/// How much of an input chooses, before its text begins.
fn chosen(input: &[u8]) -> (usize, &[u8]) {
    match input.split_first() {
        Some((first, rest)) => (usize::from(*first), rest),
        None => (0, input),
    }
}

fn pick<T: Clone>(from: &[T], at: usize) -> T {
    from[at % from.len()].clone()
}

/// A path with its query, read, watched or deleted.
pub(super) fn path(input: &[u8]) -> u64 {
    let (at, rest) = chosen(input);
    let text: String = String::from_utf8_lossy(rest)
        .chars()
        .map(|c| if c.is_ascii_graphic() { c } else { '+' })
        .collect();
    let method = pick(
        &[Method::GET, Method::GET, Method::DELETE, Method::OPTIONS],
        at,
    );
    with(|world| {
        let place = format!("/{}", text.trim_start_matches('/'));
        let answer = world.ask(&method, &place, "", Vec::new());
        answer.keeps_to_its_namespace(&place);
        world.restore();
        answer.signature()
    })
}

/// A label selector and a field selector, over lists, watches and deletions of many.
pub(super) fn selectors(input: &[u8]) -> u64 {
    let (at, rest) = chosen(input);
    let both = parts(rest, 2);
    let encoded = |text: &str| form_urlencoded(text);
    let query = format!(
        "labelSelector={}&fieldSelector={}",
        encoded(&both[0]),
        encoded(&both[1])
    );
    let kinds = ["api/v1", "apis/test.dev/v1", "api/v1"];
    let plurals = ["configmaps", "shoes", "events"];
    let place = format!(
        "/{}/namespaces/{MINE}/{}?{query}",
        pick(&kinds, at),
        pick(&plurals, at)
    );
    with(|world| {
        let all = world.ask(&Method::GET, &place, "", Vec::new());
        all.keeps_to_its_namespace(&place);
        assert!(matches!(all.status, 200 | 400), "{place}: {}", all.status);
        let watched = world.ask(
            &Method::GET,
            &format!("{place}&watch=1&timeoutSeconds=1"),
            "",
            Vec::new(),
        );
        watched.keeps_to_its_namespace(&place);
        // A list and the beginning of a watch choose the same.
        if all.status == 200 {
            assert_eq!(all.names(), watched.names(), "{place}");
        }
        all.signature()
    })
}

/// A continue token, made of real ones.
pub(super) fn tokens(input: &[u8]) -> u64 {
    let (at, rest) = chosen(input);
    let text = String::from_utf8_lossy(rest).into_owned();
    with(|world| {
        // An input that asks for one begins from what the server gave out.
        let given = world.token();
        let token = text.replace('@', &given);
        let place = format!(
            "/api/v1/namespaces/{MINE}/configmaps?limit={}&continue={}",
            at % 4,
            form_urlencoded(&token)
        );
        let answer = world.ask(&Method::GET, &place, "", Vec::new());
        answer.keeps_to_its_namespace(&place);
        assert!(
            matches!(answer.status, 200 | 400 | 410),
            "{place}: {}",
            answer.status
        );
        answer.signature()
    })
}

/// A patch of a built-in and of a custom object.
pub(super) fn patches(input: &[u8]) -> u64 {
    let (at, body) = chosen(input);
    let media = pick(
        &[
            "application/merge-patch+json",
            "application/json-patch+json",
            "application/strategic-merge-patch+json",
        ],
        at,
    );
    let place = pick(
        &[
            "configmaps/one",
            "shoes/one",
            "shoes/one/status",
            "secrets/one",
        ],
        at / 3,
    );
    with(|world| {
        let place = world.place(place);
        let answer = world.ask(&Method::PATCH, &place, media, body.to_vec());
        answer.keeps_to_its_namespace(&place);
        if answer.status == 200 {
            stored(world, &place, &answer);
        }
        world.restore();
        answer.signature()
    })
}

/// A server-side apply, forced or not, and the same once more.
pub(super) fn apply(input: &[u8]) -> u64 {
    let (at, body) = chosen(input);
    let place = pick(
        &["configmaps/one", "shoes/one", "shoes/new", "configmaps/new"],
        at,
    );
    let force = at & 64 > 0;
    with(|world| {
        let place = format!("{}?fieldManager=fuzz&force={force}", world.place(place));
        let media = "application/apply-patch+yaml";
        let answer = world.ask(&Method::PATCH, &place, media, body.to_vec());
        answer.keeps_to_its_namespace(&place);
        if matches!(answer.status, 200 | 201) && !answer.deleted() {
            let again = world.ask(&Method::PATCH, &place, media, body.to_vec());
            assert_eq!(again.status, 200, "applied twice: {}", again.text());
            assert_eq!(
                answer.version(),
                again.version(),
                "applying the same changes nothing: {}",
                again.text()
            );
        }
        world.restore();
        answer.signature()
    })
}

/// A definition, and an object of the kind that it defines.
pub(super) fn definitions(input: &[u8]) -> u64 {
    let both = parts(input, 2);
    with(|world| {
        let place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let made = world.ask_as_admin(
            &Method::POST,
            place,
            "application/yaml",
            both[0].clone().into(),
        );
        made.is_told();
        let mut words = made.signature();
        if made.status == 201 {
            world.settle();
            let crd = made.value();
            let text = |at: &str| {
                crd.pointer(at)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let namespace = if text("/spec/scope") == "Cluster" {
                String::new()
            } else {
                format!("namespaces/{MINE}/")
            };
            let served = format!(
                "/apis/{}/{}/{namespace}{}",
                text("/spec/group"),
                text("/spec/versions/0/name"),
                text("/spec/names/plural")
            );
            let object = world.ask_as_admin(
                &Method::POST,
                &served,
                "application/yaml",
                both[1].clone().into(),
            );
            object.is_told();
            words ^= object.signature();
            if object.status == 201 {
                settled(
                    world,
                    &format!("{served}/{}", object.name_in_path()),
                    &object,
                );
            }
            drop(world.ask_as_admin(
                &Method::GET,
                &format!(
                    "/openapi/v3/apis/{}/{}",
                    text("/spec/group"),
                    text("/spec/versions/0/name")
                ),
                "",
                Vec::new(),
            ));
            world.fresh();
        }
        words
    })
}

/// A body of any media type, posted, and what was stored put back as it is.
pub(super) fn bodies(input: &[u8]) -> u64 {
    let (at, body) = chosen(input);
    let media = pick(
        &[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ],
        at,
    );
    let plural = pick(
        &[
            "configmaps",
            "secrets",
            "events",
            "shoes",
            "leases",
            "serviceaccounts",
            "roles",
            "rolebindings",
        ],
        at / 3,
    );
    with(|world| {
        let place = world.place(plural);
        let answer = world.ask(&Method::POST, &place, media, body.to_vec());
        answer.keeps_to_its_namespace(&place);
        if answer.status == 201 {
            settled(
                world,
                &format!("{place}/{}", answer.name_in_path()),
                &answer,
            );
        }
        // What asks for a deletion reads bodies of its own.
        let options = world.ask(
            &Method::DELETE,
            &format!("{}?dryRun=All", world.place("configmaps/one")),
            media,
            body.to_vec(),
        );
        options.keeps_to_its_namespace(&place);
        world.restore();
        answer.signature() ^ signature(&[], &[usize::from(options.status)])
    })
}

/// A text as a value of a query.
fn form_urlencoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
