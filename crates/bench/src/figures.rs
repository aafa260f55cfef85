//! Numbers as people read them.

/// Writes a number with separators: 289,433.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Writes a size: 12.3 MB.
#[must_use]
pub fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}
