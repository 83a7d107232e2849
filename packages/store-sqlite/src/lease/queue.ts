/** Queued runs: see `RunQueue` in the engine for what is claimed, and in what order. */

import {
  type Amendment,
  type Claimed,
  type ClaimQuery,
  claimInTurn,
  DEFAULT_QUEUE,
  type Lane,
  type LaneLimit,
  LaneStates,
  type QueueLine,
  queueScore,
  type RunCreated,
  type StoredRun,
  SUSPECT,
} from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import {
  decodeName,
  decodeText,
  type JsonBytes,
  jsonBytes,
  parseJson,
  toRunNumbers,
  toText,
  toTextOrNull,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { BEGUN, CLAIMED, IS_READY, LINE, SCORE } from "../file/fleet-schema.ts"
import type { BlobTable } from "../journal/blobs.ts"
import { WITH_END } from "../journal/journal-end.ts"
import type { JournalTable, RecordBody } from "../journal/journals.ts"
import { CLAIMABLE, RUN_COLUMNS, toStoredRuns } from "../runs/run-rows.ts"
import type { SubscriptionTable } from "../runs/subscriptions.ts"
import { DISMISSAL } from "./leases.ts"

export interface QueueTable {
  /** The run that has the group. */
  findGroup(group: string): string | undefined
  /** Queues a run that was just created. */
  enter(
    id: number,
    created: RunCreated,
    by: { readonly holder: string; readonly at: number; readonly wakeAt: number | undefined },
  ): void
  setLimits(workflow: string, limits: readonly LaneLimit[]): void
  /** Whether the store has other limits than these. */
  hasOtherLimits(workflow: string, limits: readonly LaneLimit[]): boolean
  /** Whether there may be anything to claim, so that an idle process does not write. */
  mayClaim(query: ClaimQuery): boolean
  /** `onClaim` gets each run that it claims. */
  claimNext(query: ClaimQuery, onClaim: (claimed: ClaimedRun) => void): Claimed
  amend(amendment: Amendment, bodies: readonly RecordBody[]): boolean
  expired(now: number, limit: number): readonly StoredRun[]
}

interface Line extends QueueLine {
  readonly name: string
  readonly workflow: string
  readonly queue: string
  /** How many of its runs were claimed. */
  claimed: number
  /** The runs after its head, as far as they have been read. */
  next: Head[]
}

interface HeadRow {
  readonly id: number
  readonly score: number
  readonly is_first: number
}

type Head = HeadRow & NonNullable<QueueLine["head"]>

/** A run that was just claimed. */
export interface ClaimedRun {
  readonly id: number
  /** Whether it may have requests. */
  readonly mayAsk: boolean
  readonly run: StoredRun
}

/** Runs of a line that may be claimed, by ?1 its name, ?2 now, and ?3 the graphs whose runs are left to others. */
const CLAIMABLE_IN_LINE = `${IS_READY} AND ${LINE} = ?1 AND takeovers < ${SUSPECT}
  AND +status IN ('queued', 'running', 'waiting')
  AND (+status <> 'queued' OR expires_at IS NULL OR expires_at > ?2)
  AND +graph NOT IN (SELECT value FROM json_each(?3))`

export function queueTable(
  database: Database,
  tables: {
    readonly journals: JournalTable
    readonly blobs: BlobTable
    readonly subscriptions: Pick<SubscriptionTable, "addEvents">
  },
  codec: ValueCodec,
): QueueTable {
  const findGroup = database.prepare(`SELECT ${jsonBytes("run_id")} AS run_id FROM runs WHERE flow_group = ?`)
  const enter = database.prepare(
    `UPDATE runs SET flow = ?, line = ?, score = ?, expires_at = ?, flow_group = ?, status = ?, holder = ? WHERE id = ?`,
  )
  const dropLimits = database.prepare("DELETE FROM lane_limits WHERE workflow = ?")
  const addLimit = database.prepare(
    "INSERT OR REPLACE INTO lane_limits (name, workflow, body) VALUES (?, ?, ?)",
  )
  const findLimits = database.prepare(
    `SELECT ${jsonBytes("body")} AS body FROM lane_limits WHERE workflow = ? ORDER BY name`,
  )
  const findLimit = database.prepare(`SELECT ${jsonBytes("body")} AS body FROM lane_limits WHERE name = ?`)
  const findPaid = database.prepare(
    "SELECT CAST(paid_until AS NUMERIC) AS paid FROM lane_rates WHERE lane = ?",
  )
  const setPaid = database.prepare("INSERT OR REPLACE INTO lane_rates (lane, paid_until) VALUES (?, ?)")
  const dropPaid = database.prepare("DELETE FROM lane_rates WHERE paid_until < ?")
  const findServed = database.prepare(
    "SELECT CAST(served AS INTEGER) AS served FROM tenants WHERE tenant = ?",
  )
  const findLastServed = database.prepare("SELECT CAST(max(served) AS INTEGER) AS served FROM tenants")
  const setServed = database.prepare("INSERT OR REPLACE INTO tenants (tenant, served) VALUES (?, ?)")

  const hasReady = database.prepare(`SELECT 1 FROM runs WHERE ${IS_READY} LIMIT 1`)
  const isDue = `holder IS NULL AND ready = 0 AND wake_at IS NOT NULL AND wake_at <= ?
    AND +status IN ('queued', 'running', 'waiting')`
  const hasDue = database.prepare(`SELECT 1 FROM runs WHERE ${isDue} LIMIT 1`)
  const isAddressed = `runs.holder IS NULL AND runs.ready = 0 AND runs.${CLAIMABLE}`
  const hasAddressed = database.prepare(
    `SELECT 1 FROM mail CROSS JOIN runs ON runs.run_id = mail.run_id WHERE mail.outcome IS NULL AND ${isAddressed} LIMIT 1`,
  )
  const findGone = database.prepare(
    `SELECT ${jsonBytes("holder")} AS holder FROM (
       SELECT DISTINCT holder FROM runs WHERE holder IS NOT NULL EXCEPT SELECT id FROM holders
     )`,
  )
  const freeAll = database.prepare(DISMISSAL.freeAll)
  const markDue = database.prepare(`UPDATE runs SET ready = 1 WHERE ${isDue}`)
  const markAddressed = database.prepare(
    `UPDATE runs SET ready = 1 WHERE id IN (
       SELECT runs.id FROM mail CROSS JOIN runs ON runs.run_id = mail.run_id WHERE mail.outcome IS NULL AND ${isAddressed}
     )`,
  )
  const findHeld = database.prepare(
    `SELECT ${jsonBytes("line")} AS line, count(*) AS count FROM runs
     WHERE holder IS NOT NULL AND line IS NOT NULL GROUP BY line`,
  )
  // One step per line, however many runs it has.
  const findLines = database.prepare(
    `WITH RECURSIVE lines (name) AS (
       SELECT min(${LINE}) FROM runs WHERE ${IS_READY}
       UNION ALL
       SELECT (SELECT min(${LINE}) FROM runs WHERE ${IS_READY} AND ${LINE} > lines.name) FROM lines
       WHERE lines.name IS NOT NULL
     )
     SELECT ${jsonBytes("name")} AS name FROM lines WHERE name IS NOT NULL`,
  )
  const findHeads = database.prepare(
    `SELECT id, ${SCORE} AS score, status = 'queued' AS is_first FROM runs
     WHERE ${CLAIMABLE_IN_LINE} ORDER BY ${SCORE}, id LIMIT ?4 OFFSET ?5`,
  )
  const findNamed = database.prepare(
    `SELECT id, ${SCORE} AS score, status = 'queued' AS is_first, ${jsonBytes(LINE)} AS line FROM runs
     WHERE run_id = ?1 AND holder IS NULL AND status IN ('queued', 'running', 'waiting')
       AND (status <> 'queued'
         OR ((wake_at IS NULL OR wake_at <= ?2) AND (expires_at IS NULL OR expires_at > ?2)))`,
  )
  // All at once: the drivers take more time for a call than SQLite takes for a row.
  const claimAll = database.prepare(
    `UPDATE runs SET ${CLAIMED} WHERE id IN (SELECT value FROM json_each(?2))`,
  )
  const findRuns = database.prepare(
    `SELECT runs.id, EXISTS (SELECT 1 FROM requests WHERE run = runs.id) AS may_ask, ${RUN_COLUMNS}
     FROM json_each(?) AS claimed CROSS JOIN runs ON runs.id = claimed.value ${WITH_END} ORDER BY claimed.key`,
  )
  const findQueued = database.prepare(
    `SELECT id FROM runs WHERE run_id = ? AND token = ? AND status = 'queued'`,
  )
  const amend = database.prepare(
    `UPDATE runs SET head = ?1, bytes = ?2, updated_at = ?3, blob_bytes = ?4, token = token + 1, wake_at = ?5, ready = 0,
       flow_group = CASE ?6 WHEN 1 THEN NULL ELSE flow_group END WHERE id = ?7`,
  )
  // SQLite itself would look through all that are queued.
  const findExpired = database.prepare(
    `SELECT ${RUN_COLUMNS} FROM runs INDEXED BY runs_expiring ${WITH_END}
     WHERE runs.status = 'queued' AND runs.expires_at IS NOT NULL AND runs.expires_at <= ?
     ORDER BY runs.expires_at LIMIT ?`,
  )

  function gone(): readonly string[] {
    return (findGone.all() as { holder: JsonBytes }[]).map(({ holder }) =>
      decodeText(holder, () => "A run is damaged at its holder"),
    )
  }

  /** The first runs of a line after those that were claimed. */
  function nextOf({ name, claimed }: Line, now: number, { without = [] }: ClaimQuery, most: number): Head[] {
    const rows = findHeads.all(name, now, JSON.stringify(without.map(toText)), most, claimed) as HeadRow[]
    return rows.map(toHead)
  }

  /** Puts the next run of the line in the place of its head. At most `left` more runs are claimed. */
  function advance(line: Line, now: number, query: ClaimQuery, left: number): void {
    // Of each line one, and more of those that have more: there may be many lines.
    const most = Math.min(left, 1 + 4 * line.claimed)
    if (line.next.length === 0 && most > 0) line.next = nextOf(line, now, query, most)
    line.head = line.next.shift()
  }

  function laneStates(now: number): LaneStates {
    const limits = new Map<string, LaneLimit | undefined>()
    const limitOf = (name: string) => {
      if (!limits.has(name)) limits.set(name, (findLimit.all(toText(name)) as BodyRow[]).map(toLimit)[0])
      return limits.get(name)
    }
    const paid = (lane: string) => (findPaid.all(toText(lane)) as { paid: number }[])[0]?.paid
    const lanes = new LaneStates(now, limitOf, paid)
    for (const { line, count } of findHeld.all() as { line: JsonBytes; count: number }[]) {
      lanes.hold(toLine(line).lanes, count)
    }
    return lanes
  }

  /** Frees runs of unknown holders, and marks runs as ready that status and time alone do not show to be. */
  function prepare(now: number): void {
    for (const holder of gone()) freeAll.run(holder)
    markDue.run(now)
    markAddressed.run()
  }

  /** The lines that have runs to claim, with the first of each. */
  function linesFor(query: ClaimQuery, now: number): Line[] {
    const { workflows, queues, runId } = query
    const isServed = ({ workflow, queue }: Line) =>
      workflows.includes(workflow) && (queues === undefined || queues.includes(queue))
    if (runId !== undefined) {
      const [row] = findNamed.all(toText(runId), now) as (HeadRow & { line: JsonBytes })[]
      if (row === undefined) return []
      return [{ ...toLine(row.line), head: toHead(row) }].filter(isServed)
    }
    const lines = (findLines.all() as { name: JsonBytes }[]).map(({ name }) => toLine(name)).filter(isServed)
    for (const line of lines) advance(line, now, query, query.limit)
    return lines
  }

  /** In the order of their numbers here. */
  function claim(holder: string, ids: readonly number[]): ClaimedRun[] {
    if (ids.length === 0) return []
    const numbers = toRunNumbers(ids)
    claimAll.run(toText(holder), numbers)
    const rows = findRuns.all(numbers) as { id: number; may_ask: number }[]
    const runs = toStoredRuns(rows, codec)
    return rows.map(({ id, may_ask }, i) => ({ id, mayAsk: may_ask === 1, run: runs[i] as StoredRun }))
  }

  function begin({ runId, workflow }: StoredRun, at: number): void {
    const run = { runId: toText(runId), workflow: toText(workflow) }
    tables.subscriptions.addEvents(run, [{ type: "run.started", at }])
  }

  return {
    findGroup(group) {
      const [row] = findGroup.all(toText(group)) as { run_id: JsonBytes }[]
      return row && decodeName(row.run_id, () => "A run is damaged at its id")
    },
    enter(id, { workflow, flow = {}, queued }, { holder, at, wakeAt }) {
      const { queue = DEFAULT_QUEUE, tenant = "", lanes = [], group, expiresAt } = flow
      const score = queueScore(wakeAt ?? at, flow) - (queued ? 0 : BEGUN)
      const line = JSON.stringify([workflow, queue, tenant, lanes])
      enter.run(
        JSON.stringify(flow),
        line,
        score,
        expiresAt ?? null,
        queued ? toTextOrNull(group) : null,
        queued ? "queued" : "running",
        queued ? null : toText(holder),
        id,
      )
    },
    hasOtherLimits(workflow, limits) {
      const stored = (findLimits.all(toText(workflow)) as BodyRow[]).map(toLimit)
      return JSON.stringify(stored) !== JSON.stringify(sorted(limits))
    },
    setLimits(workflow, limits) {
      dropLimits.run(toText(workflow))
      for (const limit of limits) addLimit.run(toText(limit.name), toText(workflow), JSON.stringify(limit))
    },
    mayClaim({ runId, now }) {
      if (runId !== undefined) return true
      return [hasReady.all(), hasDue.all(now()), hasAddressed.all(), gone()].some(({ length }) => length > 0)
    },
    claimNext(query, onClaim) {
      const { holder, limit } = query
      const now = query.now()
      prepare(now)
      const lines = linesFor(query, now)
      if (lines.length === 0) return { runs: [] }
      const lanes = laneStates(now)
      const heads = new Map<number, Head>()
      let claims = (findLastServed.all() as { served: number | null }[])[0]?.served ?? 0
      const served = new Map<string, number>()
      claimInTurn(lines, lanes, {
        limit,
        servedAt: (tenant) => (findServed.all(toText(tenant)) as { served: number }[])[0]?.served,
        claim(line) {
          const own = line as Line
          const head = own.head as Head
          heads.set(head.id, head)
          own.claimed += 1
          claims += 1
          served.set(line.tenant, claims)
          if (query.runId === undefined) advance(own, now, query, limit - heads.size)
          else own.head = undefined
        },
      })
      const runs = claim(holder, [...heads.keys()]).map((claimed) => {
        if (heads.get(claimed.id)?.isFirst) begin(claimed.run, now)
        onClaim(claimed)
        return claimed.run
      })
      for (const [tenant, last] of served) setServed.run(toText(tenant), last)
      if (lanes.paid.size > 0) dropPaid.run(now)
      for (const [lane, until] of lanes.paid) setPaid.run(toText(lane), until)
      return lanes.nextAt === undefined ? { runs } : { runs, nextAt: lanes.nextAt }
    },
    amend({ runId, token, records, wakeAt, closed }, bodies) {
      const [run] = findQueued.all(toText(runId), token) as { id: number }[]
      if (run === undefined) return false
      const { id } = run
      tables.journals.removeSome(id, Number.MAX_SAFE_INTEGER)
      tables.blobs.releaseSome(id, Number.MAX_SAFE_INTEGER)
      const end = tables.journals.add(id, { bytes: 0, at: 0 }, records, bodies)
      let blobBytes = 0
      for (const [i, body] of bodies.entries()) {
        if (body.places === null) continue
        tables.blobs.keep(id, records[i]?.seq ?? 0, body)
        blobBytes += body.largeBytes
      }
      amend.run(records.length, end.bytes, end.at, blobBytes, wakeAt ?? null, closed ? 1 : 0, id)
      return true
    },
    expired: (now, limit) => toStoredRuns(findExpired.all(now, limit), codec),
  }
}

function toHead(row: HeadRow): Head {
  return { ...row, isFirst: row.is_first === 1 }
}

type BodyRow = { readonly body: JsonBytes }

function toLimit({ body }: BodyRow): LaneLimit {
  return parseJson(body, () => "A limit is damaged") as LaneLimit
}

function sorted(limits: readonly LaneLimit[]): readonly LaneLimit[] {
  const byText = (a: string, b: string) => (a < b ? -1 : Number(a > b))
  return [...limits].sort((a, b) => byText(toText(a.name), toText(b.name)))
}

const unread = (): Pick<Line, "head" | "claimed" | "next"> => ({ head: undefined, claimed: 0, next: [] })

/** A line as its name says: that of a run that was never queued is its workflow, after a quote. */
function toLine(bytes: JsonBytes): Line {
  const subject = () => "A run is damaged at its place in a queue"
  const name = decodeText(bytes, subject)
  if (!name.startsWith("[")) {
    const workflow = decodeName(new TextEncoder().encode(name.slice(1)), subject)
    return { name, workflow, queue: DEFAULT_QUEUE, tenant: "", lanes: undefined, ...unread() }
  }
  const [workflow, queue, tenant, lanes] = parseJson(bytes, subject) as [
    string,
    string,
    string,
    readonly Lane[],
  ]
  return { name, workflow, queue, tenant, lanes, ...unread() }
}
