/** Nodes that do something: an agent's task, a tool call, another workflow. */
import { coreOf } from "../../agents/agent-core.ts"
import { runAgent } from "../../agents/agent-loop.ts"
import type { Agent } from "../../agents/index.ts"
import type { Workflow } from "../../builder/index.ts"
import type { Json, NodeId } from "../../core/index.ts"
import { expression, filling, textOf } from "../expressions/index.ts"
import { plainJson } from "../plain-json.ts"
import { singleCall } from "../single-call.ts"
import { words } from "./chat-agent.ts"
import { type Follow, followAll, type GraphEdge } from "./edges.ts"
import { MESSAGES } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, type Leave, makeNode } from "./graph-node.ts"
import { memberWork } from "./member-work.ts"
import { type GraphInputOptions, readInput, readOutputs } from "./node-input.ts"
import type { Visit } from "./visit.ts"

export interface GraphWorkOptions extends GraphNodeOptions, GraphInputOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  /** Names, and the paths in the state that they are written to. */
  readonly outputs?: Readonly<Record<string, string>> | undefined
  /** What becomes of the output, as an expression: it is `latest` there. */
  readonly result?: string | undefined
}

/** Does a task with the agent, with its own tools, in a conversation of its own. */
export function graphAgent(
  graph: GraphInfo,
  id: NodeId,
  agent: Agent,
  options: GraphWorkOptions = {},
): GraphNode {
  const ask = readInput(options)
  const finish = finishing(options)
  const core = coreOf(agent)
  return makeNode(graph, id, { kind: "agent", ...options }, (visit, leave) =>
    finish(visit, leave, async () => (await runAgent(core, ask(visit), visit.ctx)) as Json),
  )
}

// biome-ignore lint/suspicious/noExplicitAny: workflows of definitions take a text; others say what they take.
type SubWorkflow = Workflow<any, any>

export function graphWorkflow(
  graph: GraphInfo,
  id: NodeId,
  workflow: SubWorkflow,
  options: GraphWorkOptions = {},
): GraphNode {
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
  /** Texts in it may be templates: a lone expression keeps its type. */
  readonly args?: Json | undefined
}

interface Revealing {
  readonly visit: Visit
  /** The secrets that were asked for. */
  readonly used: string[]
}

/** The agent is the one that has the tool. */
export function graphTool(graph: GraphInfo, id: NodeId, agent: Agent, options: GraphToolOptions): GraphNode {
  const { tool, args = {} } = options
  const fill = filling(args, "graph", (visit: Visit, references) => visit.scope(references))
  const reveal = filling(args, "graph", ({ visit, used }: Revealing, references) =>
    visit.scope(references, { revealed: used }),
  )
  const revealed = (visit: Visit) => {
    const used: string[] = []
    return { args: reveal({ visit, used }), secrets: used }
  }
  const finish = finishing(options)
  return makeNode(graph, id, { kind: "tool", ...options }, (visit, leave) =>
    finish(visit, leave, () =>
      singleCall(agent, id, { tool, args: fill(visit), real: () => revealed(visit) }, visit.ctx),
    ),
  )
}

/** Does the work, and leaves what comes of it. What fails as a member of a parallel node leaves nothing. */
function finishing(
  options: GraphWorkOptions,
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
    const opens = to !== "end" && to.length > 1 ? {} : undefined
    return leave({ output, values, to, opens })
  }
}
