//! A time as people and programs read it. Nothing here asks a clock.

/// Unix seconds as RFC 3339 in UTC: `2026-01-31T12:00:00Z`.
pub fn utc(seconds: i64) -> String {
    const DAY: i64 = 24 * 3600;
    let (day, time) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, date) = civil(day);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day since 1970: years begin in March, so that the leap day is the last of its year, and 400 of them have
/// the same number of days.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day.saturating_add(719_468);
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    (year, month, date)
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
    }
}
