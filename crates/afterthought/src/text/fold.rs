//! Brings the forms of a word together: compatibility forms, case, Latin and Greek marks.
//! Never touches marks that spell another word: Cyrillic й, Indic, Thai, Kana, Hangul.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::class::is_shaper;

/// Returns the folded form of a word.
#[must_use]
pub fn fold(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    fold_into(word, &mut out);
    out
}

/// Appends the folded form of a word.
pub(super) fn fold_into(word: &str, out: &mut String) {
    if word.is_ascii() {
        let start = out.len();
        out.push_str(word);
        out[start..].make_ascii_lowercase();
        if word.contains('\'') {
            drop_apostrophes(out, start);
        }
        return;
    }
    if fold_plain(word, out) {
        return;
    }
    let mut letter = '\0';
    let mut fold_char = |c: char| {
        if is_shaper(c) {
            return;
        }
        if is_combining_mark(c) {
            if !mark_is_loose(letter, c) {
                out.push(c);
            }
            return;
        }
        letter = c;
        fold_letter(c, out);
    };
    // What only shapes goes first, or a letter and its accent would not meet.
    if is_nfkc_quick(word.chars()) == IsNormalized::Yes {
        word.chars().for_each(&mut fold_char);
    } else {
        word.chars().filter(|c| !is_shaper(*c)).nfkc().for_each(&mut fold_char);
    }
}

/// Folds a word of letters that nothing happens to but, in Cyrillic, case: most words that are not
/// Latin. Returns whether it was one.
fn fold_plain(word: &str, out: &mut String) -> bool {
    let start = out.len();
    for c in word.chars() {
        let folded = match c {
            '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7A3}'
            | '\u{3041}'..='\u{3096}'
            | '\u{30A1}'..='\u{30FA}'
            | '\u{30FC}'
            | 'а'..='я' => Some(c),
            'А'..='Я' => char::from_u32(u32::from(c) + 32),
            _ => None,
        };
        let Some(folded) = folded else {
            out.truncate(start);
            return false;
        };
        out.push(folded);
    }
    true
}

fn drop_apostrophes(out: &mut String, start: usize) {
    let kept: String = out[start..].chars().filter(|c| *c != '\'').collect();
    out.truncate(start);
    out.push_str(&kept);
}

fn fold_letter(c: char, out: &mut String) {
    match c {
        '\'' | '\u{2019}' => {}
        'ё' | 'Ё' => out.push('е'),
        'ß' | 'ẞ' => out.push_str("ss"),
        'ς' => out.push('σ'),
        // Strokes and ligatures that no decomposition takes apart.
        'ø' | 'Ø' => out.push('o'),
        'ł' | 'Ł' => out.push('l'),
        'đ' | 'Đ' => out.push('d'),
        'ħ' | 'Ħ' => out.push('h'),
        // Turkish: typed on another keyboard, and what a capital I folds to.
        'ı' => out.push('i'),
        'æ' | 'Æ' => out.push_str("ae"),
        'œ' | 'Œ' => out.push_str("oe"),
        '\u{00C0}'..='\u{024F}'
        | '\u{1E00}'..='\u{1EFF}'
        | '\u{0370}'..='\u{03FF}'
        | '\u{1F00}'..='\u{1FFF}' => {
            decompose_canonical(c, |part| {
                if !is_combining_mark(part) {
                    out.extend(part.to_lowercase());
                }
            });
        }
        _ => out.extend(c.to_lowercase()),
    }
}

/// Tells whether a mark may go without turning the word into another one.
fn mark_is_loose(letter: char, mark: char) -> bool {
    let mark = u32::from(mark);
    match u32::from(letter) {
        // Latin and Greek.
        0x0020..=0x024F | 0x1E00..=0x1EFF | 0x0370..=0x03FF | 0x1F00..=0x1FFF => true,
        // Cyrillic: stress accents only.
        0x0400..=0x052F => matches!(mark, 0x0300 | 0x0301),
        // Hebrew and Arabic: points, not letters.
        0x0590..=0x06FF => {
            matches!(mark, 0x0591..=0x05C7 | 0x0610..=0x061A | 0x064B..=0x065F | 0x0670 | 0x06D6..=0x06ED)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[track_caller]
    fn check(words: &str, folded: &str) {
        let got: Vec<_> = words.split(' ').map(fold).collect();
        assert_eq!(got.join(" "), folded);
    }

    #[test]
    fn case_width_and_ligatures_fold() {
        check("HeLLo ＡＢＣ１２３ ﬁle Straße", "hello abc123 file strasse");
    }

    #[test]
    fn latin_and_greek_lose_marks_composed_or_not() {
        check("Café Cafe\u{301} Όνομα İstanbul", "cafe cafe ονομα istanbul");
    }

    #[test]
    fn cyrillic_keeps_short_i_and_loses_stress() {
        check("Ёлка мой мои\u{306} за\u{301}мок", "елка мой мой замок");
    }

    #[test]
    fn arabic_points_go_and_indic_marks_stay() {
        check("كِتَاب हिन्दी", "كتاب हिन्दी");
    }

    #[test]
    fn apostrophes_vanish() {
        check("don't don’t", "dont dont");
    }
}
