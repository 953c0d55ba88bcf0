//! What holds between an answer and what the server tells afterwards.

use http::Method;

use super::answer::Answer;
use super::world::World;

/// What was answered is what reads give.
pub(super) fn stored(world: &mut World, place: &str, answer: &Answer) {
    let whole = place.trim_end_matches("/status");
    let found = world.ask(&Method::GET, whole, "", Vec::new());
    if found.status == 404 {
        // Its last finalizer went with the patch.
        return;
    }
    assert_eq!(
        found.value(),
        answer.value(),
        "{place} reads back as it was answered"
    );
}

/// What was stored reads back, and is accepted again unchanged, without a change.
pub(super) fn settled(world: &mut World, place: &str, answer: &Answer) {
    let found = world.ask_as_admin(&Method::GET, place, "", Vec::new());
    assert_eq!(found.status, 200, "{place}: {}", found.text());
    assert_eq!(
        found.value(),
        answer.value(),
        "{place} reads back as it was answered"
    );
    let again = world.ask_as_admin(&Method::PUT, place, "application/json", found.bytes.clone());
    assert_eq!(again.status, 200, "{place} put back: {}", again.text());
    assert_eq!(
        again.version(),
        found.version(),
        "{place} put back changes nothing"
    );
}
