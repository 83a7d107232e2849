/** What the steps of a run have left, by their ids: for `exec`. */
import type { Json, RunResult, Workflow } from "@superstep/engine"

/** A record that a step of the steps dialect has left in the state. */
interface StepRecord {
  readonly id: string
  readonly agent?: string | undefined
  readonly output?: Json | undefined
  readonly value?: Json | undefined
}

type Graph = Workflow["program"]["graph"]

/** The last output of each step, in the order of definition; of a workflow of another kind, its outputs. */
export function stepContext({ state, outputs }: RunResult, graph: Graph): Record<string, unknown> {
  const { steps } = state
  if (!Array.isArray(steps)) return { outputs }
  const context = new Map<string, unknown>()
  for (const record of steps as unknown as readonly StepRecord[]) {
    const { id, agent, output, value } = record
    if (output === undefined && value === undefined) continue
    context.set(id, { ...(agent !== undefined && { agent }), output: value ?? output })
  }
  const places = placesIn(graph)
  const place = (id: string) => places.get(id) ?? places.get(id.split("/")[0] ?? "") ?? places.size
  return Object.fromEntries([...context].sort(([a], [b]) => place(a) - place(b)))
}

/** Steps that run at the same time end in any order. */
function placesIn(graph: Graph, places = new Map<string, number>()): ReadonlyMap<string, number> {
  for (const { id, spec } of graph.nodes) {
    places.set(id, places.size)
    if (spec.nested !== undefined) placesIn(spec.nested, places)
  }
  return places
}
