//! What an example means by the text around it.

use std::collections::BTreeMap;

use model::{Downstream, File, Files, ObjectName, PackagePath, VariantSpec};
use package::mutate::{self, Mutation};
use serde_json::{Value, json};
use yaml::{Limits, Reader};

use super::Result;
use super::document::{Document, Example, Table};

/// What is to come of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Means {
    /// A variant: itself.
    Variant,
    /// A set: these variants, by place.
    Set {
        /// The repositories of the text, with their labels.
        repositories: BTreeMap<String, BTreeMap<String, String>>,
        /// The variants.
        variants: BTreeMap<Downstream, VariantSpec>,
    },
}

const PLACES: [&str; 2] = ["repository", "package name"];
const LABELS: [&str; 2] = ["repository", "labels"];

/// The objects of an example with what each means; `None` for a result that another example was held against.
pub(super) fn of(document: &Document, example: &Example) -> Result<Option<Vec<(Value, Means)>>> {
    let Some(first) = example.objects.first() else {
        return Err("it is empty".to_owned());
    };
    if first.get("pipeline").is_some() {
        // The example before was held against it.
        return Ok(None);
    }
    let kind = first.get("kind").and_then(Value::as_str);
    match (kind, first.get("spec")) {
        (Some("PackageVariant"), _) => {
            let objects = example.objects.iter().map(enveloped_variant);
            if let Some(result) = document.following(example)
                && let Some(kptfile) = result
                    .objects
                    .first()
                    .filter(|o| o.get("pipeline").is_some())
            {
                functions(first, kptfile)?;
            }
            Ok(Some(objects.map(|o| (o, Means::Variant)).collect()))
        }
        (Some("PackageVariantSet"), _) => set(document, example, first.clone()).map(Some),
        (None, Some(spec)) => {
            let envelope = json!({
                "apiVersion": format!("config.porch.kpt.dev/{}", document.version),
                "kind": "PackageVariantSet",
                "metadata": { "name": "example", "namespace": "default" },
                "spec": spec,
            });
            set(document, example, envelope).map(Some)
        }
        _ => Err("it is neither a variant, nor a set, nor a part of one".to_owned()),
    }
}

/// A variant whose upstream and downstream were left out gets some.
fn enveloped_variant(object: &Value) -> Value {
    let mut object = object.clone();
    let spec = &mut object["spec"];
    for (key, value) in [
        (
            "upstream",
            json!({ "repo": "example-repo", "package": "foo", "revision": "v1" }),
        ),
        (
            "downstream",
            json!({ "repo": "cluster-01", "package": "foo" }),
        ),
    ] {
        if spec.get(key).is_none() {
            spec[key] = value;
        }
    }
    object
}

fn set(document: &Document, example: &Example, object: Value) -> Result<Vec<(Value, Means)>> {
    let (_, _, read) = api::read_set(&object).ok_or("it has no name")?;
    let read = read.map_err(|problems| model::join_problems(&problems))?;
    let mut repositories = known(document, example.line)?;
    let upstream = read.packages().next().ok_or("it has no upstream")?;
    let common = json!({ "upstream": api::write_upstream(upstream) });
    let follows = document.following(example);
    let results = follows.filter(|e| {
        let all = e.objects.iter();
        e.objects.len() > 1 && all.clone().all(|o| o["kind"] == "PackageVariant")
    });
    let variants = if let Some(results) = results {
        results
            .objects
            .iter()
            .map(spec)
            .collect::<Result<Vec<_>>>()?
    } else if let Some(table) = document.table_after(example.line, &PLACES) {
        places(table, &common)?
    } else if object.pointer("/spec/targets/0/objectSelector").is_some() {
        // "the repository name comes from the object name": two teams are selected, of three.
        for team in super::world::TEAMS {
            repositories.insert(team.0.to_owned(), BTreeMap::new());
        }
        let selected = super::world::TEAMS.iter().filter(|t| t.1);
        let package = upstream.package.as_str();
        selected
            .map(|t| place(&common, t.0, package))
            .collect::<Result<Vec<_>>>()?
    } else {
        listed(&object, &common)?
    };
    let variants = variants.into_iter().map(|v| (v.downstream.clone(), v));
    Ok(vec![(
        object,
        Means::Set {
            repositories,
            variants: variants.collect(),
        },
    )])
}

