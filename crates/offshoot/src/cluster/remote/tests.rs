use super::*;

#[test]
fn paths_are_those_of_kubernetes() {
    let of = |group: &str| ResourceName::new(group, "v1", "things");
    assert_eq!(
        path(&of(""), "shop", "a", ""),
        "/api/v1/namespaces/shop/things/a"
    );
    assert_eq!(path(&of("x.dev"), "", "", ""), "/apis/x.dev/v1/things");
    assert_eq!(
        path(&of("x.dev"), "shop", "a", "status"),
        "/apis/x.dev/v1/namespaces/shop/things/a/status"
    );
}

#[test]
fn a_token_is_no_part_of_the_query_around_it() {
    assert_eq!(encode("a+b/c=&d"), "a%2Bb%2Fc%3D%26d");
}
