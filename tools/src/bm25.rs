//! Plain BM25 over documents that are lists of words: the yardstick that a search is measured by.
//! No fields, no phrases, no pruning; scores every document that holds a word of the query.

use std::collections::HashMap;

/// How word counts and lengths weigh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// How soon a repeated word stops to count.
    pub k1: f32,
    /// How much a long document pays for its length, 0 to 1.
    pub b: f32,
}

impl Bm25 {
    /// The usual setting: 1.2 and 0.75.
    pub const USUAL: Bm25 = Bm25 { k1: 1.2, b: 0.75 };
    /// For short texts of like length: 0.9 and 0.4.
    pub const SHORT: Bm25 = Bm25 { k1: 0.9, b: 0.4 };
}

/// An inverted index in memory.
///
/// The score of a document is the sum over the query's words of
/// `idf · tf / (tf + k1 · (1 − b + b · length / mean length))` with
/// `idf = ln(1 + (N − n + 0.5) / (n + 0.5))`: Lucene's since version 8, which leaves out the constant
/// factor `k1 + 1` of Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), and the
/// rounding of lengths to a byte is not repeated here.
#[derive(Debug)]
pub struct Index {
    weights: Bm25,
    words: HashMap<String, u32>,
    /// By word: documents in ascending order, and how often it stands there.
    postings: Vec<Vec<(u32, u32)>>,
    lengths: Vec<u32>,
    length_total: u64,
}

impl Index {
    /// Starts without documents.
    #[must_use]
    pub fn new(weights: Bm25) -> Index {
        Index { weights, words: HashMap::new(), postings: Vec::new(), lengths: Vec::new(), length_total: 0 }
    }

    /// Adds a document; documents are numbered from 0 in the order in which they come.
    pub fn add(&mut self, words: &[String]) {
        let document = count(self.lengths.len());
        for word in words {
            let next = count(self.postings.len());
            let number = if let Some(number) = self.words.get(word) {
                *number
            } else {
                self.words.insert(word.clone(), next);
                self.postings.push(Vec::new());
                next
            };
            match self.postings[number as usize].last_mut() {
                Some((last, times)) if *last == document => *times += 1,
                _ => self.postings[number as usize].push((document, 1)),
            }
        }
        self.lengths.push(count(words.len()));
        self.length_total += words.len() as u64;
    }

    /// Returns the best documents for a query, best first, the lower number first where they tie. A word
    /// that the query repeats counts each time.
    #[must_use]
    pub fn search(&self, query: &[String], limit: usize) -> Vec<(u32, f32)> {
        let mut scores: HashMap<u32, f32> = HashMap::new();
        for word in query {
            let Some(number) = self.words.get(word) else { continue };
            let postings = &self.postings[*number as usize];
            let idf = self.idf(postings.len());
            for (document, times) in postings {
                *scores.entry(*document).or_default() += idf * self.share(*document, *times);
            }
        }
        let mut found: Vec<(u32, f32)> = scores.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(limit);
        found
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of documents that fit in memory")]
    fn idf(&self, documents: usize) -> f32 {
        let (all, with) = (self.lengths.len() as f32, documents as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    #[expect(clippy::cast_precision_loss, reason = "lengths and counts of words in a document")]
    fn share(&self, document: u32, times: u32) -> f32 {
        let mean = self.length_total as f32 / self.lengths.len() as f32;
        let length = self.lengths[document as usize] as f32;
        let Bm25 { k1, b } = self.weights;
        let times = times as f32;
        times / (times + k1 * (1.0 - b + b * length / mean))
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn check(query: &str, expect: &[(u32, f32)]) {
        let mut index = Index::new(Bm25::USUAL);
        for text in ["lock order", "lock lock lease held", ""] {
            index.add(&words(text));
        }
        let found = index.search(&words(query), 10);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.0 == expect.0 && (found.1 - expect.1).abs() < 1e-4, "{found:?}, not {expect:?}");
        }
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        // Mean length 2. "order" is in 1 of 3: idf = ln(1 + 2.5 / 1.5) = 0.98083; tf 1 in a document of
        // mean length: 1 / (1 + 1.2) = 0.45455.
        check("order", &[(0, 0.445_83)]);
        // "lock" is in 2 of 3: idf = ln(1 + 1.5 / 2.5) = 0.47000. Document 1: tf 2, length 4:
        // 2 / (2 + 1.2 · (0.25 + 0.75 · 2)) = 0.48780.
        check("lock", &[(1, 0.229_27), (0, 0.213_64)]);
        check("order order", &[(0, 0.891_66)]);
        check("heron", &[]);
    }
}
