/** Runs the calls of the agent that spoke last, one after the other, and adds their results to the conversation. */
import type { ToolCall } from "../../agents/conversation.ts"
import { type Agent, callTools } from "../../agents/index.ts"
import { type Json, type NodeId, SuperstepError } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import type { GraphEdge } from "./edges.ts"
import { LAST_CALLER, LAST_TOOL, MESSAGES } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, makeNode } from "./graph-node.ts"

export interface ChatToolsOptions extends GraphNodeOptions {
  /** `when` is the name of the tool after which the edge is taken; without one it is taken after all others. */
  readonly edges?: readonly GraphEdge[] | undefined
  /** The agents that call, by node. Without an edge it goes back to the one that did. */
  readonly callers: Readonly<Record<NodeId, Agent>>
}

export function chatTools(graph: GraphInfo, id: NodeId, options: ChatToolsOptions): GraphNode {
  const { edges = [], callers, name = id } = options
  return makeNode(graph, id, { kind: "tools", ...options }, async (visit, leave) => {
    const { ctx } = visit
    const caller = ctx.state.get(LAST_CALLER)
    const agent = caller !== null && Object.hasOwn(callers, caller) ? callers[caller] : undefined
    if (caller === null || agent === undefined) {
      const text = `"${name}" has no calls to run: the agent before it has no edge to it. Draw one.`
      throw new SuperstepError("NO_TOOL_CALLS", text, { retryable: false })
    }
    const calls = openCalls(ctx.state.get(MESSAGES))
    const last = calls.at(-1)?.name
    const made = calls.length === 0 ? undefined : await callTools(agent, calls, ctx)
    if (made !== undefined) ctx.state.write(MESSAGES, [made.results])
    if (last !== undefined) ctx.state.write(LAST_TOOL, last)
    const results = (made?.outcomes ?? []).map((one): Json => (one.ok ? one.value : one.error.message))
    const taken =
      edges.find(({ when }) => when !== undefined && when === last) ??
      edges.find(({ when }) => when === undefined)
    const to = taken === undefined ? [caller] : taken.to === null ? "end" : [taken.to]
    const news = [calls.map(({ name: tool, args }) => [tool, args]), results]
    return leave({ output: results.at(-1), to, news })
  })
}

/** The calls that were made last, and have no result. */
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
