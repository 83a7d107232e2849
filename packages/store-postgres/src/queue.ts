/** Queued runs: what is claimed next, by which limits. */
import { randomUUID } from "node:crypto"
import type { Amendment, Claimed, ClaimQuery, LaneLimit, RunQueue, StoredRun } from "@superstep/engine"
import { blobBytes, toRecords } from "./append-item.ts"
import type { Database, Statement } from "./database.ts"
import { toText, toTextOrNull, toTexts } from "./names.ts"
import type { Promised } from "./registry.ts"
import { RUN_COLUMNS, RUN_TABLES, type RunRow, toStoredRun } from "./runs.ts"
import type { Hints } from "./signals.ts"

const SET_LIMITS: Statement = { text: "SELECT $.set_limits_1($1, $2)" }
const CLAIM_NEXT: Statement = {
  name: "claim_next",
  text: "SELECT run, next_at FROM $.claim_next_10($1, $2, $3, $4, $5, $6, $7, $8, $9)",
}
const AMEND: Statement = {
  text: "SELECT $.amend_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) AS is_done",
}
const EXPIRED: Statement = {
  text: `SELECT ${RUN_COLUMNS} FROM ${RUN_TABLES}
    WHERE live.status = 'queued' AND live.expires_at IS NOT NULL AND live.expires_at <= $1
    ORDER BY live.expires_at LIMIT $2`,
}

export function queueOn(database: Database, turns: Turns, hints: Hints): Promised<RunQueue> {
  return {
    setLimits: (workflow, limits) => setLimits(database, workflow, limits),
    claimNext: (query) => claimNext(database, query),
    async amend(amendment) {
      const isDone = await turns.pass(amendment.runId, () => amend(database, amendment))
      if (isDone) hints.toAll()
      return isDone
    },
    expired: (now, limit) => expired(database, now, limit),
  }
}

async function setLimits(database: Database, workflow: string, limits: readonly LaneLimit[]): Promise<void> {
  const rows = limits.map(({ name, max, rate }) => ({ name: toText(name), max, ...rate }))
  const values = [toText(workflow), JSON.stringify(rows)]
  await database.write(`The limits of workflow "${workflow}"`, SET_LIMITS, values)
}

async function claimNext(database: Database, query: ClaimQuery): Promise<Claimed> {
  const { holder, workflows, queues, without, runId, now, limit } = query
  const values = [
    toText(holder),
    toTexts(workflows),
    queues === undefined ? null : toTexts(queues),
    without === undefined || without.length === 0 ? null : toTexts(without),
    toTextOrNull(runId),
    now(),
    limit,
    randomUUID(),
  ]
  const subject = `The claim of "${holder}" was not written`
  const rows = await database.ask({ subject, isWrite: true }, (isRepeated) =>
    database.query<{ run: RunRow | null; next_at: number | null }>(CLAIM_NEXT, [...values, isRepeated]),
  )
  const runs = rows.flatMap(({ run }) => (run === null ? [] : [toStoredRun(run, database.codec)]))
  const nextAt = rows.at(-1)?.next_at ?? undefined
  return nextAt === undefined ? { runs } : { runs, nextAt }
}

async function amend(database: Database, amendment: Amendment): Promise<boolean> {
  const { runId, token, records, wakeAt, closed } = amendment
  const texts = toRecords(runId, 0, records, database.codec)
  const large = texts.flatMap(({ seq, values }) => values.map((value) => ({ ...value, seq })))
  const [row] = await database.write<{ is_done: boolean }>(`The input of run "${runId}"`, AMEND, [
    toText(runId),
    token,
    randomUUID(),
    wakeAt ?? null,
    closed,
    records.at(-1)?.entry.at ?? null,
    texts.reduce((sum, { bytes }) => sum + bytes, 0),
    blobBytes(texts),
    texts.map(({ seq }) => seq),
    texts.map(({ events }) => events),
    texts.map(({ frame }) => frame),
    texts.map(({ text }) => text),
    texts.map(({ places }) => places),
    large.map(({ seq }) => seq),
    large.map(({ hash }) => hash),
    large.map(({ text }) => text),
  ])
  return row?.is_done === true
}

async function expired(database: Database, now: number, limit: number): Promise<readonly StoredRun[]> {
  return (await database.read<RunRow>("The list of runs", EXPIRED, [now, limit])).map((row) =>
    toStoredRun(row, database.codec),
  )
}

/** Executes the calls for one run in order; different runs do not wait for each other. */
export class Turns {
  /** The last call of each run that has one in progress. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Executes at once if no call of the run is in progress, else after the last one. */
  pass<T>(runId: string, act: () => Promise<T>): Promise<T> {
    const last = this.#last.get(runId)
    const acting = last === undefined ? act() : last.then(act, act)
    this.#last.set(runId, acting)
    const end = () => {
      if (this.#last.get(runId) === acting) this.#last.delete(runId)
    }
    acting.then(end, end)
    return acting
  }
}
