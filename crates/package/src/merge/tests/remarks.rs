//! No comment is lost in silence (M14, V5).

use proptest::prelude::*;

use super::*;

const BASE: &str = "\
# Copyright: somebody

# what this is about
apiVersion: example.com/v1
kind: Thing # kind
metadata: # meta
  name: a
  labels:
    # about x
    x: \"1\"

    # set apart

    y: \"1\" # y
spec: # spec
  size: 3
  args: # args
  - --port=80 # port
  # about level
  - --level=info
  - --end
  pools:
  # small
  - name: small # s
    cpu: 2 # two
    labels:
      # inner
      a: b
  - name: big
    cpu: 8
  flow: [
    a, # first
    b
  ]
  owner: null
# below

# the end
";

/// Both sides merge without a conflict into this.
fn both(local: &str, upstream: &str, wanted: &str) {
    let (text, conflicts) = one(BASE, local, upstream, &block());
    assert_eq!(text, wanted);
    assert_eq!(conflicts, []);
}

#[test]
fn m14_a_setter_of_upstream_arrives_in_a_list_that_is_one_value() {
    let setter = |text: &str| text.replace("# port", "# kpt-set: --port=${port}");
    for from in ["size: 3", "--end", "cpu: 8", "name: small"] {
        let local = BASE.replace(from, &format!("{from}9"));
        both(&local, &setter(BASE), &setter(&local));
        // The other way round.
        both(&setter(BASE), &local, &setter(&local));
    }
}

#[test]
fn m14_comments_that_stand_at_no_field_arrive() {
    let local = BASE.replace("size: 3", "size: 4");
    for (old, new) in [
        ("# Copyright: somebody", "# Copyright: others\n# licence"),
        ("# Copyright: somebody\n\n", ""),
        ("# set apart", "# put aside"),
        ("    # set apart\n\n", ""),
        ("# first", "# kpt-set: ${first}"),
        ("# the end", "# the very end"),
        ("# inner", "# inside"),
        ("cpu: 8", "# eight\n    cpu: 8 # of them"),
    ] {
        let change = |text: &str| text.replace(old, new);
        both(&local, &change(BASE), &change(&local));
        both(&change(BASE), &local, &change(&local));
    }
}

#[test]
fn m14_comments_arrive_in_the_line_breaks_of_the_local_file() {
    let wide = |text: &str| text.replace('\n', "\r\n");
    let local = BASE.replace("size: 3", "size: 4");
    let upstream = BASE.replace("# Copyright: somebody", "# Copyright: others\n# licence");
    let wanted = local.replace("# Copyright: somebody", "# Copyright: others\n# licence");
    let (text, _) = one(&wide(BASE), &wide(&local), &wide(&upstream), &block());
    assert_eq!(text, wide(&wanted));
    let (text, _) = one(&wide(BASE), &wide(&local), &upstream, &block());
    assert_eq!(text, wide(&wanted));
}

#[test]
fn m14_a_header_that_both_changed_stays_and_is_recorded() {
    let local = BASE.replace("somebody", "mine");
    let (text, conflicts) = one(BASE, &local, &BASE.replace("somebody", "theirs"), &block());
    assert_eq!(text, local);
    assert_eq!(places(&conflicts), ["#comment"]);
    let conflict = &conflicts[0];
    assert_eq!(conflict.state, ConflictState::Recorded);
    assert_eq!(conflict.decision, Decision::Local);
    assert_eq!(
        conflict.upstream,
        ConflictValue::Json("\"# Copyright: theirs\"".to_owned())
    );
}

#[test]
fn m14_a_persons_comment_that_goes_with_what_upstream_deleted_is_recorded() {
    let local = BASE.replace("# about x", "# why we need x");
    let upstream = BASE.replace("    # about x\n    x: \"1\"\n", "");
    let (text, conflicts) = one(BASE, &local, &upstream, &block());
    assert_eq!(text, upstream);
    assert_eq!(places(&conflicts), ["#comment"]);
    assert_eq!(
        conflicts[0].local,
        ConflictValue::Json("\"# why we need x\"".to_owned())
    );
}

