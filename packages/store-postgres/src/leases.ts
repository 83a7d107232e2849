/** Who holds which run, which runs are free, and the thread that sends heartbeats. */

import {
  type Dismissal,
  type FreeQuery,
  type Holder,
  type Idle,
  type KeepAlive,
  type KeepAliveOptions,
  type Lease,
  type RunStatus,
  type StoredHolder,
  type StoredRun,
  SUSPECT,
} from "@superstep/engine"
import { requireFrom } from "@superstep/engine/packages"
import { heartbeatThread } from "@superstep/engine/stores"
import type { ConnectionConfig } from "./address.ts"
import type { Database, Statement } from "./database.ts"
import { parseName, toText, toTexts } from "./names.ts"
import { RUN_COLUMNS, RUN_TABLES, type RunRow, toStoredRun } from "./runs.ts"
import { CLAIMED } from "./tables.ts"

/** What is reset when a run is released, or its holder turns out to be alive. */
const UNSUSPECTED = "takeovers = 0, blamed = false, died_with = NULL"

const RELEASED = "status = status_before, status_before = NULL, wake_at = 0"

/** Changes the row of a run whose lease ($1 the run's id, $2 the token) is still valid. */
function leased(name: string, change: string): Statement {
  return {
    name,
    text: `UPDATE $.live SET ${change} WHERE run_id = $1 AND token = $2 RETURNING 1 AS one`,
  }
}

const BEAT: Statement = { name: "beat", text: "SELECT $.beat_1($1, $2, $3, $4) AS is_taken" }
const HOLDERS: Statement = { text: "SELECT id, machine, pid, born, beat FROM $.holders" }
const HELD: Statement = {
  text: "SELECT run_id, token FROM $.live WHERE holder = $1",
}
const DISMISS: Statement = { text: "SELECT $.dismiss_1($1, $2, $3)" }
// A claim whose answer was lost is recognised by its holder ($4). $5: where the journal of a run that executes nothing ends.
const CLAIM: Statement = {
  name: "claim",
  text: `
    WITH found AS MATERIALIZED (
      SELECT run, token, holder FROM $.live
      WHERE run_id = $1 AND (
        token = $2 AND ($5::int IS NULL OR head = $5 AND NOT executing)
        OR $4::boolean AND token = $2 + 1 AND holder = $3
      )
      FOR NO KEY UPDATE
    ), taken AS (
      UPDATE $.holders SET taken = true FROM found WHERE holders.id = found.holder AND holders.id <> $3
    ), claimed AS (
      UPDATE $.live SET token = $2 + 1, holder = $3, ${CLAIMED}
      FROM found WHERE live.run = found.run AND found.token = $2
    )
    SELECT 1 AS one FROM found`,
}
const SET_IDLE = leased(
  "idle",
  "executing = $3, wake_at = $4, status = CASE WHEN holder IS NULL THEN status ELSE coalesce($5, status) END, ready = false",
)
const RELEASE = leased("release", "holder = NULL, wake_at = $3, ready = false, rested_at = updated_at")
const ABSOLVE = leased("absolve", `${UNSUSPECTED}, trials = trials + 1`)
const QUARANTINE: Statement = {
  text: `
    WITH parked AS (
      UPDATE $.live SET status_before = status, status = 'quarantined', holder = NULL, wake_at = NULL, ready = false,
        rested_at = updated_at
      WHERE run_id = $1 AND token = $2 AND status NOT IN ('quarantined', 'queued') RETURNING run_id, workflow
    )
    INSERT INTO $.new_events (type, run_id, workflow, at, body)
    SELECT 'run.quarantined', run_id, workflow, $3, '{}' FROM parked`,
}
const UNQUARANTINE: Statement = {
  text: `UPDATE $.live SET ${RELEASED}, ${UNSUSPECTED}, trials = 0
    WHERE run_id = $1 AND status = 'quarantined' RETURNING 1 AS one`,
}

/**
 * $1 workflows, $2 now, $3 limit, $4 whether suspects are asked for. Each part has an index that holds little else than
 * what it looks for: runs that wait for an answer and have no time to wake up are in none of them. The holders of runs are
 * found one after another along their index, however many runs each of them has.
 */
