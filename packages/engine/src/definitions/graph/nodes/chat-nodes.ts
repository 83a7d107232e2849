/**
 * Nodes of a conversation. An agent takes one turn and chooses the next speaker: with a tool, with a JSON answer that has
 * `next`, or by calling tools, which a tools node runs.
 */
import { z } from "zod"
import { type Agent, agentTurn, callTools, type Turn, validHistory } from "../../../agents/index.ts"
import { readObject, type ToolCall, userText } from "../../../agents/internal.ts"
import { type Json, type NodeId, SuperstepError } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import type { Message } from "../../../models/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { type Tool, tool } from "../../../tools/index.ts"
import { type DefinitionNode, definitionNode, jsonIn } from "../../definition.ts"
import {
  followAll,
  type GraphEdge,
  type GraphNodeOptions,
  type Leave,
  leave,
  makeNode,
  memberWork,
} from "./graph-node.ts"
import {
  type GraphInfo,
  type GraphToken,
  isToken,
  LAST_CALLER,
  LAST_TOOL,
  MESSAGES,
  NEXT,
  type Reason,
  STEPS,
  Visit,
} from "./visit.ts"

export interface ChatAgentOptions extends GraphNodeOptions {
  /** `when` is the name that chooses the edge; an edge without one is the default. */
  readonly edges: readonly GraphEdge[]
  /** The node that runs its tools. */
  readonly executor?: { readonly node: NodeId; readonly name: string } | undefined
}

export function chatAgent(
  graph: GraphInfo,
  id: NodeId,
  agent: Agent,
  options: ChatAgentOptions,
): DefinitionNode {
  const { edges, executor, name = id } = options
  const control = controlTools(graph, edges, executor?.node)
  return makeNode(graph, id, { kind: "agent", ...options }, async (visit, leave) => {
    const { ctx } = visit
    const before = validHistory(ctx.state.get(MESSAGES))
    const speak = async (): Promise<TurnResult> => {
      const reply = await agentTurn(
        agent,
        {
          messages: inTurn(before, name),
          tools: control,
          ...(graph.conversational ? { instructions: END_INSTRUCTION } : {}),
        },
        ctx,
      )
      return readTurn(reply, new Set(control.map((one) => one.name)))
    }
    if (visit.member !== undefined) return await memberTurn(visit, leave, name, speak)
    const turn = await speak()
    ctx.state.write(MESSAGES, turn.messages)
    ctx.state.write(LAST_CALLER, id)
    const next =
      turn.calls.length > 0 ? executorName(name, turn.calls, executor) : (turn.control?.next ?? null)
    ctx.state.write(NEXT, next)
    const output = turn.output === "" ? undefined : turn.output
    const calls = turn.calls.map(({ name: tool, args }) => [tool, args])
    const news = [turn.output, next, calls]
    if (executor !== undefined && turn.calls.length > 0) return leave({ output, to: [executor.node], news })
    const isOver = next === END && (turn.control?.ends || graph.conversational)
    const to = isOver ? null : chosen(name, edges, next)
    if (to !== null) return leave({ output, to: [to], news })
    return leave({ output, to: "end", news, result: output ?? lastWords(before) })
  })
}

