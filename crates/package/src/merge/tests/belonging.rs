//! Comments belong to nodes and travel with them; blank lines never change what one belongs to (M14).

use super::*;

const LICENSED: &str = "\
# Copyright The Shop Authors
# SPDX-License-Identifier: Apache-2.0
apiVersion: example.com/v1
kind: Thing
metadata:
  name: a
spec:
  size: 3
  color: red
";

const SECTIONS: &str = "\
apiVersion: example.com/v1
kind: Thing
metadata:
  name: a
spec:
  size: 3
  # --- networking ---

  port: 80
  host: a.example.com

  # --- storage ---

  disk: ssd
  # the disk is small
status: none
# the end of it
";

/// The lines that say something.
fn bare(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}

/// Both sides merge without a conflict into this, whichever of them is local.
fn both(base: &str, local: &str, upstream: &str, wanted: &str) {
    for (local, upstream) in [(local, upstream), (upstream, local)] {
        let (text, conflicts) = one(base, local, upstream, &block());
        assert_eq!(text, wanted, "local:\n{local}upstream:\n{upstream}");
        assert_eq!(conflicts, [], "local:\n{local}upstream:\n{upstream}");
    }
}

/// A change of comments or blank lines comes together with a change of any value.
fn beside_any_value(base: &str, changes: &[(&str, &str)], values: &[(&str, &str)]) {
    for value in values {
        let local = replaced(base, &[*value]);
        let upstream = replaced(base, changes);
        both(base, &local, &upstream, &replaced(&upstream, &[*value]));
    }
}

const VALUES: [(&str, &str); 3] = [
    ("size: 3", "size: 4"),
    ("color: red", "color: blue"),
    ("kind: Thing", "kind: Thing\nextra: x"),
];

#[test]
fn m14_a_header_stays_where_a_blank_line_comes_behind_it() {
    let header = "Apache-2.0\napi";
    let apart = [(header, "Apache-2.0\n\napi")];
    for value in VALUES {
        let local = replaced(LICENSED, &[value]);
        let upstream = replaced(LICENSED, &apart);
        for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
            let (text, conflicts) = one(LICENSED, local, upstream, &block());
            assert_eq!(bare(&text), bare(&replaced(LICENSED, &[value])));
            assert_eq!(conflicts, []);
        }
    }
}

#[test]
fn m14_a_header_below_a_new_first_entry_stays_with_the_entry_that_it_stood_above() {
    let base = "# Values.\n\n# how many\nreplicas: 2\nsize: 1\n";
    let first = "owner: me\n# Values.\n\n# how many\nreplicas: 2\nsize: 1\n";
    let remark = "# Values.\n\n# how many\n# not more\nreplicas: 2\nsize: 1\n";
    let wanted = "owner: me\n# Values.\n# how many\n# not more\nreplicas: 2\nsize: 1\n";
    for (local, upstream) in [(first, remark), (remark, first)] {
        let (text, conflicts) = one(base, local, upstream, &block());
        assert_eq!(bare(&text), bare(wanted), "local:\n{local}");
        assert_eq!(conflicts, []);
    }
}

#[test]
fn m14_a_new_header_is_not_the_new_first_entry_s() {
    let base = "replicas: 2\nsize: 1\n";
    let first = "owner: me\nreplicas: 2\nsize: 1\n";
    let remark = "# how many\nreplicas: 2\nsize: 1\n";
    both(
        base,
        first,
        remark,
        "owner: me\n# how many\nreplicas: 2\nsize: 1\n",
    );
}

#[test]
fn m14_two_new_headers_at_one_entry_leave_the_local_one_and_a_record() {
    let base = "replicas: 2\nsize: 1\n";
    let local = "owner: me\n# mine\nreplicas: 2\nsize: 1\n";
    let upstream = "# theirs\nreplicas: 3\nsize: 1\n";
    let (text, conflicts) = one(base, local, upstream, &block());
    assert_eq!(text, "owner: me\n# mine\nreplicas: 3\nsize: 1\n");
    assert_eq!(conflicts.len(), 1);
}