const FREE: Statement = {
  text: `
  WITH RECURSIVE
    known AS MATERIALIZED (SELECT unnest($1::text[]) AS workflow),
    holding AS (
      SELECT min(holder) AS holder FROM $.live WHERE holder IS NOT NULL
      UNION ALL
      SELECT (SELECT min(live.holder) FROM $.live WHERE live.holder > holding.holder) FROM holding
      WHERE holding.holder IS NOT NULL
    ),
    gone AS MATERIALIZED (
      SELECT holder FROM holding WHERE holder IS NOT NULL AND holder NOT IN (SELECT id FROM $.holders)
    ),
    found AS (
      SELECT f.run, f.updated_at FROM known CROSS JOIN LATERAL (
        SELECT run, updated_at FROM $.live
        WHERE workflow = known.workflow AND holder IS NULL AND status = 'running' AND wake_at IS NULL
          AND (takeovers >= ${SUSPECT}) = $4
        ORDER BY rested_at, run LIMIT $3
      ) AS f
      UNION
      SELECT live.run, live.updated_at FROM known JOIN $.live ON live.workflow = known.workflow
      WHERE live.holder IS NULL AND live.wake_at IS NOT NULL AND live.wake_at <= $2
        AND (live.takeovers >= ${SUSPECT}) = $4 AND live.status IN ('running', 'waiting')
      UNION
      SELECT live.run, live.updated_at FROM gone JOIN $.live ON live.holder = gone.holder
      WHERE live.workflow IN (SELECT workflow FROM known) AND (live.takeovers >= ${SUSPECT}) = $4
        AND live.status IN ('running', 'waiting')
      UNION
      SELECT live.run, live.updated_at
      FROM $.mail JOIN $.live ON live.run_id = mail.run_id
      WHERE mail.outcome IS NULL AND live.holder IS NULL AND live.status IN ('running', 'waiting')
        AND live.workflow IN (SELECT workflow FROM known) AND (live.takeovers >= ${SUSPECT}) = $4
    )
  SELECT ${RUN_COLUMNS}
  FROM (SELECT run, updated_at FROM found ORDER BY updated_at, run LIMIT $3) AS first
  JOIN ${RUN_TABLES.replace("AS r", "AS r ON r.id = first.run")}
  ORDER BY first.updated_at, first.run`,
}

export async function beat(database: Database, { id, machine, pid, born }: Holder): Promise<boolean> {
  const subject = `The heartbeat of "${id}" was not written`
  return database.ask({ subject, isWrite: true }, async (isRepeated) => {
    const values = [toText(id), toText(machine), pid, toText(born)]
    const [row] = await database.query<{ is_taken: boolean }>(BEAT, values)
    // The lost reply may have reported it.
    return isRepeated || row?.is_taken === true
  })
}

export async function holders(database: Database): Promise<readonly StoredHolder[]> {
  const rows = await database.read<Holder & { beat: number }>("The list of holders", HOLDERS)
  return rows.map(({ id, machine, pid, born, beat: count }) => ({
    id: parseName(id),
    machine: parseName(machine),
    pid,
    born: parseName(born),
    beat: count,
  }))
}

export async function held(database: Database, holder: string): Promise<readonly Lease[]> {
  const rows = await database.read<{ run_id: string; token: number }>(`What "${holder}" holds`, HELD, [
    toText(holder),
  ])
  return rows.map(({ run_id, token }) => ({ runId: parseName(run_id), holder, token }))
}

export async function dismiss(database: Database, holder: string, why: Dismissal): Promise<void> {
  const run = why.reason === "hung" && why.runId !== undefined ? toText(why.runId) : null
  await database.write(`The dismissal of "${holder}"`, DISMISS, [toText(holder), why.reason, run])
}

export async function free(database: Database, query: FreeQuery): Promise<readonly StoredRun[]> {
  const values = [toTexts(query.workflows), query.now, query.limit, query.suspects]
  return (await database.read<RunRow>("The list of runs", FREE, values)).map((row) =>
    toStoredRun(row, database.codec),
  )
}

export async function claim(
  database: Database,
  runId: string,
  token: number,
  holder: string,
  restsAt?: number,
): Promise<Lease | undefined> {
  const subject = `The claim to run "${runId}" was not written`
  const found = await database.ask({ subject, isWrite: true }, (isRepeated) =>
    database.query(CLAIM, [toText(runId), token, toText(holder), isRepeated, restsAt ?? null]),
  )
  return found.length === 0 ? undefined : { runId, holder, token: token + 1 }
}

export async function setIdle(
  database: Database,
  { runId, token }: Lease,
  idle: Idle | false,
  status?: RunStatus,
) {
  const wakeAt = idle === false ? null : (idle.wakeAt ?? null)
  const values = [toText(runId), token, idle === false, wakeAt, status ?? null]
  await database.write(`The row of run "${runId}"`, SET_IDLE, values)
}

export async function release(database: Database, { runId, token }: Lease, wakeAt: number | undefined) {
  await database.write(`The release of run "${runId}"`, RELEASE, [toText(runId), token, wakeAt ?? null])
}

