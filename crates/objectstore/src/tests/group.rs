//! What a batch finds of the batches before it, and of the place that it makes something in.

use std::pin::pin;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use futures::poll;

use super::*;

/// Holds the first transaction until somebody says go.
struct Held(Mutex<Option<(Sender<()>, Receiver<()>)>>);

impl Faults for Held {
    fn stop_at(&self, _: FaultPoint) -> bool {
        let first = self.0.lock().expect("no panic").take();
        if let Some((here, go)) = first {
            here.send(()).expect("somebody waits");
            go.recv().expect("somebody says go");
        }
        false
    }
}

/// Two batches that become one transaction, behind one that is held until both are handed in.
fn as_a_group(first: Vec<Op>, second: Vec<Op>) -> [Result<Vec<Arc<Object>>, CommitError>; 2] {
    let ((here, arrived), (go, held)) = (channel(), channel());
    let options = Options {
        threaded: true,
        faults: Some(Arc::new(Held(Mutex::new(Some((here, held)))))),
        ..Options::default()
    };
    let store = Store::open(Box::new(Memory::new()), options).expect("open");
    let answers = block_on(async {
        let mut ahead = pin!(store.commit(vec![put("ahead", 1, Expect::Absent)]));
        let mut first = pin!(store.commit(first));
        let mut second = pin!(store.commit(second));
        assert!(poll!(&mut ahead).is_pending());
        arrived.recv().expect("the first comes to its transaction");
        assert!(poll!(&mut first).is_pending());
        assert!(poll!(&mut second).is_pending());
        go.send(()).expect("it waits");
        ahead.await.expect("written");
        [first.await, second.await]
    });
    store.close();
    answers
}

fn home(deleted: bool) -> Op {
    let mut value = object("home", 1);
    if deleted {
        value["metadata"]["deletionTimestamp"] = json!("2030-01-01T00:00:00Z");
    }
    Op {
        put: Some(NewObject::new(&value).expect("draft")),
        ..put("home", 1, Expect::Any)
    }
}

/// A creation that needs `home`.
fn inside(expect: Expect) -> Op {
    Op {
        homes: vec![("things".into(), key_of("ns", "home"))],
        ..put("inside", 1, expect)
    }
}

#[test]
fn a_batch_finds_what_one_before_it_in_the_group_wrote() {
    let make = || vec![put("a", 1, Expect::Absent)];
    let [first, second] = as_a_group(make(), make());
    let made = first.expect("nothing was there").first().expect("one").rv;
    assert!(
        matches!(
            &second,
            Err(CommitError::Conflict { found: Some(found), .. }) if found.rv == made
        ),
        "{second:?}"
    );
    let [first, second] = as_a_group(vec![home(true)], vec![inside(Expect::Absent)]);
    first.expect("written");
    assert!(matches!(second, Err(CommitError::Homeless { .. })));
}

#[test]
fn nothing_is_made_where_its_home_is_gone_or_goes() {
    let store = Store::open(Box::new(Memory::new()), Options::default()).expect("open");
    for expect in [Expect::Absent, Expect::Any] {
        assert!(matches!(
            commit(&store, inside(expect)),
            Err(CommitError::Homeless { found: None, .. })
        ));
    }
    commit(&store, home(false)).expect("made");
    commit(&store, inside(Expect::Absent)).expect("made in it");
    commit(&store, home(true)).expect("goes");
    commit(&store, inside(Expect::Present)).expect("what is there is still written");
    commit(&store, remove("inside", Expect::Present)).expect("and deleted");
    for expect in [Expect::Absent, Expect::Any] {
        assert!(matches!(
            commit(&store, inside(expect)),
            Err(CommitError::Homeless { found: Some(_), .. })
        ));
    }
}