#[test]
fn m14_a_comment_that_local_took_away_stays_away_where_upstream_moves_its_element_first() {
    let list = |items: &str| format!("apiVersion: e.com/v1\nkind: A\nrules:\n{items}");
    let base = list("- when: night\n  then: stop\n# else\n- when: day\n  then: run\n");
    let local = list("- when: night\n  then: stop\n- when: day\n  then: run\n");
    let upstream = list("# else\n- when: day\n  then: run\n- when: night\n  # not\n  then: stop\n");
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted = list("- when: day\n  then: run\n- when: night\n  # not\n  then: stop\n");
    assert_eq!(text, wanted);
    assert_eq!(conflicts, []);
}

#[test]
fn m14_a_header_above_a_new_first_entry_stays_above_it_and_takes_what_changes_in_it() {
    let base = "# Licence 1\nreplicas: 2\nsize: 1\n";
    let first = "# Licence 1\nowner: me\nreplicas: 2\nsize: 1\n";
    let remark = "# Licence 2\nreplicas: 2\nsize: 1\n";
    both(
        base,
        first,
        remark,
        "# Licence 2\nowner: me\nreplicas: 2\nsize: 1\n",
    );
}

#[test]
fn m14_what_stands_above_both_first_entries_is_the_documents() {
    let base = "# Values\n\n# how many\nreplicas: 2\n# the image\nimage: a\nsize: 1\n";
    let upstream = "# Values\n\n# the image\nimage: a\nsize: 2\n";
    for remark in ["", "# which\n", "# the image\n# which\n"] {
        let local = base.replace("# the image\n", remark);
        let wanted = upstream.replace("# the image\n", remark);
        for (local, upstream) in [(&*local, upstream), (upstream, &*local)] {
            let (text, conflicts) = one(base, local, upstream, &block());
            assert_eq!(bare(&text), bare(&wanted), "{local}");
            assert_eq!(conflicts, []);
        }
    }
}

#[test]
fn m14_a_licence_that_changed_stays_above_a_new_first_entry() {
    let swap = [(
        "apiVersion: example.com/v1\nkind: Thing\n",
        "kind: Thing\napiVersion: example.com/v1\n",
    )];
    let upstream = replaced(
        &replaced(LICENSED, &swap),
        &[("Copyright The", "Copyright 2024 The")],
    );
    let local = replaced(LICENSED, &[("size: 3", "size: 4")]);
    let header = "# Copyright 2024 The Shop Authors\n# SPDX-License-Identifier: Apache-2.0\n";
    for (local, upstream) in [(&local, &upstream), (&upstream, &local)] {
        let (text, conflicts) = one(LICENSED, local, upstream, &block());
        assert!(
            text.starts_with(header) && text.contains("size: 4"),
            "{text}"
        );
        assert_eq!(text.matches('#').count(), 2, "{text}");
        assert_eq!(conflicts, []);
    }
}

#[test]
fn m14_a_comment_kept_when_its_entry_was_taken_away_stands_once_where_the_entry_stays() {
    let base = "data:\n  # logging\n  level: info\n  format: json\n";
    let local = "data:\n  # logging\n  format: json\n";
    let upstream = base.replace("info", "debug");
    for (local, upstream) in [(local, &*upstream), (&*upstream, local)] {
        for policy in [ConflictPolicy::Upstream, ConflictPolicy::Local] {
            let options = MergeOptions::against_base(Strategy::ResourceMerge, policy);
            let (text, conflicts) = one(base, local, upstream, &options);
            assert_eq!(text.matches("# logging").count(), 1, "{local}\n{text}");
            assert_eq!(conflicts.len(), 1, "{conflicts:?}");
        }
    }
}

