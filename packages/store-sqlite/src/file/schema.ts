/**
 * What a file holds, by version. A file is brought up to date when it is opened, in one transaction; one that
 * was written by a later version of this package, or by another program, is left as it is.
 *
 * Names (ids, workflows, frames, keys, holders …) are stored as columns.ts describes. Bodies are JSON; `blobs` beside a
 * body lists what was taken out of it, and where (blobs.ts). Rows of definitions have plain strings: people write them.
 */
import type { SuperstepError } from "@superstep/engine"
import { ROW_CHECKS, ROW_CHECKS_6 } from "./checksum.ts"
import { type JsonBytes, jsonBytes } from "./columns.ts"
import { type Database, preparedLater } from "./driver.ts"
import { isBusy, outdated, tablesDamaged, unusable } from "./errors.ts"
import {
  KEY_MIGRATION,
  OVER_MIGRATION,
  PAUSE_MIGRATION,
  QUEUE_MIGRATION,
  RECORD_MIGRATION,
  SCHEDULE_MIGRATION,
  SLOT_MIGRATION,
  SUBSCRIPTION_MIGRATION,
} from "./fleet-schema.ts"
import { NEW_TABLES } from "./new-schema.ts"
import { addSearchTables } from "./search-schema.ts"

/** The step at N takes a file of version N + 1 to version N + 2; released ones never change. New files: new-schema.ts. */
const MIGRATIONS: readonly (string | ((database: Database) => void))[] = [
  // Runs had no more than a journal: each counts as one that was left while it ran, and is claimed again.
  // Their ids are never given again, as what is left of a removed run goes by its id, and later.
  // `rested_at` is `updated_at` as it was when the run was let go of, or ended: no index has what every append changes.
  `
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
  `,
  // Definitions: the columns of a row are named as the fields of the documents that they come from.
  `
  ALTER TABLE runs ADD COLUMN labels TEXT;

  CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    prompt TEXT,
    model TEXT,
    tools TEXT,
    config TEXT,
    position INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    isConversational INTEGER NOT NULL,
    entrypointNodeId TEXT NOT NULL,
    config TEXT,
    position INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE workflow_nodes (
    id TEXT NOT NULL,
    workflowId TEXT NOT NULL,
    nodeType TEXT NOT NULL,
    nodeName TEXT NOT NULL,
    agentId TEXT,
    config TEXT,
    position INTEGER NOT NULL,
    PRIMARY KEY (workflowId, id)
  ) WITHOUT ROWID;
  CREATE TABLE workflow_edges (
    id TEXT NOT NULL,
    workflowId TEXT NOT NULL,
    sourceNodeId TEXT NOT NULL,
    targetNodeId TEXT,
    conditionType TEXT NOT NULL,
    conditionValue TEXT,
    config TEXT,
    position INTEGER NOT NULL,
    PRIMARY KEY (workflowId, id)
  ) WITHOUT ROWID;
  `,
  // Who lives is a matter of process ids and heartbeats, not of clocks; a run says whether it executes anything, and a
  // run that keeps killing its process is parked. Holders of an older version hold nothing any more.
  `
  ALTER TABLE runs ADD COLUMN executing INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE runs ADD COLUMN blamed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN trials INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN died_with TEXT;
  ALTER TABLE runs ADD COLUMN status_before TEXT;
  CREATE INDEX runs_died_with ON runs (died_with) WHERE died_with IS NOT NULL;
  DROP INDEX runs_thread_in_flight;
  CREATE UNIQUE INDEX runs_thread_in_flight ON runs (thread)
    WHERE thread IS NOT NULL AND status IN ('running', 'waiting', 'quarantined');
  DROP INDEX runs_over;
  CREATE INDEX runs_over ON runs (rested_at)
    WHERE pinned = 0 AND status NOT IN ('running', 'waiting', 'quarantined');
  DROP TABLE dismissed_holders;
  DROP TABLE holders;
  CREATE TABLE holders (
    id TEXT NOT NULL PRIMARY KEY,
    machine TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born TEXT NOT NULL,
    beat INTEGER NOT NULL,
    taken INTEGER NOT NULL
  );

  -- Checksums, null for what was written before (checksum.ts, row-checks.ts). The second indexes tell a name that is not
  -- there from one that damage hides in the first.
  ALTER TABLE journal ADD COLUMN sum INTEGER;
  ALTER TABLE snapshots ADD COLUMN sum INTEGER;
  ALTER TABLE graphs ADD COLUMN sum INTEGER;
  ALTER TABLE thread_writes ADD COLUMN sum INTEGER;
  ALTER TABLE mail ADD COLUMN sum INTEGER;
  ALTER TABLE mail ADD COLUMN outcome_sum INTEGER;
  ALTER TABLE requests ADD COLUMN sum INTEGER;
  ALTER TABLE requests ADD COLUMN state TEXT;
  ALTER TABLE runs ADD COLUMN sum INTEGER;
  ALTER TABLE runs ADD COLUMN state_sum INTEGER;
  ALTER TABLE runs ADD COLUMN state TEXT;
  ALTER TABLE agents ADD COLUMN sum INTEGER;
  ALTER TABLE workflows ADD COLUMN sum INTEGER;
  ALTER TABLE workflow_nodes ADD COLUMN sum INTEGER;
  ALTER TABLE workflow_edges ADD COLUMN sum INTEGER;
  CREATE INDEX runs_run_id ON runs (run_id, id);
  CREATE INDEX threads_thread ON threads (thread, id);
  ${ROW_CHECKS}
  `,
  // Which runs brought which graphs, so that a graph can go with the last of them. The graphs of older files stay: to find
  // who uses them would take reading every journal. And why a run ended that did not complete; runs that ended before have it
  // in their journal only.
  `
  CREATE TABLE graph_uses (hash TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (hash, run)) WITHOUT ROWID;
  CREATE INDEX graph_uses_run ON graph_uses (run);
  ALTER TABLE graphs ADD COLUMN counted INTEGER;
  ALTER TABLE workflows ADD COLUMN nodes INTEGER;
  ALTER TABLE workflows ADD COLUMN edges INTEGER;
  ALTER TABLE runs ADD COLUMN error TEXT;
  ALTER TABLE runs ADD COLUMN error_sum INTEGER;
  `,
  // Where the journal ends with a record (journal-end.ts). Older records have none: the rows of their runs have it. And the
  // graph that the row of a run names is in `graph_uses` only if the run had another one before.
  `
  ALTER TABLE journal ADD COLUMN at INTEGER;
  ALTER TABLE journal ADD COLUMN bytes INTEGER;
  ALTER TABLE journal ADD COLUMN end_sum INTEGER;
  ${ROW_CHECKS_6}
  `,
  QUEUE_MIGRATION,
  addSearchTables,
  SUBSCRIPTION_MIGRATION,
  KEY_MIGRATION,
  SLOT_MIGRATION,
  SCHEDULE_MIGRATION,
  RECORD_MIGRATION,
  PAUSE_MIGRATION,
  OVER_MIGRATION,
]

