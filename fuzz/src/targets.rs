//! What is fuzzed, and the laws that hold for every input whatever it is.

mod apiserver;
mod edit;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use functions::Item;
use model::{ConflictPolicy, File, Files, PackagePath, RenderStatus, Strategy};
use package::kptfile::{Edit as KptfileEdit, Kptfile};
use package::merge::{MergeOptions, merge};
use yaml::owned::Value as Owned;
use yaml::{Limits, Node, NodeKind, Reader, Stream, Value};

use crate::seeds::{self, BETWEEN};

/// One target.
#[derive(Debug)]
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// Takes an input, checks the laws, and answers with a signature of what happened.
    pub run: fn(&[u8]) -> u64,
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "parse",
        run: parse,
        seeds: seeds::texts,
    },
    Target {
        name: "edit",
        run: edit::edit,
        seeds: seeds::edits,
    },
    Target {
        name: "merge",
        run: merged,
        seeds: seeds::threes,
    },
    Target {
        name: "kptfile",
        run: kptfile,
        seeds: seeds::kptfiles,
    },
    Target {
        name: "setters",
        run: setters,
        seeds: seeds::setters,
    },
    Target {
        name: "search-replace",
        run: search_replace,
        seeds: seeds::searches,
    },
    Target {
        name: "resource-list",
        run: resource_list,
        seeds: seeds::resource_lists,
    },
    Target {
        name: "api-path",
        run: apiserver::path,
        seeds: seeds::api::paths,
    },
    Target {
        name: "api-selectors",
        run: apiserver::selectors,
        seeds: seeds::api::selectors,
    },
    Target {
        name: "api-continue",
        run: apiserver::tokens,
        seeds: seeds::api::tokens,
    },
    Target {
        name: "api-patch",
        run: apiserver::patches,
        seeds: seeds::api::patches,
    },
    Target {
        name: "api-apply",
        run: apiserver::apply,
        seeds: seeds::api::applies,
    },
    Target {
        name: "api-definition",
        run: apiserver::definitions,
        seeds: seeds::api::definitions,
    },
    Target {
        name: "api-body",
        run: apiserver::bodies,
        seeds: seeds::api::bodies,
    },
];

/// A target by its name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

fn parts(input: &[u8], count: usize) -> Vec<String> {
    let mut rest = input;
    let mut out = Vec::new();
    while out.len() + 1 < count
        && let Some(at) = rest
            .windows(BETWEEN.len())
            .position(|window| window == BETWEEN)
    {
        let (part, after) = rest.split_at(at);
        out.push(String::from_utf8_lossy(part).into_owned());
        rest = after.get(BETWEEN.len()..).unwrap_or_default();
    }
    out.push(String::from_utf8_lossy(rest).into_owned());
    out.resize(count, String::new());
    out
}

/// Tells runs apart by what happened: words without numbers, sizes by their magnitude.
fn signature(words: &[&str], sizes: &[usize]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in words {
        let letters: String = word
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .take(60)
            .collect();
        letters.hash(&mut hasher);
    }
    for size in sizes {
        size.checked_ilog2().hash(&mut hasher);
    }
    hasher.finish()
}

/// A text keeps its bytes; what is read means the same however it is read; an error has its place.
fn parse(input: &[u8]) -> u64 {
    let stream = match Stream::parse_bytes(input, &Limits::default()) {
        Ok(stream) => stream,
        Err(error) => {
            assert!(error.line() > 0 && error.column() > 0 && !error.message().is_empty());
            return signature(&[error.message()], &[error.line()]);
        }
    };
    assert_eq!(&*stream.to_bytes(), input, "a text keeps its bytes");
    let whole: String = stream.documents().map(|document| document.text()).collect();
    assert!(
        stream.is_empty() || whole == stream.text(),
        "documents cover the text"
    );
    let mut words = Vec::new();
    let mut kinds = [0; 8];
    for document in stream.documents() {
        count(document.root(), &mut kinds);
        for reader in [Reader::V3, Reader::Sigs] {
            words.push(
                document
                    .to_value(reader)
                    .err()
                    .map(|error| error.message().to_owned()),
            );
        }
        if let Ok(value) = Owned::read(&document) {
            assert!(value.same(&value.clone()));
            drop(value.to_json());
        }
    }
    // A comment behind everything changes nothing.
    if stream.text().ends_with('\n') {
        let long = Stream::parse(format!("{}#\t\n", stream.text()), &Limits::default());
        let long = long.map(|long| values(&long));
        assert!(
            long.as_ref().is_ok_and(|long| *long == values(&stream)) || ends_open(&stream),
            "{long:?}"
        );
    }
    let words: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
    signature(&words, &kinds)
}

