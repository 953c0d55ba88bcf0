use model::{Namespace, ObjectKey, ObjectName};

use super::{Mirror, TOMBSTONES, Versioned};

struct Item {
    key: ObjectKey,
    version: String,
}

impl Versioned for Item {
    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}

fn key() -> ObjectKey {
    named("shop")
}

fn named(name: &str) -> ObjectKey {
    let namespace = Namespace::parse("default").expect("a namespace");
    ObjectKey::new(namespace, ObjectName::parse(name).expect("a name"))
}

fn item(version: &str) -> Item {
    Item {
        key: key(),
        version: version.to_owned(),
    }
}

#[test]
fn a_deletion_that_comes_before_what_it_deletes_is_remembered() {
    let mut mirror = Mirror::default();
    assert!(
        mirror.delete(&key(), "7").is_none(),
        "nothing is known of it"
    );
    assert!(mirror.put(item("5")).is_none(), "it went since");
    assert!(mirror.get(&key()).is_none());
    assert!(mirror.put(item("8")).is_some(), "it was made anew");
}

#[test]
fn an_older_deletion_takes_nothing_away_and_forgets_no_later_one() {
    let mut mirror = Mirror::default();
    assert!(mirror.put(item("5")).is_some());
    assert!(mirror.delete(&key(), "4").is_none());
    assert!(mirror.delete(&key(), "9").is_some());
    assert!(mirror.delete(&key(), "6").is_none());
    assert!(mirror.put(item("8")).is_none(), "it went at 9");
}

#[test]
fn of_too_many_deletions_the_oldest_is_forgotten_whatever_its_name() {
    let mut mirror: Mirror<Item> = Mirror::default();
    let old = |at: usize| named(&format!("z{at}"));
    for at in 0..TOMBSTONES {
        mirror.delete(&old(at), &(at + 10).to_string());
    }
    mirror.delete(&key(), "5000000");
    assert!(mirror.put(item("4999999")).is_none(), "it went just now");
    assert!(mirror.knows(&old(1), "10"));
    assert!(!mirror.knows(&old(0), "10"));
    assert_eq!(mirror.gone.len(), TOMBSTONES);
}
