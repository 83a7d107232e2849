/**
 * Compares the sub-workflows that a run waits for with those that its handlers call now. Which workflow a handler calls is
 * known only when it does: the handlers that wait for a call run up to it, as after a restart. Recorded results are
 * replayed; no step runs, no sub-workflow starts, and nothing is written.
 */
import { isSuperstepError, type NodeId, toErrorData } from "../../core/index.ts"
import { nestedDifference } from "../../core/internal.ts"
import { childKey } from "../journal/journal-fold.ts"
import type { LoadedFrame, LoadedRun } from "../journal/load-run.ts"
import type { Program } from "../ports/program.ts"
import type { Labels } from "../ports/stored.ts"
import { adopt, differenceOf, removedCall } from "./graph-change.ts"
import { RunHost } from "./run-host.ts"

export interface CalledGraphs {
  /** The changes, one per line; empty if there are none. */
  readonly lines: readonly string[]
  /** Why the run cannot continue even if changes are accepted, or why it could not be compared. */
  readonly problem?: string | undefined
}

/** Milliseconds in which the handlers must have made their calls again. */
const PATIENCE = 5_000

/** Captured at load time: tests may fake timers. */
const nextTurn = setImmediate

/** The run's own graph must be one that it can continue with. */
export async function calledGraphs(run: LoadedRun, program: Program, labels?: Labels): Promise<CalledGraphs> {
  const callers = callersOf(run.frames)
  const lines: string[] = []
  const called = new Set<string>([""])
  let problem: string | undefined
  const host = new RunHost({
    runId: run.runId,
    labels,
    store: undefined,
    clock: { now: () => run.at, setTimer: () => () => undefined },
    onGraphChange: "continue",
    probe: {
      onCall(key, { graph }) {
        called.add(key)
        const { machine } = run.frames.get(key) as LoadedFrame
        const difference = differenceOf(machine, graph)
        if (difference.lines.length === 0) return
        // A workflow that is a node is part of its parent's graph, which shows the change itself.
        const caller = callers.get(key)
        if (!caller?.isNested) lines.push(...nestedDifference(caller?.node ?? key, "calls", difference))
        try {
          adopt(machine, graph, "continue")
        } catch (error) {
          problem ??= toErrorData(error).message
        }
      },
    },
  })
  host.restore(program, run, { status: "running" })
  const until = performance.now() + PATIENCE
  while (host.failure === undefined && host.uncalled().length > 0 && performance.now() < until) {
    await new Promise<void>((resolve) => nextTurn(resolve))
  }
  for (const [key, { node, parent }] of callers) {
    const frame = run.frames.get(key)
    if (frame === undefined || called.has(key) || !called.has(parent)) continue
    lines.push(...removedCall(node, frame.machine.graph.name))
  }
  const [left] = host.failure === undefined ? host.uncalled() : []
  if (left !== undefined) problem ??= notCalled(callers.get(left)?.node ?? left, run.frames.get(left))
  if (host.failure !== undefined && !isSuperstepError(host.failure, "GRAPH_CHANGED")) {
    problem ??= toErrorData(host.failure).message
  }
  host.evict()
  return { lines, ...(problem === undefined ? {} : { problem }) }
}

interface CallingNode {
  readonly node: NodeId
  /** Whether the call is drawn in the graph. */
  readonly isNested: boolean
  /** The key of the workflow that the node is in. */
  readonly parent: string
}

/** The node that called each sub-workflow. */
function callersOf(frames: ReadonlyMap<string, LoadedFrame>): Map<string, CallingNode> {
  const callers = new Map<string, CallingNode>()
  for (const [key, { machine }] of frames) {
    for (const { id, attempt, node, waits } of machine.tasks()) {
      for (const wait of waits?.keys() ?? []) {
        callers.set(childKey(key, id, attempt, wait), {
          node: node.id,
          isNested: node.spec.nested !== undefined,
          parent: key,
        })
      }
    }
  }
  return callers
}

function notCalled(node: NodeId, frame: LoadedFrame | undefined): string {
  return `Node "${node}" did not call workflow "${frame?.machine.graph.name}" again within ${PATIENCE / 1_000} s, so the two versions could not be compared.`
}
