//! Upgrades over people's edits: what stays is still theirs, what was decided says so.

use model::ConflictSide;

use super::{Do, FIRST, Fixture, IMAGE, SECOND, THIRD, all};

const UP2: &str = "app/v2 of blueprints (";
const NOTES: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: notes\ndata:\n  by: hand\n  text: |\n    one\n    two\n    three\n    four\n    five\n";

const FIVE: Do = Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 5");
const IMAGE_2: Do = Do::Upstream("app.yaml", "app:v1", "app:v2");
const THREE: Do = Do::Upstream("app.yaml", "replicas: 1", "replicas: 3");

pub(super) const FIXTURES: &[Fixture] = &[
    Fixture {
        name: "an edit across an upgrade",
        files: &[],
        story: &[FIVE, Do::Publish(FIRST), IMAGE_2, Do::Upgrade(2)],
        revision: SECOND,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", IMAGE, "upstream", UP2),
            ("app.yaml", "metadata.labels.tier", "function", "set-labels"),
        ],
    },
    Fixture {
        name: "an edit across two upgrades, and one between",
        files: &[],
        story: &[
            FIVE,
            Do::Publish(FIRST),
            IMAGE_2,
            Do::Upgrade(2),
            Do::Edit("bob", SECOND, "app.yaml", "paused: false", "paused: true"),
            Do::Publish(SECOND),
            Do::Upstream("app.yaml", "side:v1", "side:v3"),
            Do::Upgrade(3),
        ],
        revision: THIRD,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", "spec.paused", "person", "bob"),
            (
                "app.yaml",
                "spec.template.spec.containers[name=side].image",
                "upstream",
                "app/v3 of blueprints (",
            ),
        ],
    },
    Fixture {
        name: "a conflict that the merge decided",
        files: &[],
        story: &[FIVE, Do::Publish(FIRST), THREE, Do::Upgrade(2)],
        revision: SECOND,
        wrote: &[
            (
                "app.yaml",
                "spec.replicas",
                "merge",
                "upstream's value was taken",
            ),
            ("app.yaml", "spec.paused", "upstream", UP2),
        ],
    },
    Fixture {
        name: "a conflict that somebody decides by an edit",
        files: &[],
        story: &[
            FIVE,
            Do::Publish(FIRST),
            THREE,
            Do::Upgrade(2),
            Do::Edit("bob", SECOND, "app.yaml", "replicas: 3", "replicas: 9"),
        ],
        revision: SECOND,
        wrote: &[("app.yaml", "spec.replicas", "person", "bob")],
    },
    Fixture {
        name: "a conflict of which the local side is taken",
        files: &[],
        story: &[
            Do::Edit("bob", FIRST, "app.yaml", "replicas: 1", "replicas: 5"),
            Do::Publish(FIRST),
            THREE,
            Do::Upgrade(2),
            Do::Take(SECOND, ConflictSide::Local),
        ],
        revision: SECOND,
        wrote: &[("app.yaml", "spec.replicas", "person", "alice")],
    },
    Fixture {
        name: "a conflict of which upstream's side is taken",
        files: &[],
        story: &[
            FIVE,
            Do::Publish(FIRST),
            THREE,
            Do::Upgrade(2),
            Do::Take(SECOND, ConflictSide::Upstream),
        ],
        revision: SECOND,
        wrote: &[(
            "app.yaml",
            "spec.replicas",
            "merge",
            "upstream's value was taken",
        )],
    },
    Fixture {
        name: "a decision after it was published, and the objects lost",
        files: &[],
        story: &[
            FIVE,
            Do::Publish(FIRST),
            THREE,
            Do::Upgrade(2),
            Do::Take(SECOND, ConflictSide::Base),
            Do::Publish(SECOND),
            Do::Rebuild,
        ],
        revision: SECOND,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", IMAGE, "upstream", UP2),
        ],
    },
    Fixture {
        name: "both sides came to the same value",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "replicas: 1", "replicas: 3"),
            Do::Publish(FIRST),
            THREE,
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[("app.yaml", "spec.replicas", "upstream", UP2)],
    },
    Fixture {
        name: "a field that somebody took away stays away",
        files: &[],
        story: &[
            Do::Edit("alice", FIRST, "app.yaml", "  paused: false\n", ""),
            Do::Publish(FIRST),
            IMAGE_2,
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("app.yaml", "spec.paused", "", ""),
            ("app.yaml", IMAGE, "upstream", UP2),
            ("app.yaml", "spec.replicas", "upstream", UP2),
        ],
    },
    Fixture {
        name: "an element of one's own across an upgrade",
        files: &[],
        story: &[
            Do::Edit(
                "alice",
                FIRST,
                "app.yaml",
                "      - name: side",
                "      - name: more\n        image: more:v1\n      - name: side",
            ),
            Do::Publish(FIRST),
            IMAGE_2,
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            (
                "app.yaml",
                "spec.template.spec.containers[name=more].image",
                "person",
                "alice",
            ),
            ("app.yaml", IMAGE, "upstream", UP2),
        ],
    },
    Fixture {
        name: "a file of one's own across an upgrade",
        files: &[],
        story: &[
            Do::Write("bob", FIRST, "notes.yaml", NOTES),
            Do::Publish(FIRST),
            IMAGE_2,
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("notes.yaml", "data.by", "person", "bob"),
            ("app.yaml", IMAGE, "upstream", UP2),
        ],
    },
    Fixture {
        name: "a file that upstream moves under an edit",
        files: &[("notes.yaml", NOTES)],
        story: &[
            Do::Edit("alice", FIRST, "notes.yaml", "by: hand", "by: alice"),
            Do::Publish(FIRST),
            Do::UpstreamFile("dir/notes.yaml", NOTES),
            Do::Upstream("notes.yaml", "", ""),
            Do::Upgrade(2),
        ],
        revision: SECOND,
        // The edit went along with the file; whose it is at the new place cannot be told from the file alone.
        wrote: &[
            ("dir/notes.yaml", "data.by", "machine", "layer unknown"),
            ("dir/notes.yaml", "kind", "upstream", UP2),
        ],
    },
    Fixture {
        name: "lines of both sides in one text",
        files: &[("notes.yaml", NOTES)],
        story: &[
            Do::Edit(
                "alice",
                FIRST,
                "notes.yaml",
                "    one\n",
                "    one of mine\n",
            ),
            Do::Publish(FIRST),
            Do::Upstream("notes.yaml", "    five\n", "    five of theirs\n"),
            Do::Upgrade(2),
        ],
        revision: SECOND,
        wrote: &[
            ("notes.yaml", "data.text", "machine", "layer unknown"),
            ("notes.yaml", "data.by", "upstream", UP2),
        ],
    },
    Fixture {
        name: "an edit of a draft that another upstream overtakes",
        files: &[],
        story: &[FIVE, IMAGE_2, Do::Upgrade(2)],
        revision: FIRST,
        wrote: &[
            ("app.yaml", "spec.replicas", "person", "alice"),
            ("app.yaml", IMAGE, "upstream", UP2),
        ],
    },
];

#[tokio::test(start_paused = true)]
async fn what_a_merge_kept_or_decided_is_told() {
    all(FIXTURES).await;
}
