//! Patterns that the two syntaxes read differently.

use super::{MAX_PATTERN, Pattern};

fn compile(pattern: &str) -> Result<regex::Regex, String> {
    Pattern::parse(pattern)?.build()
}

#[test]
fn gos_patterns_mean_the_same() {
    for (pattern, yes, no) in [
        (r"^\d+$", "12", "١٢"),
        (r"^[\w.-]+$", "a.b-c_1", "é"),
        (r"^[^\s]+$", "ab", "a b"),
        (r"^\S+$", "ab", "a b"),
        (r"^[a-z0-9!#$%&'*+/=?^_`{|}~-]+$", "a&&~~{}", "("),
        (r"^{{.*}}$", "{{ x }}", "x"),
        (r"^\$\{[A-Z]+}$", "${A}", "A"),
        (r"^[a[]+$", "a[", "b"),
        (r"^[]a]+$", "]a", "b"),
        (r"^[[:alpha:]_]+$", "ab_", "1"),
        (r"^a{2,3}$", "aaa", "a{2,3}"),
        (r"^\Qa.b\E$", "a.b", "axb"),
        (r"^\/x\-y\_z$", "/x-y_z", "x"),
        (r"^(?i)ab$", "AB", "c"),
    ] {
        let regex = compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        assert!(regex.is_match(yes), "{pattern} {yes}");
        assert!(!regex.is_match(no), "{pattern} {no}");
    }
}

#[test]
fn refusals_are_worded_as_go_words_them() {
    for (pattern, text) in [
        ("[", "missing closing ]: `[`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("^(?!x)", "invalid or unsupported Perl syntax: `(?!`"),
        ("((a{1000}){1000}){1000}", "expression too large"),
        ("([a-z]{100}){100}", "expression too large"),
        (r"(\pL{50}|\pN{50}){50}", "expression too large"),
    ] {
        assert_eq!(compile(pattern).unwrap_err(), text, "{pattern}");
    }
}

#[test]
fn what_a_pattern_weighs_is_counted_from_its_parts() {
    for (pattern, least, most) in [
        ("", 1, 1),
        ("abc", 3, 3),
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 5, 30),
        (
            r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.){1,10}$",
            1_000,
            2_500,
        ),
        (r"^\w{1,63}$", 63, 300),
        ("[a-z]{99}", 99, 200),
        ("([a-z]{90}){90}", 8_100, MAX_PATTERN),
    ] {
        let weight = Pattern::parse(pattern).unwrap().weight();
        assert!((least..=most).contains(&weight), "{pattern}: {weight}");
    }
}