#[test]
fn m14_a_single_function_of_a_kptfile_takes_the_comment_on_its_line() {
    let base = format!(
        "{KPTFILE}pipeline:\n  mutators:\n  - image: a:v1\n  - image: b:v1\n  validators:\n  - image: c:v1 # c\n# end\n"
    );
    let local = base.replace("metadata:", "# mine\nmetadata:");
    let upstream = base.replace("# c", "# checks");
    let sides = [&base, &local, &upstream].map(|text| files(&[("Kptfile", text.as_str())]));
    let [base, local, upstream] = &sides;
    let merged = merge(base, local, upstream, &block()).unwrap();
    let text = merged.files[&path("Kptfile")].as_text().unwrap();
    assert_eq!(
        text,
        local[&path("Kptfile")]
            .as_text()
            .unwrap()
            .replace("# c", "# checks")
    );
}

#[test]
fn v17_a_document_that_nobody_touched_is_upstreams_byte_for_byte() {
    let second = "---\n# one\nkind: B\nmetadata: {name: b}\nlist:\n- 1\n- 2\n";
    let base = format!("{BASE}{second}");
    let local = base.replace("size: 3", "size: 4");
    let other = second
        .replace("# one", "# two\n")
        .replace("- 1", "-   1 # low");
    let (text, conflicts) = one(&base, &local, &format!("{BASE}{other}"), &block());
    assert_eq!(text, local.replace(second, &other));
    assert_eq!(conflicts, []);
}

#[test]
fn v5_a_new_document_has_the_line_breaks_of_its_file() {
    let base = "kind: A\r\nmetadata: {name: a}\r\nx: 1\r\n";
    let new = "---\nkind: B\nmetadata: {name: b}\n";
    let upstream = format!("{}{new}", base.replace("\r\n", "\n"));
    let local = base.replace("x: 1", "x: 2");
    let (text, _) = one(base, &local, &upstream, &block());
    assert_eq!(text, format!("{local}{}", new.replace('\n', "\r\n")));
}

fn places(conflicts: &[Conflict]) -> Vec<&str> {
    conflicts.iter().map(|c| c.path.as_str()).collect()
}

/// One edit of a line: a comment above it or on it, or another value.
fn edited(text: &str, edits: &[(usize, u8)], name: &str) -> String {
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let kinds = edits.iter().filter(|(line, _)| *line == at);
        let mut line = line.to_owned();
        for (_, kind) in kinds {
            let indent = &line[..line.len() - line.trim_start().len()];
            match kind {
                0 => out.push(format!("{indent}# {name}{at} above")),
                1 if !line.trim().is_empty() => line = format!("{line} # {name}{at} beside"),
                2 if line.ends_with(|c: char| c.is_ascii_digit()) => line = format!("{line}0"),
                _ => {}
            }
        }
        out.push(line);
    }
    format!("{}\n", out.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_comment_is_there_or_in_a_record(
        mine in prop::collection::vec((0_usize..44, 0_u8..3), 1..6),
        theirs in prop::collection::vec((0_usize..44, 0_u8..3), 1..6),
    ) {
        let (local, upstream) = (edited(BASE, &mine, "l"), edited(BASE, &theirs, "u"));
        let (text, conflicts) = one(BASE, &local, &upstream, &block());
        let said = format!("{conflicts:?}");
        for comment in local.lines().chain(upstream.lines()) {
            // A comment on a line that has one is that comment with more words.
            let comment = comment.rsplit_once("# ").map_or("", |(_, text)| text);
            let known = text.contains(comment) || said.contains(comment);
            prop_assert!(known, "{comment:?} is lost in\n{text}\n{said}");
        }
    }
}
