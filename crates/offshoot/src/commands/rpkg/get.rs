//! `rpkg get`: listings by name, package, number, workspace and labels, all of them together.

use serde_json::Value;

use crate::cli::remote::{Listing, Rpkg};
use crate::client::{self, Client, PACKAGES, RESOURCES, collection, object};
use crate::exit::ExitFailure;

pub(super) async fn run(client: &Client, verb: &Rpkg) -> Result<String, ExitFailure> {
    let Rpkg::Get {
        names,
        name,
        revision,
        workspace,
        show_kptfile,
        selector,
        field_selector,
        listing,
    } = verb
    else {
        return Ok(String::new());
    };
    if *show_kptfile {
        return kptfile(client, names).await;
    }
    let fields = [
        ("spec.packageName", name.clone()),
        ("spec.revision", revision.map(|r| r.to_string())),
        ("spec.workspaceName", workspace.clone()),
    ];
    let terms: Vec<_> = fields
        .iter()
        .filter_map(|(field, value)| value.as_ref().map(|v| format!("{field}={v}")))
        .chain(field_selector.clone())
        .collect();
    let terms = terms.join(",");
    let labels = selector.as_deref().unwrap_or_default();
    client::without_go_templates(client, listing, &chosen(names, labels, &terms))?;
    let paths = paths(client, names, listing, labels, &terms)?;
    // Names are fetched one by one: the other filters then hold here.
    let wanted = |object: &Value| {
        let is = |path: &[&str], value: &Option<String>| {
            value
                .as_ref()
                .is_none_or(|v| api::str_at(object, path) == Some(v))
        };
        let number = object
            .get("spec")
            .and_then(|s| s.get("revision"))
            .and_then(Value::as_i64);
        is(&["spec", "packageName"], name)
            && is(&["spec", "workspaceName"], workspace)
            && revision.is_none_or(|r| number.unwrap_or_default() == r)
    };
    client::print(client, &paths, listing, &wanted).await
}

/// The arguments with which kubectl gets the same package revisions.
fn chosen(names: &[String], labels: &str, fields: &str) -> Vec<String> {
    let mut chosen = vec![PACKAGES.1.to_owned()];
    chosen.extend_from_slice(names);
    for (flag, terms) in [("-l", labels), ("--field-selector", fields)] {
        if !terms.is_empty() {
            chosen.extend([flag.to_owned(), terms.to_owned()]);
        }
    }
    chosen
}

fn paths(
    client: &Client,
    names: &[String],
    listing: &Listing,
    labels: &str,
    fields: &str,
) -> Result<Vec<String>, ExitFailure> {
    let namespace = client.scope(names, listing.all_namespaces)?;
    if !names.is_empty() {
        let one = |name: &String| object(PACKAGES, namespace, name);
        return Ok(names.iter().map(one).collect());
    }
    let query = [("labelSelector", labels), ("fieldSelector", fields)];
    Ok(vec![collection(PACKAGES, namespace, &query)])
}

async fn kptfile(client: &Client, names: &[String]) -> Result<String, ExitFailure> {
    let [name] = names else {
        return Err(ExitFailure::usage(
            "--show-kptfile wants the name of one package revision",
        ));
    };
    let resources = client
        .get(&object(RESOURCES, &client.namespace, name))
        .await?;
    let text = api::str_at(&resources, &["spec", "resources", "Kptfile"]);
    text.map(str::to_owned)
        .ok_or_else(|| ExitFailure::new(format!("Kptfile not found in {name}")))
}
