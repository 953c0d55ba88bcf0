//! Wrong JSON types in built-in kinds, worded as Go's `encoding/json` does.

use base64::Engine as _;
use serde_json::Value;

use crate::printed::go_kind;
use crate::schema::{Additional, Node, Type, object_meta};

/// The first wrong JSON type in metadata, worded as Go's decoder does; none if all fit.
///
/// `json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`
#[must_use]
pub fn metadata_type_error(metadata: &Value) -> Option<String> {
    mismatch(metadata, object_meta(), "ObjectMeta")
}

/// The first value below `value` whose JSON type the schema does not allow.
///
/// `owner` is the Go struct's name; fields below are told as `Owner.a.b`.
pub(crate) fn mismatch(value: &Value, node: &Node, owner: &str) -> Option<String> {
    walk(value, node, &GoPlace::root(owner))
}

/// Where a value stands: the Go struct that holds it, and the path from the root.
struct GoPlace {
    owner: String,
    path: String,
}

impl GoPlace {
    fn root(owner: &str) -> Self {
        Self {
            owner: owner.to_owned(),
            path: String::new(),
        }
    }

    fn below(&self, name: &str, node: &Node) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", self.path);
        // The struct that a field is: metadata has its own name everywhere, others are told by their owner's.
        let structured = !node.properties.is_empty()
            || node
                .items
                .as_deref()
                .is_some_and(|i| !i.properties.is_empty());
        let own = struct_name(node.items.as_deref().unwrap_or(node));
        let owner = match name {
            "metadata" => "ObjectMeta".to_owned(),
            "ownerReferences" => "OwnerReference".to_owned(),
            "managedFields" => "ManagedFieldsEntry".to_owned(),
            _ if own != "struct" && !self.path.is_empty() => {
                own.trim_start_matches("v1.").to_owned()
            }
            "spec" | "status" if structured && self.path.is_empty() => {
                let (first, rest) = name.split_at(1);
                let owner = self.owner.trim_start_matches("Local");
                format!("{owner}{}{rest}", first.to_uppercase())
            }
            _ => self.owner.clone(),
        };
        Self { owner, path }
    }

    /// As messages name a field.
    fn text(&self, holder: &str) -> String {
        match self.path.is_empty() {
            true => holder.to_owned(),
            false => format!("{holder}.{}", self.path),
        }
    }
}

fn walk(value: &Value, node: &Node, place: &GoPlace) -> Option<String> {
    walk_in(value, node, place, &place.owner)
}

fn walk_in(value: &Value, node: &Node, place: &GoPlace, holder: &str) -> Option<String> {
    if value.is_null() || node.types.is_empty() {
        return None;
    }
    let fits = node.types.iter().any(|wanted| match wanted {
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        Type::String => value.is_string(),
        Type::Boolean => value.is_boolean(),
        Type::Number => value.is_number(),
        Type::Integer => value.is_i64() || value.is_u64(),
    });
    if !fits {
        return Some(text(value, node, &place.text(holder)));
    }
    match value {
        Value::String(text) => form(text, node.format.as_deref().unwrap_or_default()),
        Value::Object(map) => map.iter().find_map(|(name, found)| {
            if let Some(below) = node.properties.get(name) {
                walk_in(found, below, &place.below(name, below), &place.owner)
            } else if let Some(Additional::Schema(below)) = &node.additional {
                walk_in(found, below, place, &place.owner)
            } else {
                None
            }
        }),
        Value::Array(items) => {
            let below = node.items.as_deref()?;
            items
                .iter()
                .find_map(|item| walk_in(item, below, place, holder))
        }
        _ => None,
    }
}

/// Texts that Go decodes further: bytes and times.
pub(super) fn form(text: &str, format: &str) -> Option<String> {
    match format {
        "byte" => base64_problem(text),
        "date-time" => time_problem(text, "2006-01-02T15:04:05Z07:00", false),
        "micro-time" => time_problem(text, "2006-01-02T15:04:05.000000Z07:00", true),
        _ => None,
    }
}

