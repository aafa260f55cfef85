-- What llm leaves from 0.36 on: the tables that are read, and a conversation of two turns: a question that a
-- tool helps to answer.
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT,
    model TEXT, datetime_utc TEXT);
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT,
    text TEXT, payload TEXT);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE INDEX idx_turns_thread_id ON turns (thread_id);
CREATE UNIQUE INDEX idx_parts_message_hash_position ON parts (message_hash, position);
INSERT INTO threads VALUES ('harbor', 'a talk in the evening', 'h5', NULL, '2026-01-02T03:04:05.250000+00:00');
INSERT INTO turns VALUES ('t1', 'harbor', 'h2', 'h3', 'echo', '2026-01-02T03:04:05.250000+00:00'),
    ('t2', 'harbor', 'h4', 'h5', 'echo', '2026-01-02T03:04:06.500000+00:00');
INSERT INTO fragments VALUES (7, 'f', 'a chart of the bay');
INSERT INTO messages VALUES ('h1', NULL, 'system', NULL), ('h2', 'h1', 'user', NULL),
    ('h3', 'h2', 'assistant', NULL), ('h4', 'h3', 'tool', NULL), ('h5', 'h4', 'assistant', NULL);
INSERT INTO parts (message_hash, position, type, tool_name, text, payload) VALUES
    ('h1', 0, 'text', NULL, 'you keep the harbor', NULL),
    ('h2', 0, 'text', NULL, NULL, '{"text_ref": [{"literal": "where is the lantern on "}, {"fragment": 7}]}'),
    ('h3', 0, 'reasoning', NULL, 'perhaps the buoy', NULL),
    ('h3', 1, 'tool_call', 'look', NULL, '{"name": "look", "arguments": {"where": "anchor"}, "tool_call_id": "c"}'),
    ('h4', 0, 'tool_result', 'look', NULL, '{"name": "look", "output": "a sextant", "tool_call_id": "c"}'),
    ('h5', 0, 'text', NULL, 'on the pier', NULL);
