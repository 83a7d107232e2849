/**
 * The tables, by version of the schema. `$` stands for the name of the schema.
 *
 * `runs` has what never changes about a run. Its state is in `live` while the run is in flight, and in `ended` afterwards. So
 * the table that every append changes is small, has few indexes, and none of them has a column that a plain
 * append changes (such updates are HOT); a million finished runs do not slow it down, and no row of theirs was ever updated.
 *
 * Names (ids, workflows, keys …) are stored as `toStoredName` writes them, and compared byte by byte ("C"). Bodies are JSON
 * as text: `jsonb` refuses what JSON allows, and reorders keys. Times are milliseconds, with a fraction if they have one.
 */

/** What `live` has while a run is in flight, and `ended` once it has ended. */
const STATE = `
  run bigint PRIMARY KEY,
  workflow text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  head int NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,
  blob_bytes bigint NOT NULL DEFAULT 0,
  token bigint NOT NULL,
  executing boolean NOT NULL DEFAULT true,
  takeovers int NOT NULL DEFAULT 0,
  blamed boolean NOT NULL DEFAULT false,
  trials int NOT NULL DEFAULT 0,
  updated_at float8 NOT NULL,
  error text`

/** The names of these columns, except the first three. */
export const STATE_COLUMNS =
  "head, bytes, blob_bytes, token, executing, takeovers, blamed, trials, updated_at"

/**
 * Queued runs in the tables. `line` is what decides whether a run may be claimed: its workflow, queue, tenant and lanes.
 * Lines, lanes and tenants are hashes (`hashOf`): names may be longer than an index takes. `ready` marks a run that nobody
 * holds and that is due, or has mail, where status and time do not say so.
 */
const QUEUE_TABLES = `
CREATE TABLE $.lane_limits (
  name text COLLATE "C" PRIMARY KEY,
  workflow text COLLATE "C" NOT NULL,
  max float8,
  every float8,
  burst float8
);
-- Until when the starts of a lane are paid for.
CREATE TABLE $.lane_rates (
  lane uuid PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  paid_until float8 NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX lane_rates_name ON $.lane_rates (name);
-- "served" is a number of "turns".
CREATE SEQUENCE $.turns;
CREATE TABLE $.tenants (tenant uuid PRIMARY KEY, served bigint NOT NULL) WITH (fillfactor = 50);
`

/** As the index has it, so that it is used. */
export const IS_READY =
  "live.holder IS NULL AND (live.ready OR live.wake_at IS NULL AND live.status IN ('queued', 'running'))"

