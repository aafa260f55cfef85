-- What SQLiteSession of the OpenAI Agents SDK leaves: the tables, and two conversations.
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    message_data TEXT NOT NULL, created_at TIMESTAMP);
CREATE INDEX idx_agent_messages_session_id ON agent_messages (session_id, id);
INSERT INTO agent_sessions VALUES ('harbor', '2026-01-02 03:04:05', '2026-01-02 03:04:05'),
    ('quay', '2026-01-03 03:04:05', '2026-01-03 03:04:05');
INSERT INTO agent_messages (session_id, message_data, created_at) VALUES
    ('harbor', '{"role": "user", "content": "where is the lantern?"}', '2026-01-02 03:04:05'),
    ('harbor', '{"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "perhaps the buoy"}]}',
        '2026-01-02 03:04:06'),
    ('harbor', '{"type": "function_call", "call_id": "c", "name": "look", "arguments": "{\"where\": \"anchor\"}"}',
        '2026-01-02 03:04:06'),
    ('harbor', '{"type": "function_call_output", "call_id": "c", "output": "a sextant"}', '2026-01-02 03:04:07'),
    ('harbor', '{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "on the pier"}]}',
        '2026-01-02 03:04:08'),
    ('quay', 'a tide table, and no JSON', '2026-01-03 03:04:05');
