//! Sorts characters by the part they play in a token. Looks at one character at a time.

use unicode_normalization::char::is_combining_mark;

/// The part a character plays in a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Ends a token.
    Separator,
    /// A letter without case, or a small one.
    Lower,
    /// A capital letter: may begin a part of an identifier.
    Upper,
    /// A digit of any script.
    Digit,
    /// A combining mark: belongs to the letter before it.
    Mark,
    /// Joins the parts of an identifier, a path or an address.
    Joiner,
    /// Joins letters (`don't`), and is not indexed.
    Apostrophe,
    /// A character of a script written without spaces; a token by itself.
    Solo(Script),
    /// A pictograph; a token by itself.
    Emoji,
}

/// A script that is cut by character. Words of several such characters are found as phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Chinese characters; also cut by dictionary.
    Han,
    /// Hiragana and Katakana.
    Kana,
    /// Korean; its words are kept whole too.
    Hangul,
    /// Thai, Lao, Burmese and Khmer.
    SoutheastAsian,
}

/// Returns the class of the character at byte `at`, and its length in bytes.
#[inline]
pub(super) fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    let byte = *text.as_bytes().get(at)?;
    if byte < 128 {
        return Some((ASCII[byte as usize], 1));
    }
    let c = text[at..].chars().next()?;
    Some((class_of(c), c.len_utf8()))
}

/// The classes of the ASCII characters, by code.
pub(super) static ASCII: [Class; 128] = ascii_classes();

const fn ascii_classes() -> [Class; 128] {
    let mut classes = [Class::Separator; 128];
    let mut code = 0;
    while code < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        let byte = code as u8;
        classes[code] = if byte.is_ascii_lowercase() {
            Class::Lower
        } else if byte.is_ascii_uppercase() {
            Class::Upper
        } else if byte.is_ascii_digit() {
            Class::Digit
        } else {
            match byte {
                b'_' | b'-' | b'.' | b'/' | b'\\' | b':' | b'@' => Class::Joiner,
                b'\'' => Class::Apostrophe,
                _ => Class::Separator,
            }
        };
        code += 1;
    }
    classes
}

/// Ranges are those of the Unicode blocks and emoji data files, version 16.
fn class_of(c: char) -> Class {
    match u32::from(c) {
        0x2019 => Class::Apostrophe,
        0x2010 | 0x2011 => Class::Joiner,
        // Variation selectors and the zero-width joiner only shape a neighbour.
        0xFE00..=0xFE0F | 0x200D | 0x1F3FB..=0x1F3FF => Class::Separator,
        0x3005 | 0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF => {
            Class::Solo(Script::Han)
        }
        0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => {
            Class::Solo(Script::Kana)
        }
        0x1100..=0x11FF | 0x3131..=0x318E | 0xAC00..=0xD7A3 => Class::Solo(Script::Hangul),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF
            if c.is_alphanumeric() || is_combining_mark(c) =>
        {
            Class::Solo(Script::SoutheastAsian)
        }
        0x2600..=0x27BF | 0x2B00..=0x2BFF | 0x1F000..=0x1FAFF => Class::Emoji,
        _ if is_combining_mark(c) => Class::Mark,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphabetic() => Class::Lower,
        _ if c.is_numeric() => Class::Digit,
        _ => Class::Separator,
    }
}
