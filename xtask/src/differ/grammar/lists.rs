//! Lists: pages and what becomes of them when objects change and the store forgets, selectors, tables and other forms.

use serde_json::{Value, json};

use super::Maker;
use super::things::{ACCOUNT, CONFIG, GADGET, KINDS, Kind, NOTE, OLD_GADGET, SITE, object};

/// Some objects with names in an order of their own.
fn filled(maker: &mut Maker, kind: Kind, most: u64) {
    for name in ["a", "a.b", "a-b", "b", "ab", "c", "d"]
        .iter()
        .take(usize::try_from(most).unwrap_or(7))
    {
        let mut body = object(maker, kind, name);
        if kind.kind == "Gadget" {
            body["spec"] = json!({"size": maker.pick(&["small", "large"]), "count": maker.roll(3)});
        }
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.remove("finalizers");
        }
        maker.post(&kind.all(), body);
    }
}

/// What a list of the sequence's own objects begins with. Not all kinds live in the sequence's namespace, and nobody makes the account
/// that every namespace has where no controller runs.
fn base(kind: Kind) -> String {
    match kind.namespaced && kind != ACCOUNT {
        true => kind.all() + "?",
        false => kind.all() + "?labelSelector=seq%3D$N&",
    }
}

/// Pages of a list while objects come, change and go.
pub(super) fn paging(maker: &mut Maker) {
    maker.home();
    let kind = maker.pick(&[GADGET, GADGET, CONFIG, NOTE, SITE, OLD_GADGET]);
    filled(maker, kind, 7);
    pages(maker, kind, 18, false);
}

/// As [`paging`], and the store forgets what is old.
pub(super) fn compaction(maker: &mut Maker) {
    maker.alone = true;
    maker.home();
    let kind = maker.pick(&[GADGET, CONFIG, NOTE]);
    filled(maker, kind, 5);
    pages(maker, kind, 20, true);
}

const SIZES: &[&str] = &[
    "limit=1",
    "limit=2",
    "limit=3",
    "limit=100",
    "limit=0",
    "x=1",
];

fn pages(maker: &mut Maker, kind: Kind, steps: u64, compacts: bool) {
    let base = base(kind);
    let limit = maker.pick(&[1, 2, 3]);
    let first = maker.step("GET", &format!("{base}limit={limit}")).id();
    let mut pages = vec![first];
    for _ in 0..steps {
        let page = maker.pick(&pages);
        let (token, version) = (
            format!("{{{{{page}:/metadata/continue}}}}"),
            format!("{{{{{page}:/metadata/resourceVersion}}}}"),
        );
        match maker.roll(16) {
            0..=4 => {
                let limit = maker.pick(SIZES);
                pages.push(
                    maker
                        .step("GET", &format!("{base}{limit}&continue={token}"))
                        .id(),
                );
            }
            5 => {
                let odd = odd_page(maker, &token, &version);
                maker.step("GET", &format!("{base}{odd}"));
            }
            6 | 7 => {
                let form = maker.pick(&[
                    "resourceVersion=V",
                    "resourceVersion=V&resourceVersionMatch=Exact",
                    "resourceVersion=V&resourceVersionMatch=NotOlderThan",
                    "resourceVersion=V&resourceVersionMatch=Exact&limit=2",
                    "resourceVersion=V&limit=2",
                    "resourceVersion=V&resourceVersionMatch=NotOlderThan&limit=2",
                    "resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=2",
                ]);
                pages.push(
                    maker
                        .step(
                            "GET",
                            &format!("{base}{}", form.replace("=V", &format!("={version}"))),
                        )
                        .id(),
                );
            }
            8..=10 => between(maker, kind),
            11 => {
                let selector = maker.pick(&[
                    "fieldSelector=metadata.name%21%3Db&",
                    "labelSelector=tier&",
                    "",
                ]);
                // A second label selector would be another request: what is cluster-scoped keeps its own.
                let selector = if kind.namespaced { selector } else { "" };
                pages.push(maker.step("GET", &format!("{base}{selector}limit=2")).id());
            }
            12 | 13 if compacts => maker.compact(),
            14 => {
                let accept = maker.pick(&[
                    "application/json;as=Table;v=v1;g=meta.k8s.io",
                    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                ]);
                maker
                    .step("GET", &format!("{base}limit=2&continue={token}"))
                    .header("accept", accept);
            }
            _ => pages.push(maker.step("GET", &format!("{base}limit={limit}")).id()),
        }
    }
}

