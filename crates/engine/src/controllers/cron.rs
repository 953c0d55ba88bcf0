//! Five-field schedules of `spec.sync.schedule`, in UTC.

use jiff::Timestamp;
use jiff::tz::Offset;

/// One field's allowed values as bits.
fn field(text: &str, first: u32, last: u32) -> Option<u64> {
    let mut bits = 0_u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|s| *s > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (first, last),
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None => {
                let at: u32 = range.parse().ok()?;
                (at, if part.contains('/') { last } else { at })
            }
        };
        if from < first || to > last || from > to {
            return None;
        }
        let mut at = Some(from);
        while let Some(n) = at.filter(|n| *n <= to) {
            bits |= 1 << n;
            at = n.checked_add(step);
        }
    }
    Some(bits)
}

/// What is wrong with a schedule that names no time at all; an empty one is none.
pub fn schedule_problem(schedule: &str) -> Option<String> {
    (!schedule.is_empty() && next(schedule, 0).is_none()).then(|| {
        format!(
            "spec.sync.schedule: {schedule:?} names no time, so it is looked at as without one; five fields are \
             minute, hour, day of the month, month and day of the week, in UTC"
        )
    })
}

/// The first minute after `now` (seconds since 1970) that a schedule names; `None` for a schedule
/// that cannot be read or never comes.
pub(super) fn next(schedule: &str, now: i64) -> Option<i64> {
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else {
        return None;
    };
    let minutes = field(minute, 0, 59)?;
    let hours = field(hour, 0, 23)?;
    let days = field(day, 1, 31)?;
    let months = field(month, 1, 12)?;
    // 7 is Sunday, too.
    let weekdays = field(weekday, 0, 7)?;
    let weekdays = weekdays | (weekdays >> 7 & 1);
    // As cron has it: where both days are restricted, either one will do.
    let either = *day != "*" && *weekday != "*";
    let mut at = (now.div_euclid(60) + 1) * 60;
    let end = at + 366 * 5 * 86_400;
    while at < end {
        let time = Offset::UTC.to_datetime(Timestamp::from_second(at).ok()?);
        let is_day = days >> time.day() & 1 == 1;
        let is_weekday = weekdays >> time.weekday().to_sunday_zero_offset() & 1 == 1;
        let fits = if either {
            is_day || is_weekday
        } else {
            is_day && is_weekday
        };
        if months >> time.month() & 1 == 0 || !fits {
            at = (at.div_euclid(86_400) + 1) * 86_400;
        } else if hours >> time.hour() & 1 == 0 {
            at = (at.div_euclid(3_600) + 1) * 3_600;
        } else if minutes >> time.minute() & 1 == 0 {
            at += 60;
        } else {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::next;

    fn after(schedule: &str) -> Option<String> {
        // 2026-01-31T12:34:56Z, a Saturday.
        next(schedule, 1_769_862_896).map(model::utc)
    }

    #[test]
    fn schedules_name_their_next_minute() {
        let at = |text: &str| Some(text.to_owned());
        assert_eq!(after("* * * * *"), at("2026-01-31T12:35:00Z"));
        assert_eq!(after("*/15 * * * *"), at("2026-01-31T12:45:00Z"));
        assert_eq!(after("0 3 * * *"), at("2026-02-01T03:00:00Z"));
        assert_eq!(after("30 6 1-7 3 *"), at("2026-03-01T06:30:00Z"));
        assert_eq!(after("0 0 * * 1"), at("2026-02-02T00:00:00Z"));
        assert_eq!(after("0 0 29 2 *"), at("2028-02-29T00:00:00Z"));
        assert_eq!(
            after("5-59/4294967295 * * * *"),
            at("2026-01-31T13:05:00Z"),
            "a step beyond everything"
        );
        assert_eq!(
            after("0 0 15 * 7"),
            at("2026-02-01T00:00:00Z"),
            "either day"
        );
    }

    #[test]
    fn what_is_no_schedule_never_comes() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "a * * * *",
            "*/0 * * * *",
            "0 0 31 2 *",
        ] {
            assert_eq!(after(text), None, "{text:?}");
        }
    }
}
