//! What holds of every snippet, whatever it was cut from.

use afterthought::limits::{SNIPPET_CHARS_MAX, SNIPPET_MARKS_MAX};

/// Checks that a snippet is short and on one line, and that its marks are a few ranges of it in order.
pub fn check_snippet(snippet: &str, highlights: &[[usize; 2]]) {
    let chars = snippet.chars().count();
    // An ellipsis on either side.
    assert!(chars <= SNIPPET_CHARS_MAX + 2 && !snippet.contains(char::is_control), "{snippet:?}");
    assert!((1..=SNIPPET_MARKS_MAX).contains(&highlights.len()), "{snippet:?} {highlights:?}");
    let mut end = 0;
    for [from, to] in highlights {
        assert!(end <= *from && from < to && *to <= chars, "{snippet:?} {highlights:?}");
        end = *to;
    }
}