#[test]
fn m14_comments_find_their_elements_in_a_list_that_is_one_value() {
    let list = |items: &str| format!("apiVersion: e.com/v1\nkind: A\nrules:\n{items}");
    let base = list("- when: night\n  then: stop\n# else\n- when: day\n  then: run\n");
    let local =
        list("# else\n- when: day\n  then: run\n# late\n- when: night # pm\n  then: stop\n");
    let upstream = base.replace("run", "walk");
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted =
        list("# late\n- when: night # pm\n  then: stop\n# else\n- when: day\n  then: walk\n");
    assert_eq!(text, wanted);
    assert_eq!(conflicts.len(), 1);
    // What upstream put between two takes nobody's comment.
    let local = replaced(&base, &[("- when: night", "# late\n- when: night")]) + "- when: noon\n";
    let new = "- when: dawn\n  then: go\n# else\n- when: day\n  then: run\n  fast: true\n";
    let upstream = replaced(&base, &[("# else\n- when: day\n  then: run\n", new)]);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    let wanted = replaced(&upstream, &[("- when: night", "# late\n- when: night")]);
    assert_eq!(text, wanted);
    assert_eq!(conflicts.len(), 1);
}

#[test]
fn m14_a_comment_apart_from_its_element_goes_where_upstream_moves_it() {
    let list = |items: &str| {
        format!("apiVersion: v1\nkind: Service\nmetadata: {{name: w}}\nspec:\n  ports:\n{items}")
    };
    let http = "  # plain\n  - name: http\n    port: 80\n";
    let more = "  - name: metrics\n    port: 9090\n";
    let apart = http.replace("# plain\n", "# plain\n\n");
    let base = list(&format!("{http}{more}"));
    let local = list(&format!("{apart}{more}"));
    let (text, conflicts) = one(&base, &local, &list(&format!("{more}{http}")), &block());
    assert_eq!(bare(&text), bare(&list(&format!("{more}{http}"))), "{text}");
    assert_eq!(conflicts, []);
}

#[test]
fn m14_a_header_that_goes_is_gone_once_and_one_that_changes_is_there_once() {
    let values = &VALUES[..2];
    let spaced = replaced(LICENSED, &[("Apache-2.0\napi", "Apache-2.0\n\napi")]);
    for base in [LICENSED, &spaced] {
        beside_any_value(base, &[("# Copyright The Shop Authors\n", "")], values);
        beside_any_value(base, &[("The Shop", "Other")], values);
        beside_any_value(
            base,
            &[("# SPDX", "# All rights reserved\n#\n# SPDX")],
            values,
        );
    }
    let header = "# Copyright The Shop Authors\n# SPDX-License-Identifier: Apache-2.0\n";
    beside_any_value(LICENSED, &[(header, "")], values);
    beside_any_value(&spaced, &[(&format!("{header}\n"), "")], values);
}

#[test]
fn m14_comments_behind_the_last_entry_come_change_and_go() {
    let values = [
        ("size: 3", "size: 4"),
        ("disk: ssd", "disk: hdd"),
        ("status: none", "status: ok"),
    ];
    for change in [
        ("  # the disk is small\n", ""),
        ("is small", "is large"),
        ("is small\n", "is small\n  # and fast\n"),
        ("# the end of it\n", ""),
        ("# the end of it\n", "\n# the end of it\n\n# more below\n"),
    ] {
        beside_any_value(SECTIONS, &[change], &values);
    }
}

#[test]
fn m14_a_new_last_entry_stands_above_the_comment_behind_the_last_one() {
    let upstream = replaced(SECTIONS, &[("disk: ssd\n", "disk: ssd\n  tape: none\n")]);
    let local = replaced(SECTIONS, &[("# the disk is small", "# the disk is tiny")]);
    let wanted = replaced(&upstream, &[("is small", "is tiny")]);
    both(SECTIONS, &local, &upstream, &wanted);
}