/// Whether a comment at the end of the text would change it: behind a block scalar that keeps its last lines, or
/// behind old line separators.
fn ends_open(stream: &Stream) -> bool {
    let text = stream.text();
    text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\r', '|', '>', '\t'])
}

fn values(stream: &Stream) -> Vec<Option<Value>> {
    stream
        .documents()
        .map(|document| document.to_value(Reader::V3).ok())
        .collect()
}

fn count(node: Node<'_>, kinds: &mut [usize; 8]) {
    let mut note = |at: usize| kinds[at] += 1;
    note(match node.kind() {
        NodeKind::Scalar => 0,
        NodeKind::Mapping => 1,
        NodeKind::Sequence => 2,
        NodeKind::Alias => 3,
    });
    if node.tag().is_some() {
        note(4);
    }
    if node.anchor().is_some() {
        note(5);
    }
    if node.source().contains('#') {
        note(6);
    }
    if node.kind() == NodeKind::Alias {
        return;
    }
    for entry in node.entries() {
        count(entry.key, kinds);
        count(entry.value, kinds);
    }
    for item in node.items() {
        count(item, kinds);
    }
}

fn one(text: &str) -> Files {
    PackagePath::parse("a.yaml")
        .ok()
        .map(|path| (path, File::text(text)))
        .into_iter()
        .collect()
}

/// A side that changed nothing loses nothing; the same again gives the same; a text that could be read still can.
fn merged(input: &[u8]) -> u64 {
    let [base, local, upstream] = &parts(input, 3)[..] else {
        return 0;
    };
    let (base, local, upstream) = (one(base), one(local), one(upstream));
    let options = MergeOptions {
        need_kptfile: false,
        ..MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block)
    };
    for (sides, result) in [
        ([&base, &local, &base], &local),
        ([&base, &base, &upstream], &upstream),
    ] {
        if let Ok(merged) = merge(sides[0], sides[1], sides[2], &options) {
            assert_eq!(
                &merged.files, result,
                "what only one side changed is the result"
            );
            assert!(merged.conflicts.is_empty());
        }
    }
    match merge(&base, &local, &upstream, &options) {
        Err(error) => signature(&[&error.to_string()], &[]),
        Ok(merged) => {
            let reads =
                |files: &Files| files.values().all(|file| file.as_text().is_some_and(reads));
            if [&base, &local, &upstream].into_iter().all(reads) {
                assert!(reads(&merged.files), "{:?}", merged.files);
            }
            let again = merge(&base, &local, &upstream, &options);
            assert_eq!(again.as_ref(), Ok(&merged), "the same again gives the same");
            let kinds: BTreeSet<String> = merged
                .conflicts
                .iter()
                .map(|conflict| conflict.path.clone())
                .collect();
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            signature(&kinds, &[merged.conflicts.len(), merged.files.len()])
        }
    }
}

fn reads(text: &str) -> bool {
    Stream::parse(text, &Limits::default()).is_ok()
}

/// A Kptfile that can be read can be edited without losing anything else, or says why not.
fn kptfile(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    let read = match Kptfile::parse(&text) {
        Ok(read) => read,
        Err(error) => {
            let cause = std::error::Error::source(&error)
                .map(ToString::to_string)
                .unwrap_or_default();
            return signature(&[&error.to_string(), &cause], &[]);
        }
    };
    assert_eq!(read.text(), text);
    let problems = read.validate(None);
    let edits = [
        KptfileEdit::SetName("other".into()),
        KptfileEdit::SetLabel("a".into(), "b: c".into()),
        KptfileEdit::AddGate("offshoot.dev/x".into()),
        KptfileEdit::SetRenderStatus(Some(RenderStatus::default())),
    ];
    let mut now = read.clone();
    let mut refused = String::new();
    for edit in &edits {
        match now.edit(std::slice::from_ref(edit)) {
            Ok(edited) => {
                let again = edited.edit(std::slice::from_ref(edit));
                assert!(
                    again.is_ok_and(|again| again.text() == edited.text()),
                    "{edit:?} twice"
                );
                now = edited;
            }
            Err(error) => refused = error.to_string(),
        }
    }
    let again = Kptfile::parse(now.text());
    assert!(again.is_ok(), "{again:?}\n{}", now.text());
    let fields = read.fields();
    let sizes = [
        problems.len(),
        read.warnings().len(),
        fields.pipeline.mutators.len(),
        fields.annotations.len(),
    ];
    signature(
        &[&refused, &format!("{:?}", fields.upstream.is_some())],
        &sizes,
    )
}

