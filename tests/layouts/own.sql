-- What some program keeps its talks in: tables of its own, that no layout of ours knows.
CREATE TABLE talk (number INTEGER PRIMARY KEY, begun REAL, subject TEXT);
CREATE TABLE line (number INTEGER PRIMARY KEY, talk INTEGER, who TEXT, words TEXT, musing TEXT, at REAL);
CREATE INDEX line_talk ON line (talk);
INSERT INTO talk VALUES (1, 1767323045, 'a talk in the evening');
INSERT INTO line VALUES (1, 1, 'guest', 'where is the lantern?', NULL, 1767323045),
    (2, 1, 'keeper', 'on the pier', 'perhaps the buoy', 1767323046);
