/** One model call of an agent, with the hooks around it. */

import type { Message, ModelCall, ModelReply } from "../models/index.ts"
import { visibleMessages } from "./agent-prompt.ts"
import type { ActiveAgent } from "./agent-scope.ts"
import { readObject, replyMessage, resultsMessage, toolCallsOf, userText } from "./conversation.ts"
import { modelTurn } from "./model-step.ts"
import { plannedModels, plannedTools, providerChoice, type StepPlan, type ToolChoice } from "./step-plan.ts"
import { failure } from "./tool-approval.ts"

export interface StepRequest {
  /** Its instructions, as one message or none. */
  readonly system: readonly Message[]
  /** The conversation so far. */
  readonly messages: readonly Message[]
  readonly responseFormat: ModelCall["responseFormat"]
  readonly toolChoice: ToolChoice | undefined
  /** Which model call of the conversation it is, from 1. */
  readonly number: number
  /** How many models were asked before it: hooks answer some steps. */
  readonly asked: number
  /** Ids of earlier tool calls. */
  readonly ids: ReadonlySet<string>
  /** The most tokens of the conversation that the model has turned out to take. */
  readonly tokens?: number | undefined
  /** The final answer at a limit. */
  readonly final?: { readonly maxOutputTokens: number } | undefined
}

export interface StepReply {
  readonly reply: ModelReply
  /** The agent with the tools that this step offers. */
  readonly active: ActiveAgent
  /** False: a hook answered. */
  readonly wasAsked: boolean
  /** The reply does not stand: these messages follow, and the model is asked again. */
  readonly retry?: readonly Message[] | undefined
}

export async function agentStep(speaker: ActiveAgent, request: StepRequest): Promise<StepReply> {
  const { core } = speaker
  const { hooks } = core
  const { messages, ids, responseFormat } = request
  const info = speaker.about(request.number)
  const names = [...speaker.tools.byName.keys()]
  const plan: StepPlan = (await hooks?.prepareStep({ ...info, messages, tools: names })) ?? {}
  const active = { ...speaker, about: () => info, tools: plannedTools(core.name, speaker.tools, plan) }
  const { instructions } = plan
  const system: readonly Message[] =
    instructions === undefined ? request.system : [{ role: "system", content: instructions }]
  const wanted = [...system, ...visibleMessages(core, active.tools, messages, request.tokens)]
  const before = await hooks?.beforeModel({ ...info, messages: wanted })
  if (before !== undefined && "reply" in before)
    return { reply: replyOf(before.reply), active, wasAsked: false }
  const reply = await modelTurn(active, {
    prompt: before === undefined ? wanted : [...before.messages],
    responseFormat,
    number: request.asked + 1,
    ids,
    models: plannedModels(core.namedModels, plan),
    settings: request.final === undefined ? plan.settings : { ...plan.settings, ...request.final },
    isFinal: request.final !== undefined,
    toolChoice: providerChoice(core.name, plan.toolChoice ?? request.toolChoice, active.tools),
  })
  const after = await hooks?.afterModel(info, reply)
  if (after === undefined) return { reply, active, wasAsked: true }
  if ("text" in after) return { reply: withText(reply, after.text), active, wasAsked: true }
  return { reply, active, wasAsked: true, retry: askedAgain(reply, after.retry) }
}

/** A reply that no model gave. */
function replyOf(text: string): ModelReply {
  return { content: [{ type: "text", text }], finish: "stop", model: "middleware/beforeModel", usage: {} }
}

function withText(reply: ModelReply, text: string): ModelReply {
  const others = reply.content.filter((part) => part.type !== "text")
  const calls = others.filter((part) => part.type === "tool-call")
  const first = others.filter((part) => part.type !== "tool-call")
  return { ...reply, content: [...first, { type: "text", text }, ...calls] }
}

/** The calls of a reply that does not stand are not made; a provider wants their results all the same. */
function askedAgain(reply: ModelReply, text: string): readonly Message[] {
  const calls = toolCallsOf(reply)
  const said = replyMessage(reply, new Map(calls.map(({ id, args }) => [id, readObject(args)])))
  const notMade = calls.map(() => failure("TOOL_DENIED", "The call was not made."))
  return [
    ...(said === undefined ? [] : [said]),
    ...(calls.length === 0 ? [] : [resultsMessage(calls, notMade)]),
    userText(text),
  ]
}
