-- The figures of `aft audit`, each as the statement that counts it. They run as they stand on an
-- archive of schema version 22; where an archive lacks a column, it counts as NULL.
--
-- A column is blank when nothing but spaces, tabs and line breaks stands in it.

-- name: rows
SELECT count(*) FROM messages;

-- name: rows_with_reasoning
SELECT count(*) FROM messages
WHERE trim(coalesce(reasoning, ''), char(9, 10, 13, 32)) <> ''
   OR trim(coalesce(reasoning_content, ''), char(9, 10, 13, 32)) <> ''
   OR trim(coalesce(reasoning_details, ''), char(9, 10, 13, 32)) <> ''
   OR trim(coalesce(codex_reasoning_items, ''), char(9, 10, 13, 32)) <> '';

-- name: empty_content_with_reasoning
SELECT count(*) FROM messages
WHERE trim(coalesce(content, ''), char(9, 10, 13, 32)) = ''
  AND hex(substr(CAST(coalesce(content, '') AS BLOB), 1, 1)) <> '00'
  AND (trim(coalesce(reasoning, ''), char(9, 10, 13, 32)) <> ''
    OR trim(coalesce(reasoning_content, ''), char(9, 10, 13, 32)) <> ''
    OR trim(coalesce(reasoning_details, ''), char(9, 10, 13, 32)) <> ''
    OR trim(coalesce(codex_reasoning_items, ''), char(9, 10, 13, 32)) <> '');

-- Multimodal content begins with a NUL, at which SQLite's length() stops: it is counted behind it.
-- name: chars_content
SELECT coalesce(sum(CASE substr(CAST(coalesce(content, '') AS BLOB), 1, 1)
    WHEN x'00' THEN 1 + length(CAST(substr(CAST(content AS BLOB), 2) AS TEXT))
    ELSE length(coalesce(content, '')) END), 0)
FROM messages;

-- Each text of a row once: the agent often stores the same reasoning in two or three columns.
-- name: chars_reasoning
SELECT coalesce(sum(length(first)
    + CASE WHEN second <> first THEN length(second) ELSE 0 END
    + (SELECT coalesce(sum(length(text)), 0) FROM (
        SELECT trim(coalesce(value ->> '$.summary', value ->> '$.thinking', value ->> '$.content',
                             value ->> '$.text', ''), char(9, 10, 13, 32)) AS text
        FROM json_each(details) WHERE type = 'object'
        UNION
        SELECT trim(coalesce(part.value ->> '$.text', ''), char(9, 10, 13, 32))
        FROM json_each(items) AS item, json_each(item.value, '$.summary') AS part
        WHERE item.type = 'object' AND part.type = 'object')
       WHERE text NOT IN (first, second))), 0)
FROM (SELECT trim(coalesce(reasoning, ''), char(9, 10, 13, 32)) AS first,
             trim(coalesce(reasoning_content, ''), char(9, 10, 13, 32)) AS second,
             CASE WHEN json_valid(reasoning_details) THEN reasoning_details ELSE '[]' END AS details,
             CASE WHEN json_valid(codex_reasoning_items) THEN codex_reasoning_items ELSE '[]' END AS items
      FROM messages);

-- name: by_role
SELECT role, count(*) FROM messages GROUP BY role ORDER BY count(*) DESC, role;

-- name: by_source
SELECT coalesce(sessions.source, 'unknown'), count(*)
FROM messages LEFT JOIN sessions ON sessions.id = messages.session_id
GROUP BY 1 ORDER BY count(*) DESC, 1;
