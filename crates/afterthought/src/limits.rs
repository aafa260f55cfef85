//! Every bound of the engine, in one place. Quantity, unit, bound: in that order.

/// Longest query text that is read, in bytes; the rest is dropped with a warning.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;
/// Share of a query that some conversation must hold for an answer to be a confident one: each word by how
/// much it tells, and words that the archive does not know most of all.
pub const CONFIDENT_SESSION_MIN: f32 = 0.45;
/// The same where a word of the query stands nowhere in what was searched.
pub const CONFIDENT_UNKNOWN_MIN: f32 = 0.65;
/// The same of some message: a long conversation holds any word sooner or later.
pub const CONFIDENT_MESSAGE_MIN: f32 = 0.35;
/// Most scored terms of one query; later ones are dropped with a warning.
pub const QUERY_TERMS_MAX: usize = 64;
/// Longest run of a script without spaces that a bare query reads as one contiguous phrase,
/// in characters; longer runs are cut into dictionary words.
pub const QUERY_RUN_CHARS_MAX: usize = 8;
/// The same where the query is more than that run, as sentences are.
pub const QUERY_NAME_CHARS_MAX: usize = 4;
/// Deepest nesting of groups in a query; where they go deeper, no parenthesis groups.
pub const QUERY_DEPTH_MAX: usize = 32;
/// Terms that `NOT` may take of those; what is excluded is kept before what is scored.
pub const QUERY_EXCLUDED_MAX: usize = 32;
/// Farthest that the words of a phrase may be out of place, in words.
pub const QUERY_SLOP_MAX: u32 = 32;
/// Parts of a query that are named as having nothing to search for.
pub const QUERY_UNREADABLE_NAMED_MAX: usize = 8;
/// Shortest part of a session's id that finds it, in characters.
pub const SESSION_PART_CHARS_MIN: usize = 8;
/// Most words that one `prefix*` or `fuzzy~` stands for, the most frequent ones; and most sessions
/// that a part of an id stands for, the newest by id.
pub const QUERY_FORMS_MAX: usize = 1_024;
/// Most words of the dictionaries that are looked at to find them, in all fields and segments.
pub const QUERY_FORMS_COMPARED_MAX: usize = 500_000;
/// Most lists of names, and of neighbours, that the words of one query make.
pub const QUERY_LISTS_MAX: usize = 192;

/// Most hits of one page.
pub const PAGE_HITS_MAX: usize = 1_000;
/// Hits of a page when the caller names no limit.
pub const PAGE_HITS_DEFAULT: usize = 10;
/// Deepest rank reachable by offset paging (`offset + limit`).
pub const PAGE_DEPTH_MAX: usize = 10_000;
/// Hits of a page inside one session: the default, and the most.
pub const CONTEXT_HITS_DEFAULT: usize = 10;
/// Most hits of a page inside one session.
pub const CONTEXT_HITS_MAX: usize = 50;
/// States of the index that are kept for the cursors of pages that were shown.
pub const CURSOR_SNAPSHOTS_MAX: usize = 16;
/// Longest time that one is kept after its last use, in seconds.
pub const CURSOR_AGE_S_MAX: u64 = 5 * 60;
/// Messages left out as changed that a cursor remembers; where there are more, a page has none.
pub const CURSOR_STALE_ROWS_MAX: usize = 256;
/// How often a page is filled up again after hits that the archive no longer holds.
pub const PAGE_REFILLS_MAX: usize = 3;

/// Most highlighted ranges of one snippet.
pub const SNIPPET_MARKS_MAX: usize = 64;
/// Length of a snippet, in Unicode scalar values.
pub const SNIPPET_CHARS_MAX: usize = 240;
/// Part of one field that is looked through for the words of a query, in bytes,
pub const SNIPPET_SCAN_BYTES_MAX: usize = 1024 * 1024;
/// and most of it that is analyzed to cut the snippet.
pub const SNIPPET_ANALYZED_BYTES_MAX: usize = 16 * 1024;

/// Longest part of a word or identifier that is indexed, in bytes.
pub const TOKEN_PART_BYTES_MAX: usize = 64;
/// Longest name, version or address of numbers that is indexed whole beside its parts, in bytes.
pub const TOKEN_WHOLE_BYTES_MAX: usize = 128;
/// Indexed text of one field of one row, in bytes; the tail of longer text is not searchable.
pub const FIELD_TEXT_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Longest session id that is kept whole, in bytes.
pub const SESSION_ID_BYTES_MAX: usize = 1_024;
/// Largest factor on a field or a phrase; scores stay finite numbers.
pub const BOOST_MAX: f32 = 1_000_000.0;

/// Searches that may wait for a reader; one more is refused as busy.
pub const SEARCH_QUEUE_MAX: usize = 64;
/// Wall time of one search, in milliseconds.
pub const SEARCH_WALL_MS_MAX: u64 = 10_000;
/// Most ids that a layout gives a row: of a billion rows the numbers are still 64 bits.
pub const LAYOUT_STRIDE_MAX: i64 = 1_000_000_000;
/// Archives that one search asks.
pub const FEDERATION_ARCHIVES_MAX: usize = 100;

