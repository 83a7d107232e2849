/** The status of a stored run and of its nodes, read from the store alone. */
import {
  type Holder,
  pastEvents,
  processOf,
  type Store,
  type StoredRun,
  type StoredStatus,
  type Usage,
} from "@superstep/engine"
import { addUsage } from "@superstep/engine/core"
import { emptyView, foldEvents, type RunView, tasksOf, type WorkflowView } from "@superstep/engine/protocol"
import type { Paint } from "../terminal/terminal.ts"

/** `stopped` is a run that is stored as running, and that no living process executes. */
export type ShownStatus = StoredStatus | "stopped"

/** In the order in which they are listed. */
const COLORS: Readonly<Record<ShownStatus, keyof Paint>> = {
  queued: "dim",
  running: "bold",
  waiting: "magenta",
  quarantined: "red",
  completed: "green",
  failed: "red",
  cancelled: "dim",
  limit: "red",
  stopped: "red",
}

export const STATUSES = Object.keys(COLORS) as readonly ShownStatus[]

export function paintStatus(status: string, paint: Paint): string {
  const color = COLORS[status as ShownStatus]
  return color === undefined ? status : paint[color](status)
}

/** The process that executes a run, as far as it is visible from here: whoever claims the run looks closer. */
export async function livingHolder(
  store: Pick<Store, "holders">,
  { holder: id }: StoredRun,
): Promise<Holder | undefined> {
  if (id === undefined) return undefined
  const holder = (await store.holders()).find((one) => one.id === id)
  return holder === undefined || processOf(holder) === "gone" ? undefined : holder
}

export async function shownStatus(store: Pick<Store, "holders">, run: StoredRun): Promise<ShownStatus> {
  if (run.status !== "running") return run.status
  return (await livingHolder(store, run)) === undefined ? "stopped" : "running"
}

/** The name of its machine, without what distinguishes processes that cannot see each other. */
export function machineOf({ machine }: Holder): string {
  return machine.split(" ", 1)[0] as string
}

export async function viewOf(store: Store, runId: string): Promise<RunView> {
  return foldEvents(emptyView(), await pastEvents(store, runId))
}

/** Visits of nodes, including those of nested workflows. */
export function stepsOf(view: WorkflowView): number {
  return tasksOf(view).reduce(
    (sum, { calls }) => sum + calls.reduce((below, call) => below + stepsOf(call), 1),
    0,
  )
}

export interface NodeOverview {
  /** With the nodes that called its workflow: `outer > inner`. */
  readonly name: string
  readonly times: number
  /** Of its last visit. */
  readonly status: string
  /** Milliseconds executing or waiting, over all visits; visits that have not ended count until now. */
  readonly took: number
  readonly usage: Usage
}

/** In the order of their first visit. */
export function nodesOf(view: WorkflowView, now: number, above = ""): readonly NodeOverview[] {
  const nodes = new Map<string, NodeOverview>()
  const below = new Map<string, NodeOverview>()
  for (const { node, status, startedAt, finishedAt, calls } of tasksOf(view)) {
    const known = nodes.get(node)
    nodes.set(node, {
      name: above + node,
      times: (known?.times ?? 0) + 1,
      status,
      took: (known?.took ?? 0) + (finishedAt ?? now) - startedAt,
      usage: view.usageByNode[node] ?? {},
    })
    // A workflow that was called several times has each of its nodes once.
    for (const one of calls.flatMap((call) => nodesOf(call, now, `${above}${node} > `))) {
      const { times = 0, took = 0, usage = {} } = below.get(one.name) ?? {}
      const sum = { times: times + one.times, took: took + one.took, usage: addUsage(usage, one.usage) }
      below.set(one.name, { ...one, ...sum })
    }
  }
  return [...nodes.values(), ...below.values()]
}
