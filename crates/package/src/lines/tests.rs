use proptest::prelude::*;

use super::*;

const SCRIPT: &str =
    "#!/bin/sh\nset -e\n\necho start\nmkdir -p /data\nchown app /data\n\nexec run\n";

fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(SCRIPT.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?}");
        text.replacen(from, to, 1)
    })
}

fn told(woven: &Woven) -> [String; 3] {
    [0, 1, 2].map(|side| write(woven.hunks.iter().map(|hunk| &hunk[side])))
}

#[test]
fn hunks_that_do_not_touch_come_from_the_side_that_made_them() {
    let local = with(&[("set -e", "set -eu")]);
    let upstream = with(&[("exec run", "exec run --fast"), ("echo start\n", "")]);
    let woven = weave(SCRIPT, &local, &upstream).unwrap();
    let wanted = with(&[
        ("set -e", "set -eu"),
        ("exec run", "exec run --fast"),
        ("echo start\n", ""),
    ]);
    assert_eq!(
        (woven.local, woven.upstream, woven.hunks),
        (wanted.clone(), wanted, Vec::new())
    );
}

#[test]
fn hunks_that_touch_are_told_with_the_lines_around_them() {
    let local = with(&[("set -e", "set -eu"), ("mkdir -p /data", "mkdir -p /mine")]);
    let upstream = with(&[
        ("chown app /data\n", ""),
        ("mkdir -p /data", "mkdir -p /theirs"),
    ]);
    let woven = weave(SCRIPT, &local, &upstream).unwrap();
    let chown = "chown app /data\n";
    assert_eq!(woven.local, local);
    assert_eq!(
        woven.upstream,
        with(&[
            ("set -e", "set -eu"),
            ("mkdir -p /data", "mkdir -p /theirs"),
            (chown, "")
        ])
    );
    let around = |lines: &str| format!("@@\n  \n  echo start\n{lines}  \n  exec run\n");
    assert_eq!(
        told(&woven),
        [
            around("> mkdir -p /data\n> chown app /data\n"),
            around("> mkdir -p /mine\n> chown app /data\n"),
            around("> mkdir -p /theirs\n"),
        ],
    );
    // Both took the same lines away, or wrote the same: nobody has to look.
    assert!(weave(SCRIPT, &local, &local).unwrap().hunks.is_empty());
}

#[test]
fn a_record_reads_as_it_was_written() {
    let woven = weave("a\nb\n", "a\nb", "a\nx\n").unwrap();
    for text in told(&woven) {
        assert_eq!(write(read(&text).unwrap().iter()), text);
    }
    for none in ["", "text", "> a\n", "@@\n? a\n"] {
        assert_eq!(read(none), None);
    }
}

#[test]
fn what_is_long_is_told_in_part_and_compared_whole() {
    let long = |word: &str| {
        (0..900)
            .map(|n| format!("{word} {n}\n"))
            .collect::<String>()
    };
    let (local, upstream) = (
        format!("a\n{}z\n", long("mine")),
        format!("a\n{}z\n", long("theirs")),
    );
    let woven = weave("a\nb\nz\n", &local, &upstream).unwrap();
    let [_, mine, theirs] = told(&woven);
    assert!(
        mine.len() < 4500 && mine.contains("more, sha256:"),
        "{}",
        mine.len()
    );
    let known: Vec<Vec<Excerpt>> = [1, 2]
        .iter()
        .map(|side| vec![woven.hunks[0][*side].clone()])
        .collect();
    let known: Vec<&[Excerpt]> = known.iter().map(Vec::as_slice).collect();
    let there = |text: &str| write(standing(text, known[0], &known).iter());
    assert_eq!([there(&local), there(&upstream)], [mine.clone(), theirs]);
    assert_ne!(there(&local.replace("mine 899", "mine 900")), mine);
}

#[test]
fn only_an_edit_of_the_lines_in_question_counts() {
    let local = with(&[("echo start", "echo mine")]);
    let upstream = with(&[("echo start", "echo theirs")]);
    let woven = weave(SCRIPT, &local, &upstream).unwrap();
    let sides: Vec<Vec<Excerpt>> = (0..3)
        .map(|side| vec![woven.hunks[0][side].clone()])
        .collect();
    let known: Vec<&[Excerpt]> = sides.iter().map(Vec::as_slice).collect();
    let answered = |after: &str| edited(&upstream, after, &sides[2], &known);
    assert!(!answered(
        &upstream
            .replace("set -e", "set -x")
            .replace("exec run", "exec other")
    ));
    assert!(
        !answered(&upstream.replace("mkdir -p /data", "mkdir /other")),
        "a neighbour is another line"
    );
    assert!(!answered(&format!("# new\n{upstream}")));
    assert!(answered(&upstream.replace("echo theirs", "echo ours")));
    assert!(answered(&upstream.replace("echo theirs\n", "")));
    assert!(answered(
        &upstream.replace("echo theirs\n", "echo theirs\necho mine\n")
    ));
    // Wherever the place has moved to, it is the same place.
    let moved = format!("# one\n# two\n{upstream}");
    assert_eq!(standing(&moved, &sides[2], &known), sides[2]);
    assert_eq!(
        exchanged(&moved, &local, &sides[2], &known).unwrap(),
        format!("# one\n# two\n{local}")
    );
}