/// Reader threads of one engine when the caller names no number.
pub const READERS_DEFAULT: usize = 2;
/// Documents that a thread keeps for the second pass of a search at most: 24 bytes each.
pub const KEPT_DOCS_MAX: usize = 1_000_000;
/// Values that one filter lists at most: each is compared with every session.
pub const FILTER_VALUES_MAX: usize = 1_000;
/// Unknown values of one filter that are named, with what is near them.
pub const FILTER_UNKNOWN_NAMED_MAX: usize = 8;
/// Threads that share one search at most, where it reads many postings.
pub const SEARCH_THREADS_MAX: usize = 4;

/// Commands that may wait for the writer thread.
pub const WRITER_QUEUE_MAX: usize = 64;
/// Text on its way from the archive to the index, in bytes. One larger row passes alone.
pub const WRITER_BYTES_IN_FLIGHT_MAX: usize = 64 * 1024 * 1024;
/// Memory of one indexing thread before it writes a segment, in bytes.
pub const WRITER_ARENA_BYTES: usize = 128 * 1024 * 1024;
/// The same where a few documents are indexed in memory; the least that tantivy takes.
pub const WRITER_ARENA_BYTES_SMALL: usize = 15_000_000;
/// Memory of one writer when nobody names another number: its arenas, and text on its way. Also the most.
pub const WRITER_BYTES_MAX: usize = WRITER_THREADS * WRITER_ARENA_BYTES + WRITER_BYTES_IN_FLIGHT_MAX;
/// The least that a writer takes: the smallest arena, and a fifth for text on its way.
pub const WRITER_BYTES_MIN: usize = WRITER_ARENA_BYTES_SMALL / 4 * 5;
/// What a rebuild takes beside its writer, in bytes: caches of databases, merges, dictionaries, and what the
/// allocator keeps of it all. Measured on archives of up to 100,000 rows; ids of millions of rows take more.
pub const REBUILD_BESIDE_BYTES: usize = 160_000_000;
/// Threads that merge segments: small merges need not wait for a large one.
pub const MERGE_THREADS: usize = 2;
/// Threads that analyze text.
pub const WRITER_THREADS: usize = 2;
/// Time between two commits of a sync, in milliseconds; of a long one half of what it took so far.
pub const COMMIT_AGE_MS_MIN: u128 = 4_000;
/// Longest time between two commits of a sync, in milliseconds.
pub const COMMIT_AGE_MS_MAX: u128 = 60_000;
/// The same for the first commit: a new index should soon answer something.
pub const COMMIT_FIRST_MS_MAX: u128 = 1_000;

/// Rows read from the archive in one read transaction.
pub const BATCH_ROWS_MAX: usize = 2_000;
/// Text read from the archive in one read transaction, in bytes.
pub const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Times that a batch is read again because the archive changed under it.
pub const BATCH_RETRIES_MAX: usize = 20;

/// Largest archive that is copied to a private folder without the caller's leave, in bytes.
pub const ARCHIVE_COPY_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Connections to an archive that wait for the next read; none of them locks anything.
pub const ARCHIVE_IDLE_MAX: usize = 4;

