//! Walking a resource as the setter functions do: the lists of a mapping first, then everything below it in order.

use yaml::owned::{Data, Value};

/// What a function does at fields; an error ends the walk.
pub(crate) trait Visit {
    /// A list that is the value of a mapping's key.
    fn list(&mut self, value: &mut Value, path: &str) -> Result<(), String>;

    /// A scalar.
    fn scalar(&mut self, value: &mut Value, path: &str) -> Result<(), String>;
}

/// Visits a value and all below it; aliases are not entered.
pub(crate) fn walk(value: &mut Value, visit: &mut dyn Visit) -> Result<(), String> {
    enter(value, &mut String::new(), visit)
}

fn enter(value: &mut Value, path: &mut String, visit: &mut dyn Visit) -> Result<(), String> {
    if value.is_alias() {
        return Ok(());
    }
    let length = path.len();
    match value.data() {
        Data::Scalar(_) => return visit.scalar(value, path),
        Data::Map(_) => {
            let Some(map) = value.as_map_mut() else {
                return Ok(());
            };
            for (key, child) in map.iter_mut() {
                if !child.is_alias() && child.as_seq().is_some() {
                    step(path, key);
                    visit.list(child, path)?;
                    path.truncate(length);
                }
            }
            for (key, child) in map.iter_mut() {
                step(path, key);
                enter(child, path, visit)?;
                path.truncate(length);
            }
        }
        _ => {
            let Some(seq) = value.as_seq_mut() else {
                return Ok(());
            };
            for (at, child) in seq.items_mut().iter_mut().enumerate() {
                path.push_str(&format!("[{at}]"));
                enter(child, path, visit)?;
                path.truncate(length);
            }
        }
    }
    Ok(())
}

fn step(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}
