/**
 * What runs have used, by day, tenant, workflow and key, in the records of the store. A durable consumer adds each run when it
 * ends, so a question reads records of days and no journal.
 *
 * Invariants:
 * U1 A run counts once, however often its end is delivered: a record has the position of the last event that it counts, and
 *    a run changes one record of each kind.
 * U2 A fork counts what it used after its fork, and a run that continues after a limit what it used since.
 * U3 Counting begins with the first question that any server of the store gets, with the runs whose ends the store still has.
 *    From then on every server counts.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { isSuperstepError, type Json, type Runtime, type StoredRun, type Usage } from "@superstep/engine"
import { z } from "zod"
import { KEY_LABEL, TENANT_LABEL } from "../access.ts"
import { type Measure, measure, sum } from "./measure.ts"

const DAYS = "usage"
const NODES = "usage-nodes"
const LIMITS = "usage-limit"
const CONSUMER = "superstep.usage"
const DAY = 86_400_000
const PAGE = 500
/** A run whose journal cannot be read holds up the others no longer. */
const MAX_ATTEMPTS = 8
/** Steps between a duration and its double: quantiles are off by a tenth at most. */
const STEPS = 4

const usage = z.record(z.string(), z.number())
const count = z.number()

const daySchema = z.object({
  position: count,
  runs: z.object({ completed: count, failed: count, cancelled: count, limit: count }),
  /** How many runs took how long: by the logarithm of milliseconds. */
  durations: z.record(z.string(), count),
  usage,
  models: z.record(z.string(), usage),
})

const nodesSchema = z.object({
  position: count,
  nodes: z.record(z.string(), z.object({ tasks: count, failed: count, ms: count, usage })),
})

/** Of a run that reached a limit: how many of its events are counted. */
const limitSchema = z.object({ events: count })

export type DayUsage = z.infer<typeof daySchema>
export type NodeUsage = z.infer<typeof nodesSchema>["nodes"]

/** Whose usage a record has. */
export interface UsageOf {
  /** Of UTC, as 2026-01-31. */
  readonly day: string
  readonly tenant: string
  readonly workflow: string
  readonly key: string
}

const NO_RUNS = { completed: 0, failed: 0, cancelled: 0, limit: 0 }
const NO_DAY: DayUsage = { position: 0, runs: NO_RUNS, durations: {}, usage: {}, models: {} }

const counting = new WeakMap<Runtime, Promise<unknown>>()

/** Counts in this process too, from now on. */
async function beginCounting(runtime: Runtime): Promise<void> {
  let begun = counting.get(runtime)
  if (begun === undefined) {
    const options = { consumer: CONSUMER, from: "beginning", maxAttempts: MAX_ATTEMPTS } as const
    begun = runtime.on("run.ended", options, (event) => add(runtime, event))
    counting.set(runtime, begun)
  }
  try {
    await begun
  } catch (error) {
    counting.delete(runtime)
    throw error
  }
}

/** Counts in this process if some server of the store was asked before (U3). */
export async function continueCounting(runtime: Runtime): Promise<void> {
  if (counting.has(runtime)) return
  const consumers = await runtime.consumers()
  if (consumers.some(({ consumer }) => consumer === CONSUMER)) await beginCounting(runtime)
}

/** Milliseconds that a question waits until what has ended is counted, and between two looks. */
const CATCH_UP = 2_000
const LOOK = 20

/** Counts, and waits a little for what has ended: the first question to a store finds everything uncounted. */
export async function catchUp(runtime: Runtime): Promise<void> {
  await beginCounting(runtime)
  const until = performance.now() + CATCH_UP
  while ((await uncounted(runtime)) > 0 && performance.now() < until) await sleep(LOOK)
}

/** How many events are not counted yet. */
export async function uncounted(runtime: Runtime): Promise<number> {
  return (await runtime.consumers()).find(({ consumer }) => consumer === CONSUMER)?.lag ?? 0
}

interface Ended {
  readonly runId: string
  readonly at: number
  readonly position: number
  readonly status: string
}

async function add(runtime: Runtime, event: Ended): Promise<void> {
  const { store } = runtime
  const row = await store.run(event.runId)
  if (row === undefined) return
  const before = await store.records.get(LIMITS, event.runId)
  const counted = before === undefined ? 0 : limitSchema.parse(before.value).events
  const measured = await measureOf(runtime, row, counted)
  if (measured === undefined) return
  const { labels } = row
  const of = {
    day: dayOf(event.at),
    tenant: labels?.[TENANT_LABEL] ?? "",
    workflow: row.workflow,
    key: labels?.[KEY_LABEL] ?? "",
  }
  await change(runtime, DAYS, idOf(of), daySchema, NO_DAY, event.position, (day) =>
    withRun(day, event, row, measured),
  )
  await change(
    runtime,
    NODES,
    nodesId(of),
    nodesSchema,
    { position: 0, nodes: {} },
    event.position,
    (sums) => ({
      ...sums,
      nodes: withNodes(sums.nodes, measured.nodes),
    }),
  )
  // U2: only a run that reached a limit ends again.
  if (event.status === "limit") {
    await store.records.put(LIMITS, event.runId, { events: measured.events }, before?.version ?? null)
  } else if (before !== undefined) await store.records.remove(LIMITS, event.runId)
}

/** Undefined if the run was deleted meanwhile. */
async function measureOf(runtime: Runtime, row: StoredRun, counted: number): Promise<Measure | undefined> {
  try {
    return await measure(runtime.store, row, counted)
  } catch (error) {
    if (isSuperstepError(error, "RUN_UNKNOWN")) return undefined
    throw error
  }
}

