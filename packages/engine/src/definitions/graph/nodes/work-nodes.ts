/** Nodes that do work: an agent's task, another workflow, a tool call, a wait, a change of the state. */
import type { Agent } from "../../../agents/index.ts"
import { coreOf, runAgent } from "../../../agents/internal.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import { expression, type Reference, textOf } from "../../../expressions/index.ts"
import { jsonSchema } from "../../../tools/index.ts"
import { functionCaller, type StepFunction } from "../../call-function.ts"
import { type DefinitionNode, plainJson, type SubWorkflow, toolCaller } from "../../definition.ts"
import { words } from "./chat-nodes.ts"
import {
  type Follow,
  followAll,
  type GraphEdge,
  type GraphNodeOptions,
  type Leave,
  makeNode,
  memberWork,
} from "./graph-node.ts"
import {
  type GraphInfo,
  type GraphInputOptions,
  type GraphToken,
  MESSAGES,
  pathOf,
  readInput,
  readOutputs,
  VALUES,
  type Visit,
  writePath,
} from "./visit.ts"

export interface GraphWorkOptions extends GraphNodeOptions, GraphInputOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  /** Names, and the paths in the state to write them to. */
  readonly outputs?: Readonly<Record<string, string>> | undefined
  /** An expression that replaces the output, which it sees as `latest`. */
  readonly result?: string | undefined
}

/** Runs the agent with its own tools, in its own conversation. */
export function graphAgent(
  graph: GraphInfo,
  id: NodeId,
  agent: Agent,
  options: GraphWorkOptions = {},
): DefinitionNode {
  const ask = readInput(options)
  const finish = finishing(options)
  const core = coreOf(agent)
  return makeNode(graph, id, { kind: "agent", ...options }, (visit, leave) =>
    finish(visit, leave, async () => (await runAgent(core, ask(visit), visit.ctx)) as Json),
  )
}

export function graphWorkflow(
  graph: GraphInfo,
  id: NodeId,
  workflow: SubWorkflow,
  options: GraphWorkOptions = {},
): DefinitionNode {
  const ask = readInput(options)
  const finish = finishing(options)
  return makeNode(graph, id, { kind: "workflow", nested: workflow, ...options }, (visit, leave) =>
    finish(visit, leave, async () => {
      const outputs = await visit.ctx.call<string, Json>(workflow, ask(visit))
      return outputs.at(-1) ?? null
    }),
  )
}

export interface GraphToolOptions extends GraphWorkOptions {
  readonly tool: string
  /** Strings may be templates; a template of one expression keeps its type. */
  readonly args?: Json | undefined
}

export function graphTool(
  graph: GraphInfo,
  id: NodeId,
  agent: Agent,
  options: GraphToolOptions,
): DefinitionNode {
  const { tool, args = {} } = options
  const scope = (visit: Visit, references: readonly Reference[], revealed?: string[]) =>
    visit.scope(references, { revealed })
  const callTool = toolCaller(agent, { tool, args, spelling: "graph", scope })
  const finish = finishing(options)
  return makeNode(graph, id, { kind: "tool", ...options }, (visit, leave) =>
    finish(visit, leave, () => callTool(id, visit, visit.ctx)),
  )
}

export interface GraphFunctionOptions extends GraphWorkOptions {
  /** Strings may be templates; a template of one expression keeps its type. Default: the output before it, as `input`. */
  readonly args?: Json | undefined
  /** JSON Schema of the result. */
  readonly schema?: Json | undefined
}

/** Its output is what the function returns, as JSON. */
export function graphFunction(
  graph: GraphInfo,
  id: NodeId,
  run: StepFunction,
  options: GraphFunctionOptions = {},
): DefinitionNode {
  const { args = { input: "{{ latest }}" }, schema } = options
  const scope = (visit: Visit, references: readonly Reference[]) => visit.scope(references)
  const call = functionCaller(run, { args, schema, spelling: "graph", scope })
  const finish = finishing(options)
  return makeNode(graph, id, { kind: "function", ...options }, (visit, leave) =>
    finish(visit, leave, () => call(id, visit, visit.ctx)),
  )
}

