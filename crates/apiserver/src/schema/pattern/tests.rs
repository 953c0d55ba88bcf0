//! Patterns that the two syntaxes read differently.

use super::compile;

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
    ] {
        assert_eq!(compile(pattern).unwrap_err(), text, "{pattern}");
    }
}
