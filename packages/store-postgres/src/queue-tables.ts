/**
 * Queued runs in the tables. `line` is what decides whether a run may be claimed: its workflow, queue, tenant and lanes.
 * Lines, lanes and tenants are hashes (`hashOf`): names may be longer than an index takes. `ready` marks a run that nobody
 * holds and that is due, or has mail, where status and time do not say so.
 */
export const QUEUE_TABLES = `
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

/** Taken from the score of a run that has begun: it comes before all that have not. */
export const BEGUN = 10_000_000_000_000

/** In an UPDATE of a run that is claimed: it has begun, takes no further input, and is ready only when it is due again. */
export const CLAIMED = `wake_at = NULL, executing = true, ready = false, flow_group = NULL,
      score = CASE live.status WHEN 'queued' THEN live.score - ${BEGUN} ELSE live.score END,
      status = CASE live.status WHEN 'queued' THEN 'running' ELSE live.status END`
