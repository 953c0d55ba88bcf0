//! Content negotiation: which form of an answer a client asked for.

use http::HeaderMap;
use objects::Failure;

/// The media types of plain objects, as refusals name them.
pub(super) const SERVED: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// The text format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    /// JSON.
    #[default]
    Json,
    /// YAML, in blocks.
    Yaml,
    /// The binary form that typed clients of built-in kinds ask for.
    Protobuf,
}

/// The shape of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    /// The object itself.
    #[default]
    Object,
    /// A `Table` of this version of meta.k8s.io.
    Table(&'static str),
    /// A `PartialObjectMetadata`.
    Partial(&'static str),
    /// A `PartialObjectMetadataList`.
    PartialList(&'static str),
    /// Aggregated discovery, version 2.
    Discovery,
}

/// One acceptable form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form {
    pub(super) format: Format,
    pub(super) shape: Shape,
}

/// What a client accepts, best first; what we do not know is left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Accept {
    forms: Vec<Form>,
    given: bool,
}

impl Accept {
    pub(super) fn parse(headers: &HeaderMap) -> Self {
        let texts: Vec<&str> = headers
            .get_all(http::header::ACCEPT)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .collect();
        let clauses = texts
            .iter()
            .flat_map(|t| t.split(','))
            .map(str::trim)
            .filter(|c| !c.is_empty());
        let mut ranked: Vec<(f32, Form)> = Vec::new();
        let mut given = false;
        for clause in clauses {
            given = true;
            let mut parts = clause.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let format = match media {
                "application/json" | "*/*" | "application/*" => Format::Json,
                "application/yaml" => Format::Yaml,
                super::protobuf::MEDIA => Format::Protobuf,
                _ => continue,
            };
            let parameters: Vec<(&str, &str)> = parts.filter_map(|p| p.split_once('=')).collect();
            let value = |name: &str| parameters.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            let quality = value("q").and_then(|q| q.parse().ok()).unwrap_or(1.0);
            let shape = match value("as") {
                // A group or version says what to turn the object into: into nothing, without a kind.
                None if value("g").is_some() || value("v").is_some() => None,
                None => Some(Shape::Object),
                Some(shape) => shape_of(
                    shape,
                    value("g").unwrap_or_default(),
                    value("v").unwrap_or_default(),
                ),
            };
            if let Some(shape) = shape {
                ranked.push((quality, Form { format, shape }));
            }
        }
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        Self {
            forms: ranked.into_iter().map(|(_, form)| form).collect(),
            given,
        }
    }

    /// The best form that `offers` allows, of what has every format.
    pub(super) fn choose(&self, offers: impl Fn(Shape) -> bool) -> Result<Form, Failure> {
        self.choose_of(true, offers)
    }

    /// The best form that `offers` allows; `typed` says whether the object itself has a protobuf form. Its metadata
    /// always has, a table never.
    pub(super) fn choose_of(
        &self,
        typed: bool,
        offers: impl Fn(Shape) -> bool,
    ) -> Result<Form, Failure> {
        if !self.given {
            return Ok(Form::default());
        }
        let has = |form: &&Form| match (form.format, form.shape) {
            (Format::Protobuf, Shape::Object) => typed,
            (Format::Protobuf, Shape::Table(_) | Shape::Discovery) => false,
            _ => true,
        };
        let mut allowed = self.forms.iter().filter(has);
        let found = allowed.find(|form| offers(form.shape)).copied();
        found.ok_or_else(|| Failure::not_acceptable(&SERVED))
    }

    /// The format of a failure: errors are never wrapped in another shape.
    pub(super) fn plain(&self) -> Format {
        let plain = self.forms.iter().find(|f| f.shape == Shape::Object);
        plain.map(|f| f.format).unwrap_or_default()
    }
}

fn shape_of(shape: &str, group: &str, version: &str) -> Option<Shape> {
    let version = match version {
        "v1" => "v1",
        "v1beta1" => "v1beta1",
        "v2" => "v2",
        _ => return None,
    };
    match (shape, group, version) {
        ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Shape::Discovery),
        ("Table", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Table(version)),
        ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Some(Shape::Partial(version)),
        ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
            Some(Shape::PartialList(version))
        }
        _ => None,
    }
}
