//! The `offshoot:` trailer (V19).

use model::{
    CommitId, Condition, Digest, DraftOwner, Machine, Namespace, ObjectName, TreeId, Uid,
    WorkspaceName,
};
use serde_json::{Value, json};

use super::reader::{JsonFields, parse};
use super::{CodecError, parts};

/// The format that [`encode_machine`] writes.
const FORMAT: u64 = 1;

/// Writes it as one line, keys in a fixed order, with what the machine has to say about its result
/// beside what the package itself says (V17a).
pub(crate) fn encode_machine(machine: &Machine, conditions: &[Condition]) -> String {
    let mut value = to_json(machine);
    if !conditions.is_empty() {
        let list: Vec<Value> = conditions.iter().map(parts::condition_json).collect();
        value["conditions"] = list.into();
    }
    value.to_string()
}

/// What is said about a draft that no machine made, as one line.
pub(crate) fn encode_conditions(conditions: &[Condition]) -> String {
    let list: Vec<Value> = conditions.iter().map(parts::condition_json).collect();
    json!({ "format": FORMAT, "conditions": list }).to_string()
}

/// Reads what [`encode_conditions`] wrote.
///
/// # Errors
/// Another shape, or a newer format.
pub(crate) fn decode_conditions(text: &str) -> Result<Vec<Condition>, CodecError> {
    let value = parse(text, FORMAT)?;
    JsonFields::of(&value, "conditions")?.list("conditions", parts::condition)
}

pub(super) fn to_json(machine: &Machine) -> Value {
    let mut value = json!({
        "format": FORMAT,
        "owner": {
            "namespace": machine.owner.namespace.as_str(),
            "name": machine.owner.name.as_str(),
            "uid": machine.owner.uid.as_str(),
        },
        "workspace": machine.workspace.as_str(),
        "digest": machine.digest.as_str(),
        "fullDigest": machine.full_digest.as_str(),
        "m": machine.m_tree.to_string(),
        "v": machine.v_tree.to_string(),
        "base": machine.base.map(|c| c.to_string()),
        "baseTree": machine.base_tree.map(|t| t.to_string()),
        "gates": machine.gates,
        "contextKeys": machine.context_keys,
    });
    if machine.adopted {
        value["adopted"] = true.into();
    }
    value
}

/// Reads what [`encode_machine`] wrote.
///
/// # Errors
/// Another shape, or a newer format.
pub(crate) fn decode_machine(text: &str) -> Result<(Machine, Vec<Condition>), CodecError> {
    let value = parse(text, FORMAT)?;
    let conditions = JsonFields::of(&value, "machine")?.list("conditions", parts::condition)?;
    Ok((from_json(&value)?, conditions))
}

pub(super) fn from_json(value: &Value) -> Result<Machine, CodecError> {
    let fields = JsonFields::of(value, "machine")?;
    let owner = fields.object("owner")?;
    Ok(Machine {
        owner: DraftOwner {
            namespace: owner.parsed("namespace", |t| Namespace::parse(t).ok())?,
            name: owner.parsed("name", |t| ObjectName::parse(t).ok())?,
            uid: owner.parsed("uid", |t| Uid::parse(t).ok())?,
        },
        adopted: fields.flag("adopted"),
        workspace: fields.parsed("workspace", |t| WorkspaceName::parse(t).ok())?,
        digest: fields.parsed("digest", Digest::parse)?,
        full_digest: fields.parsed("fullDigest", Digest::parse)?,
        m_tree: fields.parsed("m", TreeId::parse)?,
        v_tree: fields.parsed("v", TreeId::parse)?,
        base: fields.opt_parsed("base", CommitId::parse)?,
        base_tree: fields.opt_parsed("baseTree", TreeId::parse)?,
        gates: fields.texts("gates")?,
        context_keys: fields.texts("contextKeys")?.into_iter().collect(),
    })
}
