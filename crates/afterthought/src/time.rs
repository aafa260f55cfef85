//! Times as people write them: RFC 3339 and its shorter forms, UTC where no zone is given.

use std::time::SystemTime;

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime};

/// Writes milliseconds since 1970; `None` for years that RFC 3339 cannot write.
#[must_use]
pub fn rfc3339(ms: i64) -> Option<String> {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()?;
    moment.format(&Rfc3339).ok()
}

/// Returns the present moment, in milliseconds since 1970.
#[must_use]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Reads a bound of time as of now. Fails with what could have been written; see [`bound_ms`].
pub fn bound_now(text: &str) -> Result<i64, &'static str> {
    bound_ms(text, now_ms())
        .ok_or("not a date (2026-09-01), month (2026-09), date and time, or age (7d, 24h)")
}

/// Reads a bound of time: an ISO 8601 date, date and time or month, which stands for its first day, or how
/// long before `now_ms`, such as `90m`, `24h`, `7d` or `2w`. `None` for anything else.
#[must_use]
pub fn bound_ms(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    let ago = text.find(|c: char| !c.is_ascii_digit()).and_then(|at| {
        let count: i64 = text[..at].parse().ok()?;
        let unit_ms = match &text[at..] {
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        now_ms.checked_sub(count.checked_mul(unit_ms)?)
    });
    let month = || iso_ms(&format!("{text}-01")).filter(|_| text.len() == "2026-09".len());
    ago.or_else(|| iso_ms(text)).or_else(month)
}

/// Reads an ISO 8601 date, or date and time; UTC where no zone is given.
pub(crate) fn iso_ms(text: &str) -> Option<i64> {
    let text = text.replacen(' ', "T", 1);
    let minutes = format_description!("[year]-[month]-[day]T[hour]:[minute]");
    // In a zone, the second may be left out too.
    let (minute, zone) = text.split_at_checked(16).unwrap_or((&text, ""));
    let zoned =
        if zone.starts_with(['Z', 'z', '+', '-']) { format!("{minute}:00{zone}") } else { String::new() };
    let seconds = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let subseconds = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond]");
    let day = format_description!("[year]-[month]-[day]");
    let moment = OffsetDateTime::parse(&text, &Rfc3339)
        .or_else(|_| OffsetDateTime::parse(&zoned, &Rfc3339))
        .or_else(|_| PrimitiveDateTime::parse(&text, subseconds).map(PrimitiveDateTime::assume_utc))
        .or_else(|_| PrimitiveDateTime::parse(&text, seconds).map(PrimitiveDateTime::assume_utc))
        .or_else(|_| PrimitiveDateTime::parse(&text, minutes).map(PrimitiveDateTime::assume_utc))
        .or_else(|_| Date::parse(&text, day).map(|day| day.midnight().assume_utc()))
        .ok()?;
    i64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_dates_or_ages() {
        let now = 1_775_736_000_000;
        assert_eq!(bound_ms("7d", now), Some(now - 7 * 86_400_000));
        assert_eq!(bound_ms("90m", now), Some(now - 5_400_000));
        assert_eq!(bound_ms("2026-04-09", now), Some(1_775_692_800_000));
        assert_eq!(bound_ms("2026-04", now), bound_ms("2026-04-01", now));
        for noon in
            ["2026-04-09T14:00:00+02:00", "2026-04-09 12:00", "2026-04-09T12:00Z", "2026-04-09T14:00+02:00"]
        {
            assert_eq!(bound_ms(noon, now), Some(now), "{noon}");
        }
        for odd in [
            "",
            "d",
            "7",
            "7y",
            "yesterday",
            "2026-04-09T12",
            "2026",
            "2026-13",
            "2026-4",
            "2026-04-09T12:00é",
            "２０２６-04-09",
            "99999999999999999999d",
            "9223372036854775807w",
        ] {
            assert_eq!(bound_ms(odd, now), None, "{odd}");
        }
    }
}
