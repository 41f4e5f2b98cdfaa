-- Inserts, an index, joins, aggregates, windows, recursion, strings, JSON, full text, deletes.
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city INTEGER, born INTEGER, note TEXT);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
INSERT INTO city SELECT i, 'city ' || char(65 + i % 26) || i FROM n;
WITH RECURSIVE n(i, x) AS (SELECT 1, 7 UNION ALL SELECT i + 1, (x * 16807 + 11) % 2147483647 FROM n WHERE i < 20000)
INSERT INTO person
SELECT i, 'name ' || (x % 9973), 1 + x % 60, 1900 + x % 110, substr(hex(x * 7919), 1, 3 + x % 9) FROM n;
CREATE INDEX by_city ON person(city, born);
CREATE INDEX by_name ON person(name);
ANALYZE;
SELECT count(*), count(DISTINCT name), sum(born), min(note), max(note) FROM person;
SELECT c.name, count(*) AS people, round(avg(p.born), 3), group_concat(substr(p.note, 1, 1), '')
FROM city c JOIN person p ON p.city = c.id WHERE p.born BETWEEN 1950 AND 1953
GROUP BY c.id HAVING people > 3 ORDER BY people DESC, c.name LIMIT 12;
SELECT a.name, a.id, b.id FROM person a JOIN person b ON a.name = b.name AND a.id < b.id
WHERE a.born = b.born ORDER BY a.id LIMIT 10;
SELECT city, born, running FROM (
  SELECT city, born, sum(born) OVER (PARTITION BY city ORDER BY id ROWS 20 PRECEDING) AS running,
    row_number() OVER (PARTITION BY city ORDER BY born, id) AS place FROM person) WHERE place = 40 ORDER BY city LIMIT 8;
SELECT upper(name), length(note), instr(note, 'A'), replace(note, '1', '-'), printf('%08.3f|%5d', born / 7.0, id)
FROM person WHERE note LIKE '%393%' ORDER BY id LIMIT 6;
UPDATE person SET note = note || '+' || born WHERE id % 7 = 3;
DELETE FROM person WHERE id % 11 = 5 AND born < 1980;
SELECT count(*), sum(length(note)), total(id % 101) FROM person;
WITH RECURSIVE fibonacci(i, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT i + 1, b, a + b FROM fibonacci WHERE i < 60)
SELECT max(a) FROM fibonacci;
SELECT sum(value) FROM json_each((SELECT json_group_array(born) FROM person WHERE id < 3000));
CREATE VIRTUAL TABLE search USING fts5(body);
INSERT INTO search SELECT name || ' of ' || note FROM person WHERE id <= 3000;
SELECT count(*) FROM search WHERE search MATCH 'name AND 1*';
BEGIN;
UPDATE person SET city = (city + 7) % 60 + 1;
ROLLBACK;
SELECT sum(city), count(*) FROM person WHERE name IN (SELECT name FROM person GROUP BY name HAVING count(*) > 3);
PRAGMA integrity_check;
