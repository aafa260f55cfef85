//! Turns Unix seconds into the calendar texts an archive uses. UTC only.

/// Year, month, day, hour, minute, second of a moment in UTC.
///
/// The day count is turned into a date by Howard Hinnant's `civil_from_days`
/// ("chrono-Compatible Low-Level Date Algorithms"), for times from 1970 on; earlier ones
/// count as 1970.
#[must_use]
pub fn calendar(seconds: u64) -> [u64; 6] {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years start in March here, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    [year, month, day, rest / 3_600, rest / 60 % 60, rest % 60]
}

/// Returns a session id as the agent forms it: `YYYYMMDD_HHMMSS_` and six hex digits of `salt`.
#[must_use]
pub fn session_id(started_at: u64, salt: u64) -> String {
    let [year, month, day, hour, minute, second] = calendar(started_at);
    let salt = salt & 0xFF_FFFF;
    format!("{year:04}{month:02}{day:02}_{hour:02}{minute:02}{second:02}_{salt:06x}")
}

/// Returns the Unix seconds of a date and time in UTC; the inverse of [`calendar`].
pub(crate) fn seconds(year: u64, month: u64, day: u64, hour: u64, minute: u64) -> u64 {
    let (year, month_from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era - 719_468) * 86_400 + hour * 3_600 + minute * 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        assert_eq!(calendar(0), [1970, 1, 1, 0, 0, 0]);
        assert_eq!(calendar(1_709_164_799), [2024, 2, 28, 23, 59, 59]);
        assert_eq!(calendar(1_709_164_800), [2024, 2, 29, 0, 0, 0]);
        for day in 0..30_000 {
            let [year, month, date, hour, minute, _] = calendar(day * 86_400 + 45_240);
            assert_eq!(seconds(year, month, date, hour, minute), day * 86_400 + 45_240);
        }
    }

    #[test]
    fn session_id_is_the_agents() {
        assert_eq!(session_id(1_780_318_845, 0xABC_DEF), "20260601_130045_abcdef");
    }
}
