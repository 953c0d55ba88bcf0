//! How fast packages are parsed, edited, merged, rendered and derived on one core, as ratios within one run, and how that
//! grows with the size of files: `cargo xtask bench package`.
//!
//! The figures are what they are, no test depends on them. With arguments only the lines that hold the first one.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement reaches the world, the crate may not"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use functions::{BuiltIns, FunctionCall};
use model::{
    CommitId, ConflictPolicy, File, Files, Function, GitLock, GitUpstream, Injection,
    InjectionOutcome, ObjectName, PackageName, PackagePath, Pairs, Pipeline, Recipe, Strategy,
};
use package::derive::{Derivation, DeriveInput};
use package::merge::Occupied;
use package::render::{Conversation, Item, Options, Output, Render, RenderStep, RunFailure};

/// What is measured here runs on the allocator that it ships with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const KPTFILE: &str = "\
# A shop, as our platform team ships it.
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
  annotations:
    config.kubernetes.io/local-config: \"true\"
info:
  description: one shop
pipeline:
  mutators:
    # everything lives in one namespace
    - image: set-namespace:v0.4.5
      configMap:
        namespace: shop
    - image: set-labels:v0.2.4
      configMap:
        team: blue
        tier: front
    - image: apply-setters:v0.2.2
      configMap:
        replicas: \"4\"
        tag: v7
";

const CONTEXT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: \"true\"
data:
  name: shop
";

const POINT: &str = "\
# filled from the cluster
apiVersion: v1
kind: ConfigMap
metadata:
  name: site
  annotations:
    kpt.dev/config-injection: required
data:
  region: none # replaced
";

fn workload(name: &str) -> String {
    format!(
        "# {name}: what it is for\n\
         apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name} # do not rename\n  namespace: example\n\
         spec:\n  replicas: 1 # kpt-set: ${{replicas}}\n  selector:\n    matchLabels:\n      app: {name}\n  template:\n\
         \x20   metadata:\n      labels:\n        app: {name}\n    spec:\n      containers:\n      # the program\n\
         \x20     - name: main\n        image: example.com/{name}:v1 # kpt-set: example.com/{name}:${{tag}}\n\
         \x20       args: [--port=8080, --log=info]\n        env:\n        - name: MODE\n          value: \"fast\"\n\
         \x20       ports:\n        - containerPort: 8080\n          name: http\n        resources:\n          requests:\n\
         \x20           cpu: 100m # enough\n            memory: 64Mi\n"
    )
}

fn package() -> Files {
    let mut texts: Vec<(String, String)> = vec![
        ("Kptfile".into(), KPTFILE.into()),
        ("package-context.yaml".into(), CONTEXT.into()),
        ("site.yaml".into(), POINT.into()),
    ];
    for name in [
        "cart", "front", "mail", "pay", "search", "cache", "tax", "users", "wish",
    ] {
        texts.push((format!("{name}.yaml"), workload(name)));
    }
    let path = |text: &str| PackagePath::parse(text).ok();
    texts
        .into_iter()
        .filter_map(|(p, text)| Some((path(&p)?, File::text(text))))
        .collect()
}

fn recipe() -> Option<Recipe> {
    let content = InjectionOutcome::Content("{\"region\":\"eu\"}".into());
    Some(Recipe {
        package: PackageName::parse("shop").ok()?,
        variant: ObjectName::parse("shop-eu").ok()?,
        deployment: true,
        context: Pairs::from_iter([("region".to_owned(), "eu".to_owned())]),
        remove_keys: BTreeSet::new(),
        create_context: false,
        pipeline: Pipeline {
            mutators: vec![Function {
                image: Some("set-annotations:v0.1.7".to_owned()),
                name: "where".to_owned(),
                config_map: vec![("region".to_owned(), "eu".to_owned())],
                ..Function::default()
            }],
            validators: Vec::new(),
        },
        injections: vec![Injection {
            group: None,
            version: None,
            kind: None,
            name: "eu".to_owned(),
            found: BTreeMap::from([("/v1/ConfigMap".to_owned(), content)]),
        }],
        kept: Vec::new(),
        strategy: Strategy::ResourceMerge,
        conflict_policy: ConflictPolicy::Block,
        push_on_render_failure: false,
    })
}

fn drive<C: Conversation>(mut conversation: C) -> C::End {
    loop {
        let run = match conversation.next() {
            RenderStep::Done(end) => return *end,
            RenderStep::Run(run) => run,
        };
        let items = run.items.into_iter().map(|i| functions::Item {
            id: i.id,
            value: i.value,
            path: i.path,
            index: i.index,
        });
        let call = FunctionCall {
            function: run.function,
            config: run.config,
            items: items.collect(),
            tenant: None,
        };
        let answer = BuiltIns
            .call(call)
            .map_err(|error| RunFailure(error.to_string()));
        conversation.resume(answer.map(|outcome| {
            Output {
                items: outcome
                    .items
                    .into_iter()
                    .map(|i| Item {
                        id: i.id,
                        value: i.value,
                        path: i.path,
                        index: i.index,
                    })
                    .collect(),
                results: outcome.results,
                exit_code: outcome.exit_code,
                stderr: outcome.stderr,
            }
        }));
    }
}

