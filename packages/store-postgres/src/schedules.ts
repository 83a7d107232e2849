/** Schedules: see `ScheduleStore` in the engine. Whether one is due is decided by the server's clock, which all hosts share. */
import type {
  CreatedRun,
  DueQuery,
  DueSchedules,
  Json,
  ScheduleQuery,
  ScheduleStore,
  StoredSchedule,
} from "@superstep/engine"
import { toAppendItem } from "./append-item.ts"
import { type Refusal, toError, toValues } from "./appends.ts"
import type { Database, Statement } from "./database.ts"
import { parseName, parseSealed, toText, toTextOrNull, toTexts } from "./names.ts"
import type { Promised } from "./registry.ts"
import type { Hints } from "./signals.ts"

const COLUMNS = "s.id, s.workflow, s.next_at, s.version, s.body"
const GET: Statement = { text: `SELECT ${COLUMNS} FROM $.schedules AS s WHERE s.id = $1` }
const LIST: Statement = {
  text: `SELECT ${COLUMNS} FROM $.schedules AS s
    WHERE ($1::text IS NULL OR s.workflow = $1) AND ($2::text IS NULL OR s.id > $2) ORDER BY s.id LIMIT $3`,
}
/** One row at least, which has the time. */
const DUE: Statement = {
  name: "schedules_due",
  text: `WITH clock AS MATERIALIZED (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now)
    SELECT clock.now, due.*,
      (SELECT min(s.next_at) FROM $.schedules AS s WHERE s.next_at > clock.now AND s.workflow = ANY ($1)) AS later
    FROM clock LEFT JOIN LATERAL (
      SELECT ${COLUMNS} FROM $.schedules AS s WHERE s.next_at <= clock.now AND s.workflow = ANY ($1)
      ORDER BY s.next_at LIMIT $2
    ) AS due ON true ORDER BY due.next_at`,
}
/**
 * Schedules in the schema: what the engine keeps of one is `body`, as JSON, and `next_at` when something is to be done for it.
 * `write_schedule_5` replaces the version that was read, and creates a run in the same statement; its other arguments are
 * those of `append_2`, with one item or none.
 */
const APPENDED = [
  "i_run text[]",
  "i_token bigint[]",
  "i_head int[]",
  "i_count int[]",
  "i_bytes bigint[]",
  "i_blob_bytes bigint[]",
  "i_at float8[]",
  "i_intent boolean[]",
  "r_item int[]",
  "r_seq int[]",
  "r_events bigint[]",
  "r_frame text[]",
  "r_body text[]",
  "r_places text[]",
  "b_item int[]",
  "b_place int[]",
  "b_hash text[]",
  "b_body text[]",
  "changes jsonb",
  "is_revival boolean",
]

/** How many arguments it has. */
const WRITE_SCHEDULE_ARGUMENTS = 6 + APPENDED.length

const PLACES = Array.from({ length: WRITE_SCHEDULE_ARGUMENTS }, (_, i) => `$${i + 1}`).join(", ")
const WRITE: Statement = { text: `SELECT * FROM $.write_schedule_5(${PLACES})` }
const REMOVE: Statement = { text: "DELETE FROM $.schedules WHERE id = $1 RETURNING id" }

/** What was in the way of a run was gone a moment later. */
const MAX_AGAIN = 20

interface ScheduleRow {
  readonly id: string
  readonly workflow: string
  readonly next_at: number | null
  readonly version: string
  readonly body: string
}

interface DueRow extends Partial<ScheduleRow> {
  readonly now: number
  readonly later: number | null
}

type Outcome = Omit<Refusal, "reason"> & { readonly reason: Refusal["reason"] | "written" | "changed" }

export function schedulesOn(database: Database, hints: Hints): Promised<ScheduleStore> {
  return {
    async get(id) {
      const [row] = await database.read<ScheduleRow>(`Schedule "${id}"`, GET, [toText(id)])
      return row && toSchedule(database, row)
    },
    list: (query) => list(database, query),
    due: (query) => due(database, query),
    async write(schedule, before, run) {
      const isWritten = await write(database, schedule, before, run)
      if (isWritten) hints.toAll()
      return isWritten
    },
    async remove(id) {
      const subject = `The removal of schedule "${id}" was not written`
      return await database.ask({ subject, isWrite: true }, async (isRepeated) => {
        const removed = await database.query(REMOVE, [toText(id)])
        return isRepeated || removed.length > 0
      })
    },
  }
}