/** The turn of a member of a parallel node, which cannot choose the next speaker. */
async function memberTurn(visit: Visit, leave: Leave, name: string, speak: () => Promise<TurnResult>) {
  const turn = await memberWork(visit, async () => {
    const { calls, ...rest } = await speak()
    if (calls.length === 0) return rest
    const text = `"${name}" called ${toolsIn(calls)} as a member of a parallel node, where tools do not run. Lead to it with an edge instead.`
    throw new SuperstepError("NO_TOOL_EXECUTOR", text, { retryable: false })
  })
  if (turn !== null) visit.ctx.state.write(MESSAGES, turn.messages)
  return leave({ output: turn === null ? null : turn.output, to: "end" })
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

/** Some models continue a last assistant message as if it were their own. */
function inTurn(messages: readonly Message[], name: string): readonly Message[] {
  if (messages.at(-1)?.role !== "assistant") return messages
  return [...messages, { role: "user", content: [{ type: "text", text: `It is your turn, ${name}.` }] }]
}

interface TurnResult {
  readonly messages: readonly Message[]
  readonly output: Json
  readonly control?: Control | undefined
  /** The calls for a tools node. */
  readonly calls: readonly ToolCall[]
}

function readTurn(turn: Turn, controls: ReadonlySet<string>): TurnResult {
  const { added, text, answer } = turn
  const signals = turn.calls.filter(({ name }) => controls.has(name))
  const calls = turn.calls.filter(({ name }) => !controls.has(name))
  const [signal] = signals
  if (signal !== undefined) {
    const messages = [...added, controlResults(signals, calls.length === 0)]
    if (calls.length > 0) return { messages, output: text, calls }
    const found = controlIn(signal)
    const last = found.message
    if (last === undefined) return { messages, output: text, control: found, calls }
    return { messages: [...messages, words(last)], output: last, control: found, calls }
  }
  if (calls.length > 0) return { messages: added, output: text, calls }
  const data = typeof answer === "string" ? jsonIn(answer) : (answer as Json)
  if (!isRecord(data) || (typeof data.next !== "string" && data.next !== null)) {
    return { messages: added, output: answer as Json, calls }
  }
  const { next, message = null, ...rest } = data
  const control = next === null ? undefined : { next }
  if (typeof message === "string" && message !== "")
    return { messages: [words(message)], output: message, control, calls }
  const hasMore = Object.keys(rest).length > 0 || (message !== null && message !== "")
  // An answer with only `next` is not a message.
  if (!hasMore) return { messages: [], output: "", control, calls }
  return { messages: added, output: answer as Json, control, calls }
}

export function words(text: string): Message {
  return { role: "assistant", content: [{ type: "text", text }] }
}

function lastWords(messages: readonly Message[]): string {
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
  const text = `"${name}" called ${toolsIn(calls)} but has no edge to a TOOL_EXECUTOR node, which runs tools. Add one.`
  throw new SuperstepError("NO_TOOL_EXECUTOR", text, { retryable: false })
}

/** The edge with the name, else the one without. */
function edgeFor(edges: readonly GraphEdge[], name: string | null | undefined): GraphEdge | undefined {
  const named = edges.find(({ when }) => when !== undefined && when === name)
  return named ?? edges.find(({ when }) => when === undefined)
}

/** The node that the edge leads to; null ends the run. */
function chosen(name: string, edges: readonly GraphEdge[], next: string | null): NodeId | null {
  const taken = edgeFor(edges, next)
  if (taken !== undefined) return taken.to
  if (next === null) return null
  const names = edges.flatMap(({ when }) => (when === undefined ? [] : [`"${when}"`]))
  const choices = names.length === 0 ? "it has no edges" : `it can choose ${names.join(", ")}`
  const text = `"${name}" chose "${next}" but has no edge with that name: ${choices}.`
  throw new SuperstepError("ROUTE_UNKNOWN", text, { retryable: false })
}

export interface ChatToolsOptions extends GraphNodeOptions {
  /** `when` is the name of the tool that the edge follows; an edge without one is the default. */
  readonly edges?: readonly GraphEdge[] | undefined
  /** The agents that call tools, by node. Without an edge, the turn returns to the caller. */
  readonly callers: Readonly<Record<NodeId, Agent>>
}

/** Runs the calls of the agent that spoke last, in order, and adds their results to the conversation. */
export function chatTools(graph: GraphInfo, id: NodeId, options: ChatToolsOptions): DefinitionNode {
  const { edges = [], callers, name = id } = options
  return makeNode(graph, id, { kind: "tools", ...options }, async (visit, leave) => {
    const { ctx } = visit
    const caller = ctx.state.get(LAST_CALLER)
    const agent = caller !== null && Object.hasOwn(callers, caller) ? callers[caller] : undefined
    if (caller === null || agent === undefined) {
      const text = `"${name}" has no tool calls to run: the agent before it has no edge to it. Add one.`
      throw new SuperstepError("NO_TOOL_CALLS", text, { retryable: false })
    }
    const calls = openCalls(ctx.state.get(MESSAGES))
    const last = calls.at(-1)?.name
    const made = calls.length === 0 ? undefined : await callTools(agent, calls, ctx)
    if (made !== undefined) ctx.state.write(MESSAGES, [made.results])
    if (last !== undefined) ctx.state.write(LAST_TOOL, last)
    const results = (made?.outcomes ?? []).map((one): Json => (one.ok ? one.value : one.error.message))
    const taken = edgeFor(edges, last)
    const to = taken === undefined ? [caller] : taken.to === null ? "end" : [taken.to]
    const news = [calls.map(({ name: tool, args }) => [tool, args]), results]
    return leave({ output: results.at(-1), to, news })
  })
}

function openCalls(messages: readonly Message[]): readonly ToolCall[] {
  const at = messages.findLastIndex(({ role }) => role === "assistant")
  const message = messages[at]
  if (message?.role !== "assistant") return []
  const done = new Set(
    messages
      .slice(at + 1)
      .flatMap((one) => (one.role === "tool" ? one.content : []))
      .flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : [])),
  )
  return message.content.flatMap((part) => {
    if (part.type !== "tool-call" || done.has(part.toolCallId)) return []
    const { toolCallId, toolName, input } = part
    return [{ type: "tool-call" as const, id: toolCallId, name: toolName, args: JSON.stringify(input ?? {}) }]
  })
}

