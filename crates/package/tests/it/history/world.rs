//! What upstream ships, and the places that people edit in it.

use std::collections::BTreeMap;

use model::{File, Files, PackagePath};
use yaml::{Limits, NodeStep, Path, Reader, Stream, Value};

use crate::POINT;

const KPTFILE: &str = "\
# an application
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
  - image: set-labels:v0.2
    configMap:
      team: blue
";

/// What upstream's authors may change.
#[derive(Debug, Clone)]
pub(super) struct Upstream {
    pub(super) replicas: u8,
    pub(super) image: u8,
    pub(super) pull: Option<u8>,
    pub(super) data: BTreeMap<u8, u8>,
}

impl Upstream {
    pub(super) fn new() -> Self {
        let data = BTreeMap::from([(0, 0), (1, 1), (2, 2)]);
        Self {
            replicas: 1,
            image: 1,
            pull: Some(0),
            data,
        }
    }

    pub(super) fn files(&self) -> Files {
        let Self {
            replicas,
            image,
            pull,
            data,
        } = self;
        let pull = pull
            .map(|pull| format!("        imagePullPolicy: p{pull}\n"))
            .unwrap_or_default();
        let data: String = data
            .iter()
            .map(|(key, value)| format!("  k{key}: v{value} # of {key}\n"))
            .collect();
        let deployment = format!(
            "# a workload\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web # the name\n  namespace: app\nspec:\n  \
             replicas: {replicas} # enough\n  template:\n    spec:\n      containers:\n      - name: web\n        image: \
             web:v{image} # released\n{pull}"
        );
        let config = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  fixed: \"1\"\n{data}"
        );
        let texts = [
            ("Kptfile", KPTFILE),
            ("deployment.yaml", &deployment),
            ("point.yaml", POINT),
            ("settings.yaml", &config),
        ];
        texts
            .into_iter()
            .map(|(path, text)| (PackagePath::parse(path).unwrap(), File::text(text)))
            .collect()
    }
}

/// A place that people edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Replicas,
    Image,
    Pull,
    Data(u8),
    /// What a function of the package writes at each render.
    Team,
}

impl Place {
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Data(_) => "settings.yaml",
            _ => "deployment.yaml",
        }
    }

    pub(super) fn path(self) -> Path {
        let container = |field: &str| {
            let mut path = Path::keys(["spec", "template", "spec", "containers"]).join(0);
            path = path.join(field);
            path
        };
        match self {
            Self::Replicas => Path::keys(["spec", "replicas"]),
            Self::Image => container("image"),
            Self::Pull => container("imagePullPolicy"),
            Self::Data(key) => Path::keys(["data".to_owned(), format!("k{key}")]),
            Self::Team => Path::keys(["metadata", "labels", "team"]),
        }
    }

    /// As records name it.
    pub(super) fn name(self) -> String {
        let container = "spec.template.spec.containers[name=web]";
        match self {
            Self::Replicas => "spec.replicas".to_owned(),
            Self::Image => format!("{container}.image"),
            Self::Pull => format!("{container}.imagePullPolicy"),
            Self::Data(key) => format!("data.k{key}"),
            Self::Team => "metadata.labels.team".to_owned(),
        }
    }

    pub(super) fn value(self, value: u8) -> Value {
        match self {
            Self::Replicas => Value::Int(i64::from(value)),
            Self::Image => format!("web:v{value}").into(),
            Self::Pull => format!("p{value}").into(),
            Self::Data(_) => format!("v{value}").into(),
            Self::Team => format!("t{value}").into(),
        }
    }
}

pub(super) fn stream(files: &Files, place: Place) -> Stream {
    Stream::parse(files[place.file()].as_text().unwrap(), &Limits::default()).unwrap()
}

pub(super) fn found(files: &Files, place: Place) -> Option<Value> {
    let stream = stream(files, place);
    let mut node = stream.document(0)?.root();
    for step in place.path().steps() {
        node = match step {
            NodeStep::Key(key) => node.get(key)?,
            NodeStep::Index(index) => node.at(*index)?,
        };
    }
    node.to_value(Reader::V3).ok()
}
