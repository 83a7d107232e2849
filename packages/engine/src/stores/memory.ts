/**
 * Keeps runs in memory: for tests, and for runs that watchers may join late. They exist as long as the store does. Every
 * method is synchronous. Values are frozen, so callers cannot change the store through them.
 */
import { freezeData } from "../core/internal.ts"
import {
  type AgentRow,
  type Amount,
  checkRegistryChange,
  hasEnded,
  localChannel,
  type PrunePolicy,
  type RecordStore,
  type Registry,
  type RegistryStore,
  registryConflict,
  type ScheduleStore,
  type StorageReport,
  type Store,
  type StoredDefinition,
  type StoredRecord,
  type StoredSchedule,
} from "../runtime/index.ts"
import { append } from "./memory-append.ts"
import {
  absolve,
  beat,
  claim,
  dismiss,
  dropMail,
  free,
  held,
  holders,
  mailAmount,
  mailTo,
  post,
  quarantine,
  refuseMail,
  release,
  setIdle,
  takeOutcome,
  unquarantine,
} from "./memory-leases.ts"
import { memoryQueue } from "./memory-queue.ts"
import {
  emptyTables,
  journalBytes,
  type Row,
  recordsOf,
  releaseGraphs,
  requests,
  runs,
  saveSnapshot,
  storedRun,
  type Tables,
  threadState,
} from "./memory-rows.ts"
import { memorySlots } from "./memory-slots.ts"
import { memorySubscriptions } from "./memory-subscriptions.ts"
import { toStoredName } from "./stored-values.ts"

export function memoryStore(): Store & RegistryStore {
  const tables = emptyTables()
  return {
    append: (lease, expectedSeq, records, change) => append(tables, lease, expectedSeq, records, change),
    read(runId, afterSeq, limit) {
      const row = tables.runs.get(runId)
      return row === undefined ? [] : recordsOf(row, afterSeq, limit)
    },
    saveSnapshot: (lease, snapshot) => saveSnapshot(tables, lease, snapshot),
    snapshot: (runId) => tables.runs.get(runId)?.snapshot,
    graph: (hash) => tables.graphs.get(hash),

    run(runId) {
      const row = tables.runs.get(runId)
      return row && storedRun(row)
    },
    runs: (query) => runs(tables, query),
    requests: (query) => requests(tables, query),

    beat: (holder) => beat(tables, freezeData(holder)),
    holders: () => holders(tables),
    held: (holder) => held(tables, holder),
    dismiss: (holder, why) => dismiss(tables, holder, why),
    free: (query) => free(tables, query),
    claim: (runId, token, holder, restsAt) => claim(tables, runId, token, holder, restsAt),
    setIdle: (lease, idle, status) => setIdle(tables, lease, idle, status),
    release: (lease, wakeAt) => release(tables, lease, wakeAt),
    absolve: (lease) => absolve(tables, lease),
    quarantine: (lease, at) => quarantine(tables, lease, at),
    unquarantine: (runId) => unquarantine(tables, runId),

    queue: memoryQueue(tables),
    records: memoryRecords(),
    subscriptions: memorySubscriptions(tables),
    slots: memorySlots((holder) => tables.holders.has(holder)),
    schedules: memorySchedules(tables),

    post: (mail) => post(tables, freezeData(mail)),
    mail: (holder) => mailTo(tables, holder),
    mailAmount: (runId) => mailAmount(tables, runId),
    refuseMail: (lease, id, error) => refuseMail(tables, lease, id, error),
    mailOutcome: (id) => takeOutcome(tables, id),

    thread: (id, version) => threadState(tables.threads.get(id) ?? [], version),
    threads({ prefix = "", after, limit } = {}) {
      const from = after === undefined ? undefined : orderOf(after)
      return [...new Set([...tables.threads.keys(), ...tables.busy.keys()])]
        .map((id) => ({ id, order: orderOf(id) }))
        .filter(({ id, order }) => id.startsWith(prefix) && (from === undefined || order.compare(from) > 0))
        .sort((a, b) => a.order.compare(b.order))
        .slice(0, limit)
        .map(({ id }) => id)
    },
    removeThread(id) {
      tables.threads.delete(id)
    },

    pin: (runId, pinned) => pin(tables, runId, pinned),
    remove: (runId) => remove(tables, runId),
    prune: (policy) => prune(tables, policy),
    report: () => report(tables),

    registry: memoryRegistry(),
    live: localChannel(),

    close() {},
  }
}

