/** Counts and sizes, from the rows of runs: reads no journal. */
import type { Amount, StorageReport } from "@superstep/engine"
import type { Database, Statement } from "./database.ts"
import { parseName } from "./names.ts"

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
  const values = [`"${database.place.schema}"`]
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
