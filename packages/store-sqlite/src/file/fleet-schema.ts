/**
 * What a fleet shares: queued runs, slots, events for subscriptions, keys, schedules, records.
 *
 * Queued runs in the file. `flow` is what a run was queued with, as JSON, and `line` what decides whether it may be claimed:
 * its workflow, queue, tenant and lanes. Both are null for a run that was not queued, whose line is its workflow.
 * `ready` marks a run that nobody holds and that is due, or has mail, where status and time do not say so.
 */
import { STATE_AFTER_CLAIM, SUM_AFTER_CLAIM } from "./checksum.ts"

export const QUEUE_MIGRATION = `
  ALTER TABLE runs ADD COLUMN flow TEXT;
  ALTER TABLE runs ADD COLUMN flow_group TEXT;
  ALTER TABLE runs ADD COLUMN line TEXT;
  ALTER TABLE runs ADD COLUMN score INTEGER;
  ALTER TABLE runs ADD COLUMN expires_at INTEGER;
  ALTER TABLE runs ADD COLUMN ready INTEGER NOT NULL DEFAULT 0;
  DROP INDEX runs_thread_in_flight;
  CREATE UNIQUE INDEX runs_thread_in_flight ON runs (thread)
    WHERE thread IS NOT NULL AND status IN ('queued', 'running', 'waiting', 'quarantined');
  DROP INDEX runs_over;
  CREATE INDEX runs_over ON runs (rested_at)
    WHERE pinned = 0 AND status NOT IN ('queued', 'running', 'waiting', 'quarantined');
  CREATE UNIQUE INDEX runs_group ON runs (flow_group) WHERE flow_group IS NOT NULL;
  CREATE INDEX runs_ready ON runs (coalesce(line, '"' || workflow), coalesce(score, created_at - 10000000000000), id)
    WHERE holder IS NULL AND (ready = 1 OR (wake_at IS NULL AND status IN ('queued', 'running')));
  CREATE INDEX runs_due ON runs (wake_at)
    WHERE holder IS NULL AND ready = 0 AND wake_at IS NOT NULL;
  CREATE INDEX runs_held_line ON runs (line) WHERE holder IS NOT NULL AND line IS NOT NULL;
  CREATE INDEX runs_expiring ON runs (expires_at) WHERE status = 'queued' AND expires_at IS NOT NULL;
  CREATE TABLE lane_limits (name TEXT NOT NULL PRIMARY KEY, workflow TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE lane_rates (lane TEXT NOT NULL PRIMARY KEY, paid_until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE tenants (tenant TEXT NOT NULL PRIMARY KEY, served INTEGER NOT NULL) WITHOUT ROWID;
`

/** Slots. The order of `seq` is that in which slots were asked for. `lanes` and `body` are JSON. */
export const SLOT_MIGRATION = `
  CREATE TABLE slots (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    pool TEXT NOT NULL,
    holder TEXT NOT NULL,
    line TEXT NOT NULL,
    lanes TEXT NOT NULL,
    score REAL NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,
    run_id TEXT,
    node TEXT
  );
  CREATE INDEX slots_waiting ON slots (pool, line, score, seq) WHERE taken = 0;
  CREATE INDEX slots_taken ON slots (pool, line) WHERE taken = 1;
  CREATE INDEX slots_holder ON slots (holder, pool);
  CREATE INDEX slots_run ON slots (run_id) WHERE run_id IS NOT NULL;
  CREATE TABLE slot_pools (pool TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
`

/** As the index has them, so that it is used. A run that has begun comes before all that have not: see BEGUN. */
export const LINE = `coalesce(line, '"' || workflow)`
export const SCORE = "coalesce(score, created_at - 10000000000000)"
export const IS_READY =
  "holder IS NULL AND (ready = 1 OR (wake_at IS NULL AND status IN ('queued', 'running')))"
export const BEGUN = 10_000_000_000_000

/**
 * In an UPDATE of runs that are claimed: ?1 the holder. They have begun, take no further input, and are ready only when they
 * are due again. With the sums that the triggers would otherwise add by further updates.
 */
export const CLAIMED = `holder = ?1, state_sum = ${SUM_AFTER_CLAIM}, state = ${STATE_AFTER_CLAIM}, token = token + 1, wake_at = NULL, executing = 1, ready = 0, flow_group = NULL,
  score = CASE status WHEN 'queued' THEN score - ${BEGUN} ELSE score END,
  status = CASE status WHEN 'queued' THEN 'running' ELSE status END`

/** Paused runs are in flight: they keep their thread, and are not pruned. */
export const PAUSE_MIGRATION = `
  DROP INDEX runs_thread_in_flight;
  CREATE UNIQUE INDEX runs_thread_in_flight ON runs (thread)
    WHERE thread IS NOT NULL AND status IN ('queued', 'running', 'waiting', 'paused', 'quarantined');
  DROP INDEX runs_over;
  CREATE INDEX runs_over ON runs (rested_at)
    WHERE pinned = 0 AND status NOT IN ('queued', 'running', 'waiting', 'paused', 'quarantined');
`

/**
 * The same runs as before, in comparisons: SQLite builds a table for a list of values, each time that a statement writes a
 * run, and that took a third of the statement's time.
 */
export const OVER_MIGRATION = `
  DROP INDEX runs_over;
  CREATE INDEX runs_over ON runs (rested_at)
    WHERE pinned = 0 AND status <> 'running' AND status <> 'queued' AND status <> 'waiting' AND status <> 'paused'
      AND status <> 'quarantined';
`

export const SUBSCRIPTION_MIGRATION = `
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    run_id TEXT NOT NULL,
    workflow TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
  );
  CREATE TABLE event_end (last INTEGER NOT NULL);
  INSERT INTO event_end (last) VALUES (0);
  CREATE TABLE consumers (
    consumer TEXT NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL,
    token INTEGER NOT NULL,
    holder TEXT,
    missed INTEGER NOT NULL,
    failure TEXT,
    sum INTEGER NOT NULL
  ) WITHOUT ROWID;
`

/** A value of each key that values were sealed with, to recognise the key. */
export const KEY_MIGRATION = `
  CREATE TABLE keys (id TEXT NOT NULL PRIMARY KEY, "check" TEXT NOT NULL) WITHOUT ROWID;
`

export const SCHEDULE_MIGRATION = `
  CREATE TABLE schedules (
    id TEXT NOT NULL PRIMARY KEY,
    workflow TEXT NOT NULL,
    next_at INTEGER,
    version TEXT NOT NULL,
    body TEXT NOT NULL,
    sum INTEGER NOT NULL
  );
  CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
`

export const RECORD_MIGRATION = `
  CREATE TABLE records (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    value TEXT NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
  );
`