function memoryRegistry(): Registry {
  const agents = new Map<string, AgentRow>()
  const definitions = new Map<string, StoredDefinition>()
  function findAgents(ids?: readonly string[]): readonly AgentRow[] {
    const wanted = ids && new Set(ids)
    return [...agents.values()].filter(({ id }) => wanted === undefined || wanted.has(id))
  }
  const findDefinition = (id: string) => definitions.get(id)
  return {
    agents: findAgents,
    definitions: () => [...definitions.values()].map(({ workflow }) => workflow),
    definition: findDefinition,
    write(change, expected) {
      checkRegistryChange(change)
      const conflict = registryConflict({ agents: findAgents, definition: findDefinition }, expected)
      if (conflict !== undefined) throw conflict
      for (const id of change.removedDefinitions ?? []) definitions.delete(id)
      for (const id of change.removedAgents ?? []) agents.delete(id)
      for (const agent of change.agents ?? []) agents.set(agent.id, own(agent))
      for (const definition of change.definitions ?? [])
        definitions.set(definition.workflow.id, own(definition))
    },
  }
}

/** Copies a row of the caller, who may change it later. */
function own<T>(row: T): T {
  return freezeData(structuredClone(row))
}

// Records in the memory store.

interface RecordRow extends StoredRecord {
  /** What lists are sorted by. */
  readonly order: Buffer
}

function memoryRecords(): RecordStore {
  const kinds = new Map<string, Map<string, RecordRow>>()
  const rowsOf = (kind: string) => kinds.get(kind) ?? new Map<string, RecordRow>()
  const toRecord = ({ kind, id, value, version }: RecordRow): StoredRecord => ({ kind, id, value, version })
  return {
    get(kind, id) {
      const row = rowsOf(kind).get(id)
      return row && toRecord(row)
    },
    list(kind, { prefix = "", after, limit } = {}) {
      const from = after === undefined ? undefined : orderOf(after)
      return [...rowsOf(kind).values()]
        .filter(({ id, order }) => id.startsWith(prefix) && (from === undefined || order.compare(from) > 0))
        .sort((a, b) => a.order.compare(b.order))
        .slice(0, limit)
        .map(toRecord)
    },
    put(kind, id, value, expected) {
      const rows = rowsOf(kind)
      if ((rows.get(id)?.version ?? null) !== expected) return false
      const own = freezeData(structuredClone(value))
      rows.set(id, { kind, id, value: own, version: (expected ?? 0) + 1, order: orderOf(id) })
      kinds.set(kind, rows)
      return true
    },
    remove(kind, id, expected) {
      const rows = rowsOf(kind)
      if (expected !== undefined && rows.get(id)?.version !== expected) return false
      return rows.delete(id)
    },
  }
}

/** As the stores with columns of text sort it. */
function orderOf(id: string): Buffer {
  return Buffer.from(toStoredName(id))
}

// Schedules in the memory store.

