//! Who writes where registrations of several namespaces overlap (V25).

use model::{Namespace, ObjectKey};
use plan::repository::{Registration, inside, nested, place, writer_instead};

use crate::wire::{name, uid};

/// `namespace/name`, made at this second, with a directory, of deployments.
fn at(text: &str, second: u32, directory: &str) -> Registration {
    let (namespace, of) = text.split_once('/').expect("namespace/name");
    Registration {
        key: ObjectKey::new(Namespace::parse(namespace).expect("a namespace"), name(of)),
        created: format!("2026-01-01T00:00:{second:02}Z"),
        uid: Some(uid(text)),
        branch: "main".to_owned(),
        directory: directory.to_owned(),
        deployment: true,
        shared: false,
        able: true,
        credentials: false,
    }
}

/// For each registration, the one that writes instead; in every order of what is seen.
fn verdicts(all: &[Registration]) -> Vec<Option<String>> {
    let verdict = |seen: &[Registration]| {
        let of = |mine: &Registration| writer_instead(mine, seen).map(|w| w.key.to_string());
        all.iter().map(of).collect::<Vec<_>>()
    };
    let first = verdict(all);
    let mut turned = all.to_vec();
    for _ in all {
        turned.rotate_left(1);
        assert_eq!(verdict(&turned), first, "the order of what is seen matters");
        let back: Vec<_> = turned.iter().rev().cloned().collect();
        assert_eq!(verdict(&back), first, "the order of what is seen matters");
    }
    first
}

fn instead(all: &[Registration]) -> Vec<String> {
    verdicts(all)
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}

#[test]
fn the_oldest_writes() {
    let (a, b) = (at("a/one", 1, ""), at("b/two", 2, ""));
    assert_eq!(instead(&[a.clone(), b.clone()]), ["", "a/one"]);
    // Of one second, the smaller uid.
    let b = Registration {
        created: a.created.clone(),
        ..b
    };
    assert_eq!(instead(&[b, a]), ["a/one", ""]);
    assert_eq!(instead(&[at("a/one", 1, "")]), [""]);
}

#[test]
fn only_what_overlaps_and_is_deployed_is_one_writers() {
    let a = at("a/one", 1, "apps");
    for (directory, writer) in [
        ("", "a/one"),
        ("apps/web", "a/one"),
        ("apps", "a/one"),
        ("app", ""),
        ("infra", ""),
    ] {
        assert_eq!(
            instead(&[a.clone(), at("b/two", 2, directory)]),
            ["", writer],
            "{directory}"
        );
    }
    let branch = Registration {
        branch: "next".to_owned(),
        ..at("b/two", 2, "apps")
    };
    assert_eq!(
        instead(&[a.clone(), branch]),
        ["", ""],
        "refused for another reason"
    );
    assert_eq!(
        instead(&[a.clone(), at("a/two", 2, "apps/web")]),
        ["", ""],
        "one namespace"
    );
    let plain = |of: Registration| Registration {
        deployment: false,
        ..of
    };
    let b = at("b/two", 2, "");
    assert_eq!(instead(&[plain(a.clone()), plain(b.clone())]), ["", ""]);
    assert_eq!(instead(&[plain(a.clone()), b.clone()]), ["", "a/one"]);
    assert_eq!(instead(&[a, plain(b)]), ["", "a/one"]);
}

#[test]
fn both_write_where_both_share() {
    let shared = |of: Registration| Registration { shared: true, ..of };
    let (a, b, c) = (at("a/one", 1, ""), at("b/two", 2, ""), at("c/three", 3, ""));
    assert_eq!(instead(&[shared(a.clone()), b.clone()]), ["", "a/one"]);
    assert_eq!(instead(&[a.clone(), shared(b.clone())]), ["", "a/one"]);
    assert_eq!(instead(&[shared(a.clone()), shared(b.clone())]), ["", ""]);
    // A third one that does not share takes nothing from the two.
    assert_eq!(
        instead(&[shared(a.clone()), shared(b.clone()), c.clone()]),
        ["", "", "a/one"]
    );
    // The oldest one shares with nobody.
    assert_eq!(instead(&[a, shared(b), shared(c)]), ["", "a/one", "a/one"]);
}

#[test]
fn one_that_cannot_push_keeps_nobody_from_writing() {
    let (a, b) = (at("a/one", 1, ""), at("b/two", 2, ""));
    let unable = Registration {
        able: false,
        ..a.clone()
    };
    assert_eq!(instead(&[unable, b.clone()]), ["b/two", ""]);
    // Who has credentials pushes; who has none reads.
    let secret = Registration {
        credentials: true,
        ..b
    };
    assert_eq!(instead(&[a.clone(), secret.clone()]), ["b/two", ""]);
    let both = Registration {
        credentials: true,
        ..a
    };
    assert_eq!(instead(&[both, secret]), ["", "a/one"]);
    // One that has to leave it to an older one does not keep others out of its own directory.
    let (root, apps, infra) = (
        at("b/root", 2, ""),
        at("a/apps", 1, "apps"),
        at("c/infra", 3, "infra"),
    );
    assert_eq!(instead(&[apps, root, infra]), ["", "a/apps", ""]);
}

#[test]
fn directories_are_compared_by_their_parts() {
    for (a, b, lies) in [
        ("a/b", "a", true),
        ("a", "a/", true),
        ("ab", "a", false),
        ("a", "", true),
        ("", "a", false),
    ] {
        assert_eq!(inside(a, b), lies, "{a} in {b}");
        assert!(!lies || nested(b, a), "{a}, {b}");
    }
}

#[test]
fn addresses_of_one_repository_are_one_place() {
    for (a, b) in [
        ("file:///git/x.git", "file:///git//./y/../x.git/"),
        ("https://Git.Example/x", "https://git.example:443/x.git/"),
        ("http://git.example:80/x", "https://git.example/x"),
        ("https://git.example./x", "https://git.example/x"),
        ("http://localhost:3000/x", "http://127.0.0.1:3000/x"),
        ("http://[::1]:3000/x", "http://127.0.0.1:3000/x"),
        ("http://[0:0:0:0:0:0:0:1]:3000/x", "http://127.0.0.1:3000/x"),
        ("http://[::ffff:127.0.0.1]/x", "http://127.0.0.1/x"),
        ("http://127.8.0.2/x", "http://127.0.0.1/x"),
        ("http://0.0.0.0/x", "http://[::]/x"),
        ("http://git.localhost/x", "http://127.0.0.1/x"),
        ("http://[2001:DB8::1]/x", "http://[2001:db8:0:0::0:1]/x"),
        ("http://[::ffff:10.0.0.1]/x", "http://10.0.0.1/x"),
        ("https://git.example/Team/x", "https://git.example/team/X"),
        (
            "https://git.example/%74eam/%2E%2e/x",
            "https://git.example/x",
        ),
        ("https://git.example/a%20b", "https://git.example/A%20B"),
    ] {
        assert_eq!(place(a), place(b), "{a}, {b}");
    }
    for (a, b) in [
        ("file:///git/x.git", "file:///git/x"),
        ("https://git.example/x%", "https://git.example/x"),
        ("https://git.example/x%2fy%", "https://git.example/x%2y"),
        ("file:///git/x", "file:///git/X"),
        ("https://git.example/x", "https://git.example:8443/x"),
        ("https://git.example/x", "file:///git.example/x"),
    ] {
        assert_ne!(place(a), place(b), "{a}, {b}");
    }
}
