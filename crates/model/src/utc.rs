//! A time as people and programs read it. Nothing here asks a clock.

use jiff::Timestamp;

/// Unix seconds as RFC 3339 in UTC: `2026-01-31T12:00:00Z`. What is beyond the calendar's years is its first or last second.
pub fn utc(seconds: i64) -> String {
    let end = if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    let at = Timestamp::from_second(seconds).or_else(|_| Timestamp::from_second(end.as_second()));
    at.unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn seconds_are_a_time_of_day() {
        for (seconds, wanted) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_769_860_800, "2026-01-31T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc(seconds), wanted);
        }
        assert_eq!(utc(i64::MAX), "9999-12-30T22:00:00Z");
    }
}