/// The repositories that the text supposes: those of the last table with labels, else the four without.
fn known(document: &Document, line: usize) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let Some(table) = document.table_before(line, &LABELS) else {
        let four = (1..=4).map(|n| (format!("cluster-0{n}"), BTreeMap::new()));
        return Ok(four.collect());
    };
    let mut out = BTreeMap::new();
    for row in &table.rows {
        let [name, labels] = row.as_slice() else {
            return Err(format!("a row of the table at {} is odd", table.line));
        };
        let labels = labels.split(", ").filter_map(|l| l.split_once('='));
        let labels = labels.map(|(k, v)| (k.to_owned(), v.to_owned()));
        out.insert(name.clone(), labels.collect());
    }
    Ok(out)
}

fn spec(object: &Value) -> Result<VariantSpec> {
    let (_, _, spec) = api::read_variant(object).ok_or("it has no name")?;
    spec.map_err(|problems| model::join_problems(&problems))
}

fn place(common: &Value, repo: &str, package: &str) -> Result<VariantSpec> {
    let mut wanted = common.clone();
    wanted["downstream"] = json!({ "repo": repo, "package": package });
    spec(&json!({ "metadata": { "name": "v", "namespace": "default" }, "spec": wanted }))
}

fn places(table: &Table, common: &Value) -> Result<Vec<VariantSpec>> {
    let rows = table.rows.iter().map(|row| match row.as_slice() {
        [repo, package] => place(common, repo, package),
        _ => Err(format!("a row of the table at {} is odd", table.line)),
    });
    rows.collect()
}

/// One variant for each repository and package of the set's own lists.
fn listed(object: &Value, common: &Value) -> Result<Vec<VariantSpec>> {
    let mut out = Vec::new();
    let lists = object.pointer("/spec/targets").and_then(Value::as_array);
    for target in lists.into_iter().flatten() {
        let repositories = target.get("repositories").and_then(Value::as_array);
        for repository in repositories.into_iter().flatten() {
            let packages = repository.get("packageNames").and_then(Value::as_array);
            for package in packages.into_iter().flatten() {
                let text = |v: &Value| v.as_str().map(str::to_owned).ok_or("a name is no text");
                let repo = repository.get("name").ok_or("a repository has no name")?;
                out.push(place(common, &text(repo)?, &text(package)?)?);
            }
        }
    }
    if out.is_empty() {
        return Err("nothing in the text says what it means".to_owned());
    }
    Ok(out)
}

/// The functions of a variant stand at the head of a pipeline exactly as the document shows them.
fn functions(variant: &Value, result: &Value) -> Result<()> {
    let pipeline = spec(&enveloped_variant(variant))?.pipeline;
    let name = variant.pointer("/metadata/name").and_then(Value::as_str);
    let name = ObjectName::parse(name.unwrap_or_default()).map_err(|e| e.to_string())?;
    let before = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: foo\npipeline:\n  mutators:\n  - image: own\n";
    let path = PackagePath::parse("Kptfile").map_err(|e| e.to_string())?;
    let files = Files::from([(path.clone(), File::text(before))]);
    let mutation = [Mutation::Pipeline {
        variant: name.clone(),
        pipeline,
    }];
    let once = mutate::apply(&files, &mutation).map_err(|e| e.to_string())?;
    let twice = mutate::apply(&once.files, &mutation).map_err(|e| e.to_string())?;
    let text = |files: &Files| {
        let file = files.get(&path).and_then(File::as_text);
        file.map(str::to_owned).ok_or("the Kptfile is gone")
    };
    let after = text(&once.files)?;
    if text(&twice.files)? != after {
        return Err("adding the functions again changes the Kptfile".to_owned());
    }
    let after = yaml::first_document_json(&after, Reader::V3, true, &Limits::default());
    let after = after.map_err(|e| e.to_string())?;
    let mut wanted = result["pipeline"]["mutators"].clone();
    let list = wanted.as_array_mut().ok_or("the result has no mutators")?;
    for function in list.iter_mut() {
        // The earliest document leaves out the empty name of a function without one; the newest does not (R71).
        let old = format!("PackageVariant.{name}.");
        let short = function["name"].as_str().and_then(|n| n.strip_prefix(&old));
        if let Some(index) = short.filter(|rest| rest.parse::<usize>().is_ok()) {
            function["name"] = format!("{old}.{index}").into();
        }
    }
    list.push(json!({ "image": "own" }));
    if after["pipeline"]["mutators"] != wanted {
        return Err(format!(
            "the functions are {}, the document shows {wanted}",
            after["pipeline"]["mutators"]
        ));
    }
    Ok(())
}
