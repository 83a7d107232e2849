/**
 * A person takes over: because an agent wants it, or because a limit was reached. The person answers, says who goes on, or
 * ends the run. After that, visits are counted anew.
 */
import { z } from "zod"
import { userText } from "../../agents/conversation.ts"
import type { Json, NodeId } from "../../core/index.ts"
import type { Message } from "../../models/index.ts"
import type { Context } from "../../runtime/index.ts"
import { lastWords, words } from "./chat-agent.ts"
import { followAll, type GraphEdge } from "./edges.ts"
import { LAST_CALLER, MESSAGES, NEXT, STEPS } from "./graph-channels.ts"
import type { GraphInfo } from "./graph-info.ts"
import { type GraphNode, type GraphNodeOptions, leave, rawNode } from "./graph-node.ts"
import { isToken, type Reason, type Token } from "./token.ts"
import { Visit } from "./visit.ts"

export interface GraphHandoffOptions extends GraphNodeOptions {
  readonly edges?: readonly GraphEdge[] | undefined
  /** Nodes that the person can go to, by name. */
  readonly routes?: Readonly<Record<string, NodeId>> | undefined
  /** Who goes on after an answer, where no edge and no agent before says so. */
  readonly otherwise?: NodeId | undefined
  /** Whom it is for. */
  readonly to?: string | undefined
  readonly prompt?: string | undefined
}

interface Answer {
  readonly message?: string | undefined
  readonly route?: string | undefined
  readonly end?: boolean | undefined
}

/** How much of the conversation the person is shown. */
const SHOWN = 10

export function graphHandoff(graph: GraphInfo, id: NodeId, options: GraphHandoffOptions = {}): GraphNode {
  const { routes = {}, to } = options
  const names = Object.keys(routes)
  const schema = answerSchema(names)
  const next = goingOn(graph, options)
  return rawNode(id, "handoff", async (message, ctx) => {
    const token: Token = isToken(message) ? message : { from: id, go: [] }
    const visit = new Visit(graph, id, token, ctx)
    const reason = token.reason ?? (isToken(message) ? undefined : (message as Reason))
    const given = await ctx.ask<string | Answer>({
      prompt: options.prompt ?? questionOf(graph, reason, ctx),
      data: { ...(reason === undefined ? {} : { reason }), ...shown(visit), routes: names },
      schema,
      to,
    })
    const answer: Answer = typeof given === "string" ? { message: given } : given
    ctx.state.write(STEPS, -ctx.state.get(STEPS))
    if (graph.chat && answer.message !== undefined) {
      // Last words are for the user; anything else is for the agents.
      ctx.state.write(MESSAGES, [answer.end ? words(answer.message) : userText(answer.message)])
    }
    const news = [answer, ctx.task]
    const output = answer.message
    if (answer.end) return leave(visit, options, { output, to: "end", news, result: output ?? lastOf(visit) })
    if (graph.chat) ctx.state.write(NEXT, answer.route ?? null)
    const target = answer.route === undefined ? next(visit, output) : [routes[answer.route] as NodeId]
    const opens = target !== "end" && target.length > 1 ? {} : undefined
    return leave(visit, options, { output, to: target, opens, news })
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

/** After an answer: along its edges; in a conversation, else to the agent that spoke last. */
function goingOn(graph: GraphInfo, options: GraphHandoffOptions) {
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
  if (!visit.graph.chat) return { latest: visit.given }
  const messages = visit.ctx.state.get(MESSAGES).flatMap((message) => {
    const text = wordsOf(message)
    return text === "" ? [] : [{ role: message.role, text }]
  })
  return { messages: messages.slice(-SHOWN) }
}

function wordsOf({ role, content }: Message): string {
  if (typeof content === "string") return role === "system" ? "" : content
  return content.map((part) => (part.type === "text" ? part.text : "")).join("")
}

function lastOf(visit: Visit): Json {
  return visit.graph.chat ? lastWords(visit.ctx.state.get(MESSAGES)) : visit.given
}
