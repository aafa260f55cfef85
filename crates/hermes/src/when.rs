//! Writes times as the tool shows them: a date and the hour, in the zone of the machine.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Writes a stored time. One that is none is shown as it stands.
pub(crate) fn when(stored: &Value) -> String {
    when_in(stored, TimeZone::system())
}

fn when_in(stored: &Value, zone: TimeZone) -> String {
    let seconds = match stored {
        Value::Null => return "unknown".to_owned(),
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let digits = text.bytes().filter(|byte| !b".-".contains(byte));
            let is_number = text.bytes().any(|byte| byte.is_ascii_digit())
                && digits.clone().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().ok()).flatten()
        }
        _ => None,
    };
    let date = seconds.and_then(moment).map(|moment| moment.to_zoned_datetime(zone));
    match (date, stored) {
        (Some(date), _) => date.strftime("%B %d, %Y at %I:%M %p").to_string(),
        (None, Value::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    }
}

fn moment(seconds: f64) -> Option<Timestamp> {
    let ms = (seconds * 1_000.0).floor();
    #[expect(clippy::cast_possible_truncation, reason = "what no i64 holds becomes a bound, and no time")]
    let ms = ms.is_finite().then_some(ms as i64)?;
    Timestamp::from_millisecond(ms).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_dates_or_what_stands_there() {
        let written = |stored: Value| when_in(&stored, TimeZone::UTC);
        assert_eq!(written(json!(1_767_225_600.5)), "January 01, 2026 at 12:00 AM");
        assert_eq!(written(json!("1767225600.5")), "January 01, 2026 at 12:00 AM");
        assert_eq!(written(json!(1_767_277_920)), "January 01, 2026 at 02:32 PM");
        assert_eq!(written(json!(null)), "unknown");
        assert_eq!(written(json!("2026-04-09T12:00:00")), "2026-04-09T12:00:00");
        assert_eq!(written(json!("2026-04-09")), "2026-04-09");
        assert_eq!(written(json!(1e300)), "1e+300");
    }
}
