-- What a journal holds. Events are the truth; open_subjects and claims are what they come to, kept in the same step.
-- Constraint names are facts. The two lists of words are those of the lifecycle's enums, and a test says so.

CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CONSTRAINT meta_has_one_row CHECK (only_row = 1),
    journal_id TEXT NOT NULL
) STRICT;

-- One row for each opening that wrote something. `genesis` is what the journal ended with when it first wrote.
CREATE TABLE processes (
    process INTEGER PRIMARY KEY,
    process_id TEXT NOT NULL CONSTRAINT one_row_per_process UNIQUE,
    started_at_ms INTEGER NOT NULL,
    genesis BLOB NOT NULL CONSTRAINT genesis_is_a_sha256 CHECK (length(genesis) = 32)
) STRICT;

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    process INTEGER NOT NULL,
    n INTEGER NOT NULL CONSTRAINT places_are_counted_from_one CHECK (n >= 1),
    subject TEXT NOT NULL,
    happened TEXT NOT NULL CONSTRAINT happened_is_a_known_word CHECK (happened IN (
        'proposed', 'confirmed', 'declined', 'superseded', 'expired', 'intended', 'abandoned', 'answer_lost',
        'taken_over', 'fence_started', 'applied', 'failed', 'closed', 'quiesced', 'delivered', 'undone', 'opened',
        'recovering', 'proceeding', 'completed', 'blocked', 'withdrawn', 'followed_up'
    )),
    epoch INTEGER NOT NULL CONSTRAINT epochs_only_grow_from_zero CHECK (epoch >= 0),
    at_ms INTEGER NOT NULL,
    data TEXT NOT NULL,
    claims TEXT NOT NULL,
    releases INTEGER NOT NULL CONSTRAINT releases_is_yes_or_no CHECK (releases IN (0, 1)),
    prev BLOB NOT NULL CONSTRAINT prev_is_a_sha256 CHECK (length(prev) = 32),
    hash BLOB NOT NULL CONSTRAINT hash_is_a_sha256 CHECK (length(hash) = 32),
    CONSTRAINT one_event_per_place UNIQUE (process, n)
) STRICT;

-- Subjects are ids that sort by time, so this index grows at its end.
CREATE INDEX events_by_subject ON events (subject, seq);

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE (ABORT, 'events are never changed'); END;

-- Where events of a process were forgotten: the run from first_n to last_n began after `prev` and ended with `hash`.
CREATE TABLE forgotten (
    process INTEGER NOT NULL,
    first_n INTEGER NOT NULL,
    last_n INTEGER NOT NULL CONSTRAINT a_run_ends_after_its_beginning CHECK (last_n >= first_n),
    prev BLOB NOT NULL CONSTRAINT forgotten_prev_is_a_sha256 CHECK (length(prev) = 32),
    hash BLOB NOT NULL CONSTRAINT forgotten_hash_is_a_sha256 CHECK (length(hash) = 32),
    CONSTRAINT one_run_per_beginning PRIMARY KEY (process, first_n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER events_are_never_removed BEFORE DELETE ON events
WHEN NOT EXISTS (
    SELECT 1 FROM forgotten WHERE process = OLD.process AND first_n <= OLD.n AND last_n >= OLD.n
)
BEGIN SELECT RAISE (ABORT, 'events are never removed, but for those that are recorded as forgotten'); END;

CREATE TABLE open_subjects (
    subject TEXT NOT NULL CONSTRAINT one_row_per_open_subject PRIMARY KEY,
    since INTEGER NOT NULL,
    state TEXT NOT NULL CONSTRAINT state_is_a_known_word CHECK (state IN (
        'proposed', 'confirmed', 'declined', 'superseded', 'expired', 'executing', 'abandoned', 'ambiguous', 'closed',
        'applied', 'failed', 'open', 'complete', 'blocked', 'withdrawn'
    )),
    epoch INTEGER NOT NULL,
    is_delivered INTEGER NOT NULL CONSTRAINT is_delivered_is_yes_or_no CHECK (is_delivered IN (0, 1)),
    claims TEXT NOT NULL,
    in_transaction TEXT,
    fingerprint TEXT,
    reverses TEXT,
    places TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A write is found by what it does, a transaction by what it is about: few rows, whatever the journal's age.
CREATE INDEX open_subjects_by_fingerprint ON open_subjects (fingerprint) WHERE fingerprint IS NOT NULL;

-- The places of open_subjects again, by name.
CREATE TABLE open_places (
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    CONSTRAINT a_subject_names_a_place_once PRIMARY KEY (name, subject)
) STRICT, WITHOUT ROWID;

-- The claims of open_subjects again, by name, to find overlaps; two holders of one name can't be stored at all.
CREATE TABLE claims (
    name TEXT NOT NULL CONSTRAINT one_holder_per_claim PRIMARY KEY,
    subtree INTEGER NOT NULL CONSTRAINT subtree_is_yes_or_no CHECK (subtree IN (0, 1)),
    subject TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The recovery budget: what `recovering` events have used up, in the same step. It is never freed (one recovery for
-- each fingerprint and aim, two for each transaction), so that no restart, process or folder finds it unspent.
CREATE TABLE recoveries (
    in_transaction TEXT NOT NULL,
    place INTEGER NOT NULL CONSTRAINT two_recoveries_per_transaction CHECK (place IN (1, 2)),
    CONSTRAINT one_recovery_per_place PRIMARY KEY (in_transaction, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE spent_fingerprints (
    in_transaction TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    CONSTRAINT one_recovery_per_fingerprint PRIMARY KEY (in_transaction, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE TABLE spent_aims (
    in_transaction TEXT NOT NULL,
    target TEXT NOT NULL,
    field TEXT NOT NULL,
    CONSTRAINT one_recovery_per_aim PRIMARY KEY (in_transaction, target, field)
) STRICT, WITHOUT ROWID;
