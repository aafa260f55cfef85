//! Times as people write them: RFC 3339 in UTC.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Writes milliseconds since 1970; `None` for years that RFC 3339 cannot write.
#[must_use]
pub fn rfc3339(ms: i64) -> Option<String> {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).ok()?;
    moment.format(&Rfc3339).ok()
}
