//! Formats of texts that nobody checks: whoever writes a definition is warned of them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::schema::quote;

/// The formats that are checked, without hyphens.
const KNOWN: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// What to warn about in a definition; what it had before is no news.
pub(crate) fn warnings(old: Option<&Value>, new: &Value) -> Vec<String> {
    let before = old.map(unknown).unwrap_or_default();
    let fresh = unknown(new);
    let fresh = fresh.difference(&before);
    fresh
        .map(|format| format!("unrecognized format {}", quote(format)))
        .collect()
}

/// The unknown formats of all versions.
fn unknown(crd: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            collect(schema, &mut found);
        }
    }
    found
}

fn collect(schema: &Value, found: &mut BTreeSet<String>) {
    let format = schema.get("format").and_then(Value::as_str);
    let format = format.filter(|format| !format.is_empty());
    if let Some(format) = format.filter(|_| schema.get("type") == Some(&"string".into()))
        && !KNOWN.contains(&format.replace('-', "").as_str())
    {
        found.insert(format.to_owned());
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten().map(|(_, schema)| schema);
    let one = ["items", "additionalProperties"].map(|word| schema.get(word));
    for below in properties.chain(one.into_iter().flatten()) {
        collect(below, found);
    }
}
