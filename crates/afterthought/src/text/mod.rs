//! Turns text into tokens with positions: words folded, names in parts and in one word, Han and
//! other scripts without spaces by character. Knows nothing of documents or queries; both sides of
//! a search go through it.
//!
//! Smallest parts stand in one *lane*, a position each. What is longer, or another reading, is
//! *stacked* on the position of its first part, with the number of positions it covers:
//!
//! | text | tokens: text@position, +positions covered | why |
//! |---|---|---|
//! | `The Café` | `the@0 cafe@1` | case, compatibility forms, marks of Latin and Greek fold |
//! | `мой ещё замо́к` | `мой@0 еще@1 замок@2` | ё is written е; stress goes, й is another letter |
//! | `كِتَاب` `हिन्दी` | `كتاب@0` `हिन्दी@0` | Arabic and Hebrew points go; Indic marks spell |
//! | `checkAuth check_auth` | `checkauth@0+2 check@0 auth@1 checkauth@2+2 …` | spellings of one name meet, and `checkauth` finds them |
//! | `AN-94` | `an94@0+2 an@0 94@1` | and `an94` |
//! | `src/check_auth.rs` | `src@0 checkauth@1+2 check@1 auth@2 rs@3` | a path is a phrase; names in it are stacked |
//! | `v2.5.1` | `2.5.1@0+3 2@0 v2@0 5@1 1@2` | versions and addresses of numbers stay whole |
//! | `dev@example.com` | `dev@0 example@1 com@2` | |
//! | `a3f5b2c9d0e1` | `a3f5b2c9d0e1@0` | seven hexadecimal digits or more are an id |
//! | `.env` | `.env@0 env@0` | dotfiles, but not `.env()` |
//! | `C++` `C#` `--amend` `#4821` | `c++@0` `c#@0` `amend@0` `4821@0` | |
//! | `don't user's` | `dont@0 user@1` | |
//! | `"one\nTwo"` | `one@0 two@1` | text in text; before small letters also `nabla@0 abla@0` |
//! | `用Rust写北京` | `用@0 rust@1 写@2 北@3 北京@3+2 京@4` | a border of scripts is one of tokens; words of the dictionary are stacked |
//! | `记，忆` | `记@0 忆@2` | what interrupts a run leaves a gap, so a phrase is a substring |
//! | `カナ 한국 ไทย` | `カ@0 カナ@0+2 ナ@1 한@3 …` | also spelled out or half wide |
//! | `gitом` | `gitом@0+2 git@0 ом@1` | two letters or more on each side |
//! | `👩🏽‍💻 🇩🇪` | `👩💻@0+2 👩@0 💻@1 🇩🇪@2` | skin tones go; a flag is one |
//!
//! What holds, and where it is tested (`here` is the tests of this room, `analysis` is
//! `tests/analysis.rs`, `fuzz` the target `text` of `tests/fuzz`):
//! - A quoted run of Han, Kana, Hangul or Thai finds exactly the rows whose text holds it
//!   (analysis: 1,000 random substrings of each script and of Han mixed with Kana).
//! - A token's text is the fold of its source; a name's without `-` and `_`. Offsets lie on borders of
//!   characters of the source. Positions never decrease, lane tokens follow each other without
//!   overlap, and nothing stacked reaches over the lane (here, over all planes of Unicode; fuzz).
//! - A word in small letters finds every spelling in capitals (here).
//! - Names, paths, versions, addresses, symbols as people type them (analysis, `tests/cases`).
//!
//! Bounds: a lane token comes of 64 bytes at most, a stacked one of 128; a word's bytes past that are
//! skipped. A chunk of joined words goes on as another after 32 parts, a run without spaces after 2,048
//! characters, in which case no phrase breaks. Cost is linear; `benches/analysis.rs` measures it beside
//! tantivy's own tokenizer.
//!
//! What it cannot tell: `src\tests` from a tab before `ests` (both are indexed, the phrase only as
//! a query of the same spelling), and word forms: those are the query's matter.
//!
//! Sources: Unicode 16 blocks and `emoji-data.txt` for the classes of characters, UAX #15 for NFKC, the
//! word borders of UAX #29 for where marks, joiners and flags belong, jieba's dictionary for Han.

mod chunk;
mod class;
mod dictionary;
mod fold;
mod inflection;
mod segment;
mod token;

pub use fold::fold;
pub use inflection::{Inflection, is_function_word};
pub use segment::words as segment_words;
pub use token::{Analyzer, Kind, Token, Tokens};

/// Names this analysis. An index built under another name must be rebuilt before it is searched,
/// so every change of a token's text or position changes the name.
pub const FINGERPRINT: &str = "text-3";