/// Runs a built-in on every document of a text and writes back what it changed.
fn run(name: &str, text: &str, config: &Owned) -> u64 {
    let Ok(stream) = Stream::parse(text, &Limits::default()) else {
        return 0;
    };
    let read = stream
        .documents()
        .enumerate()
        .filter(|(_, document)| !document.is_empty());
    let read: Vec<(usize, Arc<Owned>)> = read
        .filter_map(|(at, document)| Some((at, Arc::new(Owned::read(&document).ok()?))))
        .collect();
    let mut items: Vec<Item> = read
        .iter()
        .map(|(at, value)| Item {
            id: u32::try_from(*at).ok(),
            value: value.clone(),
            path: Some("a.yaml".into()),
            index: u32::try_from(*at).ok(),
        })
        .collect();
    let Some(function) = functions::find(name) else {
        return 0;
    };
    let report = function.run(&mut items, Some(config));
    let pairs: Vec<(usize, &Owned, &Owned)> = read
        .iter()
        .filter_map(|(at, old)| {
            let new = items
                .iter()
                .find(|item| item.id == u32::try_from(*at).ok())?;
            Some((*at, &**old, &*new.value))
        })
        .collect();
    let changed = match yaml::owned::rewrite(&stream, &pairs) {
        Ok(None) => 0,
        Ok(Some(written)) => {
            assert!(reads(written.text()), "what was written can be read");
            1
        }
        Err(_) => 2,
    };
    let words: BTreeSet<&str> = report
        .results
        .iter()
        .map(|result| result.message.as_str())
        .take(3)
        .collect();
    let words: Vec<&str> = words.into_iter().collect();
    signature(
        &words,
        &[changed, report.results.len(), usize::from(report.failed())],
    )
}

fn config_map(pairs: Vec<(String, String)>) -> Owned {
    let data = pairs
        .into_iter()
        .map(|(key, value)| (key, Owned::string(value)));
    Owned::map([
        ("apiVersion", Owned::plain("v1")),
        ("kind", Owned::plain("ConfigMap")),
        ("metadata", Owned::map([("name", Owned::plain("setters"))])),
        ("data", Owned::map(data)),
    ])
}

/// `name=value` lines.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        line.split_once('=')
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    text.lines().take(8).filter_map(pair).collect()
}

fn setters(input: &[u8]) -> u64 {
    let [config, text] = &parts(input, 2)[..] else {
        return 0;
    };
    let config = config_map(pairs(config));
    let all =
        ["apply-setters", "create-setters", "list-setters"].map(|name| run(name, text, &config));
    let mut hasher = DefaultHasher::new();
    all.hash(&mut hasher);
    hasher.finish()
}

fn search_replace(input: &[u8]) -> u64 {
    let [config, text] = &parts(input, 2)[..] else {
        return 0;
    };
    run("search-replace", text, &config_map(pairs(config)))
}

fn resource_list(input: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(input);
    match functions::wire::ResourceList::read(&text) {
        Err(error) => signature(&[&error.to_string()], &[]),
        Ok(list) => {
            for item in &list.items {
                assert!(
                    item.annotation("internal.config.kubernetes.io/path")
                        .is_none(),
                    "places are taken off"
                );
            }
            let placed = list.items.iter().filter(|item| item.path.is_some()).count();
            let configured = usize::from(list.config.is_some());
            signature(
                &[],
                &[list.items.len(), placed, list.results.len(), configured],
            )
        }
    }
}
