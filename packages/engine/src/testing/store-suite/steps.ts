/** Operations and assertions that the cases of the store suite share. */
import assert from "node:assert/strict"
import { isSuperstepError, type Json, type OpenRequest, type RunStatus } from "../../core/index.ts"
import type {
  Holder,
  JournalRecord,
  Lease,
  Mail,
  RunChange,
  RunCreated,
  Store,
  StoredRun,
  ThreadWrite,
} from "../../runtime/index.ts"

export type StoreCases = { readonly [name: string]: (store: Store) => Promise<void> }

/** Creates a store or a registry for one case, and disposes of it afterwards. */
export async function withMade<T>(
  make: () => T | Promise<T>,
  dispose: ((made: T) => unknown) | undefined,
  check: (made: T) => Promise<void>,
): Promise<void> {
  const made = await make()
  try {
    await check(made)
  } finally {
    await dispose?.(made)
  }
}

/** The start time of all cases: milliseconds since the epoch. */
export const START = 1_700_000_000_000

export const FINAL = ["completed", "failed", "cancelled", "limit"] as const

export function record(seq: number, value: Json, at = START + seq): JournalRecord {
  return {
    seq,
    frame: "",
    entry: { type: "step.recorded", at, task: 1, key: `step ${seq}`, value },
    events: seq * 2,
  }
}

export function records(first: number, count: number, value: Json = "value", at?: number): JournalRecord[] {
  return Array.from({ length: count }, (_, i) => record(first + i, value, at))
}

export function leaseOf(runId: string, token = 1, holder = "holder"): Lease {
  return { runId, holder, token }
}

interface StartOptions extends Partial<RunCreated> {
  readonly holder?: string
  /** How many records it begins with. */
  readonly count?: number
  readonly at?: number
  readonly value?: Json
  readonly change?: RunChange
}

export function holder(id: string): Holder {
  return { id, machine: "machine", pid: 1, born: "then" }
}

/** Creates a run, by default with one record. Its holder is known to the store. */
export async function start(store: Store, runId: string, options: StartOptions = {}): Promise<Lease> {
  const { holder: by, count = 1, at, value, change, ...created } = options
  const lease = leaseOf(runId, 1, by)
  await store.beat(holder(lease.holder))
  const base = created.forkOf?.seq ?? 0
  await store.append(lease, base, records(base + 1, count, value, at), {
    ...change,
    created: { workflow: "workflow", graph: "graph", ...created },
  })
  return lease
}

/** Writes to a run, wherever its journal ends. */
export async function write(store: Store, lease: Lease, change?: RunChange, at?: number): Promise<void> {
  const { seq } = await runOf(store, lease.runId)
  await store.append(lease, seq, records(seq + 1, 1, "value", at), change)
}

export async function end(
  store: Store,
  lease: Lease,
  at?: number,
  status: RunStatus = "completed",
): Promise<void> {
  await write(store, lease, { status }, at)
}

/** A run that ended at that time. */
export async function startAndEnd(store: Store, runId: string, options: StartOptions = {}): Promise<Lease> {
  return start(store, runId, { ...options, change: { status: "completed", ...options.change } })
}

export async function take(store: Store, runId: string, by: string): Promise<Lease> {
  await store.beat(holder(by))
  const lease = await store.claim(runId, (await runOf(store, runId)).token, by)
  assert.ok(lease !== undefined, `run ${JSON.stringify(runId)} can be claimed`)
  return lease
}

export function request(id: string, options: Partial<OpenRequest> = {}): OpenRequest {
  return { id, node: "node", task: 1, prompt: `Is it ${id}?`, openedAt: START, ...options }
}

export function mailTo(runId: string, id: string, options: Partial<Mail> = {}): Mail {
  return { id, runId, at: START, command: { type: "cancel" }, ...options }
}

export function set(key: string, value: Json): ThreadWrite {
  return { key, kind: "set", value }
}

export function add(key: string, ...items: Json[]): ThreadWrite {
  return { key, kind: "append", value: items }
}

export async function runOf(store: Store, runId: string): Promise<StoredRun> {
  const run = await store.run(runId)
  assert.ok(run !== undefined, `there is a run ${JSON.stringify(runId)}`)
  return run
}

export async function holds(
  store: Store,
  runId: string,
  expected: readonly JournalRecord[],
  afterSeq = 0,
): Promise<void> {
  assert.deepEqual(await store.read(runId, afterSeq), expected)
}

/** The values of one field of each item, or of several, in lists. */
export function fieldsOf<T>(items: readonly T[], first: keyof T, ...more: (keyof T)[]): unknown[] {
  return items.map((item) => (more.length === 0 ? item[first] : [first, ...more].map((field) => item[field])))
}

/** Checks some fields of a run's row; a field that is `undefined` may be absent. */
export async function stands(store: Store, runId: string, expected: Partial<StoredRun>): Promise<void> {
  const run = await runOf(store, runId)
  const fields = Object.keys(expected) as (keyof StoredRun)[]
  assert.deepEqual(Object.fromEntries(fields.map((field) => [field, run[field]])), expected)
}

export async function rejects(made: () => unknown, code: string, run?: string): Promise<void> {
  await assert.rejects(
    async () => made(),
    (error) => isSuperstepError(error, code) && (run === undefined || error.run === run),
    `it is rejected with ${code}${run === undefined ? "" : `, which names run ${JSON.stringify(run)}`}`,
  )
}

/**
 * Performs all operations in one turn. Returns the indexes of those that succeeded; the others must be rejected with the
 * code.
 */
export async function atOnce(made: readonly (() => unknown)[], code: string): Promise<number[]> {
  const outcomes = await Promise.allSettled(made.map(async (one) => one()))
  return outcomes.flatMap((outcome, place) => {
    if (outcome.status === "fulfilled") return [place]
    assert.ok(isSuperstepError(outcome.reason, code), `the others are rejected with ${code}`)
    return []
  })
}

/** Without undefined fields: a store may omit them or not. */
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== "object" || value === null) return value
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(fields.map(([key, field]) => [key, plain(field)]))
}
