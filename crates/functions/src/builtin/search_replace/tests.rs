use super::*;

#[test]
fn paths_match_by_steps() {
    for (pattern, path, wanted) in [
        ("a.b", "a.b", true),
        ("a.b", "a.b.c", false),
        ("a.*", "a.b", true),
        ("**.b", "b", true),
        ("**.b", "x.y.b", true),
        ("a.**", "a", true),
        ("a.**.c", "a.x.y.c", true),
        ("a[*].b", "a[3].b", true),
        ("a[1].b", "a[1].b", true),
        ("a[1].b", "a[2].b", false),
        ("*[*].b", "x[0].b", true),
        ("a.b", "a[0].b", false),
        ("", "a", false),
    ] {
        assert_eq!(path_match(pattern, path), wanted, "{pattern} {path}");
    }
}

#[test]
fn globs_follow_directories() {
    for (glob, path, wanted) in [
        ("*.yaml", "a.yaml", true),
        ("*.yaml", "d/a.yaml", false),
        ("**/*.yaml", "a.yaml", true),
        ("**/*.yaml", "d/e/a.yaml", true),
        ("db/**", "db/sts.yaml", true),
        ("db/**", "db", true),
        ("{a,b}.yaml", "b.yaml", true),
        ("[ab].yaml", "c.yaml", false),
        ("a?c", "abc", true),
    ] {
        let regex = Regex::new(&glob_regex(glob)).unwrap();
        assert_eq!(regex.is_match(path), wanted, "{glob} {path}");
    }
}
