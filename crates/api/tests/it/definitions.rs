//! The definitions that are printed and served (A1, A8, A10).

use serde_json::{Value, json};

fn definition<'a>(crds: &'a [Value], kind: &str) -> &'a Value {
    let mut found = crds.iter().filter(|c| c["spec"]["names"]["kind"] == kind);
    found.next().unwrap()
}

/// The columns that are always shown.
fn columns(version: &Value) -> Vec<&str> {
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    columns
        .iter()
        .filter(|c| c.get("priority").is_none())
        .map(|c| c["name"].as_str().unwrap())
        .collect()
}

/// R1, R130: groups, versions, names, status and columns.
#[test]
fn kinds_are_those_that_people_know() {
    let crds = api::crds().unwrap();
    let variant = definition(&crds, "PackageVariant");
    assert_eq!(variant["spec"]["group"], "config.porch.kpt.dev");
    assert_eq!(variant["spec"]["scope"], "Namespaced");
    assert_eq!(variant["spec"]["names"]["shortNames"], json!(["pvar"]));
    let versions = variant["spec"]["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 1);
    assert_eq!(versions[0]["name"], "v1alpha1");
    assert_eq!(versions[0]["subresources"], json!({ "status": {} }));
    // Then what `-o wide` adds.
    let seen = "Upstream Downstream Lifecycle Conflicts Gates Drift Ready Status Reason Age";
    assert_eq!(columns(&versions[0]), seen.split(' ').collect::<Vec<_>>());

    let set = definition(&crds, "PackageVariantSet");
    assert_eq!(set["spec"]["names"]["shortNames"], json!(["pvset"]));
    let named = |crds: &[Value]| -> Vec<(String, bool, bool)> {
        let versions = definition(crds, "PackageVariantSet")["spec"]["versions"].clone();
        let versions = versions.as_array().unwrap().clone();
        let flag = |v: &Value, key: &str| v[key].as_bool().unwrap();
        let one = |v: &Value| {
            (
                v["name"].as_str().unwrap().to_owned(),
                flag(v, "served"),
                flag(v, "storage"),
            )
        };
        versions.iter().map(one).collect()
    };
    let seen =
        "Upstream Targets UpToDate Draft Proposed Conflicts Gates Failed Ready Status Reason Age";
    for version in set["spec"]["versions"].as_array().unwrap() {
        assert_eq!(columns(version), seen.split(' ').collect::<Vec<_>>());
    }
    let selection = definition(&crds, "PackageRevisionSet");
    assert_eq!(
        selection["spec"]["names"]["shortNames"],
        json!(["pkgrevset"])
    );
    assert_eq!(
        selection["spec"]["names"]["categories"],
        json!(["offshoot"])
    );
    // Printed for a cluster, the first version needs a conversion webhook; embedded, it is converted in process.
    let new = ("v1alpha2".to_owned(), true, true);
    assert_eq!(
        named(&crds),
        [new.clone(), ("v1alpha1".to_owned(), false, false)]
    );
    let embedded = api::embedded_crds().unwrap();
    assert_eq!(
        named(&embedded),
        [new, ("v1alpha1".to_owned(), true, false)]
    );
}