export const TABLES = `
CREATE TABLE $.runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  graph text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  thread text COLLATE "C",
  labels text,
  -- What it was queued with, as JSON, and what is made of it: see the tables of queues.
  flow text,
  queue text COLLATE "C" NOT NULL,
  line uuid NOT NULL,
  tenant uuid NOT NULL,
  lanes uuid[],
  limits text[] COLLATE "C",
  score float8 NOT NULL,
  fork_run bigint,
  fork_seq int NOT NULL DEFAULT 0,
  pinned boolean NOT NULL DEFAULT false,
  created_at float8 NOT NULL
);
CREATE UNIQUE INDEX runs_run_id ON $.runs (run_id);
CREATE UNIQUE INDEX runs_key ON $.runs (key) WHERE key IS NOT NULL;
CREATE INDEX runs_thread ON $.runs (thread, id) WHERE thread IS NOT NULL;
CREATE INDEX runs_workflow ON $.runs (workflow, id);
CREATE INDEX runs_graph ON $.runs (graph);
CREATE INDEX runs_fork ON $.runs (fork_run) WHERE fork_run IS NOT NULL;

CREATE TABLE $.live (${STATE},
  run_id text COLLATE "C" NOT NULL,
  thread text COLLATE "C",
  status_before text COLLATE "C",
  holder text COLLATE "C",
  wake_at float8,
  died_with text COLLATE "C",
  -- "updated_at" as it was when the run was released: no index has what every append changes.
  rested_at float8 NOT NULL,
  line uuid NOT NULL,
  lanes uuid[],
  score float8 NOT NULL,
  ready boolean NOT NULL DEFAULT false,
  expires_at float8,
  flow_group text COLLATE "C",
  -- What claimed it, and what replaced its records.
  claim uuid,
  amendment uuid
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX live_run_id ON $.live (run_id);
CREATE UNIQUE INDEX live_thread ON $.live (thread) WHERE thread IS NOT NULL;
CREATE INDEX live_status ON $.live (status, run);
CREATE INDEX live_workflow ON $.live (workflow, status, run);
CREATE INDEX live_holder ON $.live (holder) WHERE holder IS NOT NULL;
CREATE INDEX live_died_with ON $.live (died_with) WHERE died_with IS NOT NULL;
CREATE INDEX live_left ON $.live (workflow, rested_at, run)
  WHERE holder IS NULL AND status = 'running' AND wake_at IS NULL;
CREATE INDEX live_asleep ON $.live (workflow, wake_at) WHERE holder IS NULL AND wake_at IS NOT NULL;
CREATE UNIQUE INDEX live_group ON $.live (flow_group) WHERE flow_group IS NOT NULL;
CREATE INDEX live_ready ON $.live (line, score, run) WHERE ${IS_READY.replaceAll("live.", "")};
CREATE INDEX live_due ON $.live (wake_at) WHERE holder IS NULL AND NOT ready AND wake_at IS NOT NULL;
CREATE INDEX live_limited ON $.live (run) WHERE holder IS NOT NULL AND lanes IS NOT NULL;
CREATE INDEX live_expiring ON $.live (expires_at) WHERE status = 'queued' AND expires_at IS NOT NULL;

CREATE TABLE $.ended (${STATE}
);
CREATE INDEX ended_status ON $.ended (status, run);
CREATE INDEX ended_workflow ON $.ended (workflow, status, run);
CREATE INDEX ended_at ON $.ended (updated_at);

-- "label" is 128 bits of the SHA-256 of a name and a value: either may be longer than an index takes.
CREATE TABLE $.run_labels (label uuid, run bigint, PRIMARY KEY (label, run));
CREATE INDEX run_labels_run ON $.run_labels (run);

CREATE TABLE $.journal (
  run bigint,
  seq int,
  events bigint NOT NULL,
  frame text COLLATE "C" NOT NULL,
  body text NOT NULL,
  places text,
  PRIMARY KEY (run, seq)
);
CREATE TABLE $.snapshots (
  run bigint PRIMARY KEY,
  seq int NOT NULL,
  bytes bigint NOT NULL,
  body text NOT NULL,
  places text
);
CREATE TABLE $.blobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash text COLLATE "C" NOT NULL UNIQUE,
  body text NOT NULL
);
-- "place" is a record's number, or a snapshot's, negated.
CREATE TABLE $.blob_uses (run bigint, place int, blob bigint, PRIMARY KEY (run, place, blob));
CREATE INDEX blob_uses_blob ON $.blob_uses (blob);
CREATE TABLE $.graphs (hash text COLLATE "C" PRIMARY KEY, body text NOT NULL);
-- Graphs that a run brought, except the one that its row names.
CREATE TABLE $.graph_uses (run bigint, hash text COLLATE "C", PRIMARY KEY (run, hash));
CREATE INDEX graph_uses_hash ON $.graph_uses (hash);

CREATE TABLE $.requests (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run bigint NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  recipient text COLLATE "C",
  outcome text COLLATE "C" NOT NULL,
  closed_at float8,
  closed_by text,
  body text NOT NULL,
  UNIQUE (run, request_id)
) WITH (fillfactor = 85);
CREATE INDEX requests_outcome ON $.requests (outcome, id);
CREATE INDEX requests_workflow ON $.requests (workflow, outcome, id);
CREATE INDEX requests_recipient ON $.requests (recipient, outcome, id) WHERE recipient IS NOT NULL;

CREATE TABLE $.holders (
  id text COLLATE "C" PRIMARY KEY,
  machine text NOT NULL,
  pid bigint NOT NULL,
  born text NOT NULL,
  beat bigint NOT NULL,
  taken boolean NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE $.mail (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  mail_id text COLLATE "C" NOT NULL UNIQUE,
  run_id text COLLATE "C" NOT NULL,
  at float8 NOT NULL,
  command text NOT NULL,
  outcome text
);
CREATE INDEX mail_open ON $.mail (run_id) WHERE outcome IS NULL;
CREATE INDEX mail_at ON $.mail (at);

CREATE TABLE $.threads (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thread text COLLATE "C" NOT NULL UNIQUE,
  version int NOT NULL,
  bytes bigint NOT NULL
) WITH (fillfactor = 85);
CREATE TABLE $.thread_writes (
  thread bigint,
  version int,
  key text NOT NULL,
  kind text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (thread, version)
);

${QUEUE_TABLES}
-- Runs that are gone, whose records are not yet.
CREATE TABLE $.removed_runs (run bigint PRIMARY KEY);

-- Live events that are too large for a notification.
CREATE UNLOGGED TABLE $.live_values (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  body text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- Definitions: the columns have the names of the fields of users' documents.
CREATE TABLE $.registry (revision bigint NOT NULL);
INSERT INTO $.registry (revision) VALUES (0);
CREATE TABLE $.agents (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  description text,
  prompt text,
  model text,
  tools text,
  config text,
  position bigint GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE $.workflows (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  description text,
  "isConversational" boolean NOT NULL,
  "entrypointNodeId" text NOT NULL,
  config text,
  position bigint GENERATED ALWAYS AS IDENTITY
);
CREATE TABLE $.workflow_nodes (
  id text COLLATE "C" NOT NULL,
  "workflowId" text COLLATE "C" NOT NULL,
  "nodeType" text NOT NULL,
  "nodeName" text NOT NULL,
  "agentId" text,
  config text,
  position int NOT NULL,
  PRIMARY KEY ("workflowId", id)
);
CREATE TABLE $.workflow_edges (
  id text COLLATE "C" NOT NULL,
  "workflowId" text COLLATE "C" NOT NULL,
  "sourceNodeId" text NOT NULL,
  "targetNodeId" text,
  "conditionType" text NOT NULL,
  "conditionValue" text,
  config text,
  position int NOT NULL,
  PRIMARY KEY ("workflowId", id)
);
`

/** Taken from the score of a run that has begun: it comes before all that have not. */
export const BEGUN = 10_000_000_000_000

/** In an UPDATE of a run that is claimed: it has begun, takes no further input, and is ready only when it is due again. */
export const CLAIMED = `wake_at = NULL, executing = true, ready = false, flow_group = NULL,
      score = CASE live.status WHEN 'queued' THEN live.score - ${BEGUN} ELSE live.score END,
      status = CASE live.status WHEN 'queued' THEN 'running' ELSE live.status END`