/// A change between two pages.
fn between(maker: &mut Maker, kind: Kind) {
    match maker.roll(3) {
        0 => {
            let name = maker.pick(&["a0", "e", "bb"]);
            let body = object(maker, kind, name);
            maker.post(&kind.all(), body);
        }
        1 => {
            let name = maker.pick(&["a", "b", "c", "d"]);
            maker.step("DELETE", &kind.one(name));
        }
        _ => {
            let name = maker.pick(&["a", "b", "d"]);
            let value = maker.pick(&["1", "2", "3"]);
            maker
                .step("PATCH", &kind.one(name))
                .header("content-type", "application/merge-patch+json")
                .json(json!({"metadata": {"labels": {"turn": value}}}));
        }
    }
}

fn odd_page(maker: &mut Maker, token: &str, version: &str) -> String {
    maker
        .pick(&[
            "limit=abc",
            "limit=-1",
            "limit=1.5",
            "limit=99999999999999999999",
            "limit=",
            "continue=abc",
            "limit=1&continue=YWJj",
            "continue=%25",
            "limit=2&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0",
            "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhXHUwMDAwIn0",
            "continue=eyJ2Ijoib2RkIiwicnYiOjEsInN0YXJ0IjoiYSJ9",
            "continue=TOKEN&resourceVersion=VERSION",
            "continue=TOKEN&resourceVersion=0",
            "limit=1&continue=TOKEN&resourceVersionMatch=Exact",
            "limit=1&continue=TOKEN&resourceVersion=VERSION&resourceVersionMatch=Exact",
            "continue=TOKEN&resourceVersionMatch=NotOlderThan",
            "limit=1&resourceVersionMatch=Exact",
            "limit=1&resourceVersionMatch=Odd",
            "resourceVersion=VERSION&resourceVersionMatch=Odd",
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersion=abc",
            "resourceVersion=-1",
            "resourceVersion=1.5",
            "resourceVersion=",
            "resourceVersionMatch=Exact",
            "sendInitialEvents=true",
            "sendInitialEvents=false",
            "sendInitialEvents=odd",
            "continue=TOKEN&sendInitialEvents=true",
            "timeoutSeconds=abc",
            "timeoutSeconds=-3",
            "allowWatchBookmarks=odd",
            "watch=odd&limit=1&timeoutSeconds=1",
            "watch=false",
            "watch=0",
            "resourceVersion=01",
            "resourceVersion=%2B1",
            "limit=1&limit=2",
            "resourceVersion=VERSION&resourceVersion=0",
        ])
        .replace("TOKEN", token)
        .replace("VERSION", version)
}

const TERMS: &[&str] = &[
    "seq=$N",
    "tier",
    "!tier",
    "tier=web",
    "tier==web",
    "tier!=web",
    "tier in (web,db)",
    "tier notin (web)",
    "tier in ()",
    "tier in (web",
    "tier in web",
    "tier >",
    "tier>3",
    "tier<3",
    "tier>a",
    "=web",
    "tier=",
    "tier==",
    "tier!=",
    "!",
    "!!tier",
    "tier web",
    "tier=a b",
    "a/b/c=d",
    "tier=web=db",
    ",",
    "tier,",
    ",tier",
    "tier,,app",
    "(tier)",
    "tier in (,)",
    "tier in (web,)",
    "tier notin ()",
    "UPPER=x",
    "-bad=x",
    "bad-=x",
    "tier=-x",
    "example.dev/part",
    "example.dev/=x",
    "/x=y",
    "tier in (a b)",
    "tier in(web)",
    "tier\t=\tweb",
    " tier = web ",
    "tier=web,app=db",
    "tier exists",
    "tier notin(web), app",
    "ä=b",
    "tier=ä",
    "tier in (ä)",
    "in",
    "notin=x",
    "in in (in)",
    "tier > 3",
    "tier gt 3",
    "tier=\"web\"",
    "tier='x'",
    "x=y;z",
    "tier=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "tier!in (web)",
    "!tier=web",
    "! tier",
    "tier>3,tier<9",
    "tier>-1",
    "tier in (web),!app",
    "tier=web,",
    "tier&app",
    "*",
    "tier=*",
];

