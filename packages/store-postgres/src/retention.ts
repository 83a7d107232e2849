/**
 * Deletes runs, and reports what is stored.
 * The row of a run is deleted at once; its records and large values follow in batches, with pauses in which
 * others write. If the process dies in between, the next one that deletes something completes it.
 */
import type { Amount, PrunePolicy, StorageReport } from "@superstep/engine"
import type { Database, Statement } from "./database.ts"
import { parseName, toText, toTextOrNull } from "./names.ts"

/** Limits of one statement: larger ones take longer per row, and keep others waiting. */
const RUNS_AT_ONCE = 500
const RECORDS_AT_ONCE = 1_000
const BLOBS_AT_ONCE = 20
const MAIL_AT_ONCE = 1_000
const TENANTS_AT_ONCE = 1_000

const FIND: Statement = { text: "SELECT id FROM $.runs WHERE run_id = $1" }
const REMOVE: Statement = { text: "SELECT id, bytes FROM $.remove_runs_1($1, $2)" }
const SWEEP: Statement = {
  text: `SELECT $.sweep_1(${RUNS_AT_ONCE}, ${RECORDS_AT_ONCE}, ${BLOBS_AT_ONCE}) AS is_more`,
}
const DROP_GRAPHS: Statement = { text: "SELECT $.drop_graphs_1()" }
// Newest first: a fork goes before its past. $1 before which id, $2 a workflow or null, $3 a time or null.
const NEXT: Statement = {
  text: `SELECT r.id, r.workflow, e.updated_at FROM $.ended AS e JOIN $.runs AS r ON r.id = e.run
    WHERE e.run < $1 AND NOT r.pinned AND ($2::text IS NULL OR e.workflow = $2)
      AND ($3::float8 IS NULL OR e.updated_at < $3)
    ORDER BY e.run DESC LIMIT ${RUNS_AT_ONCE}`,
}
// A tenant without a run in flight is served first when it comes back, as one that is new.
const DROP_TENANTS: Statement = {
  text: `DELETE FROM $.tenants WHERE tenant = ANY (ARRAY(
      SELECT t.tenant FROM $.tenants AS t
      WHERE NOT EXISTS (SELECT 1 FROM $.live JOIN $.runs AS r ON r.id = live.run WHERE r.tenant = t.tenant)
      LIMIT ${TENANTS_AT_ONCE} FOR UPDATE SKIP LOCKED
    )) RETURNING 1 AS one`,
}
const DROP_MAIL: Statement = {
  text: `DELETE FROM $.mail WHERE id = ANY (ARRAY(
      SELECT m.id FROM $.mail AS m
      WHERE m.at < $1 AND NOT EXISTS (SELECT 1 FROM $.runs AS r WHERE r.run_id = m.run_id)
      LIMIT ${MAIL_AT_ONCE}
    )) RETURNING 1 AS one`,
}

/** Held from the start, so that a test framework's fake timers do not stop it. */
const later = setTimeout

export async function removeRun(database: Database, runId: string): Promise<boolean> {
  const [run] = await database.read<{ id: number }>(`Run "${runId}"`, FIND, [toText(runId)])
  if (run === undefined) return false
  const subject = `The removal of run "${runId}" was not written`
  const isGone = await database.ask({ subject, isWrite: true }, async (isRepeated) => {
    const removed = await database.query(REMOVE, [[run.id], false])
    if (removed.length > 0 || !isRepeated) return removed.length > 0
    const [still] = await database.query<{ id: number }>(FIND, [toText(runId)])
    return still?.id !== run.id
  })
  if (isGone) await cleanUp(database)
  return isGone
}

export async function prune(database: Database, policy: PrunePolicy): Promise<Amount> {
  const sum = { count: 0, bytes: 0 }
  for await (const ids of candidates(database, policy)) {
    if (ids.length === 0) continue
    const removed = await database.write<{ bytes: number }>("The removal of runs", REMOVE, [ids, true])
    for (const { bytes } of removed) {
      sum.count += 1
      sum.bytes += bytes
    }
    if (removed.length > 0) await repeat(database, SWEEP)
  }
  const { mailBefore = policy.endedBefore } = policy
  if (mailBefore !== undefined)
    await repeatWhileFull(database, "The removal of mail", DROP_MAIL, MAIL_AT_ONCE, [mailBefore])
  await repeatWhileFull(database, "The removal of tenants", DROP_TENANTS, TENANTS_AT_ONCE)
  if (sum.count > 0) await cleanUp(database)
  return sum
}