export const END = "END"

/** Lets an agent choose one of its edges. The graph follows the choice; the tool itself does nothing. */
function routeTool(names: readonly string[]): Tool {
  return tool({
    name: "route",
    description: "Chooses who continues the conversation after this turn.",
    input: {
      jsonSchema: {
        type: "object",
        properties: {
          next: { type: "string", enum: [...names], description: "Who continues." },
          message: { type: "string", description: "Your message before that." },
        },
        required: ["next"],
        additionalProperties: false,
      },
    },
    run: () => "",
  })
}

const endTool: Tool = tool({
  name: "end",
  description: "Ends the conversation. Call it when the user has what they asked for, or says goodbye.",
  input: {
    jsonSchema: {
      type: "object",
      properties: { message: { type: "string", description: "Your last message to the user." } },
      additionalProperties: false,
    },
  },
  run: () => "",
})

const END_INSTRUCTION =
  "When the user has what they asked for, or says goodbye, call the tool `end` with your last message to the user."

interface Control {
  readonly next: string
  readonly message?: string | undefined
  /** Ends the conversation, whatever edges exist. */
  readonly ends?: boolean | undefined
}

function controlIn({ name, args }: ToolCall): Control {
  const { next, message } = readObject(args) as { readonly next?: unknown; readonly message?: unknown }
  const own = typeof message === "string" && message !== "" ? { message } : {}
  if (name === "end") return { next: END, ends: true, ...own }
  return { next: typeof next === "string" ? next : "", ...own }
}

/** Providers require a result for every call. */
function controlResults(calls: readonly ToolCall[], isFollowed: boolean): Message {
  return {
    role: "tool",
    content: calls.map((call, i) => ({
      type: "tool-result" as const,
      toolCallId: call.id,
      toolName: call.name,
      output: { type: "text" as const, value: isFollowed && i === 0 ? followed(call) : NOT_FOLLOWED },
    })),
  }
}

function followed(call: ToolCall): string {
  const { next, ends } = controlIn(call)
  return ends ? "The conversation is over." : `${next} continues.`
}

const NOT_FOLLOWED = "Not followed: the other calls of this turn run first. Call it again after them."

// Hands the run over to a person because an agent asks for it, or because the run reached a limit. The person answers,
// chooses the next node, or ends the run. The count of visits then restarts.

export interface GraphHandoffOptions extends GraphNodeOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  /** The nodes that the person can choose, by name. */
  readonly routes?: Readonly<Record<string, NodeId>> | undefined
  /** The node after an answer, if no edge and no earlier agent determines it. */
  readonly otherwise?: NodeId | undefined
  readonly to?: string | undefined
  readonly prompt?: string | undefined
}

