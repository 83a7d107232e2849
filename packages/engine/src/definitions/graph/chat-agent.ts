/**
 * One turn of an agent in the conversation of the graph: what it says, and who is next. It says that by a tool, by an
 * answer that is JSON with `next`, or by calling tools, which another node runs.
 */
import type { ToolCall } from "../../agents/conversation.ts"
import { type Agent, agentTurn, type Turn, validHistory } from "../../agents/index.ts"
import { type Json, type NodeId, SuperstepError } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import type { Tool } from "../../tools/index.ts"
import { dataIn, isObject } from "../data-in-text.ts"
import {
  type Control,
  controlIn,
  controlResults,
  END,
  END_INSTRUCTION,
  endTool,
  routeTool,
} from "./control-tools.ts"
import type { GraphEdge } from "./edges.ts"
import { LAST_CALLER, MESSAGES, NEXT } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, type Leave, makeNode } from "./graph-node.ts"
import { memberWork } from "./member-work.ts"
import type { Visit } from "./visit.ts"

export interface ChatAgentOptions extends GraphNodeOptions {
  /** `when` is the name by which the agent chooses the edge; without one it is taken where no other is. */
  readonly edges: readonly GraphEdge[]
  /** The node that runs its tools, and has an edge from here. */
  readonly executor?: { readonly node: NodeId; readonly name: string } | undefined
}

export function chatAgent(graph: GraphInfo, id: NodeId, agent: Agent, options: ChatAgentOptions): GraphNode {
  const { edges, executor, name = id } = options
  const control = controlTools(graph, edges, executor?.node)
  return makeNode(graph, id, { kind: "agent", ...options }, async (visit, leave) => {
    const { ctx } = visit
    const before = validHistory(ctx.state.get(MESSAGES))
    const speak = async (): Promise<Said> => {
      const turn = await agentTurn(
        agent,
        {
          messages: inTurn(before, name),
          tools: control,
          ...(graph.conversational ? { instructions: END_INSTRUCTION } : {}),
        },
        ctx,
      )
      return readTurn(turn, new Set(control.map((one) => one.name)))
    }
    if (visit.member !== undefined) return await spokenBeside(visit, leave, name, speak)
    const said = await speak()
    ctx.state.write(MESSAGES, said.messages)
    ctx.state.write(LAST_CALLER, id)
    const next =
      said.calls.length > 0 ? executorName(name, said.calls, executor) : (said.control?.next ?? null)
    ctx.state.write(NEXT, next)
    const output = said.output === "" ? undefined : said.output
    const calls = said.calls.map(({ name: tool, args }) => [tool, args])
    const news = [said.output, next, calls]
    if (executor !== undefined && said.calls.length > 0) return leave({ output, to: [executor.node], news })
    const isOver = next === END && (said.control?.ends || graph.conversational)
    const to = isOver ? null : chosen(name, edges, next)
    if (to !== null) return leave({ output, to: [to], news })
    return leave({ output, to: "end", news, result: output ?? lastWords(before) })
  })
}

/** As one of a parallel node's: what it says counts, and who comes next is not for it to say. */
async function spokenBeside(visit: Visit, leave: Leave, name: string, speak: () => Promise<Said>) {
  const said = await memberWork(visit, async () => {
    const { calls, ...rest } = await speak()
    if (calls.length === 0) return rest
    const text = `"${name}" called ${toolsIn(calls)} as one of a parallel node's: no tools are run there. Lead to it by an edge instead.`
    throw new SuperstepError("NO_TOOL_EXECUTOR", text, { retryable: false })
  })
  if (said !== null) visit.ctx.state.write(MESSAGES, said.messages)
  return leave({ output: said === null ? null : said.output, to: "end" })
}

function toolsIn(calls: readonly ToolCall[]): string {
  return [...new Set(calls.map((call) => `"${call.name}"`))].join(", ")
}

function controlTools(
  { conversational }: GraphInfo,
  edges: readonly GraphEdge[],
  executor: NodeId | undefined,
): readonly Tool[] {
  const names = edges.flatMap(({ to, when }) =>
    when === undefined || (to !== null && to === executor) ? [] : [when],
  )
  const tools: Tool[] = names.length === 0 ? [] : [routeTool([...new Set(names)])]
  return conversational ? [...tools, endTool] : tools
}

/** Some models take a conversation that ends with their own side's words for their own, and go on with them. */
function inTurn(messages: readonly Message[], name: string): readonly Message[] {
  if (messages.at(-1)?.role !== "assistant") return messages
  return [...messages, { role: "user", content: [{ type: "text", text: `It is your turn, ${name}.` }] }]
}

interface Said {
  readonly messages: readonly Message[]
  readonly output: Json
  readonly control?: Control | undefined
  /** The calls that a node has to run. */
  readonly calls: readonly ToolCall[]
}

function readTurn(turn: Turn, signs: ReadonlySet<string>): Said {
  const { said, text, answer } = turn
  const signals = turn.calls.filter(({ name }) => signs.has(name))
  const calls = turn.calls.filter(({ name }) => !signs.has(name))
  const [signal] = signals
  if (signal !== undefined) {
    const messages = [...said, controlResults(signals, calls.length === 0)]
    if (calls.length > 0) return { messages, output: text, calls }
    const found = controlIn(signal)
    const last = found.message
    if (last === undefined) return { messages, output: text, control: found, calls }
    return { messages: [...messages, words(last)], output: last, control: found, calls }
  }
  if (calls.length > 0) return { messages: said, output: text, calls }
  const data = typeof answer === "string" ? dataIn(answer) : (answer as Json)
  if (!isObject(data) || (typeof data.next !== "string" && data.next !== null)) {
    return { messages: said, output: answer as Json, calls }
  }
  const { next, message = null, ...rest } = data
  const control = next === null ? undefined : { next }
  if (typeof message === "string" && message !== "")
    return { messages: [words(message)], output: message, control, calls }
  const hasMore = Object.keys(rest).length > 0 || (message !== null && message !== "")
  // With nothing but who is next it has said nothing.
  if (!hasMore) return { messages: [], output: "", control, calls }
  return { messages: said, output: answer as Json, control, calls }
}

export function words(text: string): Message {
  return { role: "assistant", content: [{ type: "text", text }] }
}

/** The last thing that an agent has said. */
export function lastWords(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    if (message.role !== "assistant") continue
    const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    if (text !== "") return text
  }
  return ""
}

function executorName(
  name: string,
  calls: readonly ToolCall[],
  executor: ChatAgentOptions["executor"],
): string {
  if (executor !== undefined) return executor.name
  const text = `"${name}" called ${toolsIn(calls)}, and has no edge to a TOOL_EXECUTOR node. Draw one: tools are run there.`
  throw new SuperstepError("NO_TOOL_EXECUTOR", text, { retryable: false })
}

/** By name, else the edge without one, else nowhere: the run ends. */
function chosen(name: string, edges: readonly GraphEdge[], next: string | null): NodeId | null {
  const taken =
    edges.find(({ when }) => when !== undefined && when === next) ??
    edges.find(({ when }) => when === undefined)
  if (taken !== undefined) return taken.to
  if (next === null) return null
  const names = edges.flatMap(({ when }) => (when === undefined ? [] : [`"${when}"`]))
  const choices = names.length === 0 ? "it has no edges" : `it can choose ${names.join(", ")}`
  const text = `"${name}" chose "${next}", and has no edge of that name: ${choices}.`
  throw new SuperstepError("ROUTE_UNKNOWN", text, { retryable: false })
}