async function cleanUp(database: Database): Promise<void> {
  await repeat(database, SWEEP)
  await database.write("The removal of graphs", DROP_GRAPHS)
}

/** Short statements one after another, with pauses of the same length for others. */
async function repeat(database: Database, statement: Statement): Promise<void> {
  for (;;) {
    const began = performance.now()
    const [row] = await database.write<{ is_more: boolean }>("The removal of runs", statement)
    if (row?.is_more !== true) return
    await pause(performance.now() - began)
  }
}

/** The same for a statement that removes so many rows at most. */
async function repeatWhileFull(
  database: Database,
  subject: string,
  statement: Statement,
  most: number,
  values: readonly unknown[] = [],
): Promise<void> {
  for (;;) {
    const began = performance.now()
    const removed = await database.write(subject, statement, values)
    if (removed.length < most) return
    await pause(performance.now() - began)
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resume) => later(resume, Math.ceil(milliseconds)))
}

interface EndedRow {
  readonly id: number
  readonly workflow: string
  readonly updated_at: number
}

/** Ids of runs to delete, in batches, newest first. */
async function* candidates(database: Database, policy: PrunePolicy): AsyncGenerator<readonly number[]> {
  const { workflow, keep, endedBefore } = policy
  if (keep === undefined && endedBefore === undefined) return
  const name = toTextOrNull(workflow)
  const subject = "The list of runs that may go"
  const seen = new Map<string, number>()
  const goes = (run: EndedRow) => {
    if (keep === undefined) return true
    const newer = seen.get(run.workflow) ?? 0
    seen.set(run.workflow, newer + 1)
    return newer >= keep || (endedBefore !== undefined && run.updated_at < endedBefore)
  }
  for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
    const time = keep === undefined ? endedBefore : null
    const rows: EndedRow[] = await database.read<EndedRow>(subject, NEXT, [before, name, time])
    yield rows.filter(goes).map(({ id }) => id)
    before = rows.at(-1)?.id
  }
}

const amount = (count: string, bytes: string) =>
  `json_build_object('count', coalesce(${count}, 0), 'bytes', coalesce(${bytes}, 0))`

/** One statement, so that its figures are of one moment. */
const REPORT: Statement = {
  text: `
    WITH states AS (
      SELECT run, workflow, status, head, bytes, blob_bytes FROM $.live
      UNION ALL SELECT run, workflow, status, head, bytes, blob_bytes FROM $.ended
    ), workflows AS (
      SELECT s.workflow, s.status, count(*) AS runs, sum(s.head - r.fork_seq) AS records,
        sum(s.bytes - s.blob_bytes) AS journal, sum(s.bytes + coalesce(snapshots.bytes, 0)) AS bytes
      FROM states AS s JOIN $.runs AS r ON r.id = s.run LEFT JOIN $.snapshots ON snapshots.run = s.run
      GROUP BY s.workflow, s.status
    )
    SELECT
      (SELECT json_object_agg(status, runs) FROM (
        SELECT status, sum(runs) AS runs FROM workflows GROUP BY status) AS s) AS runs,
      (SELECT ${amount("sum(records)", "sum(journal)")} FROM workflows) AS journal,
      (SELECT ${amount("count(*)", "sum(octet_length(body))")} FROM $.snapshots) AS snapshots,
      (SELECT ${amount("count(*)", "sum(octet_length(body))")} FROM $.blobs) AS blobs,
      (SELECT ${amount("count(*)", "sum(bytes)")} FROM $.threads) AS threads,
      (SELECT json_agg(w ORDER BY w.bytes DESC) FROM (
        SELECT workflow, sum(runs) AS runs, sum(bytes) AS bytes FROM workflows GROUP BY workflow) AS w) AS workflows,
      (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = to_regnamespace($1) AND relkind = 'r') AS disk`,
}