interface Answer {
  readonly message?: string | undefined
  readonly route?: string | undefined
  readonly end?: boolean | undefined
}

/** Messages of the conversation that the person sees. */
const MAX_SHOWN = 10

export function graphHandoff(
  graph: GraphInfo,
  id: NodeId,
  options: GraphHandoffOptions = {},
): DefinitionNode {
  const { routes = {}, to } = options
  const names = Object.keys(routes)
  const schema = answerSchema(names)
  const next = nextAfterAnswer(graph, options)
  const handler = async (message: unknown, ctx: Context) => {
    const token: GraphToken = isToken(message) ? message : { from: id, go: [] }
    const visit = new Visit(graph, id, token, ctx)
    const reason = token.reason ?? (isToken(message) ? undefined : (message as Reason))
    const reply = await ctx.ask<string | Answer>({
      prompt: options.prompt ?? questionOf(graph, reason, ctx),
      data: { ...(reason === undefined ? {} : { reason }), ...shown(visit), routes: names },
      schema,
      to,
    })
    const answer: Answer = typeof reply === "string" ? { message: reply } : reply
    ctx.state.write(STEPS, -ctx.state.get(STEPS))
    if (graph.chat && answer.message !== undefined) {
      // A last message is for the user. Any other message is for the agents.
      ctx.state.write(MESSAGES, [answer.end ? words(answer.message) : userText(answer.message)])
    }
    const news = [answer, ctx.task]
    const output = answer.message
    if (answer.end) return leave(visit, options, { output, to: "end", news, result: output ?? lastOf(visit) })
    if (graph.chat) ctx.state.write(NEXT, answer.route ?? null)
    const target = answer.route === undefined ? next(visit, output) : [routes[answer.route] as NodeId]
    return leave(visit, options, { output, to: target, news })
  }
  return definitionNode(id, "handoff", handler, { name: options.name })
}

function answerSchema(names: readonly string[]) {
  const message = z.string().optional()
  const [first, ...others] = names
  const route = first === undefined ? z.never() : z.enum([first, ...others])
  return z.union([
    z.string(),
    z.strictObject({ end: z.literal(true), message }),
    z.strictObject({ route, message }),
    z.strictObject({ message: z.string() }),
  ])
}

/** Follows the edges; in a conversation without one, returns to the agent that spoke last. */
function nextAfterAnswer(graph: GraphInfo, options: GraphHandoffOptions) {
  const { edges = [], otherwise } = options
  const follow = followAll(graph.chat ? edges.filter(({ when }) => when === undefined) : edges)
  return (visit: Visit, output: Json | undefined): readonly NodeId[] | "end" => {
    if (edges.some(({ when }) => when === undefined) || !graph.chat) return follow(visit, { output })
    const last = visit.ctx.state.get(LAST_CALLER) ?? otherwise
    return last === undefined ? "end" : [last]
  }
}

function questionOf({ chat }: GraphInfo, reason: Reason | undefined, ctx: Context): string {
  if (reason !== undefined) return `A person is needed: ${reason.message}`
  const agent = chat ? ctx.state.get(LAST_CALLER) : null
  return agent === null ? "A person is needed." : "An agent asks for a person."
}

function shown(visit: Visit): { readonly [name: string]: Json } {
  if (!visit.graph.chat) return { latest: visit.input }
  const messages = visit.ctx.state.get(MESSAGES).flatMap((message) => {
    const text = wordsOf(message)
    return text === "" ? [] : [{ role: message.role, text }]
  })
  return { messages: messages.slice(-MAX_SHOWN) }
}

function wordsOf({ role, content }: Message): string {
  if (typeof content === "string") return role === "system" ? "" : content
  return content.map((part) => (part.type === "text" ? part.text : "")).join("")
}

function lastOf(visit: Visit): Json {
  return visit.graph.chat ? lastWords(visit.ctx.state.get(MESSAGES)) : visit.input
}
