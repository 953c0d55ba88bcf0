//! Texts that want too much, and limits.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn errors_show_their_place() {
    let error = Stream::parse("a: 1\nb: [1, 2\nc: é }\n", &Limits::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax);
    assert!(error.line() >= 2, "{error}");
    assert!(error.snippet().ends_with('^'), "{}", error.snippet());
    let error = Stream::parse_bytes(b"a: 1\nb: \xff\n", &Limits::default()).unwrap_err();
    assert_eq!(
        (error.kind(), error.line(), error.offset()),
        (ErrorKind::Encoding, 2, 8)
    );
}

/// Seconds that linear work on these texts never needs, even unoptimised on a busy machine.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn hostile_texts_are_refused_or_read_in_linear_time() {
    let start = Instant::now();
    let big = 400_000;
    let laughs = |levels: usize| {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..levels {
            let alias = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(","));
        }
        text
    };
    let nested: String = (0..1_000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let texts: Vec<(&str, String)> = vec![
        ("long line", format!("a: {}\n", "x".repeat(10 << 20))),
        ("long quoted line", format!("a: \"{}\"\n", "x ".repeat(big))),
        (
            "long flow line",
            format!("a: [{}]\n", "x, ".repeat(big / 4)),
        ),
        ("many comments", "# c\n".repeat(big / 4)),
        (
            "many comments in a map",
            format!("a:\n{}  b: 1\n", "  # c\n".repeat(big / 4)),
        ),
        (
            "many keys",
            (0..big / 10).map(|n| format!("k{n}: 1\n")).collect(),
        ),
        ("many documents", "---\na: 1\n".repeat(big / 20)),
        (
            "many anchors",
            (0..big / 20)
                .map(|n| format!("- &a{n} x\n- *a{n}\n"))
                .collect(),
        ),
        ("nested maps", nested),
        ("nested flow", "[".repeat(big)),
        ("nested dashes", "- ".repeat(big / 10)),
        ("laughs", laughs(12)),
        ("tabs", "\t".repeat(big)),
        (
            "cr only",
            format!("a: 1\rb:\r  - c\r{}", "# x\r".repeat(big / 10)),
        ),
        ("dashes in brackets", format!("[{}]", "-,".repeat(big / 10))),
        ("blank lines", format!("a: |+\n  x\n{}", "\n".repeat(big))),
        ("separators", "\u{2028}".repeat(big / 10)),
        (
            "separators in quotes",
            format!("- [-]\n{}", "- 'x\u{85}y'\n".repeat(big / 20)),
        ),
    ];
    for (name, text) in texts {
        let began = Instant::now();
        if let Ok(stream) = Stream::parse(text.as_str(), &Limits::default()) {
            assert_eq!(stream.text(), text, "{name}");
            for document in stream.documents().take(3) {
                drop(document.to_value(Reader::V3));
                drop(document.to_json(Reader::Sigs));
            }
        }
        assert!(began.elapsed() < LONG, "{name}: {:?}", began.elapsed());
    }
    assert!(start.elapsed() < LONG * 4, "{:?}", start.elapsed());
}

#[test]
fn limits_are_errors_of_their_own_kind() {
    let nested: String = (0..200)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let kind =
        |text: &str, limits: &Limits| Stream::parse(text, limits).map(|_| ()).unwrap_err().kind();
    assert_eq!(kind(&nested, &Limits::default()), ErrorKind::Limit);
    assert_eq!(
        kind(
            "a: 1\n",
            &Limits {
                bytes: 3,
                ..Limits::default()
            }
        ),
        ErrorKind::Limit
    );
    let laughs = "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n";
    let stream = Stream::parse(
        laughs,
        &Limits {
            alias_nodes: 50,
            ..Limits::default()
        },
    )
    .unwrap();
    assert_eq!(
        root(&stream).to_value(Reader::V3).unwrap_err().kind(),
        ErrorKind::Limit
    );
}

#[test]
fn the_deepest_allowed_text_fits_a_small_stack() {
    let depth = Limits::DEEPEST - 1;
    let limits = Limits {
        depth: Limits::DEEPEST,
        ..Limits::default()
    };
    let text = format!("{}x{}\n", "[".repeat(depth), "]".repeat(depth));
    let work = move || {
        let stream = Stream::parse(text.as_str(), &limits).unwrap();
        let value = root(&stream).to_value(Reader::V3).unwrap();
        assert!(root(&stream).equals(&value));
        assert!(root(&stream).to_json(Reader::Sigs).is_ok());
        let path = Path(vec![NodeStep::Index(0); depth]);
        let after = stream.apply(0, &[Edit::set(path, "y2")]).unwrap();
        assert_eq!(after.text().len(), text.len() + 1);
        assert!(!yaml::render(&value).is_empty());
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}