async function list(
  database: Database,
  { workflow, after, limit }: ScheduleQuery,
): Promise<readonly StoredSchedule[]> {
  const values = [toTextOrNull(workflow), toTextOrNull(after), limit ?? null]
  return (await database.read<ScheduleRow>("The list of schedules", LIST, values)).map((row) =>
    toSchedule(database, row),
  )
}

async function due(database: Database, { workflows, limit }: DueQuery): Promise<DueSchedules> {
  const rows = await database.read<DueRow>("The list of schedules", DUE, [toTexts(workflows), limit])
  const [{ now, later }] = rows as [DueRow]
  const schedules = rows.flatMap((row) => (row.id == null ? [] : [toSchedule(database, row as ScheduleRow)]))
  return { now, schedules, ...(later === null ? {} : { nextAt: later }) }
}

async function write(
  database: Database,
  { id, workflow, nextAt, version, body }: StoredSchedule,
  before: string | undefined,
  run: CreatedRun | undefined,
): Promise<boolean> {
  const item = run && toAppendItem(run.lease, 0, run.records, run.change, database.codec)
  const text = database.codec.seal(JSON.stringify(body), "schedule", toText(id))
  const row = [toText(id), toText(workflow), nextAt ?? null, toText(version), text]
  const values = [...row, toTextOrNull(before), ...toValues(item === undefined ? [] : [item], false)]
  for (let attempt = 0; ; attempt++) {
    const [outcome] = (await database.write<Outcome>(`Schedule "${id}"`, WRITE, values)) as [Outcome]
    const { reason } = outcome
    if (reason === "written" || reason === "changed") return reason === "written"
    if (item === undefined || reason !== "again" || attempt >= MAX_AGAIN) {
      throw toError(item as NonNullable<typeof item>, { ...outcome, reason })
    }
  }
}

function toSchedule(
  { codec }: Database,
  { id, workflow, next_at, version, body }: ScheduleRow,
): StoredSchedule {
  const name = parseName(id)
  const subject = () => `Schedule "${name}" is damaged`
  return {
    id: name,
    workflow: parseName(workflow, subject),
    ...(next_at === null ? {} : { nextAt: next_at }),
    version: parseName(version, subject),
    body: parseSealed(codec, body, subject, "schedule", id) as Json,
  }
}

export const SCHEDULE_TABLES = `
CREATE TABLE $.schedules (
  id text COLLATE "C" PRIMARY KEY,
  workflow text COLLATE "C" NOT NULL,
  next_at float8,
  version text COLLATE "C" NOT NULL,
  body text NOT NULL
);
CREATE INDEX schedules_due ON $.schedules (next_at) WHERE next_at IS NOT NULL;
`

export const SCHEDULE_FUNCTIONS = `
-- Returns "written", "changed" where another version is there, or why the run was refused, as append_2 does.
CREATE FUNCTION $.write_schedule_5(
  s_id text, s_workflow text, s_next_at float8, s_version text, s_body text, s_before text,
  ${APPENDED.join(", ")}
) RETURNS TABLE (item int, reason text, other text, thread text, seq int, token bigint, holder text)
LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
  IF s_before IS NULL THEN
    INSERT INTO $.schedules (id, workflow, next_at, version, body)
    VALUES (s_id, s_workflow, s_next_at, s_version, s_body) ON CONFLICT DO NOTHING;
  ELSE
    PERFORM 1 FROM $.schedules AS s WHERE s.id = s_id AND s.version = s_before FOR UPDATE;
  END IF;
  IF NOT FOUND THEN
    -- The answer of the same statement may have been lost.
    RETURN QUERY SELECT 0, CASE WHEN EXISTS (
        SELECT 1 FROM $.schedules AS s WHERE s.id = s_id AND s.version = s_version
      ) THEN 'written' ELSE 'changed' END, NULL::text, NULL::text, NULL::int, NULL::bigint, NULL::text;
    RETURN;
  END IF;
  IF cardinality(i_run) > 0 THEN
    RETURN QUERY SELECT * FROM $.append_2(${APPENDED.map((argument) => argument.split(" ")[0]).join(", ")});
    IF FOUND THEN RETURN; END IF;
  END IF;
  UPDATE $.schedules AS s SET workflow = s_workflow, next_at = s_next_at, version = s_version, body = s_body
  WHERE s.id = s_id;
  RETURN QUERY SELECT 0, 'written', NULL::text, NULL::text, NULL::int, NULL::bigint, NULL::text;
END
$function$;
`
