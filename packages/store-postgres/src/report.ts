/** How much there is, from the rows of runs: journals are not read for it. */
import type { Amount, StorageReport } from "@superstep/engine"
import type { Database, Statement } from "./database.ts"
import { parseName } from "./names.ts"

const BYTES = "coalesce(live.bytes, r.bytes)"
const RUNS = "$.runs AS r LEFT JOIN $.live ON live.run = r.id"

/** One statement, so that its figures are of one moment. */
const REPORT: Statement = {
  text: `SELECT
    (SELECT json_object_agg(status, count) FROM (
      SELECT coalesce(r.status, live.status) AS status, count(*) FROM ${RUNS} GROUP BY 1) AS s) AS runs,
    (SELECT json_build_object('count', coalesce(sum(coalesce(live.head, r.head) - r.fork_seq), 0),
      'bytes', coalesce(sum(${BYTES} - coalesce(live.blob_bytes, r.blob_bytes)), 0)) FROM ${RUNS}) AS journal,
    (SELECT json_build_object('count', count(*), 'bytes', coalesce(sum(octet_length(body)), 0)) FROM $.snapshots) AS snapshots,
    (SELECT json_build_object('count', count(*), 'bytes', coalesce(sum(octet_length(body)), 0)) FROM $.blobs) AS blobs,
    (SELECT json_build_object('count', count(*), 'bytes', coalesce(sum(bytes), 0)) FROM $.threads) AS threads,
    (SELECT json_agg(w ORDER BY w.bytes DESC) FROM (
      SELECT r.workflow, count(*) AS runs, sum(${BYTES} + coalesce(s.bytes, 0)) AS bytes
      FROM ${RUNS} LEFT JOIN $.snapshots AS s ON s.run = r.id GROUP BY r.workflow) AS w) AS workflows,
    (SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
      WHERE relnamespace = to_regnamespace($1) AND relkind = 'r') AS disk`,
}

interface ReportRow {
  readonly runs: StorageReport["runs"] | null
  readonly journal: Amount
  readonly snapshots: Amount
  readonly blobs: Amount
  readonly threads: Amount
  readonly workflows: StorageReport["workflows"] | null
  /** A sum of 64-bit numbers is numeric, which comes as text. */
  readonly disk: string
}

export async function report(database: Database): Promise<StorageReport> {
  const values = [`"${database.place.schema}"`]
  const [row] = (await database.read<ReportRow>("The size of the store", REPORT, values)) as [ReportRow]
  const { runs, journal, snapshots, blobs, threads, workflows, disk } = row
  return {
    runs: runs ?? {},
    journal,
    snapshots,
    blobs,
    threads,
    workflows: (workflows ?? []).map((one) => ({ ...one, workflow: parseName(one.workflow) })),
    disk: { bytes: Number(disk), free: 0 },
  }
}
