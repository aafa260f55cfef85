-- What llm left before 0.36: the tables that are read, and a conversation of two responses.
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
    conversation_id TEXT, datetime_utc TEXT, reasoning TEXT);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT);
INSERT INTO conversations VALUES ('harbor', 'a talk in the evening', 'echo');
INSERT INTO responses VALUES
    ('r1', 'echo', 'where is the lantern on a chart of the bay', 'you keep the harbor', '', 'harbor',
        '2026-01-02T03:04:05.250000+00:00', 'perhaps the buoy'),
    ('r2', 'echo', '', NULL, 'on the pier', 'harbor', '2026-01-02T03:04:06.500000+00:00', NULL);
INSERT INTO tool_calls VALUES (1, 'r1', 'look', '{"where": "anchor"}', 'c');
INSERT INTO tool_results VALUES (1, 'r2', 'look', 'a sextant', 'c');
