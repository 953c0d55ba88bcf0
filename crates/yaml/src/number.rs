//! Numbers as text.

/// A floating-point number in the shortest form that reads back as the same float for both readers.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{value:e}");
        return match text.split_once("e-") {
            Some((mantissa, exponent)) => format!("{mantissa}e-{exponent:0>2}"),
            None => text.replacen('e', "e+", 1),
        };
    }
    value.to_string()
}
