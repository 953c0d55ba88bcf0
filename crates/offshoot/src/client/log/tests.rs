use http::{Method, Request};

use super::*;

fn log(level: u8, cuts: bool) -> Log {
    Log {
        level,
        cuts,
        server: "https://127.0.0.1:1".to_owned(),
    }
}

#[test]
fn long_bodies_are_cut_as_the_level_says() {
    let long = "é".repeat(10_000);
    assert_eq!(log(10, true).cut(&long), long);
    assert_eq!(log(8, false).cut(&long), long);
    let cut = log(8, true).cut(&long);
    assert!(cut.ends_with("[truncated 18976 chars]") && cut.starts_with('é'));
    assert!(log(9, true).cut(&long).len() > cut.len());
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let log = log(10, true);
    for path in [
        "/api/v1/namespaces/demo/secrets",
        "/api/v1/namespaces/demo/secrets/deploy-auth?x=y",
        "/api/v1/namespaces/demo/serviceaccounts/a/token",
        "/backup",
    ] {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .body(Vec::new());
        let asked = log.asks(&request.unwrap());
        assert!(
            !asked.shown(b"not-a-secret").contains("not-a-secret"),
            "{path}"
        );
    }
    let asked = log.reads("/apis/porch.kpt.dev/v1alpha1/packagerevisions?x=secrets");
    assert_eq!(asked.shown(b"{}"), "{}");
}
