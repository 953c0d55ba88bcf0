//! How fast a package like W1 of `engine.md` is rendered and cooked on one core.
//!
//! `cargo run --release -p package --example rates`; the figures are what it is, no test depends on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use functions::{BuiltIns, Call};
use model::{
    CommitId, ConflictPolicy, File, Files, Function, GitLock, GitUpstream, Injection,
    InjectionOutcome, ObjectName, PackageName, PackagePath, Pipeline, Recipe, Strategy,
};
use package::cook::{Cook, CookInput};
use package::render::{Conversation, Failure, Item, Options, Output, Render, Step};

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
        "cart", "front", "mail", "pay", "search", "stock", "tax", "users", "wish",
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
        context: BTreeMap::from([("region".to_owned(), "eu".to_owned())]),
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
            Step::Done(end) => return *end,
            Step::Run(run) => run,
        };
        let items = run.items.into_iter().map(|i| functions::Item {
            id: i.id,
            value: i.value,
            path: i.path,
            index: i.index,
        });
        let call = Call {
            function: run.function,
            config: run.config,
            items: items.collect(),
        };
        let answer = BuiltIns
            .call(call)
            .map_err(|error| Failure(error.to_string()));
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

/// One line; only those that hold the program's first argument, if it has one.
fn rate(what: &str, mut once: impl FnMut()) {
    if std::env::args()
        .nth(1)
        .is_some_and(|wanted| !what.contains(&wanted))
    {
        return;
    }
    once();
    let begin = Instant::now();
    let from = used(begin);
    let mut count = 0_u32;
    while used(begin) - from < 1.0 {
        once();
        count += 1;
    }
    println!(
        "{what}: {:.0}/s of CPU",
        f64::from(count) / (used(begin) - from)
    );
}

fn main() {
    let files = package();
    println!(
        "{} files, {} bytes",
        files.len(),
        model::total_bytes(&files)
    );
    let parse = |files: &Files| {
        for file in files.values() {
            let text = file.as_text().unwrap_or_default();
            let stream = yaml::Stream::parse(text, &yaml::Limits::default());
            assert!(stream.is_ok());
        }
    };
    rate("parse every file", || parse(&files));
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
    cooking(&files);
}

fn cooking(files: &Files) {
    let Some(recipe) = recipe() else { return };
    let input = CookInput {
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
    rate("cook a first draft", || {
        assert!(drive(Cook::new(input.clone())).is_ok())
    });
}