const FIELDS: &[&str] = &[
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.name==a",
    "metadata.namespace=$N",
    "metadata.namespace=other",
    "metadata.name=",
    "metadata.name",
    "=a",
    "metadata.name=a,metadata.namespace=$N",
    "spec.size=small",
    "spec.size!=small",
    "spec.count=1",
    "spec.count=01",
    "spec.on=true",
    "spec.on=yes",
    "spec.code=x",
    "metadata.labels.tier=web",
    "metadata.name=a=b",
    "metadata.name=\\a",
    "metadata.name=a\\,b",
    "metadata.name=a\\=b",
    "metadata.name>a",
    "!metadata.name",
    "metadata.name in (a,b)",
    ",",
    "metadata.name=a,",
    "spec.size",
    "metadata.name=a,metadata.name=b",
    "metadata.name=a,metadata.name!=b",
    "status.phase=x",
    "type=Opaque",
    "type=x",
    "reason=one",
    "involvedObject.kind=Gadget",
    "involvedObject.odd=1",
    " metadata.name = a ",
    "metadata.name=a;spec.size=b",
    "METADATA.NAME=a",
    "metadata.uid=x",
    "metadata.name=a\\",
    "metadata.name=\\x",
    "spec.size=small,spec.count!=1",
    "spec.size==large",
    ".spec.size=small",
];

/// Label and field selectors, many of which do not parse.
pub(super) fn selectors(maker: &mut Maker) {
    maker.home();
    let kind = maker.pick(&[GADGET, GADGET, CONFIG, NOTE, OLD_GADGET]);
    let kind = if maker.chance(25) {
        maker.pick(KINDS)
    } else {
        kind
    };
    filled(maker, kind, 5);
    for _ in 0..18 + maker.roll(10) {
        let text = match maker.chance(55) {
            true => format!("labelSelector={}", coded(maker.pick(TERMS))),
            false => format!("fieldSelector={}", coded(maker.pick(FIELDS))),
        };
        let text = match maker.roll(12) {
            0 => format!("{text}&limit=2"),
            1 => format!("{text}&labelSelector=app"),
            2 => format!("{text}&fieldSelector=metadata.name%3Da"),
            3 => {
                let more = coded(maker.pick(TERMS));
                format!("{}%2C{more}", text.split('&').next().unwrap_or_default())
            }
            _ => text,
        };
        let mark = if kind.namespaced {
            ""
        } else {
            "fieldSelector=metadata.name%3D$N-a&"
        };
        match maker.roll(12) {
            0 => drop(maker.step("DELETE", &format!("{}?dryRun=All&{mark}{text}", kind.all()))),
            1 => drop(
                maker
                    .step(
                        "GET",
                        &format!("{}?watch=true&timeoutSeconds=1&{mark}{text}", kind.all()),
                    )
                    .watch(),
            ),
            2 => drop(maker.step("GET", &format!("{}?{text}", kind.one("a")))),
            _ => drop(maker.step("GET", &format!("{}?{mark}{text}", kind.all()))),
        }
    }
}

fn coded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'$' => {
                out.push(char::from(byte))
            }
            other => out += &format!("%{other:02X}"),
        }
    }
    out
}

const FORMS: &[&str] = &[
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/json;as=Odd;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
    "application/yaml",
    "text/yaml",
    "application/json",
    "*/*",
    "application/*",
    "text/*",
    "text/html",
    "",
    "application/json;q=0.5,application/yaml;q=0.9",
    "application/json;stream=watch",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/json;pretty=1",
    "application/json;odd",
    ";;;",
    "application/json;as=Table",
    "application/json;as=Table;g=meta.k8s.io",
    "application/json;v=v1",
    "text/html,application/xhtml+xml,*/*;q=0.8",
];

/// The forms in which reads can be asked for.
pub(super) fn tables(maker: &mut Maker) {
    maker.home();
    let kind = maker.pick(KINDS);
    filled(maker, kind, 3);
    for _ in 0..16 + maker.roll(10) {
        let accept = maker.pick(FORMS);
        let extra = maker.pick(&[
            "",
            "",
            "includeObject=None",
            "includeObject=Object",
            "includeObject=Metadata",
            "includeObject=Odd",
            "limit=1",
            "pretty=true",
        ]);
        let list = base(kind);
        match maker.roll(8) {
            0..=3 => drop(
                maker
                    .step("GET", &format!("{list}{extra}"))
                    .header("accept", accept),
            ),
            4 | 5 => drop(
                maker
                    .step("GET", &format!("{}?{extra}", kind.one("a")))
                    .header("accept", accept),
            ),
            6 => {
                let body = object(maker, kind, "w");
                maker
                    .step("POST", &format!("{}?dryRun=All&{extra}", kind.all()))
                    .header("accept", accept)
                    .json(body);
            }
            _ => {
                let body: Value = json!({"metadata": {"labels": {"turn": "x"}}});
                maker
                    .step("PATCH", &format!("{}?{extra}", kind.one("a")))
                    .header("accept", accept)
                    .header("content-type", "application/merge-patch+json")
                    .json(body);
            }
        }
    }
}
