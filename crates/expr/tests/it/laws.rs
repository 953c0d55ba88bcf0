//! Laws: whatever the text, compiling answers and never panics; equal inputs give equal results.

use proptest::prelude::*;

use crate::{bindings, on_large_stack, run};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_an_answer(texts in proptest::collection::vec(".{0,80}", 8)) {
        on_large_stack(move || {
            let world = bindings(&serde_json::json!({"repoDefault": "r", "packageDefault": "p"}));
            for text in texts {
                let (first, second) = (run(&text, &world), run(&text, &world));
                assert_eq!(first, second, "{text:?}");
            }
        });
    }

    #[test]
    fn tokens_in_any_order_get_an_answer(
        tokens in proptest::collection::vec(
            proptest::sample::select(vec![
                "repoDefault", "target", "upstream", ".labels", "['a']", "(", ")", "[", "]", "+",
                "?", ":", "'s'", "1", "1.5", "==", "&&", "!", ".map(x, x)", "has(", "size(", "-", "in",
            ]),
            0..24,
        )
    ) {
        on_large_stack(move || {
            let world = bindings(&serde_json::json!({"repoDefault": "r"}));
            let _answer = run(&tokens.join(" "), &world);
        });
    }
}
