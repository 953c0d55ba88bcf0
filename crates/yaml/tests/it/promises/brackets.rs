//! What brackets hold for the readers of the field, which follow an older grammar (Y1).

use yaml::{Limits, Reader, Stream};

use super::{parse, root};

/// As `gopkg.in/yaml.v3` v3.0.1 and `sigs.k8s.io/yaml` v1.4.0 answered.
#[test]
fn y1_a_colon_before_a_comma_or_a_bracket_is_a_part_of_the_scalar() {
    for (text, wanted) in [
        ("[a:]", r#"["a:"]"#),
        ("[a: ]", r#"[{"a":null}]"#),
        ("[a:,b]", r#"["a:","b"]"#),
        ("{a:}", r#"{"a:":null}"#),
        ("{a:,b: 1}", r#"{"a:":null,"b":1}"#),
        ("{a:, b}", r#"{"a:":null,"b":null}"#),
        ("[a:b]", r#"["a:b"]"#),
        ("[\"a\":]", r#"[{"a":null}]"#),
        ("[\"a\":b]", r#"[{"a":"b"}]"#),
        ("[http://a:]", r#"["http://a:"]"#),
        ("[a::]", r#"["a::"]"#),
        ("{a::}", r#"{"a::":null}"#),
        ("[a b:]", r#"["a b:"]"#),
        ("[a:\n]", r#"[{"a":null}]"#),
        ("x: [a:, b:]\n", r#"{"x":["a:","b:"]}"#),
        ("x: [{a:}]\n", r#"{"x":[{"a:":null}]}"#),
        ("\"a\": {\"b\":}\n", r#"{"a":{"b":null}}"#),
    ] {
        let stream = parse(text);
        assert_eq!(stream.text(), text);
        for reader in [Reader::V3, Reader::Sigs] {
            let value = root(&stream).to_value(reader).unwrap();
            let json = value.to_json().unwrap().to_string();
            assert_eq!(json, wanted, "{text:?} to {reader:?}");
        }
    }
    for text in ["[a:[b]]", "{a:{b: 1}}", "[a:}", "[a:?]", "[a?:]"] {
        assert!(Stream::parse(text, &Limits::default()).is_err(), "{text:?}");
    }
}
