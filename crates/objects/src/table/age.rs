//! Ages as people read them: `5s`, `3m20s`, `2d4h`, `6y200d` (the rules of kubectl and the real server).

use jiff::Timestamp;

/// The time from `then` to `now` in words; a second ahead counts as now, more is `<invalid>`.
#[must_use]
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if hours < 24 * 8 {
        two(days, "d", hours % 24, "h")
    } else if days < 365 * 2 {
        format!("{days}d")
    } else if days < 365 * 8 {
        two(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

/// The age of an RFC 3339 time; `<unknown>` if empty, `<invalid>` if it is none.
#[must_use]
pub(crate) fn since_text(then: &str, now: Timestamp) -> String {
    if then.is_empty() {
        return "<unknown>".to_owned();
    }
    then.parse::<Timestamp>()
        .map_or_else(|_| "<invalid>".to_owned(), |then| since(then, now))
}