interface ReportRow {
  readonly runs: StorageReport["runs"] | null
  readonly journal: Amount
  readonly snapshots: Amount
  readonly blobs: Amount
  readonly threads: Amount
  readonly workflows: StorageReport["workflows"] | null
  readonly disk: number
}

export async function report(database: Database): Promise<StorageReport> {
  const values = [`"${database.target.schema}"`]
  const [row] = (await database.read<ReportRow>("The size of the store", REPORT, values)) as [ReportRow]
  const { runs, workflows, disk, ...amounts } = row
  return {
    runs: runs ?? {},
    ...amounts,
    workflows: (workflows ?? []).map((one) => ({ ...one, workflow: parseName(one.workflow) })),
    // What is free within the server's files is used again, and not counted by it.
    disk: { bytes: disk, free: 0 },
  }
}

/**
 * Functions that delete in batches. What a row depends on is checked after the row is locked, in a later statement: only a
 * later statement sees what was written while this one waited for the lock.
 */
export const RETENTION_FUNCTIONS = `
-- Removes the runs that have ended, are no other run's past and, if "p_unpinned", are not pinned. Records are removed later.
CREATE FUNCTION $.remove_runs_1(p_ids bigint[], p_unpinned boolean)
RETURNS TABLE (id bigint, bytes bigint)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  gone bigint[];
BEGIN
  PERFORM 1 FROM $.runs AS r WHERE r.id = ANY (p_ids) ORDER BY r.id FOR UPDATE;
  SELECT array_agg(r.id) INTO gone FROM $.runs AS r
  JOIN $.ended ON ended.run = r.id
  WHERE r.id = ANY (p_ids) AND NOT (p_unpinned AND r.pinned)
    AND NOT EXISTS (SELECT 1 FROM $.runs AS fork WHERE fork.fork_run = r.id AND fork.id <> ALL (p_ids));
  -- A fork that goes with its past goes first; one that stays keeps it.
  LOOP
    EXIT WHEN gone IS NULL;
    EXIT WHEN NOT EXISTS (
      SELECT 1 FROM $.runs AS fork WHERE fork.fork_run = ANY (gone) AND fork.id <> ALL (gone)
    );
    SELECT array_agg(one) INTO gone FROM unnest(gone) AS one
    WHERE NOT EXISTS (SELECT 1 FROM $.runs AS fork WHERE fork.fork_run = one AND fork.id <> ALL (gone));
  END LOOP;
  IF gone IS NULL THEN RETURN; END IF;
  RETURN QUERY SELECT e.run, e.bytes + coalesce(s.bytes, 0)
    FROM $.ended AS e LEFT JOIN $.snapshots AS s ON s.run = e.run WHERE e.run = ANY (gone);
  DELETE FROM $.mail USING $.runs AS r
    WHERE r.id = ANY (gone) AND mail.run_id = r.run_id AND mail.outcome IS NULL;
  DELETE FROM $.requests WHERE run = ANY (gone);
  DELETE FROM $.snapshots WHERE run = ANY (gone);
  DELETE FROM $.run_labels WHERE run = ANY (gone);
  DELETE FROM $.graph_uses WHERE run = ANY (gone);
  DELETE FROM $.ended WHERE run = ANY (gone);
  DELETE FROM $.runs AS r WHERE r.id = ANY (gone);
  INSERT INTO $.removed_runs (run) SELECT unnest(gone);
END
$function$;

-- Removes some records and large values of runs that are gone; false when there are no more, or another process removes them.
CREATE FUNCTION $.sweep_1(p_runs int, p_records int, p_blobs int) RETURNS boolean
LANGUAGE plpgsql AS $function$
DECLARE
  gone bigint[];
  used bigint[];
  records int;
  uses int;
BEGIN
  SELECT array_agg(one.run) INTO gone
  FROM (SELECT run FROM $.removed_runs ORDER BY run LIMIT p_runs FOR UPDATE SKIP LOCKED) AS one;
  IF gone IS NULL THEN RETURN false; END IF;
  DELETE FROM $.journal WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM $.journal WHERE run = ANY (gone) LIMIT p_records
  ));
  GET DIAGNOSTICS records = ROW_COUNT;
  WITH dropped AS (
    DELETE FROM $.blob_uses WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM $.blob_uses WHERE run = ANY (gone) LIMIT p_blobs
    )) RETURNING blob
  )
  SELECT array_agg(DISTINCT blob), count(*) INTO used, uses FROM dropped;
  PERFORM $.drop_blobs_1(used);
  IF records = p_records OR uses = p_blobs THEN RETURN true; END IF;
  DELETE FROM $.removed_runs WHERE run = ANY (gone);
  RETURN cardinality(gone) = p_runs;
END
$function$;

-- Removes those of the large values that nothing uses.
CREATE FUNCTION $.drop_blobs_1(p_blobs bigint[]) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  IF p_blobs IS NULL THEN RETURN; END IF;
  PERFORM 1 FROM $.blobs WHERE id = ANY (p_blobs) ORDER BY id FOR UPDATE;
  DELETE FROM $.blobs WHERE id = ANY (p_blobs)
    AND NOT EXISTS (SELECT 1 FROM $.blob_uses WHERE blob_uses.blob = blobs.id);
END
$function$;

-- Removes graphs that no run brought or names.
CREATE FUNCTION $.drop_graphs_1() RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  unused text[];
BEGIN
  SELECT array_agg(hash) INTO unused FROM $.graphs
  WHERE NOT EXISTS (SELECT 1 FROM $.graph_uses AS u WHERE u.hash = graphs.hash)
    AND NOT EXISTS (SELECT 1 FROM $.runs AS r WHERE r.graph = graphs.hash);
  IF unused IS NULL THEN RETURN; END IF;
  -- Waits for runs that are being created, and blocks new ones meanwhile.
  LOCK TABLE $.graphs IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM $.graphs WHERE hash = ANY (unused)
    AND NOT EXISTS (SELECT 1 FROM $.graph_uses AS u WHERE u.hash = graphs.hash)
    AND NOT EXISTS (SELECT 1 FROM $.runs AS r WHERE r.graph = graphs.hash);
END
$function$;

-- Replaces the snapshot of a run by a later one. No row: the token is no longer the run's.
CREATE FUNCTION $.save_snapshot_1(
  p_run text, p_token bigint, p_seq int, p_bytes bigint, p_body text, p_places text, b_hash text[], b_body text[]
) RETURNS TABLE (bytes bigint, journal bigint)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  id bigint;
  size bigint;
  before record;
  used bigint[];
BEGIN
  SELECT r.id, coalesce(live.bytes, ended.bytes) INTO id, size
  FROM $.runs AS r LEFT JOIN $.live ON live.run = r.id LEFT JOIN $.ended ON ended.run = r.id
  WHERE r.run_id = p_run AND coalesce(live.token, ended.token) = p_token FOR KEY SHARE OF r;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT s.seq, s.bytes INTO before FROM $.snapshots AS s WHERE s.run = id FOR UPDATE;
  IF FOUND AND before.seq >= p_seq THEN
    RETURN QUERY SELECT before.bytes, size;
    RETURN;
  END IF;
  INSERT INTO $.snapshots (run, seq, bytes, body, places) VALUES (id, p_seq, p_bytes, p_body, p_places)
  ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, bytes = excluded.bytes, body = excluded.body, places = excluded.places;
  IF cardinality(b_hash) > 0 THEN
    PERFORM $.keep_blobs_1(ARRAY[id], array_fill(1, ARRAY[cardinality(b_hash)]),
      array_fill(-p_seq, ARRAY[cardinality(b_hash)]), b_hash, b_body);
  END IF;
  WITH dropped AS (DELETE FROM $.blob_uses WHERE run = id AND place < 0 AND place <> -p_seq RETURNING blob)
  SELECT array_agg(DISTINCT blob) INTO used FROM dropped;
  PERFORM $.drop_blobs_1(used);
  RETURN QUERY SELECT p_bytes, size;
END
$function$;
`
