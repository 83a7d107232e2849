/** How a stored run stands, folded from its events, wherever it is at work. */
import { pastEvents, type Store, type Usage } from "@superstep/engine"
import { addUsage } from "@superstep/engine/core"
import { emptyView, foldEvents, type RunView, tasksOf, type WorkflowView } from "@superstep/engine/protocol"

export async function viewOf(store: Store, runId: string): Promise<RunView> {
  return foldEvents(emptyView(), await pastEvents(store, runId))
}

/** Visits of nodes, those of nested workflows included. */
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
  /** Milliseconds at work or waiting, all visits together; of those that are not over, until now. */
  readonly took: number
  readonly usage: Usage
}

/** In the order in which they were first visited. */
export function nodesOf(view: WorkflowView, now: number, above = ""): readonly NodeOverview[] {
  const nodes = new Map<string, NodeOverview>()
  const below: NodeOverview[] = []
  for (const { node, status, startedAt, finishedAt, calls } of tasksOf(view)) {
    const known = nodes.get(node)
    nodes.set(node, {
      name: above + node,
      times: (known?.times ?? 0) + 1,
      status,
      took: (known?.took ?? 0) + (finishedAt ?? now) - startedAt,
      usage: view.usageByNode[node] ?? {},
    })
    for (const call of calls) below.push(...nodesOf(call, now, `${above}${node} > `))
  }
  return [...nodes.values(), ...merged(below)]
}

/** A workflow that was called several times has each of its nodes once. */
function merged(nodes: readonly NodeOverview[]): readonly NodeOverview[] {
  const byName = new Map<string, NodeOverview>()
  for (const node of nodes) {
    const known = byName.get(node.name)
    if (known === undefined) byName.set(node.name, node)
    else {
      const { name, status } = node
      const usage = addUsage(known.usage, node.usage)
      byName.set(name, { name, status, usage, times: known.times + node.times, took: known.took + node.took })
    }
  }
  return [...byName.values()]
}