/// A full comparison of archive and index that took less than this repeats at every search, in ms.
pub const SIGNATURES_CHEAP_MS: u64 = 50;
/// Otherwise it repeats when the last one is older than this, in seconds.
pub const SIGNATURES_AGE_S_MAX: i64 = 60;
/// One that took longer than this, in ms, no search waits for: millions of rows,
pub const SIGNATURES_DEAR_MS: u64 = 500;
/// unless the last one is older than this, in seconds; `aft index` and `aft watch` do it before.
pub const SIGNATURES_DEAR_AGE_S_MAX: i64 = 24 * 60 * 60;
/// Time between two looks at the files of an archive that is followed, in milliseconds.
pub const FOLLOW_POLL_MS: u64 = 250;
/// Every session's rows are compared when a followed archive has been quiet this long, in milliseconds.
pub const FOLLOW_QUIET_MS: u64 = 2_000;
/// Every row's text is compared when a followed archive has been quiet this long, in milliseconds,
pub const FOLLOW_AUDIT_QUIET_MS: u64 = 15_000;
/// and the last time is longer ago than this, in seconds.
pub const FOLLOW_AUDIT_AGE_S_MAX: i64 = 24 * 60 * 60;
/// Rows whose text a full comparison looks at, to tell whether the archive is still the one mirrored.
pub const SAMPLE_ROWS: usize = 32;
/// Failures that pass by themselves are said when they last longer than this, in milliseconds.
pub const FOLLOW_PATIENCE_MS: u64 = 2_000;
/// A rebuild that was stopped is gone on with when its last commit is younger than this, in seconds.
pub const STAGE_AGE_S_MAX: i64 = 24 * 60 * 60;
/// Times that a rebuild is compared with its archive again, because the archive changed meanwhile,
/// before it gives up.
pub const REINDEX_ROUNDS_MAX: usize = 10;
/// Rows a second that a rebuild is expected to write where none has been measured yet.
pub const REINDEX_ROWS_PER_S_ASSUMED: f64 = 5_000.0;
/// Size of an index where there is none yet, in percent of its archive.
pub const REINDEX_INDEX_PERCENT_ASSUMED: u64 = 60;
/// A rebuild may need so many times the size of its index meanwhile: the last merge writes it once more.
pub const REINDEX_ROOM: u64 = 2;
/// Longest wait for a lock that another process holds for a moment, in milliseconds: to change pointers, or
/// to open segments.
pub const LOCK_WAIT_MS_MAX: u64 = 10_000;
/// Time between two looks at such a lock, in milliseconds.
pub const LOCK_POLL_MS: u64 = 10;
/// Jobs whose reports are kept, the latest ones.
pub const JOBS_KEPT_MAX: usize = 16;
/// Words that an audit shows.
pub const AUDIT_WORDS_MAX: usize = 20;
/// Words that an audit looks up to find them.
pub const AUDIT_CANDIDATES_MAX: usize = 400;
/// Messages that an audit names for one word.
pub const AUDIT_IDS_MAX: usize = 5;
/// Differing rows that `verify` lists by id.
pub const VERIFY_LISTED_MAX: usize = 100;
/// Values of one facet that a page shows, those with most hits first.
pub const FACET_VALUES_MAX: usize = 20;
/// Known words that are named beside an unknown one.
pub const NEAREST_SHOWN_MAX: usize = 3;
/// Known words that an unknown one is compared with, over all fields and segments.
pub const NEAREST_COMPARED_MAX: usize = 200_000;

/// Tokens that an answer to an agent may take, as text, when the agent names no number.
pub const ANSWER_TOKENS_DEFAULT: usize = 3_000;
/// The least that an agent may ask for.
pub const ANSWER_TOKENS_MIN: usize = 600;
/// The most.
pub const ANSWER_TOKENS_MAX: usize = 20_000;
/// What the structured form of such an answer may take above it, for names and punctuation.
pub const ANSWER_FRAME_TOKENS: usize = 400;
/// The least that is shown of a message, in tokens; where there is not as much room, it is left out.
pub const ANSWER_MESSAGE_TOKENS_MIN: usize = 80;
/// Phrasings of one question that are searched together.
pub const QUERIES_MAX: usize = 8;
/// Hits of each phrasing that are merged. Always as many, so that pages of the merged list join.
pub const QUERY_MERGED_HITS: usize = 100;
/// Neighbours of a message that are shown on either side.
pub const NEIGHBOURS_MAX: usize = 20;

/// Searches that a server runs at a time, at least and at most; between them as many as there are cores.
pub const SERVE_RUNNING_MIN: usize = 2;
/// The most.
pub const SERVE_RUNNING_MAX: usize = 8;
/// Longest time that a request waits for its turn, in milliseconds.
pub const SERVE_TURN_MS_MAX: u64 = 10_000;
/// Longest time that an answer waits for the index to come up to date, in seconds.
pub const SERVE_SYNC_S_MAX: f64 = 10.0;
/// Connections at a time; further ones wait to be accepted.
pub const SERVE_CONNECTIONS_MAX: usize = 256;
/// Longest address of a request, in bytes: the longest query, percent-encoded, and all else.
pub const SERVE_URL_BYTES_MAX: usize = 56 * 1024;
/// Longest head of a request, in bytes.
pub const SERVE_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Headers of a request.
pub const SERVE_HEADERS_MAX: usize = 64;
/// Longest time that the head of a request may take to arrive, and a body after it, in milliseconds.
pub const SERVE_HEAD_MS_MAX: u64 = 15_000;
/// Longest life of a connection, in milliseconds; an answer under way is finished first.
pub const SERVE_CONNECTION_MS_MAX: u64 = 5 * 60 * 1_000;
/// Longest time that answers under way may take when a connection or the server ends, in milliseconds.
pub const SERVE_ENDING_MS_MAX: u64 = 15_000;
/// Longest body of a request to the tools of agents, in bytes; other requests have none.
pub const SERVE_BODY_BYTES_MAX: usize = 256 * 1024;
/// Streams of events at a time; one more is refused as busy.
pub const SERVE_STREAMS_MAX: usize = 32;
/// Syncs that a server remembers, the latest ones.
pub const SERVE_SYNCS_KEPT_MAX: usize = 32;
/// Neighbours of a message that are shown on each side.
pub const SERVE_NEIGHBOURS_MAX: usize = 1_000;
/// Shortest token that is accepted, in bytes.
pub const SERVE_TOKEN_BYTES_MIN: usize = 16;
