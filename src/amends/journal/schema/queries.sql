-- Every statement that the journal runs on its tables, under the name by which the code asks for it.

-- name: journal_id
SELECT journal_id FROM meta;

-- name: insert_meta
INSERT INTO meta (only_row, journal_id) VALUES (1, ?);

-- name: process_named
SELECT process, genesis FROM processes WHERE process_id = ?;

-- name: insert_process
INSERT INTO processes (process_id, started_at_ms, genesis) VALUES (?, ?, ?);

-- name: all_processes
SELECT process, process_id, genesis FROM processes ORDER BY process;

-- name: last_of_process
SELECT n, hash FROM (SELECT n, hash FROM events WHERE process = ?1 ORDER BY n DESC LIMIT 1)
UNION ALL SELECT last_n, hash FROM forgotten WHERE process = ?1 ORDER BY 1 DESC LIMIT 1;

-- name: last_hash
SELECT hash FROM events ORDER BY seq DESC LIMIT 1;

-- name: insert_event
INSERT INTO events (process, n, subject, happened, epoch, at_ms, data, claims, releases, prev, hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- The last two columns are of the open table, read in the same moment, to check the one against the other.
-- name: events_of
SELECT seq, coalesce(process_id, '?'), n, events.subject, happened, events.epoch, at_ms, data, events.claims, releases,
prev, hash, state, open_subjects.epoch
FROM events LEFT JOIN processes USING (process) LEFT JOIN open_subjects USING (subject)
WHERE events.subject = ? ORDER BY seq;

-- name: all_events
SELECT seq, coalesce(process_id, '?'), n, subject, happened, epoch, at_ms, data, claims, releases, prev, hash
FROM events LEFT JOIN processes USING (process) ORDER BY seq;

-- name: is_known
SELECT 1 FROM events WHERE subject = ? LIMIT 1;

-- name: is_own_intent
SELECT 1 FROM events CROSS JOIN processes USING (process) WHERE subject = ? AND happened = 'intended' AND process_id = ?;

-- name: subjects_between
SELECT DISTINCT subject FROM events WHERE subject >= ? AND subject < ? ORDER BY subject DESC LIMIT ?;

-- name: subjects_after
SELECT DISTINCT subject FROM events WHERE subject > ? AND subject < ? ORDER BY subject LIMIT ?;

-- name: last_subject
SELECT subject FROM events ORDER BY seq DESC LIMIT 1;

-- name: reversing_one_of
SELECT 1 FROM open_subjects WHERE reverses IN (SELECT value FROM json_each(?)) LIMIT 1;

-- name: places_of
SELECT process, n, prev, hash FROM events WHERE subject IN (SELECT value FROM json_each(?)) ORDER BY process, n;

-- name: forgotten_after
SELECT last_n, hash FROM forgotten WHERE process = ? AND first_n = ?;

-- name: forgotten_before
SELECT first_n, prev FROM forgotten WHERE process = ? AND last_n = ?;

-- name: all_forgotten
SELECT process, first_n, last_n, prev, hash FROM forgotten ORDER BY process, first_n;

-- name: delete_forgotten
DELETE FROM forgotten WHERE process = ? AND first_n = ?;

-- name: insert_forgotten
INSERT INTO forgotten (process, first_n, last_n, prev, hash) VALUES (?, ?, ?, ?, ?);

-- name: delete_events_of
DELETE FROM events WHERE subject IN (SELECT value FROM json_each(?));

-- name: all_data
SELECT data FROM events;

-- name: open_subject
SELECT state, epoch, is_delivered, claims, in_transaction, fingerprint, reverses, since, places
FROM open_subjects WHERE subject = ?;

-- name: all_open_subjects
SELECT subject, state, epoch, is_delivered, claims, in_transaction, fingerprint, reverses, since, places
FROM open_subjects ORDER BY since;

-- name: open_with_fingerprints
SELECT subject, state, epoch, is_delivered, claims, in_transaction, fingerprint, reverses, since, places
FROM open_subjects WHERE fingerprint IN (SELECT value FROM json_each(?)) ORDER BY since;

-- name: open_at_places
SELECT subject, state, epoch, is_delivered, claims, in_transaction, fingerprint, reverses, since, places
FROM open_subjects WHERE subject IN (SELECT subject FROM open_places WHERE name IN (SELECT value FROM json_each(?1))
UNION SELECT subject FROM open_places JOIN json_each(?2) AS above
ON open_places.name > above.value || '/' AND open_places.name < above.value || '0') ORDER BY since;

-- name: save_open_subject
INSERT INTO open_subjects
(subject, state, epoch, is_delivered, claims, in_transaction, fingerprint, reverses, since, places)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (subject) DO UPDATE SET
state = excluded.state, epoch = excluded.epoch, is_delivered = excluded.is_delivered, claims = excluded.claims,
places = excluded.places;

-- name: delete_open_subject
DELETE FROM open_subjects WHERE subject = ?;

-- name: all_open_places
SELECT name, subject FROM open_places;

-- name: insert_open_place
INSERT INTO open_places (name, subject) VALUES (?, ?);

-- name: delete_open_places
DELETE FROM open_places WHERE name IN (SELECT value FROM json_each(?)) AND subject = ?;

-- name: claims_named
SELECT subject, name, subtree FROM claims WHERE name IN (SELECT value FROM json_each(?));

-- name: claims_between
SELECT subject, name, subtree FROM claims WHERE name > ? AND name < ?;

-- name: all_claims
SELECT subject, name, subtree FROM claims ORDER BY name;

-- name: insert_claim
INSERT INTO claims (name, subtree, subject) VALUES (?, ?, ?);

-- name: delete_claim
DELETE FROM claims WHERE name = ? AND subject = ?;

-- name: recoveries_of
SELECT count(*) FROM recoveries WHERE in_transaction = ?;

-- name: spent_fingerprints_of
SELECT fingerprint FROM spent_fingerprints WHERE in_transaction = ?;

-- name: spent_aims_of
SELECT target, field FROM spent_aims WHERE in_transaction = ?;

-- name: insert_recovery
INSERT INTO recoveries (in_transaction, place) VALUES (?, ?);

-- name: insert_spent_fingerprint
INSERT INTO spent_fingerprints (in_transaction, fingerprint) VALUES (?, ?);

-- name: insert_spent_aim
INSERT INTO spent_aims (in_transaction, target, field) VALUES (?, ?, ?);

-- name: all_spent
SELECT in_transaction FROM recoveries UNION SELECT in_transaction FROM spent_fingerprints
UNION SELECT in_transaction FROM spent_aims ORDER BY 1;
