/** One model call of an agent, with the hooks around it. */

import { isSuperstepError } from "../core/index.ts"
import type { Message, ModelCall, ModelReply } from "../models/index.ts"
import type { AgentReport, AgentStep } from "../runtime/index.ts"
import type { ToolOutcome } from "../tools/internal.ts"
import type { ActiveAgent } from "./agent-core.ts"
import { visibleMessages } from "./agent-prompt.ts"
import {
  readObject,
  replyMessage,
  resultsMessage,
  type ToolCall,
  textOf,
  toolCallsOf,
  userText,
  visibleArgs,
} from "./conversation.ts"
import { loadedTools } from "./deferred-tools.ts"
import { tokensIn } from "./fit-messages.ts"
import { modelTurn } from "./model-step.ts"
import {
  plannedModels,
  plannedTools,
  providerChoice,
  type StepPlan,
  type ToolChoice,
  withToolModel,
} from "./step-plan.ts"
import { failure } from "./tool-approval.ts"

export interface StepRequest {
  /** The agent's instructions, as one message or none. */
  readonly system: readonly Message[]
  /** The conversation so far. */
  readonly messages: readonly Message[]
  readonly responseFormat: ModelCall["responseFormat"]
  readonly toolChoice: ToolChoice | undefined
  /** The number of this model call in the conversation, from 1. */
  readonly number: number
  /** How many model calls were made before it: hooks answer some steps. */
  readonly asked: number
  /** Ids of earlier tool calls. */
  readonly ids: ReadonlySet<string>
  /** The maximum number of tokens of the conversation, if the model has rejected a longer one. */
  readonly tokens?: number | undefined
  /** The final answer at a limit. */
  readonly final?: { readonly maxOutputTokens: number } | undefined
}

export interface StepReply {
  readonly reply: ModelReply
  /** The agent with the tools that this step offers. */
  readonly active: ActiveAgent
  /** False: a hook answered. */
  readonly modelWasCalled: boolean
  /** The reply is discarded: these messages follow, and the model is called again. */
  readonly retry?: readonly Message[] | undefined
}

/** The agent's own values. */
const OWN_PLAN: StepPlan = {}

export async function agentStep(speaker: ActiveAgent, request: StepRequest): Promise<StepReply> {
  const { core } = speaker
  const { hooks } = core
  const { messages, ids, responseFormat } = request
  const info = speaker.about(request.number)
  const loaded = loadedTools(speaker.tools, messages)
  const chosen = hooks && (await hooks.prepareStep({ ...info, messages, tools: [...loaded.byName.keys()] }))
  const plan = withToolModel(chosen ?? OWN_PLAN, speaker.tools, info.steps)
  const active = { ...speaker, about: () => info, tools: plannedTools(core.name, loaded, plan) }
  const { instructions } = plan
  const system: readonly Message[] =
    instructions === undefined ? request.system : [{ role: "system", content: instructions }]
  const wanted = [...system, ...visibleMessages(core, active.tools, messages, request.tokens)]
  const before = hooks && (await hooks.beforeModel({ ...info, messages: wanted }))
  if (before !== undefined && "reply" in before)
    return { reply: replyOf(before.reply), active, modelWasCalled: false }
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
  const after = hooks && (await hooks.afterModel(info, reply))
  if (after === undefined) return { reply, active, modelWasCalled: true }
  if ("text" in after) return { reply: withText(reply, after.text), active, modelWasCalled: true }
  return { reply, active, modelWasCalled: true, retry: retryMessages(reply, after.retry) }
}

/** A reply from a hook. */
function replyOf(text: string): ModelReply {
  return { content: [{ type: "text", text }], finish: "stop", model: "middleware/beforeModel", usage: {} }
}

function withText(reply: ModelReply, text: string): ModelReply {
  const others = reply.content.filter((part) => part.type !== "text")
  const calls = others.filter((part) => part.type === "tool-call")
  const first = others.filter((part) => part.type !== "tool-call")
  return { ...reply, content: [...first, { type: "text", text }, ...calls] }
}

/** The calls of a discarded reply are not made, but providers require a result for each. */
function retryMessages(reply: ModelReply, text: string): readonly Message[] {
  const calls = toolCallsOf(reply)
  const said = replyMessage(reply, visibleArgs(calls))
  const notMade = calls.map(() => failure("TOOL_DENIED", "The call was not made."))
  return [
    ...(said === undefined ? [] : [said]),
    ...(calls.length === 0 ? [] : [resultsMessage(calls, notMade)]),
    userText(text),
  ]
}

// The report of what an agent did.

export function stepOf(
  agent: string,
  reply: ModelReply,
  calls: readonly ToolCall[],
  outcomes: readonly ToolOutcome[],
): AgentStep {
  const { model, finish: finishReason, usage, content } = reply
  return {
    agent,
    model,
    text: textOf(reply),
    reasoning: reasoningOf(content),
    finishReason,
    usage,
    sources: content.filter((part) => part.type === "source"),
    calls: calls.map(({ id, name, args }, i) => {
      const outcome = outcomes[i] as ToolOutcome
      const result = outcome.ok ? outcome.value : outcome.error.message
      return { id, name, args: readObject(args), result, ok: outcome.ok }
    }),
  }
}

function reasoningOf(content: ModelReply["content"]): string {
  let reasoning = ""
  for (const part of content) if (part.type === "reasoning") reasoning += part.text
  return reasoning
}

export function reportOf(
  agent: string,
  lastAgent: string,
  steps: readonly AgentStep[],
  transcript: readonly Message[],
): AgentReport {
  const last = steps.at(-1)
  return {
    agent,
    lastAgent,
    steps: [...steps],
    transcript: [...transcript],
    finishReason: last?.finishReason,
    reasoning: last?.reasoning ?? "",
    sources: steps.flatMap(({ sources }) => sources),
  }
}

// Prompts that exceed the model's context window: the conversation is compacted, and the model is called once more.

interface FittingReply extends StepReply {
  /** The maximum number of tokens of the conversation from now on; undefined: the history policy decides. */
  readonly tokens: number | undefined
  /** How many model calls this reply took. */
  readonly asked: number
}

/** `compact` returns the conversation to send after a prompt was too long. */
export function fittingStep(
  speaker: ActiveAgent,
  request: StepRequest,
  compact: () => Promise<readonly Message[]>,
): Promise<FittingReply> {
  return agentStep(speaker, request).then(
    (step) => fittingReply(step, request.tokens, 0),
    (error: unknown) => shorterStep(speaker, request, compact, error),
  )
}

async function shorterStep(
  speaker: ActiveAgent,
  request: StepRequest,
  compact: () => Promise<readonly Message[]>,
  error: unknown,
): Promise<FittingReply> {
  if (!isSuperstepError(error, "CONTEXT_OVERFLOW")) throw error
  const { core, tools, scope } = speaker
  const shown = visibleMessages(core, tools, request.messages, request.tokens)
  const half = Math.max(1, Math.floor(tokensIn(shown) / 2))
  const text = `The prompt of agent "${core.name}" is too long for its model. It continues with the newest part of the conversation.`
  scope.ctx.log("warn", text, { tokens: half })
  const shorter = { ...request, messages: await compact(), tokens: half, asked: request.asked + 1 }
  return fittingReply(await agentStep(speaker, shorter), half, 1)
}

function fittingReply(step: StepReply, tokens: number | undefined, askedBefore: number): FittingReply {
  const { reply, active, modelWasCalled, retry } = step
  return { reply, active, modelWasCalled, retry, tokens, asked: askedBefore + (modelWasCalled ? 1 : 0) }
}
