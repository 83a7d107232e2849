/**
 * What a store itself sees of starts: triggers in its database log when it admits a run or gives a slot, by its own clock. A log is
 * written after the store has read its clock to decide, so that its time is the latest at which the start can have been. The
 * earliest is what the store did just before, or when the call arrived.
 */
import pg from "pg"
import type { Start } from "../../packages/engine/src/testing/store-suite/rates.ts"
import { libsql } from "../../packages/store-sqlite/src/file/driver.ts"

export interface LoggedStart extends Start {
  readonly runId: string
  /** Of a slot: the lanes whose rates it counts against. Of a run: undefined. */
  readonly lanes: readonly string[] | undefined
}

export interface StartLog {
  /** How many runs have started. */
  count(): Promise<number>
  starts(): Promise<readonly LoggedStart[]>
  close(): Promise<void>
}

/** `address` is that of a store that has its tables. */
export async function startLog(address: string): Promise<StartLog> {
  return address.startsWith("postgres:") ? await postgresLog(address) : sqliteLog(address)
}

interface Lane {
  readonly name: string
  readonly every?: number
  readonly rate?: unknown
}

function limited(lanes: string | null): readonly string[] | undefined {
  if (lanes === null) return undefined
  const all = JSON.parse(lanes) as readonly Lane[]
  return all.flatMap(({ name, every, rate }) => ((every ?? rate) === undefined ? [] : [name]))
}

const NOW = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"

/**
 * A decision reads the clock when it has the lock, then updates the rows that it admits, then what is paid: rows of the log without
 * a run separate decisions. All that is logged before a decision was committed before it read the clock; a slot that is asked for
 * is added just before it.
 */
const SQLITE_LOG = `
  CREATE TABLE test_log (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, run_id TEXT, lanes TEXT);
  CREATE TRIGGER test_run AFTER UPDATE OF status ON runs WHEN OLD.status = 'queued' AND NEW.status = 'running' BEGIN
    INSERT INTO test_log (at, run_id) VALUES (${NOW}, NEW.run_id);
  END;
  CREATE TRIGGER test_slot AFTER UPDATE OF taken ON slots WHEN OLD.taken = 0 AND NEW.taken = 1 BEGIN
    INSERT INTO test_log (at, run_id, lanes) VALUES (${NOW}, NEW.run_id, NEW.lanes);
  END;
  CREATE TRIGGER test_asked AFTER INSERT ON slots BEGIN INSERT INTO test_log (at) VALUES (${NOW}); END;
  CREATE TRIGGER test_paid AFTER INSERT ON lane_rates BEGIN INSERT INTO test_log (at) VALUES (${NOW}); END;
  CREATE TRIGGER test_pool AFTER INSERT ON slot_pools BEGIN INSERT INTO test_log (at) VALUES (${NOW}); END;
`

function sqliteLog(path: string): StartLog {
  const database = libsql()(path)
  database.exec(SQLITE_LOG)
  const count = database.prepare(
    "SELECT count(*) AS count FROM test_log WHERE run_id IS NOT NULL AND lanes IS NULL",
  )
  const all = database.prepare("SELECT at, run_id, lanes FROM test_log ORDER BY id")
  return {
    count: async () => (count.all() as [{ count: number }])[0].count,
    async starts() {
      const starts: LoggedStart[] = []
      const rows = all.all() as { at: number; run_id: string | null; lanes: string | null }[]
      const times = neverSetBack(rows.map(({ at }) => at))
      let earliest = 0
      for (const [i, { run_id: runId, lanes }] of rows.entries()) {
        const at = times[i] as number
        if (runId === null) earliest = at
        else starts.push({ runId, lanes: limited(lanes), earliest, latest: at })
      }
      return starts
    },
    close: async () => {
      database.close()
    },
  }
}

/**
 * Times in the order in which they were read, as by a clock that is never set back: on some machines this one is, by a
 * millisecond. A rate counts from the latest time that it has seen, and so admits no more by that clock either.
 */
export function neverSetBack(times: readonly number[]): number[] {
  let lost = 0
  return times.map((time, i) => {
    lost += Math.max(0, (times[i - 1] ?? time) - time)
    return time + lost
  })
}

const MOMENT = (time: string) => `extract(epoch FROM ${time}()) * 1000`
const TIMES = [MOMENT("statement_timestamp"), MOMENT("clock_timestamp")].join(", ")

const POSTGRES_LOG = `
  CREATE TABLE $.test_log (
    id bigint GENERATED ALWAYS AS IDENTITY, run_id text NOT NULL, lanes text, earliest float8, latest float8
  );
  CREATE FUNCTION $.test_run() RETURNS trigger LANGUAGE plpgsql AS $function$
  BEGIN
    INSERT INTO $.test_log (run_id, earliest, latest) VALUES (NEW.run_id, ${TIMES});
    RETURN NULL;
  END $function$;
  CREATE FUNCTION $.test_slot() RETURNS trigger LANGUAGE plpgsql AS $function$
  BEGIN
    INSERT INTO $.test_log (run_id, lanes, earliest, latest) VALUES ('', NEW.lanes::text, ${TIMES});
    RETURN NULL;
  END $function$;
  CREATE TRIGGER test_run AFTER UPDATE ON $.live FOR EACH ROW
    WHEN (OLD.status = 'queued' AND NEW.status = 'running') EXECUTE FUNCTION $.test_run();
  CREATE TRIGGER test_slot AFTER UPDATE ON $.slots FOR EACH ROW
    WHEN (NOT OLD.taken AND NEW.taken) EXECUTE FUNCTION $.test_slot();
`

async function postgresLog(address: string): Promise<StartLog> {
  const url = new URL(address)
  const schema = `"${url.hash.slice(1)}".`
  url.hash = ""
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  const query = async <Row>(text: string) =>
    (await client.query(text.replaceAll("$.", schema))).rows as readonly Row[]
  await query(POSTGRES_LOG)
  return {
    async count() {
      const [row] = await query<{ count: number }>(
        "SELECT count(*)::int AS count FROM $.test_log WHERE lanes IS NULL",
      )
      return row?.count ?? 0
    },
    async starts() {
      const rows = await query<
        Omit<LoggedStart, "lanes" | "runId"> & { run_id: string; lanes: string | null }
      >("SELECT run_id, lanes, earliest, latest FROM $.test_log ORDER BY id")
      return rows.map(({ run_id, lanes, ...times }) => ({ ...times, runId: run_id, lanes: limited(lanes) }))
    },
    close: () => client.end(),
  }
}
