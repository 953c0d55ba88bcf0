//! What is a code, what is none, and what leads out of the repository.

use super::*;

fn known() -> BTreeMap<String, usize> {
    entries("### V17 an edit is a difference\n### V4a ids\n### A5 names\n").0
}

fn comment(text: &str) -> Said<'_> {
    Said {
        line: 1,
        kind: PartKind::Comment,
        text,
    }
}

fn in_source(source: &str) -> Vec<(usize, String)> {
    let said = said("crates/plan/src/lib.rs", source);
    let found = said.iter().flat_map(|said| {
        let codes = codes(said, &known());
        codes.into_iter().map(|code| (said.line, code.to_owned()))
    });
    found.collect()
}

#[test]
fn a_code_is_a_letter_of_an_entry_with_a_number() {
    let of = |text: &'static str| codes(&comment(text), &known());
    assert_eq!(
        of("as it was (V17, V4a), and V99–V18."),
        ["V17", "V4a", "V99", "V18"]
    );
    assert_eq!(
        of("R106 and I10a, EU2, US2, T00:00:01Z, RFC 3339, UTF8, RE2, W1, S3"),
        [""; 0]
    );
    assert_eq!(
        of("Reader::V3, {V1}, /V2/a, x-A5, V1_2, V100, V4ab, AV1"),
        [""; 0]
    );
}

#[test]
fn code_is_not_read_and_messages_only_at_their_head() {
    let source = r##"
        //! V17 says so.
        const V1: &str = "V2 boots and A1"; // V4a
        let reader = Reader::V3;
        let quote = ('"', '\'', b'"');
        assert!(x, "A5: two names, V9 is no code here");
        ("server (A5)", r#"a "quoted" (V99)"#, "the (V9 boot)");
        /* and V18
           and V19 */
        fn name<'a>(x: &'a str) {} // A6
    "##;
    let expected = [
        (2, "V17"),
        (3, "V4a"),
        (6, "A5"),
        (7, "A5"),
        (7, "V99"),
        (8, "V18"),
        (9, "V19"),
        (10, "A6"),
    ];
    let found = in_source(source);
    let found: Vec<(usize, &str)> = found
        .iter()
        .map(|(at, code)| (*at, code.as_str()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_case_folder_names_codes_in_its_comments() {
    let text = "# V17: an edit\nname: V4a\n# V99.\n";
    let said = said("crates/plan/testdata/variant/a/world.yaml", text);
    let found: Vec<&str> = said.iter().flat_map(|said| codes(said, &known())).collect();
    assert_eq!(found, ["V17", "V99"]);
}

#[test]
fn entries_have_words_and_one_place() {
    let (found, wrong) =
        entries("## A5 no entry\n### V17 a rule\n### V18\n### V17 again\n### Words only\n");
    assert_eq!(found.keys().collect::<Vec<_>>(), ["V17"]);
    let wrong: Vec<&str> = wrong.iter().map(|f| f.place.as_str()).collect();
    let at = |line: usize| format!("{ENTRIES}:{line}");
    assert_eq!(wrong, [at(3), at(4), at(5)]);
}

#[test]
fn an_entry_that_nothing_names_is_found() {
    let named = BTreeSet::from(["V17".to_owned(), "A5".to_owned()]);
    let idle = idle(&known(), &named);
    assert_eq!(idle.len(), 1);
    assert_eq!(
        idle.first().map(|f| f.place.as_str()),
        Some("docs/decisions.md:2")
    );
}

#[test]
fn what_is_not_here_is_found() {
    let here = ["README.md".to_owned(), "docs/merge.md".to_owned()];
    let of = |place: &str, text: &str| outside(place, &comment(text), &here).len();
    assert_eq!(
        of(
            "crates/plan/src/lib.rs",
            "as docs/merge.md and merge.md, ../README.md say."
        ),
        0
    );
    assert_eq!(
        of(
            "crates/plan/src/lib.rs",
            "https://example.com/notes.md says"
        ),
        0
    );
    assert_eq!(
        of(
            "crates/plan/src/lib.rs",
            "(`engine.md`, \"Walls\"; emerge.md)"
        ),
        2
    );
    assert_eq!(
        of(
            "crates/plan/src/lib.rs",
            "one shape (`models:P7`), rel:P1 and §1.2"
        ),
        3
    );
    assert_eq!(
        of(
            "crates/plan/src/lib.rs",
            "metamodels:P7, models: P7, the models:"
        ),
        0
    );
    assert_eq!(of("crates/plan/src/lib.rs", "in ../shared/observed"), 1);
    assert_eq!(
        of("crates/package/tests/it/main.rs", "in ../shared/observed"),
        0
    );
}