#[test]
fn m14_comments_of_sections_belong_to_what_follows_them() {
    let values = [
        ("size: 3", "size: 4"),
        ("host: a", "host: b"),
        ("disk: ssd", "disk: hdd"),
    ];
    for change in [
        ("# --- networking ---", "# --- the network ---"),
        ("  # --- networking ---\n\n", ""),
        ("# --- networking ---\n\n", "# --- networking ---\n"),
        (
            "  # --- storage ---\n",
            "  # --- storage ---\n  # (ask first)\n",
        ),
        ("\n  # --- storage ---\n\n", ""),
    ] {
        let (local, upstream) = (&values, replaced(SECTIONS, &[change]));
        for value in local {
            let (text, conflicts) = one(
                SECTIONS,
                &replaced(SECTIONS, &[*value]),
                &upstream,
                &block(),
            );
            assert_eq!(bare(&text), bare(&replaced(&upstream, &[*value])));
            assert_eq!(conflicts, []);
        }
    }
}

#[test]
fn m14_a_comment_goes_with_what_upstream_deletes_and_never_to_its_neighbour() {
    let section = "  # --- networking ---\n\n  port: 80\n";
    let upstream = replaced(SECTIONS, &[(section, "")]);
    let local = replaced(SECTIONS, &[("disk: ssd", "disk: hdd")]);
    both(
        SECTIONS,
        &local,
        &upstream,
        &replaced(&upstream, &[("disk: ssd", "disk: hdd")]),
    );
    // Upstream kept the comment, for what follows.
    let upstream = replaced(SECTIONS, &[("  port: 80\n", "")]);
    both(
        SECTIONS,
        &local,
        &upstream,
        &replaced(&upstream, &[("disk: ssd", "disk: hdd")]),
    );
}

#[test]
fn m14_a_persons_comment_apart_from_what_upstream_deletes_is_recorded_with_three_texts() {
    let local = replaced(
        SECTIONS,
        &[("  # --- networking", "  # ask Ann\n\n  # --- networking")],
    );
    let section = "  # --- networking ---\n\n  port: 80\n";
    let upstream = replaced(SECTIONS, &[(section, "")]);
    let (text, conflicts) = one(SECTIONS, &local, &upstream, &block());
    assert_eq!(text, upstream);
    let said: Vec<_> = conflicts
        .iter()
        .map(|c| (&c.base, &c.local, &c.upstream))
        .collect();
    let json = ConflictValue::Json("\"# ask Ann\"".to_owned());
    assert_eq!(
        said,
        [(&ConflictValue::Absent, &json, &ConflictValue::Absent)]
    );
}

#[test]
fn m14_an_inserted_element_brings_its_own_comments_and_takes_nobody_elses() {
    let deployment = |body: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      containers:\n{body}"
        )
    };
    let base = "      # the first\n      - name: one\n        image: a:1\n\n      # the second\n\n      - name: two\n        image: b:1\n";
    let new = "      # between\n\n      - name: new\n        image: c:1\n\n      # the second\n";
    let upstream = replaced(base, &[("      # the second\n", new)]);
    let local = replaced(
        base,
        &[("a:1", "a:2"), ("# the second", "# the second (mine)")],
    );
    let wanted = replaced(
        &upstream,
        &[("a:1", "a:2"), ("# the second", "# the second (mine)")],
    );
    let [base, local, upstream, wanted] = [base, &local, &upstream, &wanted].map(deployment);
    let (text, conflicts) = one(&base, &local, &upstream, &block());
    assert_eq!(bare(&text), bare(&wanted));
    assert_eq!(conflicts, []);
}

#[test]
fn m14_comments_that_both_changed_stay_local_and_a_record_shows_three_texts() {
    let local = replaced(SECTIONS, &[("# --- storage ---", "# mine")]);
    let upstream = replaced(
        SECTIONS,
        &[("# --- storage ---", "# theirs"), ("size: 3", "size: 4")],
    );
    let (text, conflicts) = one(SECTIONS, &local, &upstream, &block());
    assert_eq!(text, replaced(&local, &[("size: 3", "size: 4")]));
    let json = |text: &str| ConflictValue::Json(format!("{text:?}"));
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!(conflicts[0].path, "spec.disk#comment");
    assert_eq!(conflicts[0].base, json("# --- storage ---"));
    assert_eq!(conflicts[0].local, json("# mine"));
    assert_eq!(conflicts[0].upstream, json("# theirs"));
    assert_eq!(conflicts[0].state, ConflictState::Recorded);
}
