/** A run meets another version of its workflow: refused, taken as it is, or migrated. */
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
  /** Lines with `-` for what the run was made with, `~` for what changed, and `+` for what the workflow has now. */
  readonly lines: readonly string[]
}

/** Makes of a run's state, which is plain data, one that fits the new graph. */
export type Migrate = (state: MachineSnapshot, difference: GraphDifference) => MachineSnapshot

/**
 * `fail`, the default: the run is left alone. `continue`: it continues, nodes and joins matched by name. A function
 * migrates its state. A change of policies alone (retries, limits, timeouts) is taken without asking.
 */
export type GraphChangePolicy = "fail" | "continue" | Migrate

export interface Adopted {
  readonly machine: Machine
  /** To be journaled: from here on the run has the new graph. */
  readonly changed?: Omit<GraphChanged, "type" | "at"> | undefined
}

/** A machine of the graph, with the state that the run has. Throws GRAPH_CHANGED where that is not to be. */
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

/** The run waits for a sub-workflow that a handler does not call any more. */
export function callRemoved(difference: GraphDifference): SuperstepError {
  return graphChanged(difference, "Resume it with onGraphChange, or with the old version.")
}

/** How a difference shows that; `instead` is what the handler calls now. */
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