export interface GraphWaitOptions
  extends GraphNodeOptions,
    Pick<GraphWorkOptions, "edges" | "outputs" | "result"> {
  /** The name of the signal. */
  readonly signal: string
  readonly schema?: Json | undefined
  /** Milliseconds until `default` is the value, or the node fails. */
  readonly timeout?: number | undefined
  readonly default?: Json | undefined
}

/** Its output is the value of the signal. */
export function graphWait(graph: GraphInfo, id: NodeId, options: GraphWaitOptions): DefinitionNode {
  const { signal, schema: shape, timeout, default: fallback } = options
  const schema = shape === undefined ? undefined : jsonSchema<Json>(shape)
  const finish = finishing(options)
  return makeNode(graph, id, { kind: "wait", ...options }, (visit, leave) =>
    finish(visit, leave, () => visit.ctx.waitFor<Json>(signal, { schema, timeout, default: fallback })),
  )
}

function finishing(
  options: Pick<GraphWorkOptions, "edges" | "outputs" | "result">,
): (visit: Visit, leave: Leave, work: () => Promise<Json>) => unknown {
  const follow: Follow = followAll(options.edges)
  const mapped = readOutputs(options.outputs)
  const result = options.result === undefined ? undefined : expression(options.result, "graph")
  const outputOf = async (visit: Visit, work: () => Promise<Json>): Promise<Json> => {
    const done = await work()
    if (result === undefined || done === null) return done
    return plainJson(result.evaluate(visit.scope(result.references, { output: done })) ?? null)
  }
  return async (visit, leave, work) => {
    const made = () => outputOf(visit, work)
    const output = visit.member === undefined ? await made() : await memberWork(visit, made)
    const values = output === null ? {} : mapped(visit, output)
    if (visit.graph.chat && output !== null) visit.ctx.state.write(MESSAGES, [words(textOf(output))])
    const to = visit.member === undefined ? follow(visit, { output, values }) : "end"
    return leave({ output, values, to })
  }
}

export interface GraphStateOptions extends GraphNodeOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  /** Paths and the values to write there. A string is an expression. */
  readonly update?: Readonly<Record<string, Json>> | undefined
  /** The path of the value to pass on. */
  readonly read?: string | undefined
}

export function graphState(graph: GraphInfo, id: NodeId, options: GraphStateOptions = {}): DefinitionNode {
  const { update = {}, read } = options
  const updates = Object.entries(update).map(([path, value]) => [pathOf(path), writing(value)] as const)
  const path = read === undefined ? undefined : pathOf(read)
  const follow = followAll(options.edges)
  const work = (visit: Visit): Done => {
    const values: Record<string, Json> = {}
    for (const [to, value] of updates) {
      const current = { ...visit.ctx.state.get(VALUES), ...values }
      Object.assign(values, writePath(current, to, value(visit, values)))
    }
    return { values, output: path === undefined ? undefined : plainJson(visit.at(path) ?? null) }
  }
  return makeNode(graph, id, { kind: "state", ...options }, (visit, leave) => {
    if (visit.member !== undefined) return asMember(visit, leave, () => work(visit))
    const { values, output } = work(visit)
    const to = follow(visit, { output, values })
    return leave({ output, values, to, news: [output ?? null, values] })
  })
}

interface Done {
  readonly values: Readonly<Record<string, Json>>
  readonly output: Json | undefined
}

async function asMember(visit: Visit, leave: Leave, work: () => Done): Promise<GraphToken | undefined> {
  const { values, output } = (await memberWork(visit, work)) ?? { values: {}, output: null }
  return leave({ output, values, to: "end", news: [output ?? null, values] })
}

/** An expression sees the values that the same node wrote before. */
function writing(value: Json): (visit: Visit, values: Readonly<Record<string, Json>>) => Json {
  if (typeof value !== "string") return () => value
  const read = expression(value, "graph")
  return (visit, values) => plainJson(read.evaluate(visit.scope(read.references, { values })) ?? null)
}
