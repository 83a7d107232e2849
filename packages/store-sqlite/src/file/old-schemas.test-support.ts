/** What earlier versions of the package made files with, as it was. */

/** As version 1 of the package made files. */
export const VERSION_1 = `
  CREATE TABLE meta (version INTEGER NOT NULL);
  INSERT INTO meta (version) VALUES (1);
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL,
    workflow TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  );
  CREATE TABLE journal (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    frame TEXT NOT NULL,
    events INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  );`

/** As version 2 took files of version 1 to its own. */
export const VERSION_2 = `
  CREATE TABLE runs_2 (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    blob_bytes INTEGER NOT NULL DEFAULT 0,
    workflow TEXT NOT NULL,
    graph TEXT NOT NULL,
    status TEXT NOT NULL,
    key TEXT,
    thread TEXT,
    fork_run INTEGER,
    fork_seq INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL,
    holder TEXT,
    wake_at INTEGER,
    takeovers INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    rested_at INTEGER NOT NULL
  );
  INSERT INTO runs_2 (id, run_id, head, bytes, workflow, graph, status, token, created_at, updated_at, rested_at)
    SELECT id, run_id, head, (SELECT coalesce(sum(octet_length(body)), 0) FROM journal WHERE run = runs.id),
      coalesce(workflow, ''), '', 'running', 0, created_at, updated_at, updated_at
    FROM runs;
  DROP TABLE runs;
  ALTER TABLE runs_2 RENAME TO runs;
  CREATE UNIQUE INDEX runs_key ON runs (key) WHERE key IS NOT NULL;
  CREATE UNIQUE INDEX runs_thread_in_flight ON runs (thread)
    WHERE thread IS NOT NULL AND status IN ('running', 'waiting');
  CREATE INDEX runs_thread ON runs (thread) WHERE thread IS NOT NULL;
  CREATE INDEX runs_workflow ON runs (workflow, status);
  CREATE INDEX runs_status ON runs (status);
  CREATE INDEX runs_fork ON runs (fork_run) WHERE fork_run IS NOT NULL;
  CREATE INDEX runs_holder ON runs (holder) WHERE holder IS NOT NULL;
  CREATE INDEX runs_left ON runs (workflow, rested_at)
    WHERE holder IS NULL AND status = 'running' AND wake_at IS NULL;
  CREATE INDEX runs_asleep ON runs (workflow, wake_at) WHERE holder IS NULL AND wake_at IS NOT NULL;
  CREATE INDEX runs_over ON runs (rested_at)
    WHERE pinned = 0 AND status NOT IN ('running', 'waiting');
  CREATE TABLE removed_runs (run INTEGER PRIMARY KEY);

  ALTER TABLE journal ADD COLUMN blobs TEXT;
  CREATE TABLE snapshots (
    run INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    blobs TEXT,
    body TEXT NOT NULL
  );
  CREATE TABLE blobs (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
  CREATE TABLE blob_uses (blob INTEGER NOT NULL, run INTEGER NOT NULL, place INTEGER NOT NULL);
  CREATE INDEX blob_uses_run ON blob_uses (run, place);
  CREATE INDEX blob_uses_blob ON blob_uses (blob);
  CREATE TABLE graphs (hash TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL);

  CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    workflow TEXT NOT NULL,
    recipient TEXT,
    outcome TEXT NOT NULL,
    closed_at INTEGER,
    closed_by TEXT,
    body TEXT NOT NULL,
    UNIQUE (run, request_id)
  );
  CREATE INDEX requests_outcome ON requests (outcome);
  CREATE INDEX requests_workflow ON requests (workflow, outcome);
  CREATE INDEX requests_recipient ON requests (recipient, outcome) WHERE recipient IS NOT NULL;

  CREATE TABLE holders (
    id TEXT NOT NULL PRIMARY KEY,
    machine TEXT NOT NULL,
    pid INTEGER NOT NULL,
    beat INTEGER NOT NULL,
    until INTEGER NOT NULL
  );
  CREATE TABLE dismissed_holders (id TEXT NOT NULL PRIMARY KEY);
  CREATE TABLE mail (
    id INTEGER PRIMARY KEY,
    mail_id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    wish TEXT NOT NULL,
    outcome TEXT
  );
  CREATE INDEX mail_open ON mail (run_id) WHERE outcome IS NULL;

  CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    thread TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  );
  CREATE TABLE thread_writes (
    thread INTEGER NOT NULL,
    version INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (thread, version)
  );
  UPDATE meta SET version = 2;`
