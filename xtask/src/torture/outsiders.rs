//! What happens to repositories, to the network and to the server while people work.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use testkit::git_http::{Asked, Fault};

use super::world::{DOWNSTREAMS, Dice, World, let_in, text};

/// One step of upkeep that git's own documentation calls safe beside writers.
pub(super) fn upkeep(world: &World, dice: &mut Dice) {
    dice.pause(700);
    let Some(repository) = dice.pick(&world.repositories()).cloned() else {
        return;
    };
    let beside = world
        .root
        .join(format!("worktree-{}", world.ledger.number()));
    let Ok(beside) = text(&beside) else { return };
    let steps: &[&[&str]] = &[
        &["gc", "--auto", "--quiet"],
        &["gc", "--quiet"],
        &["repack", "-A", "-d", "--quiet"],
        &["repack", "-d", "--quiet"],
        &["pack-refs", "--all", "--prune"],
        &["worktree", "add", "--quiet", "--detach", beside],
        &["worktree", "prune"],
        &["reflog", "expire", "--all"],
        &["commit-graph", "write", "--reachable"],
    ];
    let Some(step) = dice.pick(steps) else { return };
    let told = format!("{}: git {}", repository.display(), step.join(" "));
    match world.git(&repository, step) {
        Ok(_) => world.ledger.note(&told),
        Err(why) => world.ledger.note(&format!("{told}: {why}")),
    }
    drop(std::fs::remove_dir_all(beside));
}

/// The network and the servers of others misbehave once.
pub(super) fn network(world: &World, dice: &mut Dice) {
    dice.pause(250);
    // One thing at a time goes wrong: where every request fails, nothing is ever acknowledged.
    if !world.http.manners().faults.is_empty() {
        return;
    }
    let asked = [Asked::Refs, Asked::RefsToPush, Asked::Objects, Asked::Push];
    let faults = [
        Fault::Refuse("500 Internal Server Error"),
        Fault::Refuse("503 Service Unavailable"),
        Fault::CarryOutAndRefuse("500 Internal Server Error"),
        Fault::CarryOutAndRefuse("502 Bad Gateway"),
        Fault::CutRequest(50),
        Fault::CutRequest(95),
        Fault::CutAnswer(0),
        Fault::CutAnswer(60),
        Fault::CutAnswer(95),
        Fault::CarryOutAndRefuse("504 Gateway Timeout"),
        Fault::Refuse("429 Too Many Requests"),
        Fault::CutRequest(5),
        Fault::Hang,
        Fault::CarryOutAndHang,
        Fault::Late(Duration::from_millis(700)),
    ];
    match dice.roll(20) {
        0 => {
            world.http.set(|manners| manners.down = true);
            dice.pause(900);
            world.http.set(|manners| manners.down = false);
        }
        1 => refuse_for_a_while(world, dice),
        _ => {
            // Pushes are what may lose work: half of what goes wrong is theirs.
            let asked = if dice.roll(2) == 0 {
                Some(Asked::Push)
            } else {
                dice.pick(&asked).copied()
            };
            let fault = dice.pick(&faults).copied();
            if let (Some(asked), Some(fault)) = (asked, fault) {
                world.ledger.note(&format!("to come: {asked:?} {fault:?}"));
                world
                    .http
                    .set(|manners| manners.faults.push((asked, fault)));
            }
        }
    }
}

/// A hook of the repository's owner refuses what is pushed.
fn refuse_for_a_while(world: &World, dice: &mut Dice) {
    let Some(name) = dice.pick(&DOWNSTREAMS) else {
        return;
    };
    let repository = world.bare(name);
    let hook = if dice.roll(2) == 0 {
        "pre-receive"
    } else {
        "update"
    };
    let path = repository.join("hooks").join(hook);
    let text = if hook == "update" {
        // Only some of the refs of one push.
        "#!/bin/sh\ncase \"$1\" in refs/tags/*|*/main) exit 1;; esac\n"
    } else {
        "#!/bin/sh\necho not today >&2\nexit 1\n"
    };
    let placed = std::fs::create_dir_all(repository.join("hooks"))
        .and_then(|()| std::fs::write(&path, text))
        .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o755)));
    if placed.is_ok() {
        world.ledger.note(&format!("{name}: {hook} refuses"));
    }
    dice.pause(900);
    let_in(&repository);
}

/// Ends the server in one of two ways, and starts it again.
pub(super) fn end_the_server(world: &World, dice: &mut Dice) {
    dice.pause(8000);
    if dice.roll(4) == 0 {
        let took = world.server.ask_to_end();
        world
            .ledger
            .ended(&format!("SIGTERM, {} ms", took.as_millis()));
    } else {
        world.server.kill();
        world.ledger.ended("kill -9");
    }
    dice.pause(400);
    if let Err(why) = world.server.start() {
        world.ledger.note(&why);
    }
}
