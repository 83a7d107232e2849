/** Handles a run whose workflow has changed: rejects the new version, accepts it, or migrates the run. */
import {
  type Graph,
  type GraphChanged,
  graphData,
  isSuperstepError,
  Machine,
  type MachineSnapshot,
  type NodeId,
  SuperstepError,
  signatureOf,
} from "../../core/index.ts"
import { graphDifference } from "../../core/internal.ts"

export interface GraphDifference {
  readonly runId: string
  readonly workflow: string
  /** Lines with `-` for removed, `~` for changed and `+` for added parts of the workflow. */
  readonly lines: readonly string[]
}

/** Converts a run's state, which is plain data, for the new graph. */
export type Migrate = (state: MachineSnapshot, difference: GraphDifference) => MachineSnapshot

/**
 * `fail`, the default: the run stays unchanged and is not resumed. `continue`: it continues, with nodes and joins matched by
 * name. A function migrates its state. Changes of policies only (retries, limits, timeouts) are always accepted.
 */
export type GraphChangePolicy = "fail" | "continue" | Migrate

export interface Adopted {
  readonly machine: Machine
  /** The entry to journal: from here on the run has the new graph. */
  readonly changed?: Omit<GraphChanged, "type" | "at"> | undefined
}

/** A machine of the new graph with the run's state. Throws GRAPH_CHANGED if the policy rejects it. */
export function adopt(machine: Machine, graph: Graph, policy: GraphChangePolicy = "fail"): Adopted {
  const { hash } = graphData(graph)
  if (graphData(machine.graph).hash === hash || machine.isOver()) return { machine }
  const { hash: signature } = signatureOf(graph)
  const changed = { graph: hash, signature }
  const difference = differenceOf(machine, graph)
  if (difference.lines.length === 0) return { machine: Machine.restore(graph, machine.snapshot()), changed }
  if (policy === "fail")
    throw graphChanged(difference, "Resume it with onGraphChange, or with the old version.")
  try {
    if (policy === "continue") return { machine: Machine.restore(graph, machine.snapshot()), changed }
    const snapshot = policy(machine.snapshot(), difference)
    return { machine: Machine.restore(graph, snapshot), changed: { ...changed, snapshot } }
  } catch (error) {
    if (!isSuperstepError(error, "GRAPH_CHANGED")) throw error
    throw graphChanged(difference, `It cannot continue with this one: ${error.message}`)
  }
}

export function differenceOf(machine: Machine, graph: Graph): GraphDifference {
  const lines = graphDifference(machine.graph, graph)
  return { runId: machine.runId, workflow: graph.name, lines }
}

/** The error for a run that waits for a sub-workflow that its handler no longer calls. */
export function callRemoved(difference: GraphDifference): SuperstepError {
  return graphChanged(difference, "Resume it with onGraphChange, or with the old version.")
}

/** The lines of the difference for that; `instead` is what the handler calls now. */
export function removedCall(node: NodeId, called: string, instead?: string): string[] {
  const lines = [`- node ${node} calls workflow ${called}`]
  return instead === undefined ? lines : [...lines, `+ node ${node} calls workflow ${instead}`]
}

function graphChanged({ runId, workflow, lines }: GraphDifference, then: string): SuperstepError {
  const text = `Run "${runId}" was started with another version of workflow "${workflow}":`
  return new SuperstepError("GRAPH_CHANGED", [text, ...lines.map((line) => `  ${line}`), then].join("\n"), {
    retryable: false,
    run: runId,
  })
}
