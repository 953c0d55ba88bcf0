//! Aliases between the steps of a pipeline.

use std::sync::Arc;

use package::render::Output;
use yaml::owned::Value;

use crate::render::{KPTFILE, with};

#[test]
fn m1_what_a_function_changes_at_an_anchor_the_next_one_reads_behind_the_alias() {
    let map = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  a: &x old
  b: *x
  c: other
";
    let seen = std::cell::RefCell::new(Vec::new());
    let text = |value: &Value, key: &str| {
        value
            .lookup(&["data", key])
            .and_then(Value::text)
            .map(str::to_owned)
    };
    let two = KPTFILE.replace("    # first of all", "    - image: first:v1\n    # second");
    let rendered = with(&[("Kptfile", &two), ("cm.yaml", map)], |items| {
        for item in items
            .iter_mut()
            .filter(|item| text(&item.value, "a").is_some())
        {
            let both = ["a", "b"].map(|key| text(&item.value, key).unwrap());
            let mut value = Value::clone(&item.value);
            let (key, new) = match seen.borrow().len() {
                0 => ("a", "new"),
                _ => ("c", "last"),
            };
            *value.get_mut("data").unwrap().get_mut(key).unwrap() = Value::string(new);
            item.value = Arc::new(value);
            seen.borrow_mut().push(both);
        }
        Output::default()
    });
    let wanted = [["old", "old"], ["new", "new"]].map(|both| both.map(str::to_owned));
    assert_eq!(*seen.borrow(), wanted);
    assert_eq!(
        crate::text(&rendered.files, "cm.yaml"),
        map.replace("old", "new").replace("other", "last")
    );
}
