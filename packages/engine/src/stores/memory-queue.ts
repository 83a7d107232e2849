/** Queued runs in the memory store: see `RunQueue` for what is claimed, and in what order. */
import { freezeData } from "../core/internal.ts"
import {
  type Amendment,
  type Claimed,
  type ClaimQuery,
  claimInTurn,
  DEFAULT_QUEUE,
  type JournalRecord,
  type LaneLimit,
  LaneStates,
  laneId,
  type QueueLine,
  type RunQueue,
  type StoredRun,
  SUSPECT,
} from "../runtime/index.ts"
import { claim, rest } from "./memory-leases.ts"
import { leaveGroup, type QueueState, type Row, storedRun, type Tables } from "./memory-rows.ts"
import { addEvents } from "./memory-subscriptions.ts"

export function memoryQueue(tables: Tables): RunQueue {
  return {
    setLimits: (workflow, limits) => setLimits(tables.queue, workflow, freezeData(limits)),
    claimNext: (query) => claimNext(tables, query),
    amend: (amendment) => amend(tables, amendment),
    expired: (now, limit) => expired(tables, now, limit),
  }
}

function setLimits(queue: QueueState, workflow: string, limits: readonly LaneLimit[]): void {
  for (const name of queue.limitsOf.get(workflow) ?? []) queue.limits.delete(name)
  for (const limit of limits) queue.limits.set(limit.name, limit)
  queue.limitsOf.set(
    workflow,
    limits.map(({ name }) => name),
  )
}

interface Line extends QueueLine {
  readonly rows: Row[]
}

function claimNext(tables: Tables, query: ClaimQuery): Claimed {
  const { queue } = tables
  const now = query.now()
  const lanes = new LaneStates(
    now,
    (name) => queue.limits.get(name),
    (lane) => queue.paid.get(lane),
  )
  for (const { holder, created } of tables.inFlight)
    if (holder !== undefined && tables.holders.has(holder)) lanes.hold(created.flow?.lanes)
  const claimed: Row[] = []
  claimInTurn(linesOf(tables, query, now), lanes, {
    limit: query.limit,
    servedAt: (tenant) => queue.served.get(tenant),
    claim(line) {
      const row = (line as Line).rows.shift() as Row
      line.head = headOf((line as Line).rows)
      if (isQueued(row)) addEvents(tables, row, [{ type: "run.started", at: now }])
      claim(tables, row.runId, row.token, query.holder)
      queue.claims++
      queue.served.set(line.tenant, queue.claims)
      claimed.push(row)
    },
  })
  for (const [lane, until] of lanes.paid) queue.paid.set(lane, until)
  return { runs: claimed.map(storedRun), nextAt: lanes.nextAt }
}

function linesOf(tables: Tables, query: ClaimQuery, now: number): Iterable<Line> {
  const lines = new Map<string, Line>()
  for (const row of candidates(tables, query, now)) {
    const { tenant = "", lanes } = row.created.flow ?? {}
    const id = JSON.stringify([tenant, ...(lanes ?? []).map(laneId)])
    const line = lines.get(id)
    if (line === undefined) lines.set(id, { tenant, lanes, rows: [row], head: undefined })
    else line.rows.push(row)
  }
  for (const line of lines.values()) {
    line.rows.sort((a, b) => Number(isQueued(a)) - Number(isQueued(b)) || a.score - b.score)
    line.head = headOf(line.rows)
  }
  return lines.values()
}

function headOf([row]: readonly Row[]): QueueLine["head"] {
  return row && { score: row.score, isFirst: isQueued(row) }
}

function isQueued({ status }: Row): boolean {
  return status === "queued"
}

function candidates(tables: Tables, { workflows, queues, without, runId }: ClaimQuery, now: number): Row[] {
  const known = new Set(workflows)
  const served = queues && new Set(queues)
  const left = new Set(runId === undefined ? without : [])
  const addressed = new Set<string>()
  for (const mail of tables.mail.values()) addressed.add(mail.runId)
  const isDue = (row: Row) => {
    if (runId !== undefined && !isQueued(row)) return true
    if (row.wakeAt !== undefined) return row.wakeAt <= now
    return row.status === "running" || isQueued(row) || addressed.has(row.runId)
  }
  const named = runId === undefined ? undefined : tables.runs.get(runId)
  const rows =
    runId === undefined ? tables.inFlight : new Set(named && tables.inFlight.has(named) ? [named] : [])
  return [...rows].filter((row) => {
    const { workflow, flow } = row.created
    if (!known.has(workflow) || served?.has(flow?.queue ?? DEFAULT_QUEUE) === false) return false
    if (left.has(row.graph)) return false
    if (row.status === "quarantined" || row.status === "paused" || isExpired(row, now)) return false
    if (runId === undefined && row.takeovers >= SUSPECT) return false
    if (row.holder !== undefined) return !tables.holders.has(row.holder)
    return isDue(row) || (!isQueued(row) && addressed.has(row.runId))
  })
}

function isExpired(row: Row, now: number): boolean {
  const { expiresAt } = row.created.flow ?? {}
  return isQueued(row) && expiresAt !== undefined && expiresAt <= now
}

function amend(tables: Tables, { runId, token, records, wakeAt, closed }: Amendment): boolean {
  const row = tables.runs.get(runId)
  if (row === undefined || !isQueued(row) || row.token !== token) return false
  row.journal.splice(0, row.journal.length, ...records.map((record): JournalRecord => freezeData(record)))
  row.measured = 0
  row.measuredBytes = 0
  row.updatedAt = records.at(-1)?.entry.at ?? row.updatedAt
  row.token++
  rest(row, { wakeAt })
  if (closed) leaveGroup(tables, row)
  return true
}

function expired(tables: Tables, now: number, limit: number): readonly StoredRun[] {
  const rows = [...tables.inFlight].filter((row) => isExpired(row, now))
  return rows.slice(0, limit).map(storedRun)
}