export async function absolve(database: Database, { runId, token }: Lease) {
  await database.write(`The row of run "${runId}"`, ABSOLVE, [toText(runId), token])
}

export async function quarantine(database: Database, { runId, token }: Lease, at: number) {
  await database.write(`The quarantine of run "${runId}"`, QUARANTINE, [toText(runId), token, at])
}

export async function unquarantine(database: Database, runId: string): Promise<boolean> {
  const rows = await database.write(`The release of run "${runId}"`, UNQUARANTINE, [toText(runId)])
  return rows.length > 0
}

export function keepAlive(config: ConnectionConfig, schema: string, options: KeepAliveOptions): KeepAlive {
  return heartbeatThread(options, {
    program: PROGRAM,
    data: { pg: requireFrom(import.meta.url).resolve("pg"), config, schema: `"${schema}"` },
    // The driver reads its settings from there.
    env: Object.fromEntries(
      Object.entries(process.env).filter(([name]) => /^(?:PG|HOME$|NODE_EXTRA_CA)/.test(name)),
    ),
  })
}

const PROGRAM = `
const { pg, config, schema } = workerData
const { Client } = require(pg)
const PATIENCE = 5000
let client

async function beat(holder) {
  await ask("UPDATE " + schema + ".holders SET beat = beat + 1 WHERE id = $1", [holder])
}

async function dismiss(holder, run) {
  await ask("SELECT " + schema + ".dismiss_1($1, 'hung', $2)", [holder, run])
}

async function ask(text, values) {
  try {
    client ??= await connected()
    await client.query({ text, values })
  } catch (error) {
    close()
    throw error
  }
}

function close() {
  client?.end().catch(() => undefined)
  client = undefined
}

async function connected() {
  const made = new Client({
    ...config,
    connectionTimeoutMillis: PATIENCE,
    query_timeout: PATIENCE,
    application_name: "superstep heartbeat",
  })
  made.on("error", () => { client = undefined })
  await made.connect()
  return made
}
`

// Functions for who holds which run. A store decides nothing: its callers say that a holder is dead.

export const LEASE_FUNCTIONS = `
-- True when runs may have been taken from the holder since its last heartbeat.
CREATE FUNCTION $.beat_1(p_id text, p_machine text, p_pid bigint, p_born text) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  was_taken boolean;
BEGIN
  SELECT taken INTO was_taken FROM $.holders WHERE id = p_id FOR UPDATE;
  IF FOUND THEN
    UPDATE $.holders SET beat = beat + 1, taken = false WHERE id = p_id;
    RETURN was_taken;
  END IF;
  INSERT INTO $.holders (id, machine, pid, born, beat, taken) VALUES (p_id, p_machine, p_pid, p_born, 1, false)
  ON CONFLICT (id) DO UPDATE SET beat = holders.beat + 1;
  -- The holder is alive, so none of its runs has killed it.
  UPDATE $.live SET takeovers = greatest(takeovers - 1, 0), blamed = false, died_with = NULL,
    wake_at = CASE status WHEN 'quarantined' THEN 0 ELSE wake_at END,
    status = CASE status WHEN 'quarantined' THEN status_before ELSE status END,
    status_before = NULL
  WHERE died_with = p_id;
  RETURN true;
END
$function$;

-- Releases everything that the holder holds. "p_why" is closed, died or hung; "p_run" is the run that a hung one is stuck in.
CREATE FUNCTION $.dismiss_1(p_holder text, p_why text, p_run text) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  stuck bigint[];
  suspects bigint[];
BEGIN
  DELETE FROM $.holders WHERE id = p_holder;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM 1 FROM $.live WHERE holder = p_holder ORDER BY run_id FOR NO KEY UPDATE;
  IF p_why <> 'closed' THEN
    SELECT array_agg(live.run), array_agg(live.run) FILTER (WHERE live.takeovers >= ${SUSPECT})
    INTO stuck, suspects
    FROM $.live WHERE live.holder = p_holder AND live.executing AND (p_why = 'died' OR live.run_id = p_run);
    suspects := coalesce(suspects, stuck);
    UPDATE $.live SET takeovers = takeovers + 1, died_with = p_holder,
      blamed = cardinality(suspects) = 1 AND run = suspects[1]
    WHERE run = ANY (stuck);
  END IF;
  UPDATE $.live SET token = token + 1, holder = NULL, rested_at = updated_at,
    wake_at = CASE WHEN executing THEN 0 ELSE wake_at END
  WHERE holder = p_holder;
END
$function$;
`