pub(super) fn base64_problem(text: &str) -> Option<String> {
    let wrong =
        |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '\n' | '\r'));
    let at = text.find(wrong);
    let decoded = base64::engine::general_purpose::STANDARD.decode(text.replace(['\n', '\r'], ""));
    match (at, decoded) {
        (Some(at), _) => Some(format!("illegal base64 data at input byte {at}")),
        (None, Err(_)) => {
            let at = text.find('=').unwrap_or(text.len() / 4 * 4);
            Some(format!("illegal base64 data at input byte {at}"))
        }
        (None, Ok(_)) => None,
    }
}

fn time_problem(text: &str, layout: &str, fraction: bool) -> Option<String> {
    let problem = |rest: &str, wanted: &str| {
        Some(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}"
        ))
    };
    if text.len() < 4 || !text.bytes().take(4).all(|b| b.is_ascii_digit()) {
        return problem(text, "2006");
    }
    if text.parse::<jiff::Timestamp>().is_err() || !text.contains('T') {
        return problem(text.get(4..).unwrap_or_default(), "-");
    }
    let rest = text.get(19..).unwrap_or_default();
    if fraction && !rest.starts_with('.') {
        return problem(rest, ".000000");
    }
    None
}

fn text(value: &Value, node: &Node, path: &str) -> String {
    let typed = ["ObjectMeta.", "OwnerReference.", "ObjectReference."];
    let uid = path.ends_with(".uid") && typed.iter().any(|owner| path.starts_with(owner));
    let found = go_kind(value);
    format!(
        "json: cannot unmarshal {found} into Go struct field {path} of type {}",
        if uid {
            "types.UID".to_owned()
        } else {
            go_type(node)
        }
    )
}

pub(super) fn go_type(node: &Node) -> String {
    match node.types.first() {
        Some(Type::String) if node.format.as_deref() == Some("byte") => "[]uint8".to_owned(),
        Some(Type::String) => "string".to_owned(),
        Some(Type::Boolean) => "bool".to_owned(),
        Some(Type::Integer) => node.format.clone().unwrap_or_else(|| "int64".to_owned()),
        Some(Type::Number) => "float64".to_owned(),
        Some(Type::Array) => {
            format!(
                "[]{}",
                node.items
                    .as_deref()
                    .map_or_else(|| "interface {}".to_owned(), go_type)
            )
        }
        Some(Type::Object) => match &node.additional {
            Some(Additional::Schema(below)) => format!("map[string]{}", go_type(below)),
            _ => struct_name(node).to_owned(),
        },
        None => "interface {}".to_owned(),
    }
}

/// The Go struct that a part is, told by a field that no other one has.
fn struct_name(node: &Node) -> &'static str {
    const MARKS: [(&str, &str); 18] = [
        ("ownerReferences", "v1.ObjectMeta"),
        ("blockOwnerDeletion", "v1.OwnerReference"),
        ("fieldsV1", "v1.ManagedFieldsEntry"),
        ("fieldSelector", "v1.ResourceAttributes"),
        ("nonResourceURLs", "v1.PolicyRule"),
        ("clusterRoleSelectors", "v1.AggregationRule"),
        ("matchLabels", "v1.LabelSelector"),
        ("holderIdentity", "v1.LeaseSpec"),
        ("fieldPath", "v1.ObjectReference"),
        ("lastObservedTime", "v1.EventSeries"),
        ("host", "v1.EventSource"),
        ("shortNames", "v1.CustomResourceDefinitionNames"),
        (
            "additionalPrinterColumns",
            "v1.CustomResourceDefinitionVersion",
        ),
        ("openAPIV3Schema", "v1.CustomResourceValidation"),
        ("preserveUnknownFields", "v1.CustomResourceDefinitionSpec"),
        ("resourceAttributes", "v1.SubjectAccessReviewSpec"),
        ("audiences", "v1.TokenRequestSpec"),
        ("path", "v1.NonResourceAttributes"),
    ];
    let known = MARKS
        .iter()
        .find(|(field, _)| node.properties.contains_key(*field));
    known.map_or("struct", |(_, name)| name)
}
