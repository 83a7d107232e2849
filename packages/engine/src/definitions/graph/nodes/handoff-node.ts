/**
 * Hands the run over to a person because an agent asks for it, or because the run reached a limit. The person answers,
 * chooses the next node, or ends the run. The count of visits then restarts.
 */
import { z } from "zod"
import { userText } from "../../../agents/internal.ts"
import type { Json, NodeId } from "../../../core/index.ts"
import type { Message } from "../../../models/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { type DefinitionNode, definitionNode } from "../../definition-node.ts"
import { lastWords, words } from "./chat-nodes.ts"
import { type GraphInfo, LAST_CALLER, MESSAGES, NEXT, STEPS } from "./graph-info.ts"
import { followAll, type GraphEdge, type GraphNodeOptions, leave } from "./graph-node.ts"
import { type GraphToken, isToken, type Reason, Visit } from "./visit.ts"

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
  return definitionNode(id, "handoff", async (message, ctx) => {
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
  })
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