const SCHEMA_VERSION = MIGRATIONS.length + 1

/** A condition of a statement that is to change nothing in a file of another version. */
export const IS_CURRENT = `(SELECT version FROM meta) = ${SCHEMA_VERSION}`

/** Whether the file is up to date. Throws for one of a later version, or of another program. */
export function isCurrent(database: Database, path: string): boolean {
  const version = versionOf(database, path)
  if (version > SCHEMA_VERSION) {
    throw unusable(
      path,
      `has version ${version}, but this @superstep/store-sqlite supports versions up to ${SCHEMA_VERSION}: update the package`,
    )
  }
  return version === SCHEMA_VERSION
}

/** To be called within a transaction that may write. */
export function migrate(database: Database, path: string): void {
  if (isCurrent(database, path)) return
  const version = versionOf(database, path)
  if (version === 0) database.exec(NEW_TABLES)
  else for (const step of MIGRATIONS.slice(version - 1)) apply(step, database)
  database.exec(`UPDATE meta SET version = ${SCHEMA_VERSION}`)
}

function apply(step: (typeof MIGRATIONS)[number], database: Database): void {
  if (typeof step === "string") database.exec(step)
  else step(database)
}

/**
 * Says, inside a transaction, why this process may no longer write: a newer version of the package has brought the
 * file up to date since it was opened here, and what this one would write might lack what the newer one relies on.
 */
export function outdatedCheck(database: Database, path: string): () => SuperstepError | undefined {
  // A change that finds nothing to change: by libsql it costs a third of a read. The transaction is rolled back otherwise.
  const touch = database.prepare(`UPDATE meta SET version = version WHERE version <> ${SCHEMA_VERSION}`)
  const find = database.prepare("SELECT version FROM meta")
  return () => {
    if (touch.run().changes === 0) return undefined
    const [row] = find.all() as { version: unknown }[]
    return outdated(path, row?.version, SCHEMA_VERSION)
  }
}

/**
 * Prepares statements later. One that names a table or column that the file lacks throws STORE_OUTDATED if a newer version of
 * the package has changed the tables, else STORE_CORRUPT.
 */
export function withLateStatements(database: Database, path: string): Database {
  return preparedLater(database, (error) => statementRefused(database, path, error))
}

function statementRefused(database: Database, path: string, error: unknown): unknown {
  if (isBusy(error)) return error
  try {
    const version = versionOf(database, path)
    if (version > SCHEMA_VERSION) return outdated(path, version, SCHEMA_VERSION)
  } catch {
    // The version is damaged too.
  }
  return tablesDamaged(error)
}

function versionOf(database: Database, path: string): number {
  const tables = database
    .prepare(`SELECT ${jsonBytes("name")} AS name FROM sqlite_master WHERE type = 'table'`)
    .all() as { name: JsonBytes }[]
  if (tables.length === 0) return 0
  const names = new Set(tables.map(({ name }) => new TextDecoder().decode(name)))
  if (names.has("meta") && names.has("journal")) {
    const [row] = database.prepare("SELECT CAST(version AS INTEGER) AS version FROM meta").all() as {
      version: unknown
    }[]
    if (Number.isInteger(row?.version)) return row?.version as number
  }
  throw unusable(path, "is the database of another program: choose another path")
}
