/** Nodes where lanes join, and nodes that run others in parallel. */
import type { Json, NodeId } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import { template, textOf } from "../../../expressions/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { type DefinitionNode, parseIfJson } from "../../definition.ts"
import { followAll, type GraphEdge, type GraphNodeOptions, makeNode } from "./graph-node.ts"
import { GOAL, type GraphInfo, type Lane, OUTPUTS, readOutputs, type Visit } from "./visit.ts"

export interface GraphMergeOptions extends GraphNodeOptions, MergeValuesOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  readonly outputs?: Readonly<Record<string, string>> | undefined
  /** The nodes whose lanes end here. */
  readonly closes?: readonly NodeId[] | undefined
}

/** Combines the outputs in the order of definition. A single lane passes its output on unchanged. */
export function graphMerge(graph: GraphInfo, id: NodeId, options: GraphMergeOptions = {}): DefinitionNode {
  const { closes = [] } = options
  const merge = merging(options)
  const follow = followAll(options.edges)
  const mapped = readOutputs(options.outputs)
  return makeNode(graph, id, { kind: "merge", gathers: true, ...options }, (visit, leave) => {
    const gathered = gather(visit, ({ at, members }) => !members && closes.includes(at))
    if (gathered === undefined) return leave({ to: "wait" })
    const { results, lanes } = gathered
    const isAlone = lanes.length === visit.lanes.length
    const output = isAlone ? undefined : merge(results, visit)
    const values = mapped(visit, output ?? visit.input)
    const to = follow(visit, { output, values })
    return leave({ output, values, lanes, to })
  })
}

export interface GraphParallelOptions extends GraphNodeOptions, MergeValuesOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  readonly outputs?: Readonly<Record<string, string>> | undefined
  readonly nodes: readonly NodeId[]
}

/** Runs its nodes at the same time. They return to it; a failed one returns null. */
export function graphParallel(graph: GraphInfo, id: NodeId, options: GraphParallelOptions): DefinitionNode {
  const { nodes, strategy = "collect_list" } = options
  const merge = merging({ ...options, strategy })
  const follow = followAll(options.edges)
  const mapped = readOutputs(options.outputs)
  return makeNode(graph, id, { kind: "parallel", gathers: true, ...options }, (visit, leave) => {
    const { member } = visit
    if (member?.at !== id) return leave({ to: nodes, opens: { members: true } })
    const gathered = gather(visit, ({ at, members }) => members === true && at === id)
    if (gathered === undefined) return leave({ to: "wait" })
    const { results, lanes } = gathered
    const output = merge(results, visit)
    const values = mapped(visit, output)
    const isMember = lanes.at(-1)?.members === true
    const to = isMember ? "end" : follow(visit, { output, values })
    // Returning does not count as a visit.
    return leave({ output, values, lanes, to, steps: -1 })
  })
}

export const STRATEGIES = ["concat_text", "collect_list", "merge_dict", "stitch", "custom_template"] as const

type Strategy = (typeof STRATEGIES)[number]

export interface MergeValuesOptions {
  readonly strategy?: Strategy | undefined
  /** For custom_template: sees the outputs by the names of their branches, and all as `results`. */
  readonly template?: string | undefined
  /** The separator between texts. Default: an empty line. */
  readonly separator?: string | undefined
}

interface Result {
  readonly name: string
  readonly value: Json
}

type Merge = (results: readonly Result[], visit: Visit) => Json

/** Keeps the order. Texts leave out null. */
function merging({
  strategy = "concat_text",
  template: text = "",
  separator = "\n\n",
}: MergeValuesOptions): Merge {
  switch (strategy) {
    case "concat_text":
      return (results) => texts(results, (_, one) => one).join(separator)
    case "stitch":
      return (results) => texts(results, (name, one) => `### ${name}\n${one}`).join(separator)
    case "collect_list":
      return (results) => results.map(({ value }) => value)
    case "merge_dict":
      return (results) => Object.assign({}, ...results.map(asObject)) as Json
    case "custom_template": {
      const read = template(text, "graph")
      return (results, visit) => {
        const names: Record<string, Json> = { results: results.map(({ value }) => value) }
        for (const { name, value } of results) names[name] = value
        return read.render(visit.scope(read.references, { names }))
      }
    }
  }
}

function texts(results: readonly Result[], format: (name: string, text: string) => string): string[] {
  return results.flatMap(({ name, value }) => (value === null ? [] : [format(name, textOf(value))]))
}

/** A value that is not an object is stored under the name of its branch. */
function asObject({ name, value }: Result): object {
  const data = parseIfJson(value)
  return isRecord(data) ? data : { [name]: value }
}

/** Where an output is stored. A lane that ended elsewhere has none. */
interface Arrival {
  readonly name: string
  readonly key?: string | undefined
}

interface Gathered {
  readonly results: readonly Result[]
  readonly lanes: readonly Lane[]
}

/** Collects the outputs of the lanes that end here; undefined until all of them have arrived. */
function gather(visit: Visit, closes: (lane: Lane) => boolean): Gathered | undefined {
  const { ctx, token } = visit
  let lanes = visit.lanes
  const { branch = token.from } = lanes.at(-1) ?? {}
  let arrived: readonly Arrival[] = token.gone
    ? []
    : [{ name: branch, ...(token.key === undefined ? {} : { key: token.key }) }]
  for (;;) {
    const lane = lanes.at(-1)
    if (lane === undefined || !closes(lane)) break
    const all = arrivedTogether(ctx, lane, arrived)
    if (all === undefined) return undefined
    arrived = all
    lanes = lanes.slice(0, -1)
  }
  const outputs = ctx.state.get(OUTPUTS)
  const goal = ctx.state.get(GOAL)
  const left = ({ key }: Arrival): Json => (key === undefined ? goal : outputs[key]) ?? null
  return { results: arrived.map((one) => ({ name: one.name, value: left(one) })), lanes }
}

/** Stores each lane under its own key, so that a write has the size of one lane. */
function arrivedTogether(
  { local }: Context,
  { at, task, index, of }: Lane,
  arrived: readonly Arrival[],
): readonly Arrival[] | undefined {
  const name = `from ${at} ${task}`
  const keyOf = (lane: number) => `${name} ${lane}`
  const count = (local.get<number>(name) ?? 0) + (local.get(keyOf(index)) === undefined ? 1 : 0)
  if (count < of) {
    local.set(name, count)
    local.set(keyOf(index), arrived)
    return undefined
  }
  return Array.from({ length: of }, (_, lane) =>
    lane === index ? arrived : (local.get<readonly Arrival[]>(keyOf(lane)) ?? []),
  ).flat()
}
