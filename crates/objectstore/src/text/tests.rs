//! What is packed reads back, and samples stay few.

use super::*;

/// Texts of one resource that differ in a name and a number, too short and too varied to pack well alone.
fn sibling(i: usize) -> Vec<u8> {
    let words = (0..120).map(|n| format!("\"{:x}\":", n * 0x9E37_79B9_usize));
    let middle: String = words.collect();
    format!(
        "{{\"name\":\"edge-{i}\",{middle}\"uid\":\"{:x}\"}}",
        i * 7919
    )
    .into_bytes()
}

/// A text that resembles nothing.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn is_packed(text: &Text) -> bool {
    matches!(text, Text::Packed { .. })
}

#[test]
fn what_repeats_is_packed_and_reads_back() {
    let long = "{\"name\":\"a\"},".repeat(PACKED_FROM).into_bytes();
    let short = long[..PACKED_FROM - 1].to_vec();
    for (text, packed) in [
        (long, true),
        (noise(1, PACKED_FROM), false),
        (short, false),
        (Vec::new(), false),
    ] {
        let kept = Packer::default().keep(text.clone());
        assert_eq!(is_packed(&kept), packed);
        assert!(!packed || kept.weight() < text.len() / 2);
        assert_eq!(kept.bytes(), text);
    }
}

#[test]
fn siblings_are_packed_beside_the_first_of_them() {
    let mut packer = Packer::default();
    let first = packer.keep(sibling(0));
    assert!(!is_packed(&first), "alone it does not pack well");
    for i in 1..200 {
        let kept = packer.keep(sibling(i));
        assert!(kept.weight() < sibling(i).len() / 10, "{}", kept.weight());
        assert_eq!(kept.bytes(), sibling(i));
        let other = kept.another(sibling(i + 1));
        assert!(is_packed(&other) && other.bytes() == sibling(i + 1));
    }
    assert_eq!(*packer.sample, *sibling(0));
}

#[test]
fn another_sample_comes_only_after_many_texts_and_never_a_long_one() {
    let mut packer = Packer::default();
    let mut samples = std::collections::BTreeSet::new();
    for i in 0..1_000 {
        let length = if i % 2 == 0 { 2_000 } else { SAMPLE_UP_TO + 1 };
        let text = packer.keep(noise(i, length));
        assert!(!is_packed(&text));
        assert!(packer.sample.len() <= SAMPLE_UP_TO);
        samples.insert(packer.sample.to_vec());
    }
    assert!(samples.len() <= 1_000 / RENEWED_AFTER as usize + 1);
    // What came before another sample did still reads.
    let mut packer = Packer::default();
    packer.keep(sibling(0));
    let first = packer.keep(sibling(1));
    (0..200).for_each(|i| drop(packer.keep(noise(i, 2_000))));
    assert!(is_packed(&first) && *packer.sample != *sibling(0));
    assert_eq!(first.bytes(), sibling(1));
}

#[test]
fn texts_are_equal_however_they_are_kept() {
    let mut packer = Packer::default();
    let (plain, packed) = (packer.keep(sibling(3)), packer.keep(sibling(3)));
    assert!(!is_packed(&plain) && is_packed(&packed));
    assert_eq!(plain, packed);
    assert_ne!(packed, packer.keep(sibling(4)));
}

#[test]
fn each_resource_has_a_packer_of_its_own() {
    let mut packers = Packers::default();
    packers.of(&"shoes".into()).keep(sibling(1));
    assert_eq!(*packers.of(&"shoes".into()).sample, *sibling(1));
    assert!(packers.of(&"socks".into()).sample.is_empty());
}