async function change<T extends { readonly position: number }>(
  { store }: Runtime,
  kind: string,
  id: string,
  schema: z.ZodType<T>,
  none: T,
  position: number,
  to: (value: T) => T,
): Promise<void> {
  for (;;) {
    const record = await store.records.get(kind, id)
    const value = record === undefined ? none : schema.parse(record.value)
    if (value.position >= position) return
    const next = { ...to(value), position } as unknown as Json
    if (await store.records.put(kind, id, next, record?.version ?? null)) return
  }
}

function withRun(
  day: DayUsage,
  { at, status }: Ended,
  { createdAt }: StoredRun,
  measured: Measure,
): DayUsage {
  const bucket = String(bucketOf(at - createdAt))
  const key = status as keyof DayUsage["runs"]
  return {
    ...day,
    runs: { ...day.runs, [key]: (day.runs[key] ?? 0) + 1 },
    durations: { ...day.durations, [bucket]: (day.durations[bucket] ?? 0) + 1 },
    usage: sum(day.usage, measured.usage) as DayUsage["usage"],
    models: sums(day.models, measured.models) as DayUsage["models"],
  }
}

export function sums(
  a: Readonly<Record<string, Usage>>,
  b: Readonly<Record<string, Usage>>,
): Record<string, Usage> {
  const all: Record<string, Usage> = { ...a }
  for (const [name, used] of Object.entries(b)) all[name] = sum(all[name] ?? {}, used)
  return all
}

function withNodes(nodes: NodeUsage, more: Measure["nodes"] | NodeUsage): NodeUsage {
  const all: NodeUsage = { ...nodes }
  for (const [node, { tasks, failed, ms, usage: used }] of Object.entries(more)) {
    const one = all[node] ?? { tasks: 0, failed: 0, ms: 0, usage: {} }
    all[node] = {
      tasks: one.tasks + tasks,
      failed: one.failed + failed,
      ms: one.ms + ms,
      usage: sum(one.usage, used) as DayUsage["usage"],
    }
  }
  return all
}

function bucketOf(milliseconds: number): number {
  return milliseconds <= 1 ? 0 : Math.round(Math.log2(milliseconds) * STEPS)
}

/** The duration that this share of the runs did not exceed, in milliseconds. Undefined without runs. */
export function quantile(durations: DayUsage["durations"], share: number): number | undefined {
  const buckets = Object.entries(durations)
    .map(([bucket, runs]) => [Number(bucket), runs] as const)
    .sort(([a], [b]) => a - b)
  let left = buckets.reduce((total, [, runs]) => total + runs, 0) * share
  for (const [bucket, runs] of buckets) {
    left -= runs
    if (left <= 0) return Math.round(2 ** (bucket / STEPS))
  }
  return undefined
}

// Reading

/** The records of these days, in the order of the days; of one tenant, or of all. */
export async function* usageOfDays(
  { store }: Runtime,
  { from, to, tenant }: { readonly from: string; readonly to: string; readonly tenant?: string | undefined },
): AsyncGenerator<readonly [UsageOf, DayUsage]> {
  for await (const [parts, value] of recordsOfDays(store, DAYS, from, to)) {
    const [day = "", ofTenant = "", workflow = "", key = ""] = parts
    if (tenant !== undefined && ofTenant !== tenant) continue
    yield [{ day, tenant: ofTenant, workflow, key }, daySchema.parse(value)]
  }
}

export async function nodesOfDays(
  runtime: Runtime,
  workflow: string,
  { from, to, tenant }: { readonly from: string; readonly to: string; readonly tenant?: string | undefined },
): Promise<NodeUsage> {
  let nodes: NodeUsage = {}
  for await (const [of, some] of nodeUsageOfDays(runtime, { from, to, tenant })) {
    if (of.workflow === workflow) nodes = withNodes(nodes, some)
  }
  return nodes
}

/** The nodes of all workflows, in the order of the days. Their usage is not kept by key. */
export async function* nodeUsageOfDays(
  { store }: Runtime,
  { from, to, tenant }: { readonly from: string; readonly to: string; readonly tenant?: string | undefined },
): AsyncGenerator<readonly [Omit<UsageOf, "key">, NodeUsage]> {
  for await (const [[day = "", ofTenant = "", workflow = ""], value] of recordsOfDays(
    store,
    NODES,
    from,
    to,
  )) {
    if (tenant !== undefined && ofTenant !== tenant) continue
    yield [{ day, tenant: ofTenant, workflow }, nodesSchema.parse(value).nodes]
  }
}

async function* recordsOfDays(
  { records }: Runtime["store"],
  kind: string,
  from: string,
  to: string,
): AsyncGenerator<readonly [readonly string[], Json]> {
  // Ids begin with the day and a slash, which follows nothing that a day ends with.
  let after = from
  for (;;) {
    const page = await records.list(kind, { after, limit: PAGE })
    for (const { id, value } of page) {
      if (id.slice(0, 10) > to) return
      yield [id.split("/").map(decodeURIComponent), value]
    }
    if (page.length < PAGE) return
    after = page.at(-1)?.id as string
  }
}

export function dayOf(at: number): string {
  return new Date(Math.floor(at / DAY) * DAY).toISOString().slice(0, 10)
}

function idOf({ day, tenant, workflow, key }: UsageOf): string {
  return [day, tenant, workflow, key].map(encodeURIComponent).join("/")
}

function nodesId({ day, tenant, workflow }: UsageOf): string {
  return [day, tenant, workflow].map(encodeURIComponent).join("/")
}
