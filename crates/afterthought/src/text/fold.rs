//! Brings the forms of a word together: compatibility forms, case, Latin and Greek marks.
//! Never touches marks that spell another word: Cyrillic й, Indic, Thai, Kana, Hangul.

use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

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
    let mut letter = ' ';
    let mut fold_char = |c: char| {
        if is_combining_mark(c) {
            if !mark_is_loose(letter, c) {
                out.push(c);
            }
            return;
        }
        letter = c;
        fold_letter(c, out);
    };
    if is_nfkc_quick(word.chars()) == IsNormalized::Yes {
        word.chars().for_each(&mut fold_char);
    } else {
        word.nfkc().for_each(&mut fold_char);
    }
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
        0x0041..=0x024F | 0x1E00..=0x1EFF | 0x0370..=0x03FF | 0x1F00..=0x1FFF => true,
        // Cyrillic: stress accents only.
        0x0400..=0x052F => matches!(mark, 0x0300 | 0x0301),
        // Hebrew and Arabic: points, not letters.
        0x0590..=0x06FF => matches!(mark, 0x0591..=0x05C7 | 0x064B..=0x065F | 0x0670),
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
