/**
 * The tables of a new file. The migrations of schema.ts make the same ones, by changing what they have made before, which takes
 * more than twice as long: a test compares the two. What each column and index is for is described there.
 */
import { ROW_CHECKS, ROW_CHECKS_6 } from "./checksum.ts"
import {
  KEY_MIGRATION,
  RECORD_MIGRATION,
  SCHEDULE_MIGRATION,
  SLOT_MIGRATION,
  SUBSCRIPTION_MIGRATION,
} from "./fleet-schema.ts"
import { SEARCH_TABLES } from "./search-schema.ts"

const RUNS = `
  CREATE TABLE runs (
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
    rested_at INTEGER NOT NULL,
    labels TEXT,
    executing INTEGER NOT NULL DEFAULT 1,
    blamed INTEGER NOT NULL DEFAULT 0,
    trials INTEGER NOT NULL DEFAULT 0,
    died_with TEXT,
    status_before TEXT,
    sum INTEGER,
    state_sum INTEGER,
    state TEXT,
    error TEXT,
    error_sum INTEGER,
    flow TEXT,
    flow_group TEXT,
    line TEXT,
    score INTEGER,
    expires_at INTEGER,
    ready INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX runs_run_id ON runs (run_id, id);
  CREATE UNIQUE INDEX runs_key ON runs (key) WHERE key IS NOT NULL;
  CREATE UNIQUE INDEX runs_thread_in_flight ON runs (thread)
    WHERE thread IS NOT NULL AND status IN ('queued', 'running', 'waiting', 'paused', 'quarantined');
  CREATE INDEX runs_thread ON runs (thread) WHERE thread IS NOT NULL;
  CREATE INDEX runs_workflow ON runs (workflow, status);
  CREATE INDEX runs_status ON runs (status);
  CREATE INDEX runs_fork ON runs (fork_run) WHERE fork_run IS NOT NULL;
  CREATE INDEX runs_holder ON runs (holder) WHERE holder IS NOT NULL;
  CREATE INDEX runs_left ON runs (workflow, rested_at)
    WHERE holder IS NULL AND status = 'running' AND wake_at IS NULL;
  CREATE INDEX runs_asleep ON runs (workflow, wake_at) WHERE holder IS NULL AND wake_at IS NOT NULL;
  CREATE INDEX runs_over ON runs (rested_at)
    WHERE pinned = 0 AND status <> 'running' AND status <> 'queued' AND status <> 'waiting' AND status <> 'paused'
      AND status <> 'quarantined';
  CREATE INDEX runs_died_with ON runs (died_with) WHERE died_with IS NOT NULL;
  CREATE UNIQUE INDEX runs_group ON runs (flow_group) WHERE flow_group IS NOT NULL;
  CREATE INDEX runs_ready ON runs (coalesce(line, '"' || workflow), coalesce(score, created_at - 10000000000000), id)
    WHERE holder IS NULL AND (ready = 1 OR (wake_at IS NULL AND status IN ('queued', 'running')));
  CREATE INDEX runs_due ON runs (wake_at)
    WHERE holder IS NULL AND ready = 0 AND wake_at IS NOT NULL;
  CREATE INDEX runs_held_line ON runs (line) WHERE holder IS NOT NULL AND line IS NOT NULL;
  CREATE INDEX runs_expiring ON runs (expires_at) WHERE status = 'queued' AND expires_at IS NOT NULL;
  CREATE TABLE removed_runs (run INTEGER PRIMARY KEY);
  CREATE TABLE lane_limits (name TEXT NOT NULL PRIMARY KEY, workflow TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE lane_rates (lane TEXT NOT NULL PRIMARY KEY, paid_until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE tenants (tenant TEXT NOT NULL PRIMARY KEY, served INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE holders (
    id TEXT NOT NULL PRIMARY KEY,
    machine TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born TEXT NOT NULL,
    beat INTEGER NOT NULL,
    taken INTEGER NOT NULL
  );
`

const JOURNALS = `
  CREATE TABLE journal (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    frame TEXT NOT NULL,
    events INTEGER NOT NULL,
    body TEXT NOT NULL,
    blobs TEXT,
    sum INTEGER,
    at INTEGER,
    bytes INTEGER,
    end_sum INTEGER,
    PRIMARY KEY (run, seq)
  );
  CREATE TABLE snapshots (
    run INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    blobs TEXT,
    body TEXT NOT NULL,
    sum INTEGER
  );
  CREATE TABLE blobs (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
  CREATE TABLE blob_uses (blob INTEGER NOT NULL, run INTEGER NOT NULL, place INTEGER NOT NULL);
  CREATE INDEX blob_uses_run ON blob_uses (run, place);
  CREATE INDEX blob_uses_blob ON blob_uses (blob);
  CREATE TABLE graphs (hash TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL, sum INTEGER, counted INTEGER);
  CREATE TABLE graph_uses (hash TEXT NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (hash, run)) WITHOUT ROWID;
  CREATE INDEX graph_uses_run ON graph_uses (run);
  CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    thread TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  );
  CREATE INDEX threads_thread ON threads (thread, id);
  CREATE TABLE thread_writes (
    thread INTEGER NOT NULL,
    version INTEGER NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    sum INTEGER,
    PRIMARY KEY (thread, version)
  );
`

const MESSAGES = `
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
    sum INTEGER,
    state TEXT,
    UNIQUE (run, request_id)
  );
  CREATE INDEX requests_outcome ON requests (outcome);
  CREATE INDEX requests_workflow ON requests (workflow, outcome);
  CREATE INDEX requests_recipient ON requests (recipient, outcome) WHERE recipient IS NOT NULL;
  CREATE TABLE mail (
    id INTEGER PRIMARY KEY,
    mail_id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    wish TEXT NOT NULL,
    outcome TEXT,
    sum INTEGER,
    outcome_sum INTEGER
  );
  CREATE INDEX mail_open ON mail (run_id) WHERE outcome IS NULL;
`

const DEFINITIONS = `
  CREATE TABLE agents (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    prompt TEXT,
    model TEXT,
    tools TEXT,
    config TEXT,
    position INTEGER NOT NULL,
    sum INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT,
    isConversational INTEGER NOT NULL,
    entrypointNodeId TEXT NOT NULL,
    config TEXT,
    position INTEGER NOT NULL,
    sum INTEGER,
    nodes INTEGER,
    edges INTEGER
  ) WITHOUT ROWID;
  CREATE TABLE workflow_nodes (
    id TEXT NOT NULL,
    workflowId TEXT NOT NULL,
    nodeType TEXT NOT NULL,
    nodeName TEXT NOT NULL,
    agentId TEXT,
    config TEXT,
    position INTEGER NOT NULL,
    sum INTEGER,
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
    sum INTEGER,
    PRIMARY KEY (workflowId, id)
  ) WITHOUT ROWID;
`

export const NEW_TABLES = [
  "CREATE TABLE meta (version INTEGER NOT NULL); INSERT INTO meta (version) VALUES (0);",
  RUNS,
  JOURNALS,
  MESSAGES,
  DEFINITIONS,
  ROW_CHECKS,
  ROW_CHECKS_6,
  SEARCH_TABLES,
  SUBSCRIPTION_MIGRATION,
  KEY_MIGRATION,
  SLOT_MIGRATION,
  SCHEDULE_MIGRATION,
  RECORD_MIGRATION,
].join("")
