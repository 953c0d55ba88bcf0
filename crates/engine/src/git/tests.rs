use model::{PackageName, RevisionNumber, Task, WorkspaceName};
use store::RefName;

use super::{Kpt, Layout, Message, Notes, RefKind, Subject};

fn layout(directory: &str) -> Layout {
    Layout::of(&crate::tests::repository("blueprints", directory)).expect("a clean directory")
}

fn package(name: &str) -> PackageName {
    PackageName::parse(name).expect("a package name")
}

fn workspace(name: &str) -> WorkspaceName {
    WorkspaceName::parse(name).expect("a workspace name")
}

#[test]
fn refs_are_read_as_they_are_written() {
    for directory in ["", "/", "deep/down"] {
        let layout = layout(directory);
        let (p, ws) = (package("apps/web"), workspace("ws-1"));
        let round = [
            (layout.draft(&p, &ws), RefKind::Draft(p.clone(), ws.clone())),
            (
                layout.proposed(&p, &ws),
                RefKind::Proposed(p.clone(), ws.clone()),
            ),
            (
                layout.tag(&p, &Layout::tag_of(RevisionNumber(3))),
                RefKind::Tag(p.clone(), workspace("v3")),
            ),
            (
                layout.deletion(&p, "v3"),
                RefKind::DeletionProposed(p.clone(), workspace("v3")),
            ),
            (layout.branch_ref(), RefKind::Branch),
        ];
        for (name, kind) in round {
            let name = name.expect("a ref name");
            assert_eq!(
                layout.read(&name),
                Ok(Some(kind)),
                "{name:?} below {directory:?}"
            );
        }
    }
}

#[test]
fn refs_outside_of_the_directory_mean_nothing_and_illegal_names_are_said() {
    let layout = layout("deep");
    let read = |text: &str| layout.read(&RefName::parse(text).expect("a ref name"));
    assert_eq!(read("refs/heads/drafts/other/web/ws"), Ok(None));
    assert_eq!(read("refs/tags/v1"), Ok(None));
    assert_eq!(
        read("refs/tags/deep/v1"),
        Ok(None),
        "the root is no package"
    );
    assert_eq!(read("refs/heads/topic"), Ok(None));
    assert!(read("refs/tags/deep/Web/v1").is_err());
}

#[test]
fn messages_follow_the_peer_byte_for_byte() {
    let task = Task::Clone {
        upstream: model::ObjectName::parse("blueprints.app.v1").expect("a name"),
    };
    let message = Message {
        subject: Subject::Task(&task),
        body: String::new(),
        path: "n1",
        workspace: "packagevariant-1",
        machine: None,
        conditions: &[],
        conflicts: None,
        class: None,
        acting_for: "",
    };
    assert_eq!(
        message.text(),
        "Creating new revision by cloning\n\n\nkpt:{\"package\":\"n1\",\"workspaceName\":\"packagevariant-1\",\
         \"revision\":\"0\",\"task\":{\"type\":\"clone\",\"clone\":{\"upstreamRef\":{\"upstreamRef\":{\"name\":\
         \"blueprints.app.v1\"}}}}}\n"
    );
    let approve = Message {
        subject: Subject::Approve("n1", 1),
        ..message
    };
    assert_eq!(
        approve.text(),
        "Approving package revision n1/1\n\nkpt:{\"package\":\"n1\",\"workspaceName\":\"packagevariant-1\",\
         \"revision\":\"1\"}\n"
    );
}

/// What is said about a draft that a person made stands in a line of its own.
#[test]
fn what_is_said_beside_no_machine_is_read_back() {
    let said = model::Condition::new(
        "UpstreamFilesLeftOut",
        model::Status::True,
        "NotPlainFiles",
        "symlink `link`",
    );
    let text = Message {
        subject: Subject::Render,
        body: String::new(),
        path: "n1",
        workspace: "v1",
        machine: None,
        conditions: std::slice::from_ref(&said),
        conflicts: None,
        class: None,
        acting_for: "",
    }
    .text();
    let notes = Notes::of(&text);
    assert_eq!(notes.conditions, [said]);
    assert_eq!(notes.unreadable, [""; 0]);
    let newer = Notes::of(&text.replace("\"format\":1", "\"format\":2"));
    assert!(newer.unreadable[0].starts_with("trailer offshoot-conditions: "));
}

#[test]
fn notes_are_read_back_and_newer_ones_are_said_not_guessed() {
    let machine = crate::tests::machine();
    let task = Task::Upgrade {
        old_upstream: model::ObjectName::parse("b.app.v1").expect("a name"),
        new_upstream: model::ObjectName::parse("b.app.v2").expect("a name"),
        local: model::ObjectName::parse("d.n1.ws").expect("a name"),
        strategy: model::Strategy::ResourceMerge,
    };
    let condition = model::Condition::new(
        "RenderNotIdempotent",
        model::Status::True,
        "Differs",
        "`stamp`",
    );
    let text = Message {
        subject: Subject::Task(&task),
        body: "why".to_owned(),
        path: "a/n1",
        workspace: "ws",
        machine: Some(&machine),
        conditions: std::slice::from_ref(&condition),
        conflicts: None,
        class: None,
        acting_for: "alice",
    }
    .text();
    let notes = Notes::of(&text);
    assert_eq!(notes.machine, Some(machine));
    assert_eq!(notes.conditions, [condition]);
    assert_eq!(
        notes.kpt,
        [Kpt {
            package: "a/n1".to_owned(),
            workspace: "ws".to_owned(),
            revision: 0,
            task: Some(task),
        }]
    );
    let kept = model::CommitId::from_bytes(&[7; 20]).expect("an id");
    let line = format!("x\n\noffshoot-conflicts: {}\n", super::encode_kept(kept));
    assert_eq!(Notes::of(&line).kept_conflicts, Some(kept));
    assert_eq!(Notes::of(&line).unreadable, Vec::<String>::new());
    let newer = Notes::of("x\n\noffshoot: {\"format\": 99}\n");
    assert_eq!(newer.machine, None);
    assert!(newer.unreadable[0].contains("newer"), "{newer:?}");
}
