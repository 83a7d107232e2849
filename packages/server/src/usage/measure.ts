/** What a run has used, by itself: without the past that a fork shares with its origin. */
import { pastEvents, type Store, type StoredRun, type Usage } from "@superstep/engine"
import { emptyView, foldEvents, type RunView, tasksOf } from "@superstep/engine/protocol"

interface NodeMeasure {
  readonly tasks: number
  readonly failed: number
  /** Milliseconds from the start of the first attempt to the end, in total; waits are included. */
  readonly ms: number
  readonly usage: Usage
}

export interface Measure {
  readonly usage: Usage
  readonly models: Readonly<Record<string, Usage>>
  /** Of the run itself; what a sub-workflow used counts for the node that called it. */
  readonly nodes: Readonly<Record<string, NodeMeasure>>
  /** How many events the run has had. */
  readonly events: number
}

/** `counted`: this many events are counted already. */
export async function measure(
  store: Store,
  { runId, forkOf }: Pick<StoredRun, "runId" | "forkOf">,
  counted = 0,
): Promise<Measure> {
  const shared = forkOf === undefined ? 0 : await eventsAt(store, runId, forkOf.seq)
  const from = Math.max(shared, counted)
  const events = await pastEvents(store, runId)
  const before = foldEvents(
    emptyView(),
    events.filter(({ seq }) => seq <= from),
  )
  const after = foldEvents(
    before,
    events.filter(({ seq }) => seq > from),
  )
  return {
    usage: difference(after.usage, before.usage),
    models: differences(after.usageByModel, before.usageByModel),
    nodes: nodesOf(after, before),
    events: after.seq,
  }
}

/** How many events a run had given when that record of its journal was written. */
async function eventsAt(store: Store, runId: string, seq: number): Promise<number> {
  const [record] = await store.read(runId, seq - 1, 1)
  return record?.events ?? 0
}

function nodesOf(after: RunView, before: RunView): Record<string, NodeMeasure> {
  const ended = new Set<number>()
  for (const { id, finishedAt } of tasksOf(before)) if (finishedAt !== undefined) ended.add(id)
  const nodes: Record<string, NodeMeasure> = {}
  const usage = differences(after.usageByNode, before.usageByNode)
  for (const { id, node, status, startedAt, finishedAt } of tasksOf(after)) {
    if (finishedAt === undefined || ended.has(id)) continue
    const sum = nodes[node] ?? { tasks: 0, failed: 0, ms: 0, usage: usage[node] ?? {} }
    nodes[node] = {
      ...sum,
      tasks: sum.tasks + 1,
      failed: sum.failed + (status === "failed" || status === "rejected" ? 1 : 0),
      ms: sum.ms + Math.max(0, finishedAt - startedAt),
    }
  }
  for (const [node, used] of Object.entries(usage))
    nodes[node] ??= { tasks: 0, failed: 0, ms: 0, usage: used }
  return nodes
}

type UsageBy = Readonly<Record<string, Usage>>

function differences(after: UsageBy, before: UsageBy): Record<string, Usage> {
  const all = Object.entries(after).map(
    ([name, usage]) => [name, difference(usage, before[name] ?? {})] as const,
  )
  return Object.fromEntries(all.filter(([, usage]) => Object.keys(usage).length > 0))
}

function difference(after: Usage, before: Usage): Usage {
  const parts = Object.entries(after) as [keyof Usage, number | undefined][]
  // Subtracting fractions of money leaves rounding errors.
  const left = parts.map(([part, value]) => [part, rounded((value ?? 0) - (before[part] ?? 0))] as const)
  return Object.fromEntries(left.filter(([, value]) => value !== 0))
}

export function sum(a: Usage, b: Usage): Usage {
  const parts = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof Usage)[]
  return Object.fromEntries(parts.map((part) => [part, rounded((a[part] ?? 0) + (b[part] ?? 0))]))
}

function rounded(value: number): number {
  return Number(value.toFixed(9))
}