#[test]
fn every_place_of_a_conflict_wants_its_edit() {
    let local = with(&[("set -e", "set -m"), ("exec run", "exec mine")]);
    let upstream = with(&[("set -e", "set -t"), ("exec run", "exec theirs")]);
    let woven = weave(SCRIPT, &local, &upstream).unwrap();
    assert_eq!(woven.hunks.len(), 2);
    let sides: Vec<Vec<Excerpt>> = (0..3)
        .map(|side| woven.hunks.iter().map(|hunk| hunk[side].clone()).collect())
        .collect();
    let known: Vec<&[Excerpt]> = sides.iter().map(Vec::as_slice).collect();
    let first = upstream.replace("set -t", "set -o");
    let both = first.replace("exec theirs", "exec ours");
    assert!(!edited(&upstream, &first, &sides[2], &known));
    assert!(
        edited(&first, &both, &sides[2], &known),
        "one earlier, one now"
    );
    assert!(edited(&upstream, &both, &sides[2], &known));
}

#[test]
fn breaks_of_lines_follow_the_side_that_changed_them() {
    let wide = |text: &str| text.replace('\n', "\r\n");
    let upstream = with(&[("exec run", "exec other")]);
    let woven = weave(SCRIPT, &wide(SCRIPT), &upstream).unwrap();
    assert_eq!((woven.local, woven.hunks), (wide(&upstream), Vec::new()));
    let woven = weave(
        &wide(SCRIPT),
        &with(&[("set -e", "set -x")]),
        &wide(&upstream),
    )
    .unwrap();
    assert_eq!(
        woven.local,
        with(&[("set -e", "set -x"), ("exec run", "exec other")])
    );
}

#[test]
fn a_merge_that_can_no_longer_be_read_is_none() {
    let json = |text: &str| format!("{{\n{text}}}\n");
    let both = json("  \"a\": 1,\n  \"b\": 2,\n  \"a\": 3\n");
    let sides = [
        json("  \"b\": 2\n"),
        json("  \"a\": 1,\n  \"b\": 2\n"),
        json("  \"b\": 2,\n  \"a\": 3\n"),
    ];
    let sides = sides.each_ref().map(String::as_str);
    assert!(
        !stays_readable(sides, [&both, &both]),
        "a key that stands twice"
    );
    assert!(!stays_readable(sides, [sides[0], "{"]));
    assert!(stays_readable(sides, [sides[1], sides[2]]));
    assert!(!stays_readable(["a: 1\n"; 3], ["a: 1\na: 2\n", "a: 1\n"]));
    assert!(!stays_readable(
        ["[x]\na = 1\n"; 3],
        ["[x]\na = 1\na = 2\n", "[x]\na = 1\n"]
    ));
    // Words are no format, whatever a reader makes of them.
    assert!(stays_readable(
        ["some words\n"; 3],
        ["other: words: here\n", "- a\nb\n"]
    ));
}

fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "\n", "d\r\n", "e"]);
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn what_one_side_changed_is_its_text(base in text(), side in text()) {
        for (woven, wanted) in [
            (weave(&base, &base, &side), &side),
            (weave(&base, &side, &base), &side),
            (weave(&base, &side, &side), &side),
        ] {
            let woven = woven.unwrap();
            prop_assert!(woven.hunks.is_empty());
            if breaks(&base) == breaks(wanted) {
                prop_assert_eq!(&woven.local, wanted);
            }
        }
    }

    #[test]
    fn no_line_is_in_a_result_that_no_side_has(base in text(), local in text(), upstream in text()) {
        let Some(woven) = weave(&base, &local, &upstream) else {
            return Ok(());
        };
        let all: Vec<String> = [&base, &local, &upstream]
            .iter().flat_map(|text| text.lines().map(str::to_owned)).collect();
        for text in [&woven.local, &woven.upstream] {
            // A last line without a break may be followed by one of the other side.
            for line in text.lines() {
                let known = all.iter().any(|known| line == known) || line.contains('e');
                prop_assert!(known, "{:?}", line);
            }
        }
        // Whoever is told about lines finds them in the sides again.
        let sides: Vec<Vec<Excerpt>> =
            (0..3).map(|side| woven.hunks.iter().map(|hunk| hunk[side].clone()).collect()).collect();
        for side in &sides {
            prop_assert_eq!(read(&write(side.iter())).unwrap_or_default(), side.clone());
        }
    }
}