/// Seconds of CPU that this process has used; the wall clock where the system does not say.
fn used(begin: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| begin.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

/// Whether a line was asked for.
fn wanted(what: &str) -> bool {
    std::env::args()
        .nth(1)
        .is_none_or(|wanted| what.contains(&wanted))
}

/// How often something can be done in a second of CPU.
fn often(mut once: impl FnMut()) -> f64 {
    once();
    let begin = Instant::now();
    let from = used(begin);
    let mut count = 0_u32;
    while used(begin) - from < 1.0 {
        once();
        count += 1;
    }
    f64::from(count) / (used(begin) - from)
}

/// One line.
fn rate(what: &str, once: impl FnMut()) {
    if wanted(what) {
        println!("{what}: {:.0}/s of CPU", often(once));
    }
}

/// The files as a snapshot of git has them.
fn kept(files: &Files) -> Files {
    let mut number = 0_u8;
    let kept = files.iter().filter_map(|(path, file)| {
        number += 1;
        let id = model::BlobId::from_bytes(&[number; 20])?;
        let file = File::Kept {
            id,
            mode: model::FileMode::Regular,
            bytes: file.bytes().clone(),
        };
        Some((path.clone(), file))
    });
    kept.collect()
}

/// A reader of events alone over every file.
fn events(files: &Files) {
    for file in files.values() {
        let text = file.as_text().unwrap_or_default();
        assert!(granit_parser::Parser::new_from_str(text).all(|event| event.is_ok()));
    }
}

fn parse(files: &Files) {
    for file in files.values() {
        let text = file.as_text().unwrap_or_default();
        let stream = yaml::Stream::parse(text, &yaml::Limits::default());
        assert!(stream.is_ok());
    }
}

/// Parsing beside another reader that only tells events.
fn parsing(files: &Files) {
    if !wanted("parse") {
        return;
    }
    let megabytes = model::total_bytes(files) as f64 / 1e6;
    let (alone, ours) = (often(|| events(files)), often(|| parse(files)));
    println!(
        "parse: {:.0} MB/s, {:.2} of the rate of a reader of events",
        ours * megabytes,
        ours / alone
    );
}

/// One field of one file among sixty.
fn editing() {
    let sixty: Files = (0..60)
        .filter_map(|at| {
            let path = PackagePath::parse(&format!("file-{at}.yaml")).ok()?;
            Some((path, File::text(workload(&format!("app-{at}")))))
        })
        .collect();
    let sixty = kept(&sixty);
    let Ok(path) = PackagePath::parse("file-30.yaml") else {
        return;
    };
    rate("edit one field of 60 files", || {
        let mut files = sixty.clone();
        let Some(file) = files.get_mut(&path) else {
            return;
        };
        let text = file.as_text().unwrap_or_default();
        let edit = yaml::Edit::set(yaml::Path::keys(["spec", "replicas"]), 5_i64);
        let stream = yaml::Stream::parse(text, &yaml::Limits::default());
        if let Ok(stream) = stream.and_then(|stream| stream.apply(0, &[edit])) {
            *file = file.with_bytes(stream.text().as_bytes().to_vec());
        }
        let untouched = files.values().filter(|file| file.id().is_some());
        assert_eq!(untouched.count(), 59);
    });
}

/// Twelve files: two that upstream changed, one of them changed by people too.
fn merging(files: &Files) {
    let base = kept(files);
    let changed = |names: &[&str], from: &str, to: &str| -> Files {
        let change = |(path, file): (&PackagePath, &File)| {
            let text = file.as_text().unwrap_or_default();
            let file = match names.contains(&path.as_str()) {
                true => file.with_bytes(text.replace(from, to).into_bytes()),
                false => file.clone(),
            };
            (path.clone(), file)
        };
        base.iter().map(change).collect()
    };
    let local = changed(&["cart.yaml"], "value: \"fast\"", "value: \"slow\"");
    let upstream = changed(&["cart.yaml", "pay.yaml"], "cpu: 100m", "cpu: 200m");
    let options =
        package::merge::MergeOptions::against_base(Strategy::ResourceMerge, ConflictPolicy::Block);
    rate("merge two changed files of twelve", || {
        let merged = package::merge::merge(&base, &local, &upstream, &options);
        let untouched = |merged: &package::merge::Merged| {
            merged
                .files
                .values()
                .filter(|file| file.id().is_some())
                .count()
        };
        assert!(merged.is_ok_and(|merged| untouched(&merged) == 10 && merged.conflicts.is_empty()));
    });
}

/// A package whose every workload stands many times in its file.
fn larger(files: &Files, times: usize) -> Files {
    let grow = |(path, file): (&PackagePath, &File)| {
        let text = file.as_text().unwrap_or_default();
        let name = path.as_str().trim_end_matches(".yaml");
        let documents = (0..times).map(|at| text.replace(name, &format!("{name}-{at}")));
        let file = match path.as_str() {
            "Kptfile" | "package-context.yaml" | "site.yaml" => file.clone(),
            _ => File::text(documents.collect::<Vec<_>>().join("---\n")),
        };
        (path.clone(), file)
    };
    files.iter().map(grow).collect()
}

/// The exponent of growth: the slope of a line through logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let both: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    both / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

fn growing(files: &Files) {
    if !wanted("grow") {
        return;
    }
    let sizes: Vec<Files> = [1, 4, 16, 64].map(|times| larger(files, times)).to_vec();
    let grow = |what: &str, once: &dyn Fn(&Files)| {
        let points: Vec<(f64, f64)> = sizes
            .iter()
            .map(|files| {
                (
                    model::total_bytes(files) as f64,
                    1.0 / often(|| once(files)),
                )
            })
            .collect();
        let last = points.last().map_or(0.0, |point| point.0) / 1e6;
        println!(
            "grow: {what} with the bytes to the power of {:.2}, up to {last:.1} MB",
            exponent(&points)
        );
    };
    grow("parsing", &parse);
    grow("rendering", &|files| {
        let rendered = drive(Render::new(files.clone(), Options::default()));
        assert!(rendered.status.succeeded());
    });
    grow("merging", &|files| {
        let options = package::merge::MergeOptions::against_base(
            Strategy::ResourceMerge,
            ConflictPolicy::Block,
        );
        let mut upstream = files.clone();
        for file in upstream.values_mut() {
            let text = file.as_text().unwrap_or_default();
            *file = File::text(text.replacen("cpu: 100m", "cpu: 200m", 1));
        }
        let mut local = files.clone();
        for file in local.values_mut() {
            let text = file.as_text().unwrap_or_default();
            *file = File::text(text.replacen("value: \"fast\"", "value: \"slow\"", 1));
        }
        assert!(package::merge::merge(files, &local, &upstream, &options).is_ok());
    });
}

fn main() {
    let files = package();
    println!(
        "{} files, {} bytes",
        files.len(),
        model::total_bytes(&files)
    );
    parsing(&files);
    editing();
    merging(&files);
    rate("take every document", || {
        for file in files.values() {
            let text = file.as_text().unwrap_or_default();
            if let Ok(stream) = yaml::Stream::parse(text, &yaml::Limits::default()) {
                assert!(
                    stream
                        .documents()
                        .all(|document| yaml::owned::Value::read(&document).is_ok())
                );
            }
        }
    });
    rate("render", || {
        assert!(
            drive(Render::new(files.clone(), Options::default()))
                .status
                .succeeded()
        );
    });
    let rendered = drive(Render::new(files.clone(), Options::default())).files;
    rate("render what is rendered", || {
        assert!(
            drive(Render::new(rendered.clone(), Options::default()))
                .status
                .succeeded()
        );
    });
    deriving(&files);
    growing(&files);
}

fn deriving(files: &Files) {
    let Some(recipe) = recipe() else { return };
    let input = DeriveInput {
        marked: None,
        upstream: files.clone(),
        git_upstream: GitUpstream {
            repo: "https://example.com/b.git".into(),
            directory: "shop".into(),
            git_ref: "shop/v1".into(),
        },
        lock: GitLock {
            repo: "https://example.com/b.git".into(),
            directory: "shop".into(),
            git_ref: "shop/v1".into(),
            commit: CommitId::from_bytes(&[1; 20]),
        },
        recipe,
        base: None,
        draft: None,
        package_bytes: None,
        upstream_occupied: Occupied::default(),
    };
    let spec = package::clone::CloneSpec {
        package: input.recipe.package.clone(),
        upstream: input.git_upstream.clone(),
        lock: input.lock.clone(),
        deployment: true,
    };
    rate("clone", || {
        assert!(package::clone::clone(files, &spec).is_ok())
    });
    let Ok(cloned) = package::clone::clone(files, &spec) else {
        return;
    };
    let mutations = package::mutate::Mutation::of(&input.recipe, BTreeMap::new());
    rate("mutate", || {
        assert!(package::mutate::apply(&cloned.files, &mutations).is_ok())
    });
    let Ok(mutated) = package::mutate::apply(&cloned.files, &mutations) else {
        return;
    };
    rate("render that", || {
        assert!(
            drive(Render::new(mutated.files.clone(), Options::default()))
                .status
                .succeeded()
        );
    });
    rate("find injection points", || {
        assert!(package::mutate::injection_points(&mutated.files).is_ok())
    });
    rate("read the Kptfile", || {
        assert!(package::kptfile::Kptfile::of_files(&mutated.files).is_ok())
    });
    rate("derive a first draft", || {
        assert!(drive(Derivation::new(input.clone())).is_ok())
    });
}