function memorySchedules(tables: Tables): ScheduleStore {
  const rows = new Map<string, StoredSchedule>()
  const nextOf = ({ nextAt }: StoredSchedule) => nextAt ?? Number.POSITIVE_INFINITY
  return {
    get: (id) => rows.get(id),
    list({ workflow, after, limit }) {
      const found = [...rows.values()].filter(
        (row) =>
          (workflow === undefined || row.workflow === workflow) && (after === undefined || row.id > after),
      )
      return found.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    },
    due({ workflows, now, limit }) {
      const own = [...rows.values()].filter(
        (row) => row.nextAt !== undefined && workflows.includes(row.workflow),
      )
      own.sort((a, b) => nextOf(a) - nextOf(b))
      const nextAt = own.find((row) => nextOf(row) > now)?.nextAt
      const schedules = own.filter((row) => nextOf(row) <= now).slice(0, limit)
      return { now, schedules, ...(nextAt === undefined ? {} : { nextAt }) }
    },
    write(schedule, before, run) {
      if (rows.get(schedule.id)?.version !== before) return false
      if (run !== undefined) append(tables, run.lease, 0, run.records, run.change)
      rows.set(schedule.id, freezeData(structuredClone(schedule)))
      return true
    },
    remove: (id) => rows.delete(id),
  }
}

// Retention and statistics of the memory store.

function pin(tables: Tables, runId: string, pinned: boolean): boolean {
  const row = tables.runs.get(runId)
  if (row !== undefined) row.pinned = pinned
  return row !== undefined
}

function remove(tables: Tables, runId: string): boolean {
  const row = tables.runs.get(runId)
  if (row === undefined || !hasEnded(row) || row.forks > 0) return false
  tables.runs.delete(runId)
  releaseGraphs(tables, row)
  if (row.created.key !== undefined) tables.keys.delete(row.created.key)
  if (row.parent !== undefined) row.parent.forks--
  for (const request of row.requests.values()) tables.requests.delete(request)
  for (const mail of tables.mail.values()) if (mail.runId === runId) tables.mail.delete(mail.id)
  return true
}

function prune(
  tables: Tables,
  { workflow, keep, endedBefore, mailBefore = endedBefore }: PrunePolicy,
): Amount {
  const seen = new Map<string, number>()
  let count = 0
  let bytes = 0
  // Newest first: a fork is deleted before its past.
  for (const row of [...tables.runs.values()].reverse()) {
    const name = row.created.workflow
    if (!hasEnded(row) || row.pinned || (workflow !== undefined && workflow !== name)) continue
    const newer = seen.get(name) ?? 0
    seen.set(name, newer + 1)
    const goes =
      (keep !== undefined && newer >= keep) || (endedBefore !== undefined && row.updatedAt < endedBefore)
    if (!goes || !remove(tables, row.runId)) continue
    count++
    bytes += bytesOf(row)
  }
  if (mailBefore !== undefined) dropMail(tables, mailBefore)
  return { count, bytes }
}

function report(tables: Tables): StorageReport {
  const runs: { [status in Row["status"]]?: number } = {}
  const workflows = new Map<string, { workflow: string; runs: number; bytes: number }>()
  const journal = { count: 0, bytes: 0 }
  const snapshots = { count: 0, bytes: 0 }
  for (const row of tables.runs.values()) {
    runs[row.status] = (runs[row.status] ?? 0) + 1
    journal.count += row.journal.length
    journal.bytes += journalBytes(row)
    if (row.snapshot !== undefined) snapshots.count++
    snapshots.bytes += row.snapshotBytes
    const { workflow } = row.created
    const sum = workflows.get(workflow) ?? { workflow, runs: 0, bytes: 0 }
    workflows.set(workflow, sum)
    sum.runs++
    sum.bytes += bytesOf(row)
  }
  let threadBytes = 0
  for (const writes of tables.threads.values()) threadBytes += JSON.stringify(writes).length
  return {
    runs,
    journal,
    snapshots,
    blobs: { count: 0, bytes: 0 },
    threads: { count: tables.threads.size, bytes: threadBytes },
    workflows: [...workflows.values()].sort((a, b) => b.bytes - a.bytes),
  }
}

function bytesOf(row: Row): number {
  return journalBytes(row) + row.snapshotBytes
}
