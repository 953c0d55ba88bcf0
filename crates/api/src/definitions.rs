//! The definitions of our kinds: the CRD files that `offshoot crds` prints and the embedded
//! server serves (A1, A10), and those of the package group, which are served only.

use serde_json::Value;
use yaml::{Limits, Reader};

/// One definition: its plural name and its text.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedCrd {
    /// Such as `packagevariants`.
    pub plural: &'static str,
    /// A CustomResourceDefinition as YAML.
    pub text: &'static str,
}

/// The CRDs of `config.porch.kpt.dev`.
pub const CRDS: [EmbeddedCrd; 4] = [
    EmbeddedCrd {
        plural: "repositories",
        text: include_str!("../crds/repositories.yaml"),
    },
    EmbeddedCrd {
        plural: "packagevariants",
        text: include_str!("../crds/packagevariants.yaml"),
    },
    EmbeddedCrd {
        plural: "packagevariantsets",
        text: include_str!("../crds/packagevariantsets.yaml"),
    },
    EmbeddedCrd {
        plural: "packagerevisionsets",
        text: include_str!("../crds/packagerevisionsets.yaml"),
    },
];

/// The resources of `porch.kpt.dev`, and what is answered about fleets, in the same form; never installed as CRDs.
pub const SERVED: [EmbeddedCrd; 6] = [
    EmbeddedCrd {
        plural: "bulkchanges",
        text: include_str!("../served/bulkchanges.yaml"),
    },
    EmbeddedCrd {
        plural: "explanations",
        text: include_str!("../served/explanations.yaml"),
    },
    EmbeddedCrd {
        plural: "packagerevisions",
        text: include_str!("../served/packagerevisions.yaml"),
    },
    EmbeddedCrd {
        plural: "packagerevisionresources",
        text: include_str!("../served/packagerevisionresources.yaml"),
    },
    EmbeddedCrd {
        plural: "packages",
        text: include_str!("../served/packages.yaml"),
    },
    EmbeddedCrd {
        plural: "plans",
        text: include_str!("../served/plans.yaml"),
    },
];

/// The CRD of records, for clusters that keep them (A10).
pub const RECORDS: EmbeddedCrd = EmbeddedCrd {
    plural: "revisionrecords",
    text: include_str!("../records/revisionrecords.yaml"),
};

/// What `offshoot crds` prints.
pub fn crd_texts() -> String {
    CRDS.map(|d| d.text).join("---\n")
}

/// The CRDs as objects.
///
/// # Errors
/// Never for the texts of this crate; a test reads them all.
pub fn crds() -> Result<Vec<Value>, yaml::Error> {
    CRDS.iter().map(read).collect()
}

/// The CRDs as the embedded server serves them: it converts in process, so that every version of every kind is served
/// (A10).
///
/// # Errors
/// As [`crds`].
pub fn embedded_crds() -> Result<Vec<Value>, yaml::Error> {
    let mut crds = crds()?;
    let versions = crds
        .iter_mut()
        .filter_map(|crd| crd.pointer_mut("/spec/versions"))
        .filter_map(Value::as_array_mut);
    for version in versions.flatten() {
        version["served"] = true.into();
    }
    Ok(crds)
}

/// The definition of records as an object.
///
/// # Errors
/// As [`crds`].
pub fn records_crd() -> Result<Value, yaml::Error> {
    read(&RECORDS)
}

/// The package group's definitions as objects.
///
/// # Errors
/// As [`crds`].
pub fn served() -> Result<Vec<Value>, yaml::Error> {
    SERVED.iter().map(read).collect()
}

fn read(definition: &EmbeddedCrd) -> Result<Value, yaml::Error> {
    yaml::first_document_json(definition.text, Reader::Sigs, true, &Limits::default())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_definition_can_be_read() {
        for object in super::crds()
            .unwrap()
            .into_iter()
            .chain(super::served().unwrap())
        {
            let names = &object["spec"]["names"];
            let group = object["spec"]["group"].as_str().unwrap();
            let name = format!("{}.{group}", names["plural"].as_str().unwrap());
            assert_eq!(object["metadata"]["name"], name.as_str());
            let schema = &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            assert!(schema["properties"]["spec"].is_object(), "{name}");
        }
    }
}
