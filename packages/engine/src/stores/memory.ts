/**
 * Keeps runs in memory: for tests, and for runs that watchers may join late. They exist as long as the store does. Every
 * method is synchronous. Values are frozen, so callers cannot change the store through them.
 */
import { freezeData } from "../core/internal.ts"
import {
  type AgentRow,
  checkRegistryChange,
  localChannel,
  type Registry,
  type RegistryStore,
  registryConflict,
  type Store,
  type StoredDefinition,
} from "../runtime/index.ts"
import { append } from "./memory-append.ts"
import {
  absolve,
  beat,
  claim,
  dismiss,
  free,
  held,
  holders,
  quarantine,
  release,
  setIdle,
  unquarantine,
} from "./memory-leases.ts"
import { mailAmount, mailTo, post, refuseMail, takeOutcome } from "./memory-mail.ts"
import { requests, runs, saveSnapshot, threadState } from "./memory-queries.ts"
import { memoryQueue } from "./memory-queue.ts"
import { memoryRecords } from "./memory-records.ts"
import { pin, prune, remove, report } from "./memory-retention.ts"
import { emptyTables, recordsOf, storedRun } from "./memory-rows.ts"
import { memorySchedules } from "./memory-schedules.ts"
import { memorySlots } from "./memory-slots.ts"
import { memorySubscriptions } from "./memory-subscriptions.ts"

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
    claim: (runId, token, holder) => claim(tables, runId, token, holder),
    setIdle: (lease, idle) => setIdle(tables, lease, idle),
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
