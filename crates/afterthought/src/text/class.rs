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
        // Most letters that are not ASCII, and most signs: the questions below cost more.
        0xDF..=0xF6 | 0xF8..=0xFF | 0x430..=0x45F => Class::Lower,
        0xC0..=0xD6 | 0xD8..=0xDE | 0x400..=0x42F => Class::Upper,
        0x2012..=0x2018 | 0x201A..=0x2027 | 0x2190..=0x2319 | 0x2400..=0x245F | 0x2500..=0x25FF => {
            Class::Separator
        }
        0x3000..=0x3004 | 0x3008..=0x3020 | 0xFF01..=0xFF0F | 0xFF1A..=0xFF20 => Class::Separator,
        0x2019 => Class::Apostrophe,
        // Persian writes the zero-width non-joiner inside words, and people leave it out.
        0x2010 | 0x2011 | 0x200C => Class::Joiner,
        0x2E80..=0x2FD5 | 0x3005 | 0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF => {
            Class::Solo(Script::Han)
        }
        0x20000..=0x3FFFD => Class::Solo(Script::Han),
        0x3041..=0x3096 | 0x309B..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF => {
            Class::Solo(Script::Kana)
        }
        0xFF66..=0xFF9F | 0x1AFF0..=0x1B16F => Class::Solo(Script::Kana),
        0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97C | 0xAC00..=0xD7FB | 0xFFA0..=0xFFDC => {
            Class::Solo(Script::Hangul)
        }
        0x0E00..=0x0EFF
        | 0x1000..=0x109F
        | 0x1780..=0x17FF
        | 0x1980..=0x19DF
        | 0x1A20..=0x1AAD
        | 0xA9E0..=0xA9FE
        | 0xAA60..=0xAADF
            if c.is_alphanumeric() || is_combining_mark(c) =>
        {
            Class::Solo(Script::SoutheastAsian)
        }
        _ if is_shaper(c) || is_combining_mark(c) => Class::Mark,
        0x231A
        | 0x231B
        | 0x2328
        | 0x23CF
        | 0x23E9..=0x23F3
        | 0x23F8..=0x23FA
        | 0x2600..=0x27BF
        | 0x2B00..=0x2BFF
        | 0x1F000..=0x1FAFF => Class::Emoji,
        // Units in one square: they fold to the letters of `kg` and `MHz`.
        0x3371..=0x337A | 0x3380..=0x33DF => Class::Lower,
        _ if c.is_uppercase() => Class::Upper,
        _ if c.is_alphabetic() => Class::Lower,
        _ if c.is_numeric() => Class::Digit,
        _ => Class::Separator,
    }
}

/// Tells whether a character only shapes or colours its neighbours: variation selectors, joiners of
/// no width, soft hyphens, skin tones, tags of flags, circles around digits, the Arabic stretch.
pub(super) fn is_shaper(c: char) -> bool {
    matches!(
        u32::from(c),
        0xAD | 0x0640
            | 0x200C
            | 0x200D
            | 0x2060
            | 0x20D0..=0x20F0
            | 0xFE00..=0xFE0F
            | 0xFEFF
            | 0x1F3FB..=0x1F3FF
            | 0xE0020..=0xE007F
            | 0xE0100..=0xE01EF
    )
}

/// Tells whether a character of this script makes one with the one before: voicing marks of Kana,
/// vowels and finals of Korean syllables that are spelled out.
pub(super) fn composes(script: Script, c: char) -> bool {
    match script {
        Script::Kana => matches!(u32::from(c), 0x3099 | 0x309A | 0xFF9E | 0xFF9F),
        Script::Hangul => matches!(u32::from(c), 0x1160..=0x11FF | 0xD7B0..=0xD7FB),
        Script::Han | Script::SoutheastAsian => false,
    }
}

/// Tells whether a letter is of the Latin script; a border to one of another script is one of parts.
pub(super) fn is_latin(c: char) -> bool {
    matches!(u32::from(c), 0x41..=0x24F | 0x1D00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA7FF | 0xFB00..=0xFB06)
        || matches!(u32::from(c), 0xFF21..=0xFF5A)
}
